//! `b2nd ls --tree`: folders drawn as a tree.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::address::{Address, Inside};
use crate::output::width;
use crate::row::{Below, MAX_CELL_WIDTH, Row};
use crate::table::{Columns, Side};
use crate::text;

/// How many cells there are after a name: shape, dtype, nbytes, and with --long the ratio, codec, level and stored
/// chunks.
const CELLS: usize = 7;

/// The widest cells: names, with the branches before them, and what stands after them.
const WIDTHS: [usize; CELLS + 1] = {
    let mut widths = [MAX_CELL_WIDTH; CELLS + 1];
    widths[0] = 44;
    widths
};

/// Folders, files, members of files.
#[derive(Default)]
struct Node {
    /// `None` for what is only a folder.
    line: Option<Box<Line>>,
    children: BTreeMap<Box<str>, Node>,
}

/// What stands after the name.
struct Line {
    cells: [Box<str>; CELLS],
    end: Box<str>,
    /// Of a table, in its order: names, shapes and types.
    columns: Vec<[String; 3]>,
}

pub(crate) struct Tree {
    /// The folders of the command line. Each is one node, even if its path has several parts.
    roots: Vec<PathBuf>,
    top: Node,
}

/// A line as it is drawn.
struct Drawn<'t> {
    cells: [String; CELLS + 1],
    end: &'t str,
    /// The branches that begin its further lines, if it is broken.
    below: String,
}

type Take<'t> = dyn FnMut(Drawn<'_>) -> io::Result<()> + 't;

impl Tree {
    pub(crate) fn new(roots: &[PathBuf]) -> Self {
        Self { roots: roots.to_vec(), top: Node::default() }
    }

    /// Adds an array, a store or a table.
    pub(crate) fn add(&mut self, row: Row) {
        let end = row.end();
        let Row { address: Address { path, inside }, cells, below, is_member, .. } = row;
        let [shape, _, _, dtype, nbytes, _, ratio, codec, level, stored] = cells;
        // A member of a store goes by its key.
        let path = if is_member && inside == Inside::Whole { path.with_extension("") } else { path };
        let inner = match inside {
            Inside::Member(name) | Inside::Url(Some(name)) => Some(match name.rsplit_once('.') {
                Some((stem, _)) if is_member => text::clean(stem),
                _ => text::clean(&name),
            }),
            Inside::Offset(offset) => Some(format!("@{offset}")),
            Inside::Whole | Inside::Stdin | Inside::Url(None) => None,
        };
        let root = self.roots.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?)));
        let (mut node, rest) = match root {
            Some((root, rest)) => (self.top.child(&text::path(root)), rest),
            None => (&mut self.top, path.as_path()),
        };
        for part in rest {
            node = node.child(&text::clean(&part.to_string_lossy()));
        }
        for part in inner.iter().flat_map(|inner| inner.split('/')) {
            node = node.child(part);
        }
        let columns = match below {
            Below::Nothing => Vec::new(),
            Below::Keys(keys) => {
                for key in keys {
                    key.split('/').filter(|part| !part.is_empty()).fold(&mut *node, Node::child);
                }
                Vec::new()
            }
            Below::Columns(columns) => columns,
        };
        let cells = [shape, dtype, nbytes, ratio, codec, level, stored].map(String::into_boxed_str);
        node.line = Some(Box::new(Line { cells, end: end.into(), columns }));
    }

    /// Writes the tree, line by line.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        use Side::{Left, Right};
        let sides = [Left, Left, Left, Right, Right, Left, Right, Right];
        let mut columns = Columns::new(sides, WIDTHS).within(width(&io::stdout()));
        self.draw(&mut |line| {
            columns.fit(&line.cells);
            Ok(())
        })?;
        let columns = columns.aligned_if_fitting();
        self.draw(&mut |Drawn { cells, end, below }| {
            writeln!(out, "{}", columns.line_to(&cells, end.trim_start(), &below))
        })
    }

    fn draw(&self, take: &mut Take<'_>) -> io::Result<()> {
        let mut nodes = self.top.children.iter();
        nodes.try_for_each(|(name, node)| node.draw(name, "", ["", ""], take))
    }
}

impl Node {
    /// The child of this name, a new one if there is none.
    fn child(&mut self, name: &str) -> &mut Self {
        self.children.entry(name.into()).or_default()
    }

    /// Passes on its line, cells and end, and those of what is below it.
    fn draw(&self, name: &str, before: &str, branches: [&str; 2], take: &mut Take<'_>) -> io::Result<()> {
        let [branch, below] = branches;
        let (line, below) = (self.line.as_deref(), format!("{before}{below}"));
        let cells = line.map_or(Default::default(), |line| line.cells.each_ref().map(ToString::to_string));
        let [shape, dtype, nbytes, ratio, codec, level, stored] = cells;
        let end = line.map_or("", |line| &line.end);
        let name = format!("{before}{branch}{name}");
        let stem = if line.is_some_and(|line| !line.columns.is_empty()) || !self.children.is_empty() {
            "│ "
        } else {
            ""
        };
        let cells = [name, shape, dtype, nbytes, ratio, codec, level, stored];
        take(Drawn { cells, end, below: format!("{below}{stem:4}") })?;
        let columns = line.map_or(&[][..], |line| &line.columns);
        let mut left = columns.len() + self.children.len();
        let mut branches = || {
            left -= 1;
            if left == 0 { ["└── ", "    "] } else { ["├── ", "│   "] }
        };
        for [name, shape, dtype] in columns {
            let [branch, beside] = branches();
            let name = format!("{below}{branch}{name}");
            let mut cells = <[String; CELLS + 1]>::default();
            let [cell_of_name, cell_of_shape, cell_of_dtype, ..] = &mut cells;
            (*cell_of_name, *cell_of_shape, *cell_of_dtype) = (name, shape.clone(), dtype.clone());
            take(Drawn { cells, end: "", below: format!("{below}{beside}    ") })?;
        }
        let mut children = self.children.iter();
        children.try_for_each(|(name, child)| child.draw(name, &below, branches(), take))
    }
}
