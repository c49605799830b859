//! The blocks of a compressed chunk.
//!
//! An unsplit block is a single stream. A split block has one stream per byte of an item. A shorter last block is never
//! split. The blocks may be in any order. A stream is a length (int32) and bytes:
//!
//! | length | bytes |
//! |---|---|
//! | positive | this number of bytes, compressed |
//! | 0 | none: all bytes are zero |
//! | negative | one byte, which repeats |

use crate::format::chunk::{ChunkHeader, FLAGS, HeaderSize, INT32, IS_UNSPLIT};

impl ChunkHeader {
    /// The largest stored size of a block that decompresses to `length` bytes: no stream is longer than its data, and
    /// each has its length before it.
    pub(crate) fn longest_block(&self, length: usize) -> usize {
        length.saturating_add(INT32 * self.nstreams(length))
    }

    /// The bytes of the block at the start of `bytes`, which decompresses to `length` bytes. `None` if a stream does
    /// not fit.
    pub(crate) fn streams<'b>(&self, bytes: &'b [u8], length: usize) -> Option<&'b [u8]> {
        let mut rest = bytes;
        for _ in 0..self.nstreams(length) {
            let (&length, data) = rest.split_first_chunk()?;
            rest = data.get(stream_len(i32::from_le_bytes(length))..)?;
        }
        bytes.get(..bytes.len() - rest.len())
    }
}

/// The number of bytes of a stream after its length.
pub(crate) fn stream_len(length: i32) -> usize {
    usize::try_from(length).unwrap_or(1)
}

/// Makes a chunk of a single block. `header` is the header of the original chunk; the block is at the start of `block`,
/// and decompresses to `length` bytes. `None` if the streams of the block do not fit in the bytes.
// With this a decompressor of whole chunks decompresses block by block, so memory does not grow with the chunk.
pub(crate) fn single_block(header: &[u8], block: &[u8], length: usize) -> Option<Vec<u8>> {
    let parsed = ChunkHeader::parse(header)?;
    let block = parsed.streams(block, length)?;
    let mut chunk = header.get(..parsed.header_len)?.to_vec();
    let start = parsed.header_len + INT32;
    chunk.extend(i32::try_from(start).ok()?.to_le_bytes());
    chunk.extend(block);
    // A shorter last block is not split. In the new chunk it is no longer shorter than the block size, so the flag must
    // mark it as unsplit.
    if parsed.is_short(length) {
        *chunk.get_mut(FLAGS)? |= IS_UNSPLIT;
    }
    let cbytes = chunk.len();
    for (size, value) in
        [(HeaderSize::Nbytes, length), (HeaderSize::Blocksize, length), (HeaderSize::Cbytes, cbytes)]
    {
        size.replace(&mut chunk, value)?;
    }
    Some(chunk)
}
