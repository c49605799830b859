//! `b2nd ls`: a line for each array, store and table. With `--all`, frames without an array have lines too.

use clap::Args;

use super::listing::{Listing, ListingBatch, Options};
use crate::input::{
    CountChunks, Failure, Found, Paths, Stores, Target, View, Visit, files_in, is_part, store_of_files,
};
use crate::output::store::{StoreRecord, table_at};
use crate::pool::PassPart;
use crate::terminal::Outcome;

/// List arrays and stores: shape, chunks, blocks, dtype, sizes
///
/// NBYTES is the size of all items, CBYTES the size of the compressed chunks. Codes of errors in the header of a frame
/// are at the end of its line; `b2nd check` explains them.
///
/// Frames are recognized by their first bytes. A file with a Blosc2 extension (b2nd, b2frame, b2e, b2f, b2b, b2z,
/// caterva) that is not a frame counts as a failure; other files in folders are skipped. A zip file is opened if its
/// extension is b2z, or if it is given as an argument.
///
/// A store of python-blosc2 (a folder with embed.b2e, a b2z or b2e file) has a line of its own, and then one for each
/// array in it. A table has one line, with its number of rows and columns; `b2nd info` lists the columns.
///
/// Arrays that `save_array` or `save_tensor` of python-blosc2 wrote have no chunk and block shape. Other frames without
/// an array, such as super-chunks, are counted. With --all, each has a line too. Instead of a dtype, this line shows
/// the number of chunks and the item size, such as V4 for 4 bytes.
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
pub(crate) struct Ls {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    options: Options,
}

impl Ls {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, options } = self;
        let scan = options.scan;
        let counts = match (options.long, options.all) {
            (true, _) => CountChunks::Always,
            (_, true) => CountChunks::IfUnknown,
            _ => CountChunks::Never,
        };
        // The number of bytes that belong to no chunk is shown only in JSON.
        let visit = Visit {
            scan,
            counts,
            unowned: options.long && options.json,
            embedded: !scan,
            ..Visit::default()
        };
        let work = |targets: Vec<Found>, _: &mut PassPart<'_, _>| {
            let mut batch = ListingBatch::new(&options, targets.len());
            for target in targets {
                take(target, visit, &mut batch);
            }
            batch
        };
        let mut listing = Listing::new(&options, paths.are_ordered());
        // A scan searches each file on its own, and not as a part of a store. So the files in the folder of a store are
        // found as in any other folder.
        let stores = if scan { Stores::Folders } else { Stores::Whole };
        paths.visit(stores, scan, work, |batch| listing.take(batch))?;
        listing.end()
    }
}

/// Lists the frames in a file. A store is listed as a store, and a table as a table.
fn take(target: Found, visit: Visit<'_>, batch: &mut ListingBatch<'_>) {
    // A store has a line of its own. A member of a store can be a table, which cannot be read as a frame. So a member
    // is first looked up as a table.
    match target {
        Ok(target) if !visit.scan && (target.is_store || target.is_named_zip() || target.is_zip_object()) => {
            take_store(&target, visit, batch);
        }
        Ok(target) if target.location().member().is_some() => match table_at(&target) {
            Some(table) => batch.take_store(&table),
            None => visit.target(&target, &mut |view| batch.take(view)),
        },
        target => visit.found(target, &mut |view| batch.take(view)),
    }
}

/// Lists a store, the tables in it, and its members that are frames.
fn take_store(target: &Target, visit: Visit<'_>, batch: &mut ListingBatch<'_>) {
    let store = store_of_files(target);
    let records = store.iter().flat_map(|store| StoreRecord::all(target, store));
    records.for_each(|record| batch.take_store(&record));
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
