//! `b2nd ls --tree`: folders drawn as a tree.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};

use super::row::{Below, Row, RowFormat};
use super::table::{Columns, Side};
use crate::input::{Address, Inside};
use crate::terminal::{BOLD, width};
use crate::text;

/// The widest name, with its branches, that still widens the column.
const MAX_NAME_WIDTH: usize = 44;

/// The most parts into which a path, a member or a key is split. A name in a file can have any number of them, and a
/// tree is drawn recursively.
const MAX_PARTS: usize = 64;

/// The cells after a name.
type Cells = Box<[Box<str>]>;

/// A folder, a file, or a member of a file.
#[derive(Default)]
struct Node {
    /// `None` for a mere folder.
    line: Option<Box<Line>>,
    children: BTreeMap<Box<str>, Node>,
}

/// A drawn line without its name.
struct Line {
    cells: Cells,
    end: Box<str>,
    /// The columns of a table, in its order.
    columns: Vec<(String, Cells)>,
}

pub(crate) struct Tree {
    /// The folders of the command line. Each is one node, even if its path has several parts.
    roots: Vec<PathBuf>,
    format: RowFormat,
    top: Node,
}

/// A line as it is drawn.
struct Drawn<'t> {
    /// The name, with the branches before it.
    name: String,
    cells: &'t [Box<str>],
    end: &'t str,
    /// The branches at the start of continuation lines.
    below: String,
}

impl Drawn<'_> {
    fn cells(&self) -> Vec<&str> {
        iter::once(&*self.name).chain(self.cells.iter().map(AsRef::as_ref)).collect()
    }
}

type Take<'t> = dyn FnMut(Drawn<'_>) -> io::Result<()> + 't;

fn boxed(cells: Vec<String>) -> Cells {
    cells.into_iter().map(String::into_boxed_str).collect()
}

impl Tree {
    pub(crate) fn new(roots: &[PathBuf], format: RowFormat) -> Self {
        Self { roots: roots.to_vec(), format, top: Node::default() }
    }

    /// Adds an array, a store or a table.
    pub(crate) fn add(&mut self, row: Row) {
        let end = row.end().into();
        let Row { address: Address { path, inside }, cells, below, is_member, .. } = row;
        // A member of a store is shown by its key, which has no extension.
        let path = if is_member && inside == Inside::Whole { path.with_extension("") } else { path };
        let inner = match inside {
            Inside::Member(name) | Inside::Url(Some(name)) => {
                let key = name.strip_prefix('/');
                let stem = name.rsplit_once('.').map(|(stem, _)| stem).filter(|_| is_member);
                Some(text::clean(key.or(stem).unwrap_or(&name)))
            }
            Inside::Offset(offset) => Some(format!("@{offset}")),
            Inside::Whole | Inside::Stdin | Inside::Url(None) => None,
        };
        // A folder of the command line is one node, so its path is not split.
        let root = self.roots.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?)));
        let (mut node, rest) = match root {
            Some((root, rest)) => (self.top.child(&text::path(root)), rest),
            None => (&mut self.top, path.as_path()),
        };
        let mut rest = rest.components();
        for part in rest.by_ref().take(MAX_PARTS) {
            node = node.child(&text::path(part.as_ref()));
        }
        if rest.as_path() != Path::new("") {
            node = node.child(&text::path(rest.as_path()));
        }
        for part in inner.iter().flat_map(|inner| inner.splitn(MAX_PARTS, '/')) {
            node = node.child(part);
        }
        let mut line = Line { cells: boxed(cells), end, columns: Vec::new() };
        match below {
            Below::Nothing => {}
            // Members that are not listed have a name in the tree, but no cells.
            Below::Keys(keys) => {
                for key in keys {
                    let parts = key.splitn(MAX_PARTS, '/').filter(|part| !part.is_empty());
                    parts.fold(&mut *node, Node::child);
                }
            }
            Below::Columns(columns) => {
                line.columns = columns.into_iter().map(|(name, cells)| (name, boxed(cells))).collect();
            }
        }
        node.line = Some(line.into());
    }

    /// Writes the tree, line by line.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let sides = iter::once((Side::Left, MAX_NAME_WIDTH)).chain(self.format.sides());
        let room = width(&io::stdout());
        let mut columns = Columns::new(sides).within(room);
        // The first pass finds the widths of the columns, the second one writes the lines.
        self.draw(&mut |line| {
            columns.fit(&line.cells());
            Ok(())
        })?;
        let headings = [vec!["PATH".into()], self.format.headings()].concat();
        let is_headed = room.is_some() && !self.top.children.is_empty();
        if is_headed {
            columns.fit(&headings);
        }
        let columns = columns.aligned_if_fitting();
        if is_headed {
            writeln!(out, "{BOLD}{}{BOLD:#}", columns.line(&headings))?;
        }
        self.draw(&mut |line| {
            writeln!(out, "{}", columns.line_to(&line.cells(), line.end.trim_start(), &line.below))
        })
    }

    fn draw(&self, take: &mut Take<'_>) -> io::Result<()> {
        let mut nodes = self.top.children.iter();
        nodes.try_for_each(|(name, node)| node.draw(name, "", ["", ""], take))
    }
}

impl Node {
    /// The child of this name, which is created if it does not exist.
    fn child(&mut self, name: &str) -> &mut Self {
        self.children.entry(name.into()).or_default()
    }

    /// Passes on the line of this node, then the lines of its columns and children.
    fn draw(&self, name: &str, before: &str, branches: [&str; 2], take: &mut Take<'_>) -> io::Result<()> {
        let [branch, below] = branches;
        let below = format!("{before}{below}");
        let (cells, end, columns) = match self.line.as_deref() {
            Some(Line { cells, end, columns }) => (&**cells, &**end, &**columns),
            None => Default::default(),
        };
        let mut left = columns.len() + self.children.len();
        let stem = if left > 0 { "│ " } else { "" };
        let name = format!("{before}{branch}{name}");
        take(Drawn { name, cells, end, below: format!("{below}{stem:4}") })?;
        let mut branches = || {
            left -= 1;
            if left == 0 { ["└── ", "    "] } else { ["├── ", "│   "] }
        };
        for (name, cells) in columns {
            let [branch, beside] = branches();
            let name = format!("{below}{branch}{name}");
            take(Drawn { name, cells, end: "", below: format!("{below}{beside}    ") })?;
        }
        let mut children = self.children.iter();
        children.try_for_each(|(name, child)| child.draw(name, &below, branches(), take))
    }
}
