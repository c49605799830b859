//! A Blosc2 chunk: a header, which is little-endian and has 16 bytes, or 32 with filters and special values; and data.

use std::borrow::Cow;
use std::format;
use std::string::String;
use std::vec::Vec;

/// The shorter header.
const SHORT: usize = 16;
/// The header with filters and special values.
const EXTENDED: usize = 32;

/// These two bits together say that the header is the extended one.
const IS_EXTENDED: u8 = 0x05;
const IS_STORED: u8 = 0x02;

/// What the header of a chunk says of its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    /// The bytes of the header itself.
    pub(crate) length: usize,
    /// Whether the bytes behind the header are the data as it is.
    pub(crate) is_stored: bool,
    /// The bytes of the data, decompressed.
    pub(crate) nbytes: usize,
    /// The bytes of the chunk, header included.
    pub(crate) cbytes: usize,
}

impl ChunkHeader {
    /// Bytes that are enough for any header.
    pub(crate) const LONGEST: usize = EXTENDED;

    /// The header of the chunk that begins here; `None` if none can.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<SHORT>()?;
        let [_, _, flags, ..] = *header;
        let length = if flags & IS_EXTENDED == IS_EXTENDED { EXTENDED } else { SHORT };
        let size = |at: usize| {
            let size = header.get(at..)?.first_chunk().copied().map(i32::from_le_bytes)?;
            usize::try_from(size).ok()
        };
        let (nbytes, cbytes) = (size(4)?, size(12)?);
        (cbytes >= length).then_some(Self { length, is_stored: flags & IS_STORED != 0, nbytes, cbytes })
    }

    /// The data of a chunk, of so many bytes at most, or why there is none.
    pub(crate) fn data(self, chunk: &[u8], longest: usize) -> Result<Cow<'_, [u8]>, String> {
        match self.stored(chunk) {
            Some(data) => Ok(Cow::Borrowed(data)),
            None if self.nbytes > longest => Err(format!("{} bytes are more than {longest}", self.nbytes)),
            None => decompress(chunk).map(Cow::Owned),
        }
    }

    /// The data of a chunk that has it as it is.
    pub(crate) fn stored(self, chunk: &[u8]) -> Option<&[u8]> {
        let data = chunk.get(self.length..)?.get(..self.nbytes)?;
        (self.is_stored || data.is_empty()).then_some(data)
    }
}

#[cfg(feature = "decompress")]
fn decompress(chunk: &[u8]) -> Result<Vec<u8>, String> {
    // What a frame has beside its data is too short to be worth a second thread.
    blosc2_pure_rs::compress::decompress_chunk_with_threads(chunk, 1).map_err(Into::into)
}

#[cfg(not(feature = "decompress"))]
fn decompress(_: &[u8]) -> Result<Vec<u8>, String> {
    Err("compressed, and the feature `decompress` is off".into())
}
