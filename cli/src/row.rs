//! What `ls` shows of an array, a store or a table: cells for a table or a tree.

use std::array;
use std::path::PathBuf;

use b2nd_serde::frame::{Array, ChunkCounts, Kind, Severity};

use crate::json::{item_size, nbytes, parsed_dtype};
use crate::output::RED;
use crate::store::{StoreRecord, TableRecord};
use crate::table::{Columns, shortened};
use crate::text::{self, count, short, short_size};
use crate::visit::View;

/// The width of eight numbers of one digit, with the commas between them.
pub(crate) const MAX_CELL_WIDTH: usize = 15;

/// What `ls` shows, in a table or in a tree.
pub(crate) struct Row {
    pub(crate) path: PathBuf,
    /// Where in the file it is: `:` and the name of a member, or `@` and an offset.
    pub(crate) inner: Option<String>,
    /// Shape, chunks, blocks, dtype, nbytes, cbytes, and with --long the stored chunks.
    pub(crate) cells: [String; 7],
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
    pub(crate) fn of_array(view: View<'_>, array: &Array<'_>) -> Self {
        let dtype = array.meta().and_then(parsed_dtype);
        let nbytes = nbytes(array.shape(), item_size(dtype.as_ref(), view.header));
        let dtype = match dtype {
            Some(dtype) => dtype.numpy_str().to_string(),
            None => text::clean(array.dtype().unwrap_or("-")),
        };
        Self {
            path: view.location.path.into(),
            inner: inner(&view),
            cells: [
                short(array.shape()),
                short(array.chunkshape()),
                array.blockshape().map_or("-".into(), short),
                shortened(&dtype, MAX_CELL_WIDTH),
                nbytes.map_or("-".into(), short_size),
                short_size(view.header.cbytes),
                view.counts.map(stored).unwrap_or_default(),
            ],
            kind: Some(view.kind).filter(|&kind| kind != Kind::NDArray),
            errors: errors(view),
            below: Below::Nothing,
            is_member: false,
        }
    }

    /// The row of a store: how many members it has, or of a table, its rows and how many columns.
    pub(crate) fn of_store(record: StoreRecord) -> Self {
        let StoreRecord { path, member, kind, members, table, .. } = record;
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
        let none = || String::from("-");
        Self {
            path,
            inner: member.map(|member| format!(":{}", text::clean(&member))),
            cells: [rows, none(), none(), holds, none(), none(), String::new()],
            kind: Some(kind),
            errors: String::new(),
            below,
            is_member: false,
        }
    }

    /// The row of a frame without an array.
    pub(crate) fn of_frame(view: View<'_>) -> Self {
        Self {
            path: view.location.path.into(),
            inner: inner(&view),
            cells: array::from_fn(|cell| if cell < 6 { "-".into() } else { String::new() }),
            kind: Some(view.kind),
            errors: errors(view),
            below: Below::Nothing,
            is_member: false,
        }
    }

    /// The line in the table.
    pub(crate) fn line(&self, columns: &Columns<7>) -> String {
        let inner = self.inner.as_deref().unwrap_or_default();
        format!("{}  {}{inner}{}\n", columns.line(&self.cells), text::path(&self.path), self.end())
    }

    /// The kind and the codes of its errors, as they end a line.
    pub(crate) fn end(&self) -> String {
        let kind = self.kind.map(|kind| format!("  {kind}")).unwrap_or_default();
        if self.errors.is_empty() { kind } else { format!("{kind}  {RED}{}{RED:#}", self.errors) }
    }
}

/// Where in its file a frame is.
fn inner(view: &View<'_>) -> Option<String> {
    let offset = || (view.offset > 0).then(|| format!("@{}", view.offset));
    view.location.member.map(|member| format!(":{}", text::clean(member))).or_else(offset)
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
