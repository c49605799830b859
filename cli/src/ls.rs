//! `b2nd ls`: a line for each array.

use std::io::{self, IsTerminal, Write};
use std::mem;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use crate::array_row::{ArrayRow, MAX_CELL_WIDTH};
use crate::counts::Counts;
use crate::failure::Failure;
use crate::input::{Paths, Target};
use crate::json::add_line;
use crate::output::{BOLD, Outcome, Progress, remark};
use crate::pool::Pool;
use crate::summary::Summary;
use crate::table::{Columns, Side};
use crate::tree::Tree;
use crate::visit::{self, View};

/// List arrays: shape, chunks, blocks, dtype, sizes, path
///
/// NBYTES is the size of all items, CBYTES that of the compressed chunks. The codes of errors in a header end the
/// line; `b2nd check` explains them.
///
/// Frames are recognized by their first bytes. A file with a Blosc2 extension (b2nd, b2frame, b2e, b2z, caterva) that
/// is not a frame counts as a failure; other files in folders are skipped. A zip file is opened if its extension is
/// b2z, or if it is given as an argument.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd ls data/
  b2nd ls --json --unordered data/ | jq -r 'select(.ndim == 3) | .path'
  find data -name '*.b2nd' -print0 | b2nd ls -0 --files-from - --summary
  b2nd ls --scan measurements.h5")]
#[expect(clippy::struct_excessive_bools, reason = "as many options")]
pub(crate) struct Ls {
    #[command(flatten)]
    paths: Paths,
    /// Find frames anywhere in each file, such as an HDF5 or ASDF file
    #[arg(long)]
    scan: bool,
    /// Print a JSON object for each array or failure, one per line
    #[arg(long)]
    json: bool,
    /// Count the arrays by dtype, rank, shape and chunks
    #[arg(long)]
    summary: bool,
    /// Draw folders as a tree
    #[arg(long, conflicts_with_all = ["json", "summary", "unordered"])]
    tree: bool,
}

/// What was found in some files, for the listing.
#[derive(Default)]
struct Batch {
    files: u64,
    counts: Counts,
    json: Vec<u8>,
    rows: Vec<ArrayRow>,
    failures: Vec<Failure>,
    summary: Summary,
}

impl Ls {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, scan, json, summary, tree } = self;
        let pool = Pool { jobs: paths.jobs(), is_ordered: !paths.unordered, is_slow: scan };
        let mut listing = Listing::new(paths.given(), summary, tree, paths.unordered);
        let options = visit::Options { scan, ..visit::Options::default() };
        let work = |targets: Vec<Result<Target, Failure>>| {
            let mut batch = Batch::default();
            for target in targets {
                batch.files += 1;
                options.visit(target, &mut |view| batch.take(view, json, summary));
            }
            batch
        };
        pool.run(paths.targets(), work, |batch| listing.take(batch))?;
        listing.end(json)
    }
}

impl Batch {
    fn take(&mut self, view: Result<View<'_>, Failure>, json: bool, summary: bool) {
        match view {
            Ok(view) => match view.array {
                None => self.counts.others += 1,
                Some(array) => {
                    self.counts.arrays += 1;
                    if summary {
                        self.summary.add(array);
                    } else if json {
                        add_line(&mut self.json, &view.record);
                    } else {
                        self.rows.extend(ArrayRow::new(&view));
                    }
                }
            },
            Err(failure) => {
                self.counts.failures += 1;
                if json {
                    add_line(&mut self.json, &failure);
                } else {
                    self.failures.push(failure);
                }
            }
        }
    }
}

/// Rows are held back up to this number, so that their columns can be aligned.
const HELD_BACK: usize = 1000;

/// On a terminal, rows are held back for at most this long.
const PATIENCE: Duration = Duration::from_millis(200);

/// The state of the output.
struct Listing {
    files: u64,
    counts: Counts,
    held_back: usize,
    is_watched: bool,
    printed: Instant,
    rows: Vec<ArrayRow>,
    columns: Columns<6>,
    has_header: bool,
    summary: Option<Summary>,
    tree: Option<Tree>,
    progress: Progress,
}

const HEADER: [&str; 6] = ["SHAPE", "CHUNKS", "BLOCKS", "DTYPE", "NBYTES", "CBYTES"];

impl Listing {
    fn new(roots: &[PathBuf], summary: bool, tree: bool, unordered: bool) -> Self {
        use Side::{Left, Right};
        let is_watched = io::stdout().is_terminal();
        Self {
            files: 0,
            counts: Counts::default(),
            held_back: if unordered { 0 } else { HELD_BACK },
            is_watched,
            printed: Instant::now(),
            rows: Vec::new(),
            columns: Columns::new([Left, Left, Left, Left, Right, Right], [MAX_CELL_WIDTH; 6]),
            has_header: is_watched,
            summary: summary.then(Summary::default),
            tree: tree.then(|| Tree::new(roots)),
            progress: Progress::of_files(summary || tree),
        }
    }

    fn take(&mut self, batch: Batch) -> io::Result<()> {
        self.files += batch.files;
        self.counts.add(batch.counts);
        self.progress.show(self.files);
        for failure in &batch.failures {
            self.progress.complain(failure);
        }
        if !batch.json.is_empty() {
            io::stdout().write_all(&batch.json)?;
        }
        if let Some(summary) = &mut self.summary {
            summary.merge(batch.summary);
        }
        match &mut self.tree {
            Some(tree) => batch.rows.into_iter().for_each(|row| tree.add(row)),
            None => self.rows.extend(batch.rows),
        }
        let has_waited = self.is_watched && self.printed.elapsed() > PATIENCE;
        if has_waited || self.rows.len() > self.held_back { self.print_rows() } else { Ok(()) }
    }

    fn print_rows(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.printed = Instant::now();
        let mut lines = Vec::new();
        let header = HEADER.map(String::from);
        let has_header = mem::take(&mut self.has_header);
        if has_header {
            self.columns.fit(&header);
        }
        for row in &self.rows {
            self.columns.fit(&row.cells);
        }
        if has_header {
            lines.push(format!("{BOLD}{}  PATH{BOLD:#}\n", self.columns.line(&header)));
        }
        for row in self.rows.drain(..) {
            lines.push(row.line(&self.columns));
        }
        anstream::stdout().write_all(lines.concat().as_bytes())
    }

    fn end(mut self, json: bool) -> Outcome {
        self.print_rows()?;
        // Removes the progress from the screen before the output.
        drop(self.progress);
        if let Some(summary) = self.summary {
            let text = if json { summary.json(self.counts) } else { summary.text(self.counts).into_bytes() };
            anstream::stdout().write_all(&text)?;
            return Ok(self.counts.status());
        }
        if let Some(tree) = self.tree {
            anstream::stdout().write_all(tree.text().as_bytes())?;
        }
        let Counts { arrays, others, failures } = self.counts;
        if arrays + others + failures == 0 {
            remark(&"no array found");
        } else if others > 0 || failures > 0 && self.files > 1 {
            remark(&self.counts);
        }
        Ok(self.counts.status())
    }
}
