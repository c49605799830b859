//! An array as `ls` shows it: cells for a table or a tree.

use std::path::PathBuf;

use b2nd_serde::frame::{Kind, Severity};

use crate::output::RED;
use crate::table::{Columns, shortened};
use crate::text::{self, short, short_size};
use crate::visit::View;

/// The width of eight numbers of one digit, with the commas between them.
pub(crate) const MAX_CELL_WIDTH: usize = 15;

/// An array as `ls` shows it, in a table or in a tree.
pub(crate) struct ArrayRow {
    pub(crate) path: PathBuf,
    /// Where in the file it is: `:` and the name of a member, or `@` and an offset.
    pub(crate) inner: Option<String>,
    /// Shape, chunks, blocks, dtype, nbytes and cbytes.
    pub(crate) cells: [String; 6],
    /// What it is, if it is not just an array.
    kind: Option<Kind>,
    /// The codes of its errors.
    errors: String,
}

impl ArrayRow {
    pub(crate) fn new(view: &View<'_>) -> Option<Self> {
        let (array, record) = (view.array?, &view.record);
        let offset = || (record.offset > 0).then(|| format!("@{}", record.offset));
        let errors = view.findings.iter().filter(|finding| finding.severity() == Severity::Error);
        let errors: Vec<&str> = errors.map(|finding| finding.code().name()).collect();
        Some(Self {
            path: view.location.path.into(),
            inner: view.location.member.map(|member| format!(":{}", text::clean(member))).or_else(offset),
            cells: [
                short(array.shape()),
                short(array.chunkshape()),
                array.blockshape().map_or("-".into(), short),
                shortened(text::dtype(array).as_deref().unwrap_or("-"), MAX_CELL_WIDTH),
                record.nbytes.map_or("-".into(), short_size),
                short_size(record.cbytes),
            ],
            kind: Some(record.kind).filter(|&kind| kind != Kind::NDArray),
            errors: errors.join(" "),
        })
    }

    /// The line in the table.
    pub(crate) fn line(&self, columns: &Columns<6>) -> String {
        let inner = self.inner.as_deref().unwrap_or_default();
        let kind = self.kind.map(|kind| format!("  {kind}")).unwrap_or_default();
        let line = format!("{}  {}{inner}{kind}", columns.line(&self.cells), text::path(&self.path));
        line + &self.errors() + "\n"
    }

    /// The codes of its errors, as they end a line.
    pub(crate) fn errors(&self) -> String {
        if self.errors.is_empty() { String::new() } else { format!("  {RED}{}{RED:#}", self.errors) }
    }
}
