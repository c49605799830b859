//! The chunk index is itself a Blosc2 chunk. Its data has a little-endian int64 for each chunk of the frame. This int64
//! gives the place of the chunk:
//!
//! | value | place of the chunk |
//! |---|---|
//! | 0 and above | in a contiguous frame, this number of bytes after the header; in a sparse frame, the chunk file with this number |
//! | bit 63 and bit 56 | not stored: all items are zero |
//! | bit 63 and bit 58, not bit 56 | not stored: its items were never written |
//! | bit 63 and bit 57, neither bit 56 nor bit 58 | not stored: all items are NaN |
//! | bit 63 alone | invalid |
//!
//! For a chunk that is not stored, writers set bit 63 and one of the bits 56, 57 and 58. So the last of the 8 bytes of
//! the entry is `81` (zeros), `82` (NaN) or `84` (never written) in hexadecimal. The index begins after the chunks (in
//! a sparse frame, after the header), and ends at the start of the trailer. A frame without chunks has no index.
//!
//! C-Blosc2 stores a short index uncompressed, and compresses a long one in blocks of 16 KiB. If all chunks have the
//! same special value, the index stores this value once. An index in any of these three forms can be read in pages,
//! with only one page in memory.

use b2nd_chunk::{ChunkHeader, SpecialValue};

use crate::chunk_file;
use crate::header::frame_header::Header;

/// The number of bytes of an entry.
pub(crate) const ENTRY_LEN: usize = 8;

/// An entry of the chunk index: the place of a chunk.
///
/// ```
/// use b2nd_frame::{ChunkPlace, Frame, SpecialValue};
///
/// let frame = Frame::open("tests/data/peers/special_some.b2nd")?;
/// let mut stored = 0;
/// for entry in frame.chunks()? {
///     let entry = entry?;
///     match entry.place {
///         ChunkPlace::Frame(byte) => stored += 1,
///         ChunkPlace::Special(SpecialValue::Zeros) => println!("chunk {} is all zeros", entry.number),
///         _ => {}
///     }
/// }
/// # assert!(stored > 0);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkEntry {
    /// The number of the chunk, in the order of the data.
    pub number: u64,
    /// The decompressed size of the chunk in bytes; `None` if chunks have different sizes, because then only the header
    /// of each chunk records its size.
    pub nbytes: Option<u64>,
    /// The place of the chunk.
    pub place: ChunkPlace,
}

/// The place of a chunk.
///
/// ```
/// use b2nd_frame::{ChunkPlace, Frame};
///
/// let frame = Frame::open("tests/data/sparse.b2nd")?;
/// let first = frame.chunks()?.next().expect("a chunk")?;
/// assert_eq!(first.place, ChunkPlace::File(0));
/// assert_eq!(first.file_name().as_deref(), Some("00000000.chunk"));
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkPlace {
    /// In the frame, at this offset. The offset in the file is larger by [`Frame::offset`](crate::Frame::offset).
    Frame(u64),
    /// In the chunk file with this number, in the directory of a sparse frame.
    File(u64),
    /// A special chunk, which is not stored: all its items are zero or NaN, or were never written. The special value is
    /// never [`SpecialValue::Value`], because a chunk that repeats any other value is stored.
    Special(SpecialValue),
    /// Unknown: the number in the index is an offset outside the chunks, or an unknown special value.
    Invalid(i64),
}

impl ChunkEntry {
    /// Whether the chunk is stored, in the frame or in a file of its own.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        matches!(self.place, ChunkPlace::Frame(_) | ChunkPlace::File(_))
    }

    /// The name of the chunk file, in the directory of a sparse frame; `None` if the chunk is not stored in a chunk
    /// file.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        match self.place {
            ChunkPlace::File(number) => Some(chunk_file::name(number)),
            _ => None,
        }
    }
}

/// The counts of stored and special chunks in a frame, from its chunk index.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let frame = Frame::open("tests/data/peers/special_some.b2nd")?;
/// let counts = frame.count_chunks()?;
/// println!("{} of {} chunks are stored", counts.stored, counts.total());
/// # assert!(counts.stored > 0 && counts.stored < counts.total());
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkCounts {
    /// Chunks in the frame, or in files of their own.
    pub stored: u64,
    /// Chunks with only zeros.
    pub zeros: u64,
    /// Chunks with only NaN.
    pub nan: u64,
    /// Chunks whose items were never written.
    pub uninitialized: u64,
    /// Chunks with an invalid entry.
    pub invalid: u64,
}

impl ChunkCounts {
    /// The number of all chunks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stored + self.zeros + self.nan + self.uninitialized + self.invalid
    }

    /// The number of special chunks, which are constant and not stored.
    pub(crate) fn special(&self) -> u64 {
        self.zeros + self.nan + self.uninitialized
    }

    /// The count of the chunks with this kind of place.
    pub(crate) fn count_mut(&mut self, place: ChunkPlace) -> &mut u64 {
        match place {
            ChunkPlace::Frame(_) | ChunkPlace::File(_) => &mut self.stored,
            ChunkPlace::Special(SpecialValue::Zeros) => &mut self.zeros,
            ChunkPlace::Special(SpecialValue::Nan) => &mut self.nan,
            ChunkPlace::Special(SpecialValue::Uninitialized) => &mut self.uninitialized,
            // `SpecialValue::Value` never occurs here: a chunk that repeats a value other than zero or NaN is stored.
            ChunkPlace::Special(_) | ChunkPlace::Invalid(_) => &mut self.invalid,
        }
    }
}

impl ChunkEntry {
    /// Makes the entry of the chunk `number` from `value`, its int64 in the index.
    pub(crate) fn new(number: u64, value: i64, is_last: bool, header: &Header) -> Self {
        let place = match EntryValue::parse(value) {
            EntryValue::Special(special) => ChunkPlace::Special(special),
            EntryValue::Stored(number) if header.is_sparse() => ChunkPlace::File(number),
            EntryValue::Stored(offset) if max_offset(header).is_some_and(|most| offset <= most) => {
                ChunkPlace::Frame((header.header_len as u64).saturating_add(offset))
            }
            EntryValue::Stored(_) | EntryValue::Invalid => ChunkPlace::Invalid(value),
        };
        Self { number, nbytes: nbytes(header, is_last), place }
    }
}

/// The decompressed size of a chunk; `None` if the header has no valid `chunksize`, because chunks then have different
/// sizes.
fn nbytes(header: &Header, is_last: bool) -> Option<u64> {
    let chunksize = u64::try_from(header.chunksize).ok().filter(|&chunksize| chunksize > 0)?;
    // In a frame without an array, the last chunk can be shorter. All chunks of an array have the same size.
    let rest = u64::try_from(header.nbytes).ok()? % chunksize;
    Some(if is_last && rest > 0 { rest } else { chunksize })
}

/// The value of an entry in the chunk index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryValue {
    /// The offset of a stored chunk, or the number of its file.
    Stored(u64),
    Special(SpecialValue),
    Invalid,
}

impl EntryValue {
    pub(crate) fn parse(value: i64) -> Self {
        if let Ok(stored) = u64::try_from(value) {
            return Self::Stored(stored);
        }
        let has = |bit: u32| value >> bit & 1 == 1;
        // The bits are tested in the order of C-Blosc2, because a damaged entry can have several of them.
        if has(56) {
            Self::Special(SpecialValue::Zeros)
        } else if has(58) {
            Self::Special(SpecialValue::Uninitialized)
        } else if has(57) {
            Self::Special(SpecialValue::Nan)
        } else {
            Self::Invalid
        }
    }

    /// The int64 of the entry in the index. It is [`MISSING`] for `SpecialValue::Value` and `Invalid`, because a valid
    /// index has no int64 for them.
    pub(crate) fn value(self) -> i64 {
        let bit = match self {
            Self::Stored(stored) => return i64::try_from(stored).unwrap_or(MISSING),
            Self::Special(SpecialValue::Zeros) => 56,
            Self::Special(SpecialValue::Nan) => 57,
            Self::Special(SpecialValue::Uninitialized) => 58,
            Self::Special(_) | Self::Invalid => return MISSING,
        };
        MISSING | 1 << bit
    }
}

/// A placeholder for an entry that is not known yet: bit 63 alone. No writer writes an entry with bit 63 alone.
pub(crate) const MISSING: i64 = i64::MIN;

/// The offset of the chunk index in the frame. In a sparse frame, the index follows the header, because the chunks are
/// in other files.
pub(crate) fn index_start(header: &Header) -> u64 {
    (header.header_len as u64).saturating_add(chunks_len(header))
}

/// The number of bytes of the chunks in the frame itself.
pub(crate) fn chunks_len(header: &Header) -> u64 {
    if header.is_sparse() { 0 } else { u64::try_from(header.cbytes).unwrap_or_default() }
}

/// The largest offset of a chunk, counted from the end of the header; `None` if no chunk fits.
// C-Blosc2 opens a frame only if a chunk header of 32 bytes fits between each offset and the end of the chunks.
pub(crate) fn max_offset(header: &Header) -> Option<u64> {
    chunks_len(header).checked_sub(ChunkHeader::MAX_LEN as u64)
}
