//! Reads a slice of a `.b2nd` file into an `ndarray`, decompressed in Rust:
//!
//! ```sh
//! cargo run -p b2nd-frame --example read_slice --features decompress -- waves.b2nd 0..2 0..4
//! ```

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use b2nd_frame::{ChunkPlace, Frame, SpecialValue};
use blosc2_pure_rs::compress::decompress_chunk;
use ndarray::ArrayD;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: read_slice PATH START..STOP...")?;
    let slice = arguments.map(|argument| range(&argument)).collect::<Option<Vec<_>>>();
    let slice = slice.ok_or("each slice must be START..STOP")?;

    let path = Path::new(&path);
    let dtype = Frame::open(path)?.array()?.and_then(|array| array.dtype().map(str::to_owned));
    let bytes = read_slice(path, &slice)?;
    match dtype.as_deref() {
        Some("<f8") => println!("{}", array(&bytes, &slice, f64::from_le_bytes)?),
        Some("<i4") => println!("{}", array(&bytes, &slice, i32::from_le_bytes)?),
        other => println!("{} bytes of dtype {other:?}", bytes.len()),
    }
    Ok(())
}

fn range(text: &str) -> Option<Range<u64>> {
    let (start, stop) = text.split_once("..")?;
    Some(start.parse().ok()?..stop.parse().ok()?)
}

/// The items of a slice, in C order. Only the chunks that have a part of it are read.
pub fn read_slice(path: &Path, slice: &[Range<u64>]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut frame = Frame::open(path)?;
    let geometry = frame.array()?.ok_or("the file has no array")?.geometry()?;
    let typesize = usize::try_from(frame.header().typesize)?;
    let chunk_nbytes = geometry.chunk_nbytes(typesize)?;
    if usize::try_from(frame.header().chunksize)? != chunk_nbytes {
        return Err(format!("the chunks do not have items of {typesize} bytes").into());
    }
    let plan = geometry.chunks_in(slice)?;

    let mut nbytes = Some(typesize as u64);
    for range in slice {
        nbytes = nbytes.and_then(|nbytes| nbytes.checked_mul(range.end - range.start));
    }
    // A slice of a real file can be larger than the memory.
    let nbytes = usize::try_from(nbytes.ok_or("the slice has more than 2^64 bytes")?)?;
    let mut items = Vec::new();
    items.try_reserve_exact(nbytes)?;
    items.resize(nbytes, 0);
    let mut chunks = frame.chunks()?;
    let mut next = 0;
    for part in plan {
        // `nth` goes on from the last entry, and reads none of those between.
        let entry =
            chunks.nth(usize::try_from(part.number() - next)?).ok_or("there are too few chunks")??;
        next = part.number() + 1;
        let chunk = match (chunks.compressed(&entry)?, entry.place) {
            (Some(compressed), _) => decompress_chunk(&compressed)?,
            (None, ChunkPlace::Special(SpecialValue::Nan)) => nan(typesize)?.repeat(chunk_nbytes / typesize),
            // The items are zeros already.
            (None, ChunkPlace::Special(_)) => continue,
            (None, _) => return Err(format!("chunk {} is nowhere", entry.number).into()),
        };
        part.scatter(&chunk, typesize, &mut items).ok_or("a chunk is too short")?;
    }
    Ok(items)
}

fn nan(typesize: usize) -> Result<Vec<u8>, String> {
    match typesize {
        4 => Ok(f32::NAN.to_le_bytes().into()),
        8 => Ok(f64::NAN.to_le_bytes().into()),
        _ => Err(format!("there is no NaN of {typesize} bytes")),
    }
}

/// The same as an array.
pub fn array<T, const SIZE: usize>(
    bytes: &[u8],
    slice: &[Range<u64>],
    item: fn([u8; SIZE]) -> T,
) -> Result<ArrayD<T>, Box<dyn Error>> {
    let shape: Vec<usize> =
        slice.iter().map(|range| usize::try_from(range.end - range.start)).collect::<Result<_, _>>()?;
    let items = bytes.chunks_exact(SIZE).map(|bytes| Ok(item(bytes.try_into()?)));
    Ok(ArrayD::from_shape_vec(shape, items.collect::<Result<_, Box<dyn Error>>>()?)?)
}
