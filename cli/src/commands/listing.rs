//! The listing of `ls`: rows, JSON objects, addresses or a summary.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::{Duration, Instant};

use b2nd_frame::ObjectKind;
use clap::{Args, ValueHint, value_parser};
use serde::Serialize;

use crate::input::{ArrayFilter, Failure, Location, View};
use crate::output::items::Stats;
use crate::output::json::add_line;
use crate::output::mend::{is_damage, remark_next_step};
use crate::output::record::Record;
use crate::output::row::{Row, RowFormat};
use crate::output::sort::{First, Order, SortBy, SortKey};
use crate::output::store::StoreRecord;
use crate::output::summary::Summary;
use crate::output::table::Columns;
use crate::output::totals::Totals;
use crate::terminal::{BOLD, Outcome, Progress, remark, width};
use crate::text::count;

/// Which frames are listed, and how.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "one field per option")]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) filter: ArrayFilter,
    /// Find frames anywhere in each file, such as an HDF5 or ASDF file
    #[arg(long)]
    pub(super) scan: bool,
    /// List frames without an array too, such as super-chunks
    #[arg(short, long, conflicts_with = "summary")]
    pub(super) all: bool,
    /// Print a JSON object for each array or failure, one per line
    #[arg(long)]
    pub(super) json: bool,
    /// Print totals: sizes (overall, by codec, by dtype) and counts (frames by kind; arrays by codec, layout, dtype,
    /// rank, shape and chunk shape; failures by code)
    #[arg(long)]
    pub(super) summary: bool,
    /// Show the ratio, codec and level, and read the chunk index to show how many of the chunks are stored
    #[arg(short, long, conflicts_with_all = ["scan", "summary"])]
    pub(super) long: bool,
    /// Read all items, and show the minimum, maximum, mean and standard deviation of the finite items, and the numbers
    /// of NaN, infinite and zero items
    #[arg(long, conflicts_with_all = ["summary", "print0"])]
    pub(super) stats: bool,
    /// Show sizes as exact numbers of bytes, as --json does
    #[arg(long, conflicts_with_all = ["json", "summary"], hide_short_help = true)]
    bytes: bool,
    /// Sort all arrays by KEY before printing; arrays with an unknown KEY come last
    #[arg(long, value_name = "KEY", conflicts_with = "summary")]
    pub(super) sort: Option<SortBy>,
    /// With --sort, print only the first COUNT, and keep no more in memory
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = value_parser!(u32).range(1..), value_hint = ValueHint::Other, requires = "sort")]
    pub(super) limit: Option<u32>,
    /// Reverse the order of --sort
    #[arg(short, long, requires = "sort")]
    reverse: bool,
    /// Print only addresses, unescaped, each followed by a NUL byte, for `xargs -0`
    #[arg(long, conflicts_with_all = ["json", "summary", "long"], hide_short_help = true)]
    pub(super) print0: bool,
}

impl Options {
    fn format(&self) -> RowFormat {
        RowFormat { is_long: self.long, has_stats: self.stats, is_exact: self.bytes }
    }

    fn order(&self) -> Option<Order> {
        self.sort.map(|by| Order { by, is_reverse: self.reverse })
    }
}

/// The output for one frame or store. It is kept until the outputs for all frames and stores are sorted.
enum Sorted {
    Row(Box<Row>),
    /// A line of JSON, or an address.
    Bytes(Vec<u8>),
}

/// The output and the counts of a batch of files.
pub(super) struct ListingBatch<'o> {
    options: &'o Options,
    totals: Totals,
    /// Lines of JSON, or addresses.
    bytes: Vec<u8>,
    rows: Vec<Row>,
    sorted: Vec<(SortKey, Sorted)>,
    failures: Vec<Failure>,
    summary: Summary,
}

/// The approximate length of a line of JSON, to reserve memory.
const LINE_LEN: usize = 1024;

impl<'o> ListingBatch<'o> {
    pub(super) fn new(options: &'o Options, files: usize) -> Self {
        let room = if options.json && options.sort.is_none() { files * LINE_LEN } else { 0 };
        Self {
            options,
            totals: Totals { files: files as u64, ..Totals::default() },
            bytes: Vec::with_capacity(room),
            rows: Vec::new(),
            sorted: Vec::new(),
            failures: Vec::new(),
            summary: Summary::default(),
        }
    }

    /// Lists a store or a table.
    pub(super) fn take_store(&mut self, record: &StoreRecord) {
        // With a filter, only arrays are listed.
        if !self.options.filter.is_none() {
            return;
        }
        let is_table = record.kind == ObjectKind::CTable;
        *(if is_table { &mut self.totals.tables } else { &mut self.totals.stores }) += 1;
        if self.options.summary {
            return self.summary.add_one("kinds", &record.kind);
        }
        let key = self.options.order().map(|order| order.key_of_store(record));
        let location = record.address.location();
        self.add(key, location, record, |format| Row::of_store(record, format));
    }

    /// Lists a frame, or the failure to read it.
    pub(super) fn take(&mut self, view: Result<View<'_>, Failure>) {
        let Options { filter, all, summary, stats, .. } = self.options;
        let view = match view {
            Ok(view) => view,
            Err(failure) => return self.take_failure(failure),
        };
        // This frame is a whole store in a single file, so it is listed as a store.
        if view.array.is_none() && view.kind == ObjectKind::EmbedStore {
            return self.take_store(&StoreRecord::of_file(view));
        }
        let is_array = view.shape().is_some();
        if !filter.is_none() && !filter.wants(view) {
            self.totals.unwanted += u64::from(is_array);
            return;
        }
        *(if is_array { &mut self.totals.arrays } else { &mut self.totals.others }) += 1;
        if *summary {
            return self.summary.add(view);
        }
        if !is_array && !all {
            self.totals.hides = true;
            return;
        }
        let stats = if *stats && is_array {
            // One thread is enough, because the other threads read other files meanwhile.
            Stats::at(view.location, Some(1), None, &mut |_| {}).unwrap_or_else(|failure| {
                self.take_failure(failure);
                None
            })
        } else {
            None
        };
        let key = self.options.order().map(|order| order.key_of_frame(view));
        let record = Record { stats: stats.as_ref(), ..Record::new(view) };
        self.add(key, view.location, &record, |format| Row::of_frame(view, stats.as_ref(), format));
    }

    fn take_failure(&mut self, failure: Failure) {
        self.totals.failures += 1;
        self.totals.damaged += u64::from(is_damage(&failure));
        if self.options.summary {
            self.summary.add_one("failure_codes", &failure.error.code);
        }
        if self.options.json { add_line(&mut self.bytes, &failure) } else { self.failures.push(failure) }
    }

    /// Adds the output for a frame or store: its address, its JSON object or its row. With a `key`, the output is not
    /// printed at once, but sorted by this key at the end.
    fn add(
        &mut self,
        key: Option<SortKey>,
        location: Location<'_>,
        record: &impl Serialize,
        row: impl FnOnce(RowFormat) -> Row,
    ) {
        let Options { json, print0, .. } = *self.options;
        if !json && !print0 {
            let row = row(self.options.format());
            return match key {
                Some(key) => self.sorted.push((key, Sorted::Row(row.into()))),
                None => self.rows.push(row),
            };
        }
        let mut bytes = Vec::new();
        let out = if key.is_some() { &mut bytes } else { &mut self.bytes };
        if print0 {
            out.extend(location.address().into_iter().chain([0]));
        } else {
            add_line(out, record);
        }
        self.sorted.extend(key.map(|key| (key, Sorted::Bytes(bytes))));
    }
}

/// The maximum number of rows that are held back. Rows are held back so that their columns can be aligned.
const HELD_BACK: usize = 1000;

/// The maximum time for which rows are held back at a terminal.
const PATIENCE: Duration = Duration::from_millis(200);

/// Prints the batches, and keeps the rows and totals that are printed later.
pub(super) struct Listing {
    is_json: bool,
    totals: Totals,
    held_back: usize,
    is_watched: bool,
    printed: Instant,
    rows: Vec<Row>,
    columns: Columns,
    headings: Option<Vec<String>>,
    summary: Option<Summary>,
    first: Option<First<Sorted>>,
    progress: Progress,
}

impl Listing {
    pub(super) fn new(options: &Options, is_ordered: bool) -> Self {
        let is_watched = io::stdout().is_terminal();
        Self {
            is_json: options.json,
            totals: Totals::default(),
            // With --unordered, no rows are held back, because the option promises to print rows as soon as they are
            // known.
            held_back: if is_ordered { HELD_BACK } else { 0 },
            is_watched,
            printed: Instant::now(),
            rows: Vec::new(),
            columns: Columns::new(RowFormat::sides()).within(width(&io::stdout())),
            // Headings are printed only at a terminal: a program that reads the output does not need them.
            headings: is_watched.then(|| options.format().headings()),
            summary: options.summary.then(Summary::default),
            first: options.sort.map(|_| First::new(options.limit.map_or(usize::MAX, |limit| limit as usize))),
            progress: Progress::of_files(options.sort.is_some() || options.summary),
        }
    }

    pub(super) fn take(&mut self, batch: ListingBatch<'_>) -> io::Result<()> {
        self.totals.add(batch.totals);
        self.progress.show(self.totals.files);
        for failure in &batch.failures {
            self.progress.complain(failure);
        }
        if !batch.bytes.is_empty() {
            io::stdout().write_all(&batch.bytes)?;
        }
        if let Some(summary) = &mut self.summary {
            summary.merge(batch.summary);
        }
        if let Some(first) = &mut self.first {
            batch.sorted.into_iter().for_each(|(key, sorted)| first.add(key, sorted));
        }
        self.rows.extend(batch.rows);
        let has_waited = self.is_watched && self.printed.elapsed() > PATIENCE;
        if has_waited || self.rows.len() > self.held_back { self.print_rows() } else { Ok(()) }
    }

    fn print_rows(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.printed = Instant::now();
        let mut text = String::new();
        let headings = self.headings.take();
        let rows = self.rows.iter().map(|row| &row.cells);
        headings.iter().chain(rows).for_each(|cells| self.columns.fit(cells));
        if let Some(headings) = headings {
            text = format!("{BOLD}{}{BOLD:#}\n", self.columns.line_to(&headings, "PATH"));
        }
        for row in self.rows.drain(..) {
            text += &row.line(&self.columns);
        }
        anstream::stdout().write_all(text.as_bytes())
    }

    /// Prints the sorted entries.
    fn print_sorted(&mut self) -> io::Result<()> {
        let sorted: Vec<_> = self.first.take().into_iter().flat_map(First::into_sorted).collect();
        // All rows are known here, so the columns are made wide enough for all rows before the first row is printed.
        for item in &sorted {
            if let Sorted::Row(row) = item {
                self.columns.fit(&row.cells);
            }
        }
        let mut out = BufWriter::new(io::stdout());
        for item in sorted {
            match item {
                Sorted::Row(row) => self.rows.push(*row),
                Sorted::Bytes(bytes) => out.write_all(&bytes)?,
            }
            // The rows are printed in parts, so that the text of all rows is never in memory at once.
            if self.rows.len() > HELD_BACK {
                self.print_rows()?;
            }
        }
        out.flush()?;
        self.print_rows()
    }

    pub(super) fn end(mut self) -> Outcome {
        // Removes the progress display from the screen before anything is printed.
        self.progress.end();
        self.print_sorted()?;
        let totals = self.totals;
        if let Some(summary) = self.summary {
            let text = if self.is_json { summary.json(totals) } else { summary.text(totals).into_bytes() };
            anstream::stdout().write_all(&text)?;
            return Ok(totals.status());
        }
        if totals.arrays == 0 && totals.unwanted > 0 {
            remark(&format_args!("no match among {}", count(totals.unwanted, "array")));
        } else if totals.is_none() {
            remark(&"no array found");
        } else if totals.hides {
            remark(&format_args!("{totals}; --all lists frames without an array"));
        } else if totals.failures > 0 && totals.files > 1 {
            remark(&totals);
        }
        if totals.damaged > 0 && !self.is_json {
            remark_next_step();
        }
        Ok(totals.status())
    }
}
