//! A whole chunk that was checked.

use core::fmt;
use core::ops::Range;

use crate::error::{Error, Fault};
use crate::header::ChunkHeader;
use crate::rules::CheckedHeader;

/// A whole chunk that can be decompressed. [`Chunk::parse`] checks the header and the table of blocks once.
/// Decompression does not check them again.
///
/// In a compressed chunk, a table with the offset of each block follows the header. An unsplit block is a single stream. A
/// split block has one stream per byte of an item. A shorter last block is never split. The blocks may be stored in any
/// order, unless blocks have different sizes. A stream is a length (int32) and bytes:
///
/// | length | bytes |
/// |---|---|
/// | the length of the stream's data | the data |
/// | another positive number | this number of bytes, compressed |
/// | 0 | none: all bytes are zero |
/// | -1 to -255 | one byte with bit 0 set; all bytes of the data have the same value: the length without its sign |
///
/// If blocks have different sizes, these four rows do not apply. Each block is then one stream, and its int32 is always
/// the length of the decompressed data. The bytes after the int32 end where the next block begins, or at the end of the
/// chunk. If their number is equal to this length, they are the data. Otherwise they are compressed.
///
/// ```
/// use b2nd_chunk::{Chunk, ErrorKind};
///
/// // A chunk of 8 bytes in two blocks, which begin at bytes 40 and 44 (0x28 and 0x2c). All bytes are zero.
/// let mut bytes = *b"\x05\x01\x15\x01\x08\0\0\0\x04\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
///     \x28\0\0\0\x2c\0\0\0\0\0\0\0\0\0\0\0";
/// let chunk = Chunk::parse(&bytes)?;
/// assert_eq!((chunk.header().nblocks(), chunk.header().block_len(1)), (Some(2), Some(4)));
///
/// // The second block begins beyond the chunk.
/// bytes[36] = 0x30;
/// assert_eq!(Chunk::parse(&bytes).unwrap_err().kind(), ErrorKind::Table);
/// # Ok::<(), b2nd_chunk::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Chunk<'c> {
    header: CheckedHeader,
    bytes: &'c [u8],
}

impl<'c> Chunk<'c> {
    /// Checks the chunk at the start of these bytes. Bytes after the chunk are ignored. The time grows with the number of
    /// blocks.
    ///
    /// # Errors
    ///
    /// [`Header`](crate::ErrorKind::Header) if the bytes do not begin with a header, or if the chunk has more bytes
    /// than are given. Also the errors of [`ChunkHeader::checked`] and [`ChunkHeader::check_table`].
    pub fn parse(bytes: &'c [u8]) -> Result<Self, Error> {
        let header = ChunkHeader::parse(bytes).ok_or(Fault::NoHeader)?;
        whole(&header, bytes)?;
        Self::with_header(header.checked()?, bytes)
    }

    /// Checks the table of blocks of a chunk whose header was checked before. `bytes` must begin with the chunk.
    ///
    /// # Errors
    ///
    /// [`Header`](crate::ErrorKind::Header) if the chunk has more bytes than are given, and the errors of
    /// [`ChunkHeader::check_table`].
    ///
    /// ```
    /// use b2nd_chunk::{Chunk, ChunkHeader};
    ///
    /// let bytes = b"\x05\x01\x07\x01\x02\0\0\0\x02\0\0\0\x22\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0ab";
    /// let header = ChunkHeader::parse(bytes).expect("a header").checked()?;
    /// assert_eq!(Chunk::with_header(header, bytes)?.header(), &header);
    /// # Ok::<(), b2nd_chunk::Error>(())
    /// ```
    pub fn with_header(header: CheckedHeader, bytes: &'c [u8]) -> Result<Self, Error> {
        let bytes = whole(&header, bytes)?;
        header.check_table(bytes)?;
        Ok(Self { header, bytes })
    }

    /// The header of the chunk.
    #[must_use]
    pub fn header(&self) -> &CheckedHeader {
        &self.header
    }

    /// The bytes after the header.
    pub(crate) fn body(&self) -> &'c [u8] {
        self.range(self.header.header_len..self.bytes.len())
    }

    /// The bytes in a range of the chunk. The result is empty if the chunk ends within the range or before it.
    pub(crate) fn range(&self, range: Range<usize>) -> &'c [u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// The bytes of the whole chunk at the start of `bytes`.
fn whole<'c>(header: &ChunkHeader, bytes: &'c [u8]) -> Result<&'c [u8], Error> {
    let (cbytes, found) = (header.cbytes, bytes.len());
    bytes.get(..cbytes).ok_or(Fault::Truncated { cbytes, found }.into())
}

impl fmt::Debug for Chunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("header", &*self.header).finish_non_exhaustive()
    }
}
