//! A row of `ls` for a frame, a store or a table, in a listing or in a tree.

use b2nd_frame::{Array, ObjectKind, Severity};

use super::packed::PackedTensor;
use super::store::{StoreRecord, TableRecord};
use super::table::{Columns, INDENT, Side};
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
    is_only_long: bool,
    is_in_tree: bool,
}

/// All columns, in their order.
const COLUMNS: [Column; 10] = [
    Column::new("SHAPE", Side::Left, shape),
    Column::new("CHUNKS", Side::Left, |of, _| Some(short(of.array()?.chunkshape()))).not_in_tree(),
    Column::new("BLOCKS", Side::Left, |of, _| Some(short(of.array()?.meta().blockshape()))).not_in_tree(),
    Column::new("DTYPE", Side::Left, dtype),
    Column::new("NBYTES", Side::Right, |of, format| Some(format.size(of.frame()?.nbytes()?))),
    Column::new("CBYTES", Side::Right, |of, format| Some(format.size(of.frame()?.cbytes()?))).not_in_tree(),
    Column::new("RATIO", Side::Right, compression).only_long(),
    Column::new("CODEC", Side::Left, |of, _| Some(of.frame()?.header.codec.to_string())).only_long(),
    Column::new("LEVEL", Side::Right, |of, _| Some(of.frame()?.header.level.to_string())).only_long(),
    Column::new("STORED", Side::Right, stored).only_long(),
];

impl Column {
    const fn new(
        heading: &'static str,
        side: Side,
        cell: fn(Subject<'_>, RowFormat) -> Option<String>,
    ) -> Self {
        Self { heading, side, cell, is_only_long: false, is_in_tree: true }
    }

    const fn only_long(self) -> Self {
        Self { is_only_long: true, ..self }
    }

    const fn not_in_tree(self) -> Self {
        Self { is_in_tree: false, ..self }
    }
}

/// The subject of a row.
#[derive(Clone, Copy)]
enum Subject<'s> {
    /// A frame, and its tensor if it has no array.
    Frame(View<'s>, Option<&'s PackedTensor>),
    /// A store, a table, or a column of a table, with its only known cells. `others` fills the remaining cells.
    Store { shape: &'s str, dtype: &'s str, others: &'s str },
}

impl<'s> Subject<'s> {
    fn frame(self) -> Option<View<'s>> {
        match self {
            Self::Frame(view, _) => Some(view),
            Self::Store { .. } => None,
        }
    }

    fn array(self) -> Option<&'s Array<'s>> {
        self.frame()?.array
    }
}

fn shape(of: Subject<'_>, _: RowFormat) -> Option<String> {
    match of {
        Subject::Frame(View { array: Some(array), .. }, _) => Some(short(array.shape())),
        Subject::Frame(_, tensor) => Some(short(&tensor?.shape)),
        Subject::Store { shape, .. } => Some(shape.into()),
    }
}

/// The dtype; for a frame without an array or tensor, its number of chunks and item size.
fn dtype(of: Subject<'_>, _: RowFormat) -> Option<String> {
    match of {
        Subject::Frame(View { array: Some(array), .. }, _) => {
            Some(shortened(&text::dtype(array)?, MAX_CELL_WIDTH))
        }
        Subject::Frame(_, Some(tensor)) => Some(shortened(&tensor.dtype_name(), MAX_CELL_WIDTH)),
        Subject::Frame(view, None) => {
            // If chunks differ in length, only the chunk index has their number, which may be unreadable.
            let chunks = view.nchunks().map_or("chunks".into(), |chunks| count(chunks, "chunk"));
            Some(format!("{chunks}, V{}", view.header.typesize))
        }
        Subject::Store { dtype, .. } => Some(dtype.into()),
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
    /// Whether sizes are exact numbers of bytes.
    pub(crate) is_exact: bool,
    /// Whether the columns are only those of a tree.
    pub(crate) is_tree: bool,
}

impl RowFormat {
    fn columns(self) -> impl Iterator<Item = &'static Column> {
        COLUMNS.iter().filter(move |column| column.is_in_tree || !self.is_tree)
    }

    fn fills(self, column: &Column) -> bool {
        self.is_long || !column.is_only_long
    }

    /// The headings, empty for columns that are not filled.
    pub(crate) fn headings(self) -> Vec<String> {
        self.columns()
            .map(|column| if self.fills(column) { column.heading.into() } else { String::new() })
            .collect()
    }

    /// The alignment and the widest cell of each column.
    pub(crate) fn sides(self) -> impl Iterator<Item = (Side, usize)> {
        self.columns().map(|column| (column.side, MAX_CELL_WIDTH))
    }

    fn cells(self, of: Subject<'_>) -> Vec<String> {
        let others = if let Subject::Store { others, .. } = of { others } else { "-" };
        let cell = |column: &Column| (column.cell)(of, self).unwrap_or_else(|| others.into());
        self.columns().map(|column| if self.fills(column) { cell(column) } else { String::new() }).collect()
    }

    fn size(self, bytes: i64) -> String {
        if self.is_exact { bytes.to_string() } else { short_size(bytes) }
    }
}

/// A row of `ls`, in a table or in a tree.
pub(crate) struct Row {
    pub(crate) address: Address,
    pub(crate) cells: Vec<String>,
    /// The kind, unless it is an array.
    kind: Option<ObjectKind>,
    /// The codes of its errors.
    errors: String,
    pub(crate) below: Below,
    /// Whether it is a member of a store.
    pub(crate) is_member: bool,
}

/// The contents of a store or table.
pub(crate) enum Below {
    Nothing,
    Keys(Vec<String>),
    /// Names, and the cells after them.
    Columns(Vec<(String, Vec<String>)>),
}

impl Row {
    /// The row of an array, or of a frame without one.
    pub(crate) fn of_frame(view: View<'_>, format: RowFormat, is_member: bool) -> Self {
        let errors = view.findings.iter().filter(|finding| finding.severity() == Severity::Error);
        Self {
            address: view.location.into(),
            cells: format.cells(Subject::Frame(view, PackedTensor::of(view).as_ref())),
            kind: Some(view.kind).filter(|&kind| kind != ObjectKind::NDArray),
            errors: errors.map(|finding| finding.code().name()).collect::<Vec<_>>().join(" "),
            below: Below::Nothing,
            is_member,
        }
    }

    /// The row of a store, with its number of members, or of a table, with its numbers of rows and columns.
    pub(crate) fn of_store(record: StoreRecord, format: RowFormat) -> Self {
        let StoreRecord { address, kind, members, table, .. } = record;
        let (rows, holds, below) = if let Some(TableRecord { rows, columns }) = table {
            let rows = rows.map_or("-".into(), |rows| rows.to_string());
            let below = columns.iter().map(|column| {
                let shape = match &*column.item_shape {
                    [] => rows.clone(),
                    items => format!("{rows},{}", short(items)),
                };
                let dtype = text::clean(&column.kind);
                let cells = format.cells(Subject::Store { shape: &shape, dtype: &dtype, others: "" });
                (text::clean(&column.name), cells)
            });
            let below = Below::Columns(below.collect());
            (rows, count(columns.len() as u64, "column"), below)
        } else {
            let keys: Vec<_> = members.unwrap_or_default().iter().map(|key| text::clean(key)).collect();
            ("-".into(), count(keys.len() as u64, "member"), Below::Keys(keys))
        };
        let cells = format.cells(Subject::Store { shape: &rows, dtype: &holds, others: "-" });
        Self { address, cells, kind: Some(kind), errors: String::new(), below, is_member: false }
    }

    /// The line in the table.
    pub(crate) fn line(&self, columns: &Columns) -> String {
        let end = [self.address.location().to_string(), self.end()].concat();
        columns.line_to(&self.cells, &end, INDENT) + "\n"
    }

    /// The end of a line: the kind, the indexed array, and the codes of errors.
    pub(crate) fn end(&self) -> String {
        let kind = self.kind.map(|kind| format!("  {kind}"));
        let index = self.address.location().index_of();
        let index = index.map(|array| format!("  index of {}", text::clean(array)));
        let kind = [kind, index].into_iter().flatten().collect::<String>();
        if self.errors.is_empty() { kind } else { format!("{kind}  {RED}{}{RED:#}", self.errors) }
    }
}
