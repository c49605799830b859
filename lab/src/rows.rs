//! Owned copies of the rows of a dump.

use std::ops::ControlFlow;

use b2nd_serde::dump::Row;

/// An owned copy of a [`Row`]: its parts, its line and its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub offset: u64,
    pub depth: usize,
    pub bytes: Vec<u8>,
    pub kind: String,
    pub field: String,
    pub value: String,
    pub fault: Option<String>,
    pub line: String,
    pub cells: [String; 5],
}

impl From<&Row<'_>> for Kept {
    fn from(row: &Row<'_>) -> Self {
        Self {
            offset: row.offset,
            depth: row.depth,
            bytes: row.bytes.into(),
            kind: row.kind.to_string(),
            field: row.field.to_string(),
            value: row.value.to_string(),
            fault: row.fault.map(ToString::to_string),
            line: row.to_string(),
            cells: row.cells(),
        }
    }
}

/// A function that receives rows.
pub type Receive<'r> = dyn FnMut(&Row<'_>) -> ControlFlow<()> + 'r;

/// The first `count` rows of a dump. After these rows, the receiving function ends the dump.
pub fn rows_until(count: usize, dump: impl FnOnce(&mut Receive<'_>)) -> Vec<Kept> {
    let mut rows = Vec::new();
    dump(&mut |row| {
        rows.push(row.into());
        if rows.len() < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    rows
}

/// All rows of a dump.
pub fn rows(dump: impl FnOnce(&mut Receive<'_>)) -> Vec<Kept> {
    rows_until(usize::MAX, dump)
}
