//! The blocks of a compressed chunk.
//!
//! A block is one stream, or if it is split and not the shorter last one, a stream for each byte of an item. A stream is
//! its length (int32) and its bytes: 0 and none if all are zero, a negative length and 1 byte if all are another one. The
//! blocks may be in any order.

use crate::format::chunk::{BLOCKSIZE, CBYTES, ChunkHeader, FLAGS, INT32, IS_UNSPLIT, NBYTES};

impl ChunkHeader {
    /// The bytes of a block, which begins with these and has this length when decompressed. `None` if a stream does not fit
    /// in them.
    pub(crate) fn streams<'b>(&self, bytes: &'b [u8], length: usize) -> Option<&'b [u8]> {
        let mut rest = bytes;
        for _ in 0..self.nstreams(length) {
            let (&length, data) = rest.split_first_chunk()?;
            rest = data.get(stream_len(i32::from_le_bytes(length))..)?;
        }
        bytes.get(..bytes.len() - rest.len())
    }
}

/// The bytes of a stream, after its length, which is 0 or negative for a repeated byte.
pub(crate) fn stream_len(length: i32) -> usize {
    usize::try_from(length).unwrap_or(1)
}

/// A chunk of one block, made of a longer chunk with this header, and of bytes that begin with the block. `length` is that
/// of the block when decompressed. `None` if the streams of the block do not fit in the bytes.
pub(crate) fn single_block(header: &[u8], block: &[u8], length: usize) -> Option<Vec<u8>> {
    let parsed = ChunkHeader::parse(header)?;
    let block = parsed.streams(block, length)?;
    let mut chunk = header.get(..parsed.header_len)?.to_vec();
    let start = parsed.header_len + INT32;
    chunk.extend(i32::try_from(start).ok()?.to_le_bytes());
    chunk.extend(block);
    // The shorter last block is not split, but as the only one it is not shorter.
    if parsed.is_short(length) {
        *chunk.get_mut(FLAGS)? |= IS_UNSPLIT;
    }
    for (at, value) in [(NBYTES, length), (BLOCKSIZE, length), (CBYTES, chunk.len())] {
        let value = i32::try_from(value).ok()?.to_le_bytes();
        chunk.get_mut(at..at + value.len())?.copy_from_slice(&value);
    }
    Some(chunk)
}
