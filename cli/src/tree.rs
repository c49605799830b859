//! `b2nd ls --tree`: folders drawn as a tree.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::array_row::{ArrayRow, MAX_CELL_WIDTH};
use crate::table::{Columns, Side};
use crate::text;

/// The widest cells: names, with the branches before them, shape, dtype and size.
const WIDTHS: [usize; 4] = [44, MAX_CELL_WIDTH, MAX_CELL_WIDTH, MAX_CELL_WIDTH];

/// Folders, files, members of files.
#[derive(Default)]
struct Node {
    name: String,
    /// Shape, dtype and size.
    cells: Option<[String; 3]>,
    /// The codes of its errors, as they end a line.
    errors: String,
    children: Vec<Node>,
    /// The position of each child by name: the files of a folder may come in any order.
    by_name: HashMap<String, usize>,
}

pub(crate) struct Tree {
    /// The folders of the command line. Each is one node, even if its path has several parts.
    roots: Vec<PathBuf>,
    top: Node,
}

impl Tree {
    pub(crate) fn new(roots: &[PathBuf]) -> Self {
        Self { roots: roots.to_vec(), top: Node::default() }
    }

    /// Adds an array.
    pub(crate) fn add(&mut self, row: ArrayRow) {
        let errors = row.errors();
        let ArrayRow { path, inner, cells, .. } = row;
        let [shape, _, _, dtype, nbytes, _] = cells;
        let root = self.roots.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?)));
        let (mut node, rest) = match root {
            Some((root, rest)) => (self.top.child(&text::path(root)), rest),
            None => (&mut self.top, path.as_path()),
        };
        for part in rest {
            node = node.child(&text::clean(&part.to_string_lossy()));
        }
        for part in inner.iter().flat_map(|inner| inner.trim_start_matches(':').split('/')) {
            node = node.child(part);
        }
        node.cells = Some([shape, dtype, nbytes]);
        node.errors = errors;
    }

    pub(crate) fn text(&self) -> String {
        let mut lines = Vec::new();
        for node in &self.top.children {
            node.draw("", "", "", &mut lines);
        }
        let mut columns = Columns::new([Side::Left, Side::Left, Side::Left, Side::Right], WIDTHS);
        for (line, _) in &lines {
            columns.fit(line);
        }
        lines.iter().map(|(line, errors)| columns.line(line) + errors + "\n").collect()
    }
}

impl Node {
    /// The child of this name, a new one if there is none.
    fn child(&mut self, name: &str) -> &mut Self {
        let index = *self.by_name.entry(name.into()).or_insert(self.children.len());
        if index == self.children.len() {
            self.children.push(Self { name: name.into(), ..Self::default() });
        }
        &mut self.children[index]
    }

    fn draw<'t>(&'t self, before: &str, branch: &str, below: &str, lines: &mut Vec<([String; 4], &'t str)>) {
        let [shape, dtype, nbytes] = self.cells.clone().unwrap_or_default();
        lines.push(([format!("{before}{branch}{}", self.name), shape, dtype, nbytes], self.errors.as_str()));
        let before = format!("{before}{below}");
        for (index, child) in self.children.iter().enumerate() {
            let is_last = index + 1 == self.children.len();
            let (branch, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
            child.draw(&before, branch, below, lines);
        }
    }
}
