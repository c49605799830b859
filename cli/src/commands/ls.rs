//! `b2nd ls`: a line for each array, or for each frame.

use clap::{Args, ValueHint};

use crate::input::{
    ArrayFilter, CountChunks, Failure, Found, Paths, Stores, Target, View, Visit, files_in, is_part,
    store_of_files,
};
use crate::output::listing::{Form, Listing, ListingBatch, Plan};
use crate::output::row::RowFormat;
use crate::output::sort::{Order, SortBy};
use crate::output::store::{StoreRecord, table_at};
use crate::pool::PassPart;
use crate::terminal::Outcome;

/// List arrays and stores: shape, chunks, blocks, dtype, sizes
///
/// NBYTES is the size of all items, CBYTES the size of the compressed chunks. Codes of errors in the header are at the
/// end of the line; `b2nd check` explains them.
///
/// Frames are recognized by their first bytes. A file with a Blosc2 extension (b2nd, b2frame, b2e, b2f, b2b, b2z,
/// caterva) that is not a frame counts as a failure; other files in folders are skipped. A zip file is opened if its
/// extension is b2z, or if it is given as an argument.
///
/// A store of python-blosc2 (a folder with embed.b2e, a b2z or b2e file) has a line of its own, and then one for each
/// array in it. A table has one line, with its number of rows and columns; `b2nd info` lists the columns.
///
/// Frames without an array, such as super-chunks, are counted. With --all, each has a line too. Instead of a dtype, it
/// shows the number of chunks and the item size, such as V4 for 4 bytes.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd ls data/
  b2nd ls --sort nbytes -n 10 data/
  b2nd ls --dtype float32,float64 --ndim 3 data/
  b2nd ls --all --long data/
  b2nd ls --stats --json data/ | jq -r 'select(.stats.nan > 0).address'
  find data -name '*.b2nd' -print0 | b2nd ls -0 --files-from - --summary
  b2nd ls --scan measurements.h5
  b2nd ls --print0 data/ | xargs -0 b2nd info
  # For other conditions, and formats such as CSV, use jq or DuckDB:
  b2nd ls --json data/ | jq -r 'select(.cratio and .cratio<2).address'
  b2nd ls --json data/ | duckdb -csv -c \"select address, nbytes
    from read_json('/dev/stdin') where cratio < 2\"")]
#[expect(clippy::struct_excessive_bools, reason = "one field per option")]
pub(crate) struct Ls {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    filter: ArrayFilter,
    /// Find frames anywhere in each file, such as an HDF5 or ASDF file
    #[arg(long)]
    scan: bool,
    /// List frames without an array too, such as super-chunks
    #[arg(short, long, conflicts_with = "summary")]
    all: bool,
    /// Print a JSON object for each array or failure, one per line
    #[arg(long)]
    json: bool,
    /// Print totals: sizes, in all and by codec and dtype; the numbers of frames by kind, of arrays by codec, layout,
    /// dtype, rank, shape and chunk shape, and of failures by code
    #[arg(long)]
    summary: bool,
    /// Show the ratio, codec and level, and read the chunk index to show how many of the chunks are stored
    #[arg(short, long, conflicts_with_all = ["scan", "summary"])]
    long: bool,
    /// Read all items, and show their minimum and maximum, and how many are NaN, infinite and zero
    #[arg(long, conflicts_with_all = ["summary", "print0"])]
    stats: bool,
    /// Show sizes as exact numbers of bytes, as --json does
    #[arg(long, conflicts_with_all = ["json", "summary"])]
    bytes: bool,
    /// Sort all arrays by KEY before printing; those for which it is unknown come last
    #[arg(long, value_name = "KEY", conflicts_with = "summary")]
    sort: Option<SortBy>,
    /// With --sort, print only the first COUNT, and keep no more in memory
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = limit, value_hint = ValueHint::Other, requires = "sort")]
    limit: Option<usize>,
    /// Reverse the order of --sort
    #[arg(short, long, requires = "sort")]
    reverse: bool,
    /// Print only addresses, unescaped, each followed by a NUL byte, for `xargs -0`
    #[arg(long, conflicts_with_all = ["json", "summary", "long"])]
    print0: bool,
}

/// Parses the COUNT of --limit.
fn limit(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|&limit| limit > 0).ok_or("must be a number of at least 1")
}

impl Ls {
    pub(crate) fn run(self) -> Outcome {
        let form = match (self.summary, self.json) {
            _ if self.print0 => Form::Addresses,
            (true, _) => Form::Summary,
            (_, true) => Form::Json,
            _ => Form::Rows,
        };
        let plan = Plan {
            form,
            is_json: self.json,
            format: RowFormat { is_long: self.long, has_stats: self.stats, is_exact: self.bytes },
            order: self.sort.map(|by| Order { by, is_reverse: self.reverse }),
            limit: self.limit.unwrap_or(usize::MAX),
            all: self.all,
            filter: &self.filter,
        };
        let counts = match (self.long, self.all) {
            (true, _) => CountChunks::Always,
            (_, true) => CountChunks::IfUnknown,
            _ => CountChunks::Never,
        };
        let visit = Visit { scan: self.scan, counts, embedded: !self.scan, ..Visit::default() };
        let work = |targets: Vec<Found>, _: &mut PassPart<'_, _>| {
            let mut batch = ListingBatch::new(plan, targets.len());
            for target in targets {
                take(target, visit, &mut batch);
            }
            batch
        };
        let mut listing = Listing::new(plan, self.paths.are_ordered());
        // A scan reads every file by itself, also in a store.
        let stores = if self.scan { Stores::Folders } else { Stores::Whole };
        self.paths.visit(stores, self.scan, work, |batch| listing.take(batch))?;
        listing.end()
    }
}

/// Lists the frames of a file, or the store that it is.
fn take(target: Found, visit: Visit<'_>, batch: &mut ListingBatch<'_>) {
    // The order matters: a store has a line of its own, and a member can be a table, which is not a frame.
    match target {
        Ok(target) if !visit.scan && (target.is_store || target.is_named_zip() || target.is_zip_object()) => {
            take_store(&target, visit, batch);
        }
        Ok(target) if target.location().member().is_some() => match table_at(&target) {
            Some(table) => batch.take_store(table),
            None => visit.target(&target, &mut |view| batch.take(view)),
        },
        target => visit.found(target, &mut |view| batch.take(view)),
    }
}

/// Lists a store, the tables in it, and its members that are frames.
fn take_store(target: &Target, visit: Visit<'_>, batch: &mut ListingBatch<'_>) {
    let store = store_of_files(target);
    let records = store.iter().flat_map(|store| StoreRecord::all(target, store));
    records.for_each(|record| batch.take_store(record));
    let take = |view: Result<View<'_>, Failure>, batch: &mut ListingBatch<'_>| {
        if !is_part(target, store.as_ref(), &view) {
            batch.take(view);
        }
    };
    if !target.is_store {
        return visit.target(target, &mut |view| take(view, batch));
    }
    for found in files_in(target, store.as_ref()) {
        match found {
            Ok(zip) if zip.is_named_zip() => take_store(&zip, visit, batch),
            found => visit.found(found, &mut |view| take(view, batch)),
        }
    }
}
