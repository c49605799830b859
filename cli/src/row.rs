//! What `ls` shows of a frame, a store or a table: cells for a table or a tree.

use std::array;

use b2nd_frame::{ChunkCounts, Kind, Severity};

use crate::address::Address;
use crate::json::{codec, parsed_dtype, ratio};
use crate::output::RED;
use crate::store::{StoreRecord, TableRecord};
use crate::table::{Columns, INDENT, shortened};
use crate::text::{self, count, short, short_size};
use crate::visit::View;

/// The width of eight numbers of one digit, with the commas between them.
pub(crate) const MAX_CELL_WIDTH: usize = 15;

/// How many cells a row has: shape, chunks, blocks, dtype, nbytes, cbytes, and with --long the ratio, codec, level and
/// stored chunks.
pub(crate) const CELLS: usize = 10;

/// What the cells say.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// Whether those of --long are not empty.
    pub(crate) long: bool,
    /// Whether sizes are exact numbers of bytes.
    pub(crate) bytes: bool,
}

impl Style {
    fn size(self, bytes: i64) -> String {
        if self.bytes { bytes.to_string() } else { short_size(bytes) }
    }

    /// The cells of a row of which these are known.
    fn cells(self, [shape, dtype]: [String; 2]) -> [String; CELLS] {
        let mut cells: [String; CELLS] =
            array::from_fn(|cell| if cell < 6 || self.long { "-".into() } else { String::new() });
        let [cell_of_shape, _, _, cell_of_dtype, ..] = &mut cells;
        (*cell_of_shape, *cell_of_dtype) = (shape, dtype);
        cells
    }
}

/// What `ls` shows, in a table or in a tree.
pub(crate) struct Row {
    pub(crate) address: Address,
    pub(crate) cells: [String; CELLS],
    /// What it is, if it is not just an array.
    pub(crate) kind: Option<Kind>,
    /// The codes of its errors.
    pub(crate) errors: String,
    pub(crate) below: Below,
    /// Whether it is a member of a store.
    pub(crate) is_member: bool,
}

/// What a store or table holds.
pub(crate) enum Below {
    Nothing,
    Keys(Vec<String>),
    /// Names, shapes and types.
    Columns(Vec<[String; 3]>),
}

impl Row {
    /// The row of an array; or of a frame without one: how many chunks it has, and the size of its items.
    pub(crate) fn of_frame(view: View<'_>, style: Style) -> Self {
        let header = view.header;
        let [shape, chunks, blocks, dtype] = if let Some(array) = view.array {
            let dtype = array.meta().and_then(parsed_dtype);
            let dtype = text::dtype_as(array, dtype.as_ref()).unwrap_or("-".into());
            let blocks = array.blockshape().map_or("-".into(), short);
            [short(array.shape()), short(array.chunkshape()), blocks, shortened(&dtype, MAX_CELL_WIDTH)]
        } else {
            let chunks = view.nchunks().map_or("chunks".into(), |chunks| count(chunks, "chunk"));
            ["-".into(), "-".into(), "-".into(), format!("{chunks}, V{}", header.typesize)]
        };
        let [ratio, codec, level, stored] = if style.long {
            let ratio = ratio(header.nbytes.into(), header.cbytes.into());
            let ratio = ratio.map_or("-".into(), |ratio| format!("{ratio:.2}x"));
            let stored = view.counts.map_or("-".into(), stored);
            [ratio, codec(header.codec).into(), header.level.to_string(), stored]
        } else {
            Default::default()
        };
        Self {
            address: view.location.into(),
            cells: [
                shape,
                chunks,
                blocks,
                dtype,
                view.nbytes().map_or("-".into(), |nbytes| style.size(nbytes)),
                style.size(header.cbytes),
                ratio,
                codec,
                level,
                stored,
            ],
            kind: Some(view.kind).filter(|&kind| kind != Kind::NDArray),
            errors: errors(view),
            below: Below::Nothing,
            is_member: false,
        }
    }

    /// The row of a store: how many members it has, or of a table, its rows and how many columns.
    pub(crate) fn of_store(record: StoreRecord, style: Style) -> Self {
        let StoreRecord { address, kind, members, table, .. } = record;
        let members = members.unwrap_or_default();
        let (rows, holds, below) = if let Some(TableRecord { rows, columns }) = table {
            let rows = rows.map_or("-".into(), |rows| rows.to_string());
            let below = columns.iter().map(|column| {
                let shape = match &*column.item_shape {
                    [] => rows.clone(),
                    items => format!("{rows},{}", short(items)),
                };
                [text::clean(&column.name), shape, text::clean(&column.kind)]
            });
            let below = Below::Columns(below.collect());
            (rows, count(columns.len() as u64, "column"), below)
        } else {
            let keys = members.iter().map(|key| text::clean(key)).collect();
            ("-".into(), count(members.len() as u64, "member"), Below::Keys(keys))
        };
        Self {
            address,
            cells: style.cells([rows, holds]),
            kind: Some(kind),
            errors: String::new(),
            below,
            is_member: false,
        }
    }

    /// The line in the table.
    pub(crate) fn line(&self, columns: &Columns<CELLS>) -> String {
        let end = [self.address.location().to_string(), self.end()].concat();
        columns.line_to(&self.cells, &end, INDENT) + "\n"
    }

    /// The kind and the codes of its errors, as they end a line.
    pub(crate) fn end(&self) -> String {
        let kind = self.kind.map(|kind| format!("  {kind}")).unwrap_or_default();
        if self.errors.is_empty() { kind } else { format!("{kind}  {RED}{}{RED:#}", self.errors) }
    }
}

/// The codes of the errors of a frame.
fn errors(view: View<'_>) -> String {
    let errors = view.findings.iter().filter(|finding| finding.severity() == Severity::Error);
    errors.map(|finding| finding.code().name()).collect::<Vec<_>>().join(" ")
}

/// How many of the chunks are stored.
fn stored(counts: ChunkCounts) -> String {
    format!("{}/{}", counts.stored, counts.total())
}
