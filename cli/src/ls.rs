//! `b2nd ls`: a line for each array.

use std::io::{self, IsTerminal, Write};
use std::mem;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use b2nd_serde::frame::Severity;
use clap::Args;

use crate::Outcome;
use crate::input::{Paths, Target};
use crate::json::{Failure, add_line};
use crate::output::{BOLD, Progress, RED, remark};
use crate::pool::Pool;
use crate::summary::Summary;
use crate::table::{Columns, Side, shortened};
use crate::text::{self, count, short, short_size};
use crate::tree::Tree;
use crate::visit::{Look, Seen};

/// Lists arrays: shape, chunks, blocks, dtype, sizes, path
///
/// A frame is known by its first bytes. A file that is named as one of Blosc2 (b2nd, b2frame, b2e, b2z, caterva) and is
/// none has failed; other files in folders are passed over. A zip file is opened if it is named .b2z, or given by hand.
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
    /// Looks for frames anywhere in each file, such as an HDF5 or ASDF file
    #[arg(long)]
    scan: bool,
    /// Prints a JSON object for each array or failure, on a line of its own
    #[arg(long)]
    json: bool,
    /// Counts the arrays by dtype, rank, shape and chunks
    #[arg(long)]
    summary: bool,
    /// Draws folders as a tree
    #[arg(long, conflicts_with_all = ["json", "summary", "unordered"])]
    tree: bool,
}

/// An array, as a line shows it.
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    /// Where in the file: the names of a member, or an offset.
    pub(crate) inner: Option<String>,
    pub(crate) cells: [String; 6],
    /// Rules that it breaks.
    pub(crate) errors: String,
}

impl Entry {
    fn new(seen: &Seen<'_>) -> Option<Self> {
        let (array, record) = (seen.array?, &seen.record);
        let offset = || (record.offset > 0).then(|| format!("@{}", record.offset));
        let errors = seen.findings.iter().filter(|finding| finding.severity() == Severity::Error);
        let errors: Vec<&str> = errors.map(|finding| finding.code().name()).collect();
        Some(Self {
            path: seen.place.path.into(),
            inner: seen.place.member.map(|member| format!(":{}", text::clean(member))).or_else(offset),
            cells: [
                short(array.shape()),
                short(array.chunkshape()),
                array.blockshape().map_or("-".into(), short),
                shortened(text::dtype(array).as_deref().unwrap_or("-"), WIDEST),
                record.nbytes.map_or("-".into(), short_size),
                short_size(record.cbytes),
            ],
            errors: errors.join(" "),
        })
    }

    fn line(&self, columns: &Columns<6>) -> String {
        let inner = self.inner.as_deref().unwrap_or_default();
        let line = format!("{}  {}{inner}", columns.line(&self.cells), text::path(&self.path));
        let errors =
            if self.errors.is_empty() { String::new() } else { format!("  {RED}{}{RED:#}", self.errors) };
        line + &errors + "\n"
    }
}

/// What was seen in some files.
#[derive(Default)]
struct Batch {
    files: u64,
    counts: Counts,
    json: Vec<u8>,
    entries: Vec<Entry>,
    failures: Vec<Failure>,
    summary: Summary,
}

/// How many of what.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) arrays: u64,
    pub(crate) others: u64,
    pub(crate) failures: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.arrays += other.arrays;
        self.others += other.others;
        self.failures += other.failures;
    }

    pub(crate) fn status(self) -> ExitCode {
        if self.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&count(self.arrays, "array"))?;
        match self.others {
            0 => {}
            1 => f.write_str(", 1 frame without an array")?,
            others => write!(f, ", {others} frames without an array")?,
        }
        if self.failures > 0 {
            write!(f, ", {}", count(self.failures, "failure"))?;
        }
        Ok(())
    }
}

impl Ls {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, scan, json, summary, tree } = self;
        let pool = Pool { jobs: paths.jobs(), is_ordered: !paths.unordered, is_slow: scan };
        let mut listing = Listing::new(paths.given(), summary, tree, paths.unordered);
        let look = Look { scan, ..Look::default() };
        let work = |targets: Vec<Result<Target, Failure>>| {
            let mut batch = Batch::default();
            for target in targets {
                batch.files += 1;
                look.at_found(target, &mut |seen| batch.take(seen, json, summary));
            }
            batch
        };
        pool.run(paths.targets(), work, |batch| listing.take(batch))?;
        listing.end(json)
    }
}

impl Batch {
    fn take(&mut self, seen: Result<Seen<'_>, Failure>, json: bool, summary: bool) {
        match seen {
            Ok(seen) => match seen.array {
                None => self.counts.others += 1,
                Some(array) => {
                    self.counts.arrays += 1;
                    if summary {
                        self.summary.add(array);
                    } else if json {
                        add_line(&mut self.json, &seen.record);
                    } else {
                        self.entries.extend(Entry::new(&seen));
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

/// As wide as eight numbers of one digit.
pub(crate) const WIDEST: usize = 15;

/// Rows are held back until there are so many, so that they stand below each other.
const HELD_BACK: usize = 1000;

/// Nor are they held back for longer, where somebody is watching.
const PATIENCE: Duration = Duration::from_millis(200);

/// What is printed, in which form.
struct Listing {
    files: u64,
    counts: Counts,
    held_back: usize,
    is_watched: bool,
    printed: Instant,
    rows: Vec<Entry>,
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
            columns: Columns::new([Left, Left, Left, Left, Right, Right], [WIDEST; 6]),
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
            Some(tree) => batch.entries.into_iter().for_each(|entry| tree.add(entry)),
            None => self.rows.extend(batch.entries),
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
        // Takes it off the screen.
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
