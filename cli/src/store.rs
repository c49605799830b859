//! A store of python-blosc2 as `info` shows it: what it is, and the keys of its members.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::path::Path;

use b2nd_serde::frame::{Kind, Store};
use serde::{Deserialize, Serialize};

use crate::text;

/// A folder or zip file of frames.
#[derive(Serialize)]
pub(crate) struct StoreRecord<'s> {
    path: Cow<'s, str>,
    kind: Kind,
    members: &'s [String],
    /// Of a table.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    table: Option<Table>,
}

/// What a table says about itself.
#[derive(Serialize)]
struct Table {
    /// `None` if the table was never closed.
    rows: Option<u64>,
    columns: Vec<ColumnRecord>,
}

#[derive(Serialize)]
struct ColumnRecord {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

/// The JSON that python-blosc2 writes about a table.
#[derive(Deserialize)]
struct Schema {
    n_rows: Option<u64>,
    columns: Vec<Column>,
    #[serde(default)]
    computed_columns: Vec<Column>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    kind: String,
    max_length: Option<u64>,
    dtype_str: Option<String>,
    dtype: Option<String>,
}

impl From<Schema> for Table {
    fn from(schema: Schema) -> Self {
        let columns = schema.columns.into_iter().chain(schema.computed_columns);
        Self { rows: schema.n_rows, columns: columns.map(ColumnRecord::from).collect() }
    }
}

impl From<Column> for ColumnRecord {
    fn from(Column { name, kind, max_length, dtype_str, dtype }: Column) -> Self {
        let kind = match (&*kind, max_length) {
            ("string", Some(length)) => format!("<U{length}"),
            ("bytes", Some(length)) => format!("|S{length}"),
            _ => dtype_str.or(dtype).unwrap_or(kind),
        };
        Self { name, kind }
    }
}

impl<'s> StoreRecord<'s> {
    pub(crate) fn new(path: &'s Path, store: &'s Store) -> Self {
        let schema = store.schema().and_then(|json| serde_json::from_str::<Schema>(json).ok());
        Self {
            path: path.to_string_lossy(),
            kind: store.kind(),
            members: store.members(),
            table: schema.map(Table::from),
        }
    }
}

/// Like the page of a frame.
impl Display for StoreRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "path    : {}", text::clean(&self.path))?;
        writeln!(f, "type    : {}", self.kind)?;
        if let Some(Table { rows, columns }) = &self.table {
            match rows {
                Some(rows) => writeln!(f, "rows    : {rows}")?,
                None => writeln!(f, "rows    : unknown, as the table was not closed")?,
            }
            for ColumnRecord { name, kind } in columns {
                writeln!(f, "column  : {}, {}", text::clean(name), text::clean(kind))?;
            }
        }
        writeln!(f, "holds   : {}", held(self.members))
    }
}

/// The keys of a store's members, in a line.
pub(crate) fn held(members: &[String]) -> String {
    if members.is_empty() { "nothing".into() } else { text::clean(&members.join(", ")) }
}
