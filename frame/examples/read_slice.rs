//! Reads a slice of a `.b2nd` file into an `ndarray`, without C-Blosc2:
//!
//! ```sh
//! cargo run -p b2nd-frame --example read_slice --features ndarray -- waves.b2nd
//! ```

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use b2nd_frame::Array;
use ndarray::ArrayD;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: read_slice PATH")?;
    println!("{}", read_slice(path.as_ref(), &[0..2, 0..4])?);
    Ok(())
}

/// Reads a slice. Only the blocks that have items of the slice are read.
pub fn read_slice(path: &Path, slice: &[Range<u64>]) -> Result<ArrayD<f64>, b2nd_frame::Error> {
    Array::open(path)?.slice(slice).threads(2).read_array()
}
