//! Reads a slice of a dataset in an HDF5 file without the HDF5 library, and writes the bytes of its items in C order:
//!
//! ```sh
//! python positions.py data.h5 volume > volume.json
//! cargo run -p b2nd-frame --example hdf5_dataset --features decompress -- data.h5 volume.json 0:4 10:20 > items
//! ```
//!
//! Each chunk of a dataset that PyTables, hdf5plugin or b2h5py compressed with Blosc2 (filter 32026) is a frame. The
//! shape of the dataset and the positions of its chunks are in other parts of the HDF5 file. This script reads them
//! once, with h5py:
//!
//! ```python
//! import h5py, json, sys
//!
//! with h5py.File(sys.argv[1]) as file:
//!     dataset = file[sys.argv[2]]
//!     info = [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
//!     chunks = [[c.chunk_offset, c.byte_offset, c.filter_mask] for c in info]
//!     print(json.dumps({"shape": dataset.shape, "chunks": dataset.chunks, "dtype": dataset.dtype.str,
//!                       "itemsize": dataset.dtype.itemsize, "positions": chunks}))
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::ops::Range;

use b2nd_frame::{Array, Frame, ReadAt};
use b2nd_serde::{Geometry, Shapes};
use serde::Deserialize;

/// A dataset, as h5py describes it.
#[derive(Debug, Deserialize)]
pub struct Dataset {
    shape: Vec<i64>,
    chunks: Vec<i32>,
    itemsize: usize,
    /// For each stored chunk: the coordinates of its first item in the dataset, its offset in the file, and a bit mask
    /// of the filters that were skipped.
    positions: Vec<(Vec<u64>, u64, u32)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [file, positions, slice @ ..] = &arguments[..] else {
        return Err("usage: hdf5_dataset FILE.h5 POSITIONS.json START:STOP…".into());
    };
    let dataset: Dataset = serde_json::from_reader(File::open(positions)?)?;
    let range = |text: &String| {
        let (start, stop) = text.split_once(':').ok_or("a range is START:STOP")?;
        Ok::<Range<u64>, Box<dyn Error>>(start.parse()?..stop.parse()?)
    };
    let slice = slice.iter().map(range).collect::<Result<Vec<_>, _>>()?;
    Ok(std::io::stdout().write_all(&dataset.read(&File::open(file)?, &slice)?)?)
}

impl Dataset {
    /// Reads a slice in C order. Only the chunks with items of the slice are read.
    pub fn read(&self, file: &File, slice: &[Range<u64>]) -> Result<Vec<u8>, Box<dyn Error>> {
        // A chunk of HDF5 is decompressed as a whole, so it counts as one block.
        let (shape, chunkshape) = (&self.shape[..], &self.chunks[..]);
        let geometry = Geometry::new(Shapes { shape, chunkshape, blockshape: chunkshape })?;
        let positions: HashMap<_, _> =
            self.positions.iter().map(|(first, offset, skipped)| (&first[..], (*offset, *skipped))).collect();
        let count: u64 = slice.iter().map(|range| range.end.saturating_sub(range.start)).product();
        // Chunks without a position are not stored: their items have the fill value of the dataset. This program
        // assumes the default, 0.
        let mut items =
            vec![0; usize::try_from(count)?.checked_mul(self.itemsize).ok_or("the slice is too large")?];
        for chunk in geometry.chunks_in(slice)? {
            let first = chunk.coordinate().iter().zip(&self.chunks);
            let first: Vec<_> =
                first.map(|(number, length)| number * u64::from(length.unsigned_abs())).collect();
            match positions.get(&first[..]) {
                None => {}
                Some(&(offset, 0)) => {
                    let data = decompressed(Frame::read_at(file, offset)?)?;
                    chunk.scatter(&data, self.itemsize, &mut items)?;
                }
                Some((offset, _)) => {
                    return Err(format!("the chunk at byte {offset} is not compressed").into());
                }
            }
        }
        Ok(items)
    }
}

/// The items of a chunk of HDF5 in C order.
fn decompressed<R: ReadAt>(frame: Frame<R>) -> Result<Vec<u8>, Box<dyn Error>> {
    if frame.array()?.is_some() {
        return Ok(Array::new(frame)?.whole().read()?);
    }
    // A chunk of a table, or of a dataset with one dimension, has no B2ND metalayer.
    let mut chunks = frame.chunks()?;
    let mut items = Vec::new();
    while let Some(entry) = chunks.next().transpose()? {
        items.extend(chunks.decompressed(&entry)?);
    }
    Ok(items)
}
