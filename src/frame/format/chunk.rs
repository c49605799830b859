//! A Blosc2 chunk: a header, then data. Its numbers are little-endian, unlike those of the frame.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 1 | the version of the chunk's format |
//! | 1 | 1 | the version of the codec's format |
//! | 2 | 1 | flags: bits 0 and 2 together mean that the header has 32 bytes, bit 1 that the data is not compressed |
//! | 3 | 1 | the size of an item |
//! | 4 | 4 | the size of the data, decompressed (int32) |
//! | 8 | 4 | the size of a block, decompressed (int32) |
//! | 12 | 4 | the size of the chunk, with its header (int32) |
//! | 16 | 6 | which filters |
//! | 22 | 1 | the codec, if the flags have no room for it |
//! | 23 | 1 | the codec's parameter |
//! | 24 | 6 | a parameter for each filter |
//! | 30 | 1 | reserved |
//! | 31 | 1 | more flags, among them the special values: all items are zero, NaN, the same, or not initialized |
//!
//! A header of Blosc 1 ends after 16 bytes.

use std::borrow::Cow;
use std::format;
use std::string::String;
use std::vec::Vec;

/// The number of bytes of a header of Blosc 1.
const BLOSC1_LEN: usize = 16;
const BLOSC2_LEN: usize = 32;

const FLAGS: usize = 2;
const NBYTES: usize = 4;
const CBYTES: usize = 12;

/// The flags that a header of 32 bytes has. A chunk of Blosc 1 never has both, because they mean two ways to shuffle
/// there.
const IS_BLOSC2: u8 = 0x05;
const IS_STORED: u8 = 0x02;

/// The bytes that any chunk may have, decompressed.
const ALWAYS_BEARABLE: usize = 1 << 20;

/// The further bytes that a chunk may have for each of its own.
const MAX_RATIO: usize = 1024;

/// What the header of a chunk says about its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    /// The number of bytes of the header itself.
    pub(crate) len: usize,
    /// Whether the bytes after the header are the data, not compressed.
    pub(crate) is_stored: bool,
    /// The number of bytes of the data, decompressed.
    pub(crate) nbytes: usize,
    /// The number of bytes of the chunk, with its header.
    pub(crate) cbytes: usize,
}

impl ChunkHeader {
    /// The number of bytes that are enough for any header.
    pub(crate) const MAX_LEN: usize = BLOSC2_LEN;

    /// The header of the chunk that begins with these bytes; `None` if they cannot be one.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<BLOSC1_LEN>()?;
        let flags = *header.get(FLAGS)?;
        let len = if flags & IS_BLOSC2 == IS_BLOSC2 { BLOSC2_LEN } else { BLOSC1_LEN };
        let size = |offset: usize| {
            let size = header.get(offset..)?.first_chunk().copied().map(i32::from_le_bytes)?;
            usize::try_from(size).ok()
        };
        let (nbytes, cbytes) = (size(NBYTES)?, size(CBYTES)?);
        (cbytes >= len).then_some(Self { len, is_stored: flags & IS_STORED != 0, nbytes, cbytes })
    }

    /// The data of a chunk, of at most `longest` bytes, or why it cannot be read.
    ///
    /// A chunk of 32 bytes can claim 2 GiB of zeros. So the data may have at most 1 MiB and 1024 bytes for each byte of the
    /// chunk.
    pub(crate) fn data(self, chunk: &[u8], longest: usize) -> Result<Cow<'_, [u8]>, String> {
        if let Some(data) = self.stored(chunk) {
            return Ok(Cow::Borrowed(data));
        }
        let longest = chunk.len().saturating_mul(MAX_RATIO).saturating_add(ALWAYS_BEARABLE).min(longest);
        if self.nbytes > longest {
            let (nbytes, len) = (self.nbytes, chunk.len());
            return Err(format!(
                "the value has {nbytes} bytes, but its chunk of {len} may have at most {longest}"
            ));
        }
        decompress(chunk).map(Cow::Owned)
    }

    /// The data of a chunk that is not compressed.
    pub(crate) fn stored(self, chunk: &[u8]) -> Option<&[u8]> {
        let data = chunk.get(self.len..)?.get(..self.nbytes)?;
        (self.is_stored || data.is_empty()).then_some(data)
    }
}

#[cfg(feature = "decompress")]
fn decompress(chunk: &[u8]) -> Result<Vec<u8>, String> {
    // Only values and chunk indexes are decompressed. They are too short for a second thread.
    blosc2_pure_rs::compress::decompress_chunk_with_threads(chunk, 1).map_err(Into::into)
}

#[cfg(not(feature = "decompress"))]
fn decompress(_: &[u8]) -> Result<Vec<u8>, String> {
    Err("the value is compressed; build with the feature `decompress` to read it".into())
}
