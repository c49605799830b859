//! The item that a special chunk repeats, and the bytes of an uncompressed chunk.

use b2nd_chunk::SpecialValue;
use b2nd_chunk::internals::{MAX_BLOCKSIZE, stored_header};

/// Makes an uncompressed chunk of these bytes, in one block; `None` if there are more than [`MAX_BLOCKSIZE`] bytes.
pub(crate) fn stored_chunk(bytes: &[u8]) -> Option<Vec<u8>> {
    let len = bytes.len();
    let header = stored_header(false, 1, len, len, len).filter(|_| len <= MAX_BLOCKSIZE)?;
    Some([&header[..], bytes].concat())
}

/// Whether Blosc2 defines an item of `typesize` bytes for this special value.
pub(crate) fn has_item(special: SpecialValue, typesize: i64) -> bool {
    special != SpecialValue::Nan || matches!(typesize, 4 | 8)
}

/// The item that a special chunk repeats. If Blosc2 defines no such item, the error gives the reason.
#[cfg(feature = "decompress")]
pub(crate) fn one_item(special: SpecialValue, typesize: usize) -> Result<Vec<u8>, String> {
    match (special, typesize) {
        // NaN is little-endian even if the dtype is big-endian, because C-Blosc2 writes NaN in the byte order of the
        // processor, and nearly all processors are little-endian. This crate uses little-endian on all processors.
        (SpecialValue::Nan, 4) => Ok(f32::NAN.to_le_bytes().into()),
        (SpecialValue::Nan, 8) => Ok(f64::NAN.to_le_bytes().into()),
        (SpecialValue::Nan, _) => Err(format!("is all NaN, but Blosc2 has no NaN of {typesize} bytes")),
        // A single zero byte replaces the item, because all bytes of the item are 0. The item itself could be too large
        // for memory: the header of a frame without an array can claim items of 2 GiB.
        _ => Ok(vec![0]),
    }
}
