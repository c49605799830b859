//! The output of `ls`: rows, JSON objects, addresses or a summary.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::{Duration, Instant};

use b2nd_frame::ObjectKind;

use super::items::Stats;
use super::json::add_line;
use super::record::Record;
use super::row::{Row, RowFormat};
use super::sort::{First, Order, SortKey};
use super::store::StoreRecord;
use super::summary::Summary;
use super::table::Columns;
use super::totals::Totals;
use crate::input::{ArrayFilter, Failure, Location, View};
use crate::terminal::{BOLD, Outcome, Progress, remark, width};
use crate::text::count;

/// The output form of a listing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Rows,
    Json,
    Summary,
    Addresses,
}

/// The options of a listing.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'p> {
    pub(crate) form: Form,
    /// Whether --json is set. A summary can be JSON too, so `form` does not tell.
    pub(crate) is_json: bool,
    pub(crate) format: RowFormat,
    pub(crate) order: Option<Order>,
    /// The number of sorted entries to print.
    pub(crate) limit: usize,
    /// Whether frames without an array are listed.
    pub(crate) all: bool,
    pub(crate) filter: &'p ArrayFilter,
}

/// The output for a frame or store that is sorted.
enum Sorted {
    Row(Box<Row>),
    /// A line of JSON, or an address.
    Bytes(Vec<u8>),
}

/// The output and the counts of a batch of files.
pub(crate) struct ListingBatch<'p> {
    plan: Plan<'p>,
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

impl<'p> ListingBatch<'p> {
    pub(crate) fn new(plan: Plan<'p>, files: usize) -> Self {
        let room = if plan.form == Form::Json && plan.order.is_none() { files * LINE_LEN } else { 0 };
        Self {
            plan,
            totals: Totals { files: files as u64, ..Totals::default() },
            bytes: Vec::with_capacity(room),
            rows: Vec::new(),
            sorted: Vec::new(),
            failures: Vec::new(),
            summary: Summary::default(),
        }
    }

    /// Lists a store or a table.
    pub(crate) fn take_store(&mut self, record: StoreRecord) {
        // A filter is about arrays.
        if !self.plan.filter.is_none() {
            return;
        }
        let is_table = record.kind == ObjectKind::CTable;
        *(if is_table { &mut self.totals.tables } else { &mut self.totals.stores }) += 1;
        let Plan { form, format, order, .. } = self.plan;
        let key = order.map(|order| order.key_of_store(&record));
        match form {
            Form::Summary => self.summary.add_kind(record.kind),
            Form::Json => self.add_bytes(key, |lines| add_line(lines, &record)),
            Form::Addresses => self.add_bytes(key, |list| add_address(list, record.address.location())),
            Form::Rows => self.add_row(key, Row::of_store(record, format)),
        }
    }

    /// Lists a frame, or the failure to read it.
    pub(crate) fn take(&mut self, view: Result<View<'_>, Failure>) {
        let Plan { form, format, order, all, filter, .. } = self.plan;
        let view = match view {
            Ok(view) => view,
            Err(failure) => return self.take_failure(failure),
        };
        // This frame is a store in a single file.
        if view.array.is_none() && view.kind == ObjectKind::EmbedStore {
            return self.take_store(StoreRecord::of_file(view));
        }
        let is_array = view.array.is_some();
        if !filter.is_none() && !filter.wants(view) {
            self.totals.unwanted += u64::from(is_array);
            return;
        }
        *(if is_array { &mut self.totals.arrays } else { &mut self.totals.others }) += 1;
        let stats = if format.has_stats && is_array {
            // The other threads have the other files.
            Stats::at(view.location, Some(1), &mut |_| {}).unwrap_or_else(|failure| {
                self.take_failure(failure);
                None
            })
        } else {
            None
        };
        let key = order.map(|order| order.key_of_frame(view));
        match form {
            Form::Summary => self.summary.add(view),
            _ if !is_array && !all => self.totals.hides = true,
            Form::Json => self.add_bytes(key, |lines| {
                add_line(lines, &Record { stats: stats.as_ref(), ..Record::of(view) });
            }),
            Form::Addresses => self.add_bytes(key, |list| add_address(list, view.location)),
            Form::Rows => self.add_row(key, Row::of_frame(view, stats.as_ref(), format)),
        }
    }

    fn take_failure(&mut self, failure: Failure) {
        self.totals.failures += 1;
        if self.plan.form == Form::Summary {
            self.summary.add_failure(failure.error.code);
        }
        if self.plan.is_json {
            add_line(&mut self.bytes, &failure);
        } else {
            self.failures.push(failure);
        }
    }

    /// Adds bytes that are printed as they are, or sorted first.
    fn add_bytes(&mut self, key: Option<SortKey>, write: impl FnOnce(&mut Vec<u8>)) {
        match key {
            Some(key) => {
                let mut bytes = Vec::new();
                write(&mut bytes);
                self.sorted.push((key, Sorted::Bytes(bytes)));
            }
            None => write(&mut self.bytes),
        }
    }

    fn add_row(&mut self, key: Option<SortKey>, row: Row) {
        match key {
            Some(key) => self.sorted.push((key, Sorted::Row(row.into()))),
            None => self.rows.push(row),
        }
    }
}

fn add_address(list: &mut Vec<u8>, location: Location<'_>) {
    list.extend(location.address());
    list.push(0);
}

/// Rows are held back up to this number, so that their columns can be aligned.
const HELD_BACK: usize = 1000;

/// On a terminal, rows are held back for at most this long.
const PATIENCE: Duration = Duration::from_millis(200);

/// The state of the output.
pub(crate) struct Listing {
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
    pub(crate) fn new(plan: Plan<'_>, is_ordered: bool) -> Self {
        let is_watched = io::stdout().is_terminal();
        let Plan { form, is_json, format, order, limit, .. } = plan;
        Self {
            is_json,
            totals: Totals::default(),
            // --unordered promises to print rows as soon as they are known.
            held_back: if is_ordered { HELD_BACK } else { 0 },
            is_watched,
            printed: Instant::now(),
            rows: Vec::new(),
            columns: Columns::new(RowFormat::sides()).within(width(&io::stdout())),
            // Programs that read the output need no headings.
            headings: is_watched.then(|| format.headings()),
            summary: (form == Form::Summary).then(Summary::default),
            first: order.map(|_| First::new(limit)),
            progress: Progress::of_files(order.is_some() || form == Form::Summary),
        }
    }

    pub(crate) fn take(&mut self, batch: ListingBatch<'_>) -> io::Result<()> {
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
        // All rows are known, so their columns are aligned before the first is printed.
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
            // In parts, so that the text of all rows is never in memory at once.
            if self.rows.len() > HELD_BACK {
                self.print_rows()?;
            }
        }
        out.flush()?;
        self.print_rows()
    }

    pub(crate) fn end(mut self) -> Outcome {
        // Removes the progress from the screen before the output.
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
        Ok(totals.status())
    }
}
