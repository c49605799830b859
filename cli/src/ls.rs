//! `b2nd ls`: a line for each array, or for each frame.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use b2nd_frame::Kind;
use clap::{Args, ValueHint};

use crate::address::{Inside, Location};
use crate::counts::Counts;
use crate::failure::Failure;
use crate::input::{Paths, Stores, Target};
use crate::json::add_line;
use crate::output::{BOLD, Outcome, Progress, remark, width};
use crate::pool::Pool;
use crate::row::{CELLS, MAX_CELL_WIDTH, Row, Style};
use crate::sort::{First, Key, Order, Place, Placed};
use crate::store::{StoreRecord, files_in, store_of_files, table_at, visit_files};
use crate::summary::Summary;
use crate::table::{Columns, INDENT, Side};
use crate::tree::Tree;
use crate::visit::{self, View};

/// List arrays and stores: shape, chunks, blocks, dtype, sizes, path
///
/// NBYTES is the size of all items, CBYTES that of the compressed chunks. The codes of errors in a header end the
/// line; `b2nd check` explains them.
///
/// Frames are recognized by their first bytes. A file with a Blosc2 extension (b2nd, b2frame, b2e, b2f, b2b, b2z,
/// caterva) that is not a frame counts as a failure; other files in folders are skipped. A zip file is opened if its
/// extension is b2z, or if it is given as an argument.
///
/// A store of python-blosc2 (a folder with embed.b2e, or a b2z file) has a line of its own, and then one for each array
/// in it. A table is one line, with its rows and the number of its columns; --tree shows them.
///
/// Frames without an array, such as super-chunks, are counted. With --all, each has a line too: in the place of a dtype
/// there are the number of its chunks, and the size of its items, such as V4 for 4 bytes.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd ls data/
  b2nd ls --sort size -n 10 data/
  b2nd ls --all --long data/
  find data -name '*.b2nd' -print0 | b2nd ls -0 --files-from - --summary
  b2nd ls --scan measurements.h5
  b2nd ls --print0 data/ | xargs -0 b2nd info
  # Conditions, and formats such as CSV, are jq's and DuckDB's:
  b2nd ls --json data/ | jq -r 'select(.ndim == 3) | [.address, .nbytes] | @csv'
  b2nd ls --json data/ | duckdb -csv -c \"select address, nbytes
    from read_json('/dev/stdin') where cratio < 2\"")]
#[expect(clippy::struct_excessive_bools, reason = "as many options")]
pub(crate) struct Ls {
    #[command(flatten)]
    paths: Paths,
    /// Find frames anywhere in each file, such as an HDF5 or ASDF file
    #[arg(long)]
    scan: bool,
    /// List frames without an array too, such as super-chunks
    #[arg(short, long, conflicts_with = "summary")]
    all: bool,
    /// Print a JSON object for each array or failure, one per line
    #[arg(long)]
    json: bool,
    /// Add up sizes; count kinds, codecs, layouts, dtypes, ranks, shapes and chunks, and failures by code
    #[arg(long)]
    summary: bool,
    /// Show the ratio, codec and level, and read the chunk index to show how many of the chunks are stored
    #[arg(short, long, conflicts_with_all = ["scan", "summary"])]
    long: bool,
    /// Show sizes as exact numbers of bytes, as --json does
    #[arg(long, conflicts_with_all = ["json", "summary"])]
    bytes: bool,
    /// Sort all arrays before they are printed; those without such a value are last
    #[arg(long, value_name = "KEY", conflicts_with_all = ["summary", "tree"])]
    sort: Option<Key>,
    /// With --sort, print only the first COUNT, and keep no more in memory
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = limit, value_hint = ValueHint::Other, requires = "sort")]
    limit: Option<usize>,
    /// Reverse the order of --sort
    #[arg(short, long, requires = "sort")]
    reverse: bool,
    /// Draw folders and stores as a tree, with the columns of tables
    #[arg(long, conflicts_with_all = ["json", "summary", "unordered"])]
    tree: bool,
    /// Print only the address of each line, exactly, with a NUL byte after it, as `xargs -0` reads them
    #[arg(long, conflicts_with_all = ["json", "summary", "long", "tree"])]
    print0: bool,
}

/// Parses a number of lines.
fn limit(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|&limit| limit > 0).ok_or("must be a number of at least 1")
}

/// What is made of each frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Rows,
    Tree,
    Json,
    Summary,
    Addresses,
}

/// What is made of all frames.
#[derive(Clone, Copy)]
struct Plan {
    form: Form,
    style: Style,
    order: Option<Order>,
    /// Whether frames without an array are listed.
    all: bool,
}

/// What is printed of a frame or store, if all are sorted first.
enum Entry {
    Row(Box<Row>),
    /// A line of JSON, or an address.
    Bytes(Vec<u8>),
}

/// What was found in some files, for the listing.
#[derive(Default)]
struct Batch {
    files: u64,
    counts: Counts,
    /// Whether there were frames that are only counted.
    hides: bool,
    is_json: bool,
    json: Vec<u8>,
    rows: Vec<Row>,
    entries: Vec<Placed<Entry>>,
    failures: Vec<Failure>,
    summary: Summary,
}

/// The bytes of an ordinary line of JSON.
const LINE_LEN: usize = 1024;

impl Ls {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, scan, all, json, summary, long, bytes, sort, limit, reverse, tree, print0 } = self;
        let form = match (summary, json, tree) {
            _ if print0 => Form::Addresses,
            (true, ..) => Form::Summary,
            (_, true, _) => Form::Json,
            (.., true) => Form::Tree,
            _ => Form::Rows,
        };
        let pool =
            Pool { jobs: paths.jobs(), is_ordered: !paths.unordered, is_slow: scan || paths.are_remote() };
        let order = sort.map(|key| Order { key, is_reverse: reverse });
        let plan = Plan { form, style: Style { long, bytes }, order, all };
        let mut listing = Listing::new(paths.given(), plan, json, paths.unordered);
        listing.first = order.map(|_| First::new(limit.unwrap_or(usize::MAX)));
        let counts = match (long, all) {
            (true, _) => visit::Counts::Always,
            (_, true) => visit::Counts::IfUnknown,
            _ => visit::Counts::Never,
        };
        let options = visit::Options { scan, counts, ..visit::Options::default() };
        let work = |targets: Vec<Result<Target, Failure>>| {
            let room = if form == Form::Json && order.is_none() { targets.len() * LINE_LEN } else { 0 };
            let mut batch = Batch { is_json: json, json: Vec::with_capacity(room), ..Batch::default() };
            for target in targets {
                batch.files += 1;
                match target {
                    Ok(target) if !scan && (target.is_store || target.is_named_zip()) => {
                        batch.visit_store(&target, options, plan);
                    }
                    Ok(target) if matches!(target.inside, Inside::Member(_)) => match table_at(&target) {
                        Some(table) => batch.take_store(table, plan),
                        None => options.visit_target(&target, &mut |view| batch.take(view, plan, false)),
                    },
                    target => options.visit(target, &mut |view| batch.take(view, plan, false)),
                }
            }
            batch
        };
        let stores = if scan { Stores::Folders } else { Stores::Whole };
        pool.run(paths.targets(stores), work, |batch| listing.take(batch))?;
        listing.end()
    }
}

impl Batch {
    /// Takes a store, the tables in it, and its members that are frames.
    fn visit_store(&mut self, target: &Target, options: visit::Options<'_>, plan: Plan) {
        let store = store_of_files(target);
        for record in store.iter().flat_map(|store| StoreRecord::all(target, store)) {
            self.take_store(record, plan);
        }
        let is_member = store.is_some();
        if !target.is_store {
            visit_files(target, store.as_ref(), options, &mut |view| self.take(view, plan, is_member));
            return;
        }
        for found in files_in(target, store.as_ref()) {
            match found {
                Ok(zip) if zip.is_named_zip() => self.visit_store(&zip, options, plan),
                found => options.visit(found, &mut |view| self.take(view, plan, is_member)),
            }
        }
    }

    /// Adds bytes that are printed as they are, or sorted first.
    fn add_bytes(&mut self, place: Option<Place>, write: impl FnOnce(&mut Vec<u8>)) {
        match place {
            Some(place) => {
                let mut bytes = Vec::new();
                write(&mut bytes);
                self.entries.push(Placed { place, content: Entry::Bytes(bytes) });
            }
            None => write(&mut self.json),
        }
    }

    fn take_store(&mut self, record: StoreRecord, plan: Plan) {
        let is_table = record.kind == Kind::CTable;
        *(if is_table { &mut self.counts.tables } else { &mut self.counts.stores }) += 1;
        let Plan { form, style, order, .. } = plan;
        let place = order.map(|order| order.place_of_store(&record));
        match form {
            Form::Summary => self.summary.add_kind(record.kind),
            Form::Json => self.add_bytes(place, |lines| add_line(lines, &record)),
            Form::Addresses => self.add_bytes(place, |list| add_address(list, record.address.location())),
            Form::Rows | Form::Tree => self.add_row(Row::of_store(record, style), place),
        }
    }

    fn add_row(&mut self, row: Row, place: Option<Place>) {
        match place {
            Some(place) => self.entries.push(Placed { place, content: Entry::Row(row.into()) }),
            None => self.rows.push(row),
        }
    }

    fn take(&mut self, view: Result<View<'_>, Failure>, plan: Plan, is_member: bool) {
        let Plan { form, style, order, all } = plan;
        let view = match view {
            Ok(view) => view,
            Err(failure) => {
                self.counts.failures += 1;
                if form == Form::Summary {
                    self.summary.add_failure(failure.error.kind);
                }
                if self.is_json {
                    add_line(&mut self.json, &failure);
                } else {
                    self.failures.push(failure);
                }
                return;
            }
        };
        if view.array.is_none() && view.kind == Kind::EmbedStore {
            return self.take_store(StoreRecord::of_file(view), plan);
        }
        let is_array = view.array.is_some();
        *(if is_array { &mut self.counts.arrays } else { &mut self.counts.others }) += 1;
        // A tree shows all members of a store.
        let is_listed = is_array || all || form == Form::Tree && is_member;
        let place = order.map(|order| order.place_of_frame(view));
        match form {
            Form::Summary => self.summary.add(view),
            _ if !is_listed => self.hides = true,
            Form::Json => self.add_bytes(place, |lines| add_line(lines, &view.record())),
            Form::Addresses => self.add_bytes(place, |list| add_address(list, view.location)),
            Form::Rows | Form::Tree => self.add_row(Row { is_member, ..Row::of_frame(view, style) }, place),
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
struct Listing {
    files: u64,
    counts: Counts,
    hides: bool,
    held_back: usize,
    is_watched: bool,
    printed: Instant,
    rows: Vec<Row>,
    columns: Columns<CELLS>,
    header: Option<[String; CELLS]>,
    is_json: bool,
    summary: Option<Summary>,
    tree: Option<Tree>,
    /// With --sort.
    first: Option<First<Entry>>,
    progress: Progress,
}

const HEADER: [&str; CELLS] =
    ["SHAPE", "CHUNKS", "BLOCKS", "DTYPE", "NBYTES", "CBYTES", "RATIO", "CODEC", "LEVEL", "STORED"];

/// The columns of --long.
const LONG: [&str; 4] = ["RATIO", "CODEC", "LEVEL", "STORED"];

impl Listing {
    fn new(roots: &[PathBuf], plan: Plan, is_json: bool, unordered: bool) -> Self {
        use Side::{Left, Right};
        let is_watched = io::stdout().is_terminal();
        let Plan { form, style, order, .. } = plan;
        let header = || HEADER.map(|name| if LONG.contains(&name) && !style.long { "" } else { name }.into());
        let sides = [Left, Left, Left, Left, Right, Right, Right, Left, Right, Right];
        Self {
            files: 0,
            counts: Counts::default(),
            hides: false,
            held_back: if unordered { 0 } else { HELD_BACK },
            is_watched,
            printed: Instant::now(),
            rows: Vec::new(),
            columns: Columns::new(sides, [MAX_CELL_WIDTH; CELLS]).within(width(&io::stdout())),
            header: is_watched.then(header),
            is_json,
            summary: (form == Form::Summary).then(Summary::default),
            tree: (form == Form::Tree).then(|| Tree::new(roots)),
            first: None,
            progress: Progress::of_files(order.is_some() || matches!(form, Form::Summary | Form::Tree)),
        }
    }

    fn take(&mut self, batch: Batch) -> io::Result<()> {
        self.files += batch.files;
        self.counts.add(batch.counts);
        self.hides |= batch.hides;
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
        if let Some(first) = &mut self.first {
            batch.entries.into_iter().for_each(|entry| first.add(entry));
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
        let mut text = String::new();
        let header = self.header.take();
        let rows = self.rows.iter().map(|row| &row.cells);
        header.iter().chain(rows).for_each(|cells| self.columns.fit(cells));
        if let Some(header) = header {
            text = format!("{BOLD}{}{BOLD:#}\n", self.columns.line_to(&header, "PATH", INDENT));
        }
        for row in self.rows.drain(..) {
            text += &row.line(&self.columns);
        }
        anstream::stdout().write_all(text.as_bytes())
    }

    /// Prints what --sort has kept.
    fn print_sorted(&mut self) -> io::Result<()> {
        let entries = self.first.take().map(First::into_sorted).unwrap_or_default();
        for entry in &entries {
            if let Entry::Row(row) = entry {
                self.columns.fit(&row.cells);
            }
        }
        let mut out = BufWriter::new(io::stdout());
        for entry in entries {
            match entry {
                Entry::Row(row) => self.rows.push(*row),
                Entry::Bytes(bytes) => out.write_all(&bytes)?,
            }
            if self.rows.len() > HELD_BACK {
                self.print_rows()?;
            }
        }
        out.flush()?;
        self.print_rows()
    }

    fn end(mut self) -> Outcome {
        // Removes the progress from the screen before the output.
        self.progress.end();
        self.print_sorted()?;
        if let Some(summary) = self.summary {
            let text =
                if self.is_json { summary.json(self.counts) } else { summary.text(self.counts).into_bytes() };
            anstream::stdout().write_all(&text)?;
            return Ok(self.counts.status());
        }
        if let Some(tree) = self.tree {
            let mut out = BufWriter::new(anstream::stdout());
            tree.write(&mut out)?;
            out.flush()?;
        }
        if self.counts.is_none() {
            remark(&"no array found");
        } else if self.hides {
            remark(&format_args!("{}; --all lists frames without an array", self.counts));
        } else if self.counts.failures > 0 && self.files > 1 {
            remark(&self.counts);
        }
        Ok(self.counts.status())
    }
}
