//! A row of `ls` for a frame, a store or a table.

use b2nd_frame::{Array, ObjectKind, Severity};

use super::items::Stats;
use super::packed::PackedTensor;
use super::store::{StoreRecord, TableRecord};
use super::table::{Columns, Side};
use crate::input::{Address, View};
use crate::terminal::RED;
use crate::text::{self, count, ratio, short, short_size, shortened};

/// The width of eight numbers of one digit, with the commas between them.
const MAX_CELL_WIDTH: usize = 15;

/// A column of rows.
struct Column {
    heading: &'static str,
    side: Side,
    /// `None` if the value is unknown.
    cell: fn(Subject<'_>, RowFormat) -> Option<String>,
    shown: Shown,
}

/// When a column is filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Always,
    Long,
    Stats,
}

/// All columns, in their order.
const COLUMNS: [Column; 15] = [
    Column::new("SHAPE", Side::Left, shape),
    Column::new("CHUNKS", Side::Left, |of, _| Some(short(of.array()?.chunkshape()))),
    Column::new("BLOCKS", Side::Left, |of, _| Some(short(of.array()?.meta().blockshape()))),
    Column::new("DTYPE", Side::Left, dtype),
    Column::new("NBYTES", Side::Right, |of, format| Some(format.size(of.frame()?.nbytes()?))),
    Column::new("CBYTES", Side::Right, |of, format| Some(format.size(of.frame()?.cbytes()?))),
    Column::new("RATIO", Side::Right, compression).only(Shown::Long),
    Column::new("CODEC", Side::Left, |of, _| Some(of.frame()?.header.codec.to_string())).only(Shown::Long),
    Column::new("LEVEL", Side::Right, |of, _| Some(of.frame()?.header.level.to_string())).only(Shown::Long),
    Column::new("STORED", Side::Right, stored).only(Shown::Long),
    Column::new("MIN", Side::Right, |of, _| Some(of.stats()?.min.as_ref()?.text.clone())).only(Shown::Stats),
    Column::new("MAX", Side::Right, |of, _| Some(of.stats()?.max.as_ref()?.text.clone())).only(Shown::Stats),
    Column::new("NAN", Side::Right, |of, _| Some(of.stats()?.nan.to_string())).only(Shown::Stats),
    Column::new("INFINITE", Side::Right, |of, _| Some(of.stats()?.infinite.to_string())).only(Shown::Stats),
    Column::new("ZEROS", Side::Right, |of, _| Some(of.stats()?.zeros.to_string())).only(Shown::Stats),
];

impl Column {
    const fn new(
        heading: &'static str,
        side: Side,
        cell: fn(Subject<'_>, RowFormat) -> Option<String>,
    ) -> Self {
        Self { heading, side, cell, shown: Shown::Always }
    }

    const fn only(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }
}

/// The subject of a row.
#[derive(Clone, Copy)]
enum Subject<'s> {
    /// A frame, its tensor if it has no array, and what its items are.
    Frame(View<'s>, Option<&'s PackedTensor>, Option<&'s Stats>),
    /// A store or a table, with the number of rows of a table, and of its members or columns.
    Store { rows: Option<u64>, holds: &'s str },
}

impl<'s> Subject<'s> {
    fn frame(self) -> Option<View<'s>> {
        match self {
            Self::Frame(view, ..) => Some(view),
            Self::Store { .. } => None,
        }
    }

    fn stats(self) -> Option<&'s Stats> {
        match self {
            Self::Frame(.., stats) => stats,
            Self::Store { .. } => None,
        }
    }

    fn array(self) -> Option<&'s Array<'s>> {
        self.frame()?.array
    }
}

fn shape(of: Subject<'_>, _: RowFormat) -> Option<String> {
    match of {
        Subject::Frame(View { array: Some(array), .. }, ..) => Some(short(array.shape())),
        Subject::Frame(_, tensor, _) => Some(short(&tensor?.shape)),
        Subject::Store { rows, .. } => rows.map(|rows| rows.to_string()),
    }
}

/// The dtype; for a frame without an array or tensor, its number of chunks and item size.
fn dtype(of: Subject<'_>, _: RowFormat) -> Option<String> {
    match of {
        Subject::Frame(View { array: Some(array), .. }, ..) => {
            Some(shortened(&text::dtype(array)?, MAX_CELL_WIDTH))
        }
        Subject::Frame(_, Some(tensor), _) => Some(shortened(&tensor.dtype_name(), MAX_CELL_WIDTH)),
        Subject::Frame(view, None, _) => {
            // If chunks differ in length, only the chunk index has their number, which may be unreadable.
            let chunks = view.nchunks().map_or("chunks".into(), |chunks| count(chunks, "chunk"));
            Some(format!("{chunks}, V{}", view.header.typesize))
        }
        Subject::Store { holds, .. } => Some(holds.into()),
    }
}

fn compression(of: Subject<'_>, _: RowFormat) -> Option<String> {
    Some(format!("{:.2}x", ratio(of.frame()?.compressed()?)?))
}

/// The number of stored chunks, and of all chunks.
fn stored(of: Subject<'_>, _: RowFormat) -> Option<String> {
    let counts = of.frame()?.counts?;
    Some(format!("{}/{}", counts.stored, counts.total()))
}

/// The columns of rows, and the form of their cells.
#[derive(Clone, Copy)]
pub(crate) struct RowFormat {
    /// Whether the columns of --long are filled.
    pub(crate) is_long: bool,
    /// Whether the columns of --stats are filled.
    pub(crate) has_stats: bool,
    /// Whether sizes are exact numbers of bytes.
    pub(crate) is_exact: bool,
}

impl RowFormat {
    fn fills(self, column: &Column) -> bool {
        match column.shown {
            Shown::Always => true,
            Shown::Long => self.is_long,
            Shown::Stats => self.has_stats,
        }
    }

    /// The headings, empty for columns that are not filled.
    pub(crate) fn headings(self) -> Vec<String> {
        let heading =
            |column: &Column| if self.fills(column) { column.heading.into() } else { String::new() };
        COLUMNS.iter().map(heading).collect()
    }

    /// The alignment and the widest cell of each column.
    pub(crate) fn sides() -> impl Iterator<Item = (Side, usize)> {
        COLUMNS.iter().map(|column| (column.side, MAX_CELL_WIDTH))
    }

    fn cells(self, of: Subject<'_>) -> Vec<String> {
        let cell = |column: &Column| (column.cell)(of, self).unwrap_or_else(|| "-".into());
        COLUMNS.iter().map(|column| if self.fills(column) { cell(column) } else { String::new() }).collect()
    }

    fn size(self, bytes: i64) -> String {
        if self.is_exact { bytes.to_string() } else { short_size(bytes) }
    }
}

/// A row of `ls`.
pub(crate) struct Row {
    pub(crate) address: Address,
    pub(crate) cells: Vec<String>,
    /// The kind, unless it is an array.
    kind: Option<ObjectKind>,
    /// The codes of its errors.
    errors: String,
}

impl Row {
    /// The row of an array, or of a frame without one.
    pub(crate) fn of_frame(view: View<'_>, stats: Option<&Stats>, format: RowFormat) -> Self {
        let errors = view.findings.iter().filter(|finding| finding.severity() == Severity::Error);
        Self {
            address: view.location.into(),
            cells: format.cells(Subject::Frame(view, PackedTensor::of(view).as_ref(), stats)),
            kind: Some(view.kind).filter(|&kind| kind != ObjectKind::NDArray),
            errors: errors.map(|finding| finding.code().name()).collect::<Vec<_>>().join(" "),
        }
    }

    /// The row of a store, with its number of members, or of a table, with its numbers of rows and columns.
    pub(crate) fn of_store(record: StoreRecord, format: RowFormat) -> Self {
        let StoreRecord { address, kind, members, table, .. } = record;
        let (rows, holds) = match table {
            Some(TableRecord { rows, columns }) => (rows, count(columns.len() as u64, "column")),
            None => (None, count(members.unwrap_or_default().len() as u64, "member")),
        };
        let cells = format.cells(Subject::Store { rows, holds: &holds });
        Self { address, cells, kind: Some(kind), errors: String::new() }
    }

    /// The line in the table.
    pub(crate) fn line(&self, columns: &Columns) -> String {
        let end = [self.address.location().to_string(), self.end()].concat();
        columns.line_to(&self.cells, &end) + "\n"
    }

    /// The end of a line: the kind, the indexed array, and the codes of errors.
    fn end(&self) -> String {
        let kind = self.kind.map(|kind| format!("  {kind}"));
        let index = self.address.location().index_of();
        let index = index.map(|array| format!("  index of {}", text::clean(array)));
        let kind = [kind, index].into_iter().flatten().collect::<String>();
        if self.errors.is_empty() { kind } else { format!("{kind}  {RED}{}{RED:#}", self.errors) }
    }
}
