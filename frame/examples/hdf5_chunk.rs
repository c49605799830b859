//! Finds the Blosc2 chunks in an HDF5 file, and shows the metalayer of each, without the HDF5 library:
//!
//! ```sh
//! cargo run -p b2nd-frame --example hdf5_chunk -- data.h5
//! ```
//!
//! Each chunk of a dataset that PyTables, hdf5plugin or b2h5py compressed with Blosc2 (filter 32026) is a whole frame.
//! Its metalayer records the shape of the chunk, not of the dataset. HDF5 also gives the offset of each chunk:
//! `dataset.id.get_chunk_info(0).byte_offset` in h5py.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use b2nd_frame::{Frame, scan};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: hdf5_chunk FILE.h5")?;
    for frame in chunks(Path::new(&path))? {
        println!("byte {}, {} bytes: {}", frame.offset(), frame.header().frame_len, describe(&frame)?);
    }
    Ok(())
}

/// Finds all frames in a file, at any offset.
pub fn chunks(path: &Path) -> Result<Vec<Frame<()>>, Box<dyn Error>> {
    Ok(scan(File::open(path)?).collect::<Result<_, _>>()?)
}

/// Describes the metalayer of a chunk in one line.
pub fn describe<R>(frame: &Frame<R>) -> Result<String, Box<dyn Error>> {
    Ok(match frame.array()? {
        Some(array) => {
            let (shape, blocks, dtype) = (array.shape(), array.meta().blockshape(), array.dtype());
            format!("shape {shape:?}, blocks {:?}, dtype {}", blocks, dtype.unwrap_or("none"))
        }
        // PyTables writes the chunks of a table, and of any dataset of one dimension, without a metalayer for the
        // shapes.
        None => format!("no shape, but {} bytes", frame.header().nbytes),
    })
}

/// Opens the chunk at an offset that HDF5 gave. Only its header is read.
pub fn chunk_at(path: &Path, offset: u64) -> Result<Frame, Box<dyn Error>> {
    Ok(Frame::read_at(File::open(path)?, offset)?)
}
