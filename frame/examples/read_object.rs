//! Reads a slice of a contiguous array in an object store, and prints its bytes. The bytes are read in a few waves, and
//! all byte ranges of one wave are requested at once:
//!
//! ```sh
//! cargo run -p b2nd-frame --example read_object --features decompress -- \
//!     frame/tests/data/int32_3x5.b2nd 0..2 1..5 | od -A n -t d4 -w16
//! ```
//!
//! In this example, the store is the file system. The types for cloud stores have the same functions as
//! `LocalFileSystem`. The readers of the crates `parquet` and `async-tiff` have a function `get_byte_ranges` instead of
//! `get_ranges`. With such a reader, call `reader.get_byte_ranges(plan.ranges().to_vec())`.

use std::error::Error;
use std::io::{self, Write};
use std::ops::Range;

use b2nd_frame::{Array, Frame};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AnyError> {
    let usage = "usage: read_object FILE START..STOP...";
    let mut arguments = std::env::args().skip(1);
    let path = Path::from_filesystem_path(arguments.next().ok_or(usage)?)?;
    let slice: Vec<_> = arguments.map(|text| range(&text).ok_or(usage)).collect::<Result<_, _>>()?;
    let items = read_object(&LocalFileSystem::new(), &path, &slice).await?;
    Ok(io::stdout().write_all(&items)?)
}

fn range(text: &str) -> Option<Range<u64>> {
    let (start, stop) = text.split_once("..")?;
    Some(start.parse().ok()?..stop.parse().ok()?)
}

/// Returns the items of a slice, in C order.
pub async fn read_object(
    store: &dyn ObjectStore,
    path: &Path,
    slice: &[Range<u64>],
) -> Result<Vec<u8>, AnyError> {
    let mut len = 8192;
    let frame = loop {
        // The store returns fewer bytes if the object is shorter.
        match Frame::parse(&store.get_range(path, 0..len as u64).await?) {
            // If the header is longer than the bytes that were read, the error gives the number of bytes that are
            // needed. The loop then reads this number of bytes.
            Err(error) if error.needed() > Some(len) => len = error.needed().unwrap_or(len),
            frame => break frame?,
        }
    };
    let mut plan = Array::new(frame)?.slice(slice).plan()?;
    while !plan.ranges().is_empty() {
        plan.take(store.get_ranges(path, plan.ranges()).await?)?;
    }
    Ok(plan.finish()?)
}
