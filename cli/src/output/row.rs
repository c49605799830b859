//! A row of `ls` for a frame, a store or a table.

use b2nd_frame::{ObjectKind, Severity};

use super::items::{Number, Stats};
use super::store::{StoreRecord, TableRecord};
use super::table::{Columns, Side};
use crate::input::{Address, View};
use crate::terminal::RED;
use crate::text::{self, count, ratio, short, short_size, shortened};

/// The maximum width of a column: a wider cell does not widen the column. A shape of 8 dimensions fits in this width if
/// each length has one digit: 8 digits and 7 commas.
const MAX_CELL_WIDTH: usize = 15;

/// The condition under which a column is shown: always, with --long, or with --stats.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Always,
    Long,
    Stats,
}

/// All columns, in their order.
const COLUMNS: [(&str, Side, Shown); 17] = [
    ("SHAPE", Side::Left, Shown::Always),
    ("CHUNKS", Side::Left, Shown::Always),
    ("BLOCKS", Side::Left, Shown::Always),
    ("DTYPE", Side::Left, Shown::Always),
    ("NBYTES", Side::Right, Shown::Always),
    ("CBYTES", Side::Right, Shown::Always),
    ("RATIO", Side::Right, Shown::Long),
    ("CODEC", Side::Left, Shown::Long),
    ("LEVEL", Side::Right, Shown::Long),
    ("STORED", Side::Right, Shown::Long),
    ("MIN", Side::Right, Shown::Stats),
    ("MAX", Side::Right, Shown::Stats),
    ("MEAN", Side::Right, Shown::Stats),
    ("STD", Side::Right, Shown::Stats),
    ("NAN", Side::Right, Shown::Stats),
    ("INFINITE", Side::Right, Shown::Stats),
    ("ZEROS", Side::Right, Shown::Stats),
];

/// The cells of a row. A cell is `None` if its value is unknown.
type Cells = [Option<String>; COLUMNS.len()];

fn cells_of_frame(view: View<'_>, stats: Option<&Stats>, format: RowFormat) -> Cells {
    let View { header, array, counts, .. } = view;
    let shape = view.shape();
    let dtype = if shape.is_some() {
        view.dtype_name(view.dtype().as_ref()).map(|dtype| shortened(&dtype, MAX_CELL_WIDTH))
    } else {
        // If the chunks differ in length, they can be counted only in the chunk index. If the chunk index was not
        // read, the cell shows `chunks` without a number.
        let chunks = view.nchunks().map_or("chunks".into(), |chunks| count(chunks, "chunk"));
        Some(format!("{chunks}, V{}", header.typesize))
    };
    let number = |number: fn(&Stats) -> u64| stats.map(|stats| number(stats).to_string());
    let end = |end: fn(&Stats) -> &Option<Number>| Some(end(stats?).as_ref()?.text.clone());
    [
        shape.map(short),
        array.map(|array| short(array.chunkshape())),
        array.map(|array| short(array.meta().blockshape())),
        dtype,
        view.nbytes().map(|nbytes| format.size(nbytes)),
        view.cbytes().map(|cbytes| format.size(cbytes)),
        view.compressed().and_then(ratio).map(|ratio| format!("{ratio:.2}x")),
        Some(header.codec.to_string()),
        Some(header.level.to_string()),
        counts.map(|counts| format!("{}/{}", counts.stored, counts.total())),
        end(|stats| &stats.min),
        end(|stats| &stats.max),
        end(|stats| &stats.mean),
        end(|stats| &stats.std),
        number(|stats| stats.nan),
        number(|stats| stats.infinite),
        number(|stats| stats.zeros),
    ]
}

/// The columns that are shown, and the form of the sizes.
#[derive(Clone, Copy)]
pub(crate) struct RowFormat {
    /// Whether the columns of --long are shown.
    pub(crate) is_long: bool,
    /// Whether the columns of --stats are shown.
    pub(crate) has_stats: bool,
    /// Whether sizes are exact numbers of bytes.
    pub(crate) is_exact: bool,
}

impl RowFormat {
    /// The cells of a row. Without --long, the cells of its columns are empty. The same applies to --stats.
    fn filled<'c>(self, cells: impl IntoIterator<Item = &'c str>) -> Vec<String> {
        let is_filled = |shown| match shown {
            Shown::Always => true,
            Shown::Long => self.is_long,
            Shown::Stats => self.has_stats,
        };
        let cell = |((.., shown), cell): (&(_, _, Shown), &str)| {
            if is_filled(*shown) { cell.into() } else { String::new() }
        };
        COLUMNS.iter().zip(cells).map(cell).collect()
    }

    pub(crate) fn headings(self) -> Vec<String> {
        self.filled(COLUMNS.map(|(heading, ..)| heading))
    }

    /// The alignment and the maximum width of each column.
    pub(crate) fn sides() -> impl Iterator<Item = (Side, usize)> {
        COLUMNS.iter().map(|(_, side, _)| (*side, MAX_CELL_WIDTH))
    }

    fn cells(self, cells: &Cells) -> Vec<String> {
        self.filled(cells.iter().map(|cell| cell.as_deref().unwrap_or("-")))
    }

    fn size(self, bytes: i64) -> String {
        if self.is_exact { bytes.to_string() } else { short_size(bytes) }
    }
}

/// A row of `ls`.
pub(crate) struct Row {
    pub(crate) address: Address,
    pub(crate) cells: Vec<String>,
    /// The kind of the frame or store; `None` for an array.
    kind: Option<ObjectKind>,
    /// The codes of the errors in the header of the frame.
    errors: String,
}

impl Row {
    /// The row of a frame, with or without an array.
    pub(crate) fn of_frame(view: View<'_>, stats: Option<&Stats>, format: RowFormat) -> Self {
        let errors = view.findings.iter().filter(|finding| finding.severity() == Severity::Error);
        Self {
            address: view.location.into(),
            cells: format.cells(&cells_of_frame(view, stats, format)),
            kind: Some(view.kind).filter(|&kind| kind != ObjectKind::NDArray),
            errors: errors.map(|finding| finding.code().name()).collect::<Vec<_>>().join(" "),
        }
    }

    /// The row of a store or of a table. The row of a store shows the number of its members. The row of a table shows
    /// the numbers of its rows and columns.
    pub(crate) fn of_store(record: &StoreRecord, format: RowFormat) -> Self {
        let StoreRecord { address, kind, members, table, .. } = record;
        let (rows, holds) = match table {
            Some(TableRecord { rows, columns }) => (*rows, count(columns.len() as u64, "column")),
            None => (None, count(members.as_ref().map_or(0, Vec::len) as u64, "member")),
        };
        let mut cells = Cells::default();
        let [shape, _, _, dtype, ..] = &mut cells;
        (*shape, *dtype) = (rows.map(|rows| rows.to_string()), Some(holds));
        let cells = format.cells(&cells);
        Self { address: address.clone(), cells, kind: Some(*kind), errors: String::new() }
    }

    /// The row as a line of the output.
    pub(crate) fn line(&self, columns: &Columns) -> String {
        let end = [self.address.location().to_string(), self.end()].concat();
        columns.line_to(&self.cells, &end) + "\n"
    }

    /// The end of a line: the kind, the name of the indexed array (if the file is an index), and the codes of errors.
    fn end(&self) -> String {
        let kind = self.kind.map(|kind| format!("  {kind}"));
        let index = self.address.location().indexed_array();
        let index = index.map(|array| format!("  index of {}", text::clean(array)));
        let kind = [kind, index].into_iter().flatten().collect::<String>();
        if self.errors.is_empty() { kind } else { format!("{kind}  {RED}{}{RED:#}", self.errors) }
    }
}
