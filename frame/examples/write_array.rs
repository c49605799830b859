//! Writes an `ndarray` into a `.b2nd` file that python-blosc2 opens:
//!
//! ```sh
//! cargo run -p b2nd-frame --example write_array --features ndarray -- waves.b2nd
//! python -c "import blosc2; print(blosc2.open('waves.b2nd')[:2, :4])"
//! ```

use std::error::Error;
use std::path::Path;

use b2nd_frame::FrameBuilder;
use b2nd_serde::{Meta, Shapes};
use ndarray::{Array, Array2};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: write_array PATH")?;
    let array = Array::linspace(0.0, 1000.0, 600_000).sin().into_shape_with_order((1000, 600))?;
    write_array(Path::new(&path), &array)
}

/// Writes an array in chunks of 250 x 250 items and blocks of 50 x 50.
pub fn write_array(path: &Path, array: &Array2<f64>) -> Result<(), Box<dyn Error>> {
    let shape = [i64::try_from(array.nrows())?, i64::try_from(array.ncols())?];
    let meta = Meta::new(Shapes { shape: &shape, chunkshape: &[250, 250], blockshape: &[50, 50] }, "<f8")?;
    let geometry = meta.geometry()?;
    // In C order, and little-endian as the dtype says.
    let items: Vec<u8> = array.iter().flat_map(|item: &f64| item.to_le_bytes()).collect();

    let typesize = size_of::<f64>();
    let mut writer = FrameBuilder::new(meta).vlmetalayer("unit", "metre").create(path)?;
    for chunk in geometry.chunks() {
        // Block after block, with zeros as padding.
        let mut in_blocks = vec![0; writer.chunk_nbytes()];
        chunk.gather(&items, typesize, &mut in_blocks)?;
        // A compressed chunk, of any Blosc2 compressor, goes to `write_chunk`.
        writer.write_uncompressed(chunk.number(), &in_blocks)?;
    }
    let frame = writer.finish()?.persist()?;
    println!("{} chunks, {} bytes", geometry.nchunks(), frame.header().frame_len);
    Ok(())
}
