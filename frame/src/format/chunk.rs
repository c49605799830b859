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
//! | 30 | 1 | bit 0: blocks have different lengths, and the bytes of a block are their number |
//! | 31 | 1 | bit 0: there is a dictionary; bits 4 to 6: all items are 1 zero, 2 NaN, 3 the same, 4 not initialized |
//!
//! A header of Blosc 1 ends after 16 bytes, and the data begins there.
//!
//! Bit 4 of the flags means that blocks are not split, bits 5 to 7 are the format of the codec: 0 blosclz, 1 lz4, 3 zlib,
//! 4 zstd, 6 the one of byte 22, 7 that of the frame.
//!
//! What follows the header:
//!
//! | chunk | bytes |
//! |---|---|
//! | not compressed | the data |
//! | one value | the value, once; nothing for the other special ones |
//! | compressed | the offset of each block (int32, from the start of the chunk), a dictionary if there is one, the blocks |
//!
//! A block is one stream, or if it is split and not the shorter last one, a stream for each byte of an item. A stream is
//! its length (int32) and its bytes: 0 and none if all are zero, a negative length and 1 byte if all are another one. The
//! blocks may be in any order.

use std::borrow::Cow;

use crate::format::flags::{Codec, Filter};

/// The number of bytes of a header of Blosc 1.
const BLOSC1_LEN: usize = 16;
const BLOSC2_LEN: usize = 32;

/// The largest block, decompressed, that C-Blosc2 reads.
pub(crate) const MAX_BLOCKSIZE: usize = 536_866_816;

/// The version of the chunk's format, and that of the codec's, in chunks that this crate makes.
const WRITTEN_VERSION: u8 = 5;
const WRITTEN_CODEC_VERSION: u8 = 1;

const VERSION: usize = 0;
const CODEC_VERSION: usize = 1;
const FLAGS: usize = 2;
const TYPESIZE: usize = 3;
const NBYTES: usize = 4;
const BLOCKSIZE: usize = 8;
const CBYTES: usize = 12;
const FILTERS: usize = 16;
const CODEC: usize = 22;
const CODEC_META: usize = 23;
const FILTERS_META: usize = 24;
const MORE_FLAGS: usize = 31;
const BLOCK_FLAGS: usize = 30;

/// The parts of a header: the name, the offset and the number of bytes of each. Those from 16 on are in a header of 32
/// bytes only.
pub(crate) const PARTS: [(&str, usize, usize); 13] = [
    ("version", VERSION, 1),
    ("codec_version", CODEC_VERSION, 1),
    ("flags", FLAGS, 1),
    ("typesize", TYPESIZE, 1),
    ("nbytes", NBYTES, 4),
    ("blocksize", BLOCKSIZE, 4),
    ("cbytes", CBYTES, 4),
    ("filters", FILTERS, 6),
    ("codec", CODEC, 1),
    ("codec_meta", CODEC_META, 1),
    ("filters_meta", FILTERS_META, 6),
    ("block_flags", BLOCK_FLAGS, 1),
    ("more_flags", MORE_FLAGS, 1),
];

/// The flags that a header of 32 bytes has. A chunk of Blosc 1 never has both, because they mean two ways to shuffle
/// there.
const IS_BLOSC2: u8 = 0x05;
const IS_STORED: u8 = 0x02;
const IS_DELTA: u8 = 0x08;
const IS_UNSPLIT: u8 = 0x10;

/// The bytes that the value of a metalayer may have, decompressed, besides those for each byte of its chunk.
const VALUE_LEN: usize = 1 << 20;

/// The bytes of data that are decompressed at once, however few they are made of: of an index, 8 million chunks.
const ALWAYS_DECOMPRESSED: usize = 1 << 26;

/// Of more data, the bytes that each byte of a chunk may have. Real chunk indexes have up to 800.
const MAX_RATIO: usize = 1024;

/// The bytes of a length or an offset.
pub(crate) const INT32: usize = size_of::<i32>();

/// The most bytes of data that are decompressed from so many.
pub(crate) fn max_data(from: usize) -> usize {
    from.saturating_mul(MAX_RATIO).max(ALWAYS_DECOMPRESSED)
}

/// The number of the filter that needs the block before it.
const DELTA: u8 = 3;

/// In byte 30: blocks may have different lengths, and the size of a block is their number.
const HAS_VARIABLE_BLOCKS: u8 = 0x01;

/// In byte 31: a dictionary follows the table of blocks.
const HAS_DICTIONARY: u8 = 0x01;

/// The one value that all items of a chunk have, which is therefore not stored item by item.
///
/// ```
/// use b2nd_frame::{ChunkPlace, Frame, Special};
///
/// let mut frame = Frame::open("tests/data/peers/special_nans.b2nd")?;
/// let first = frame.chunks()?.next().expect("a chunk")?;
/// assert_eq!(first.place, ChunkPlace::Special(Special::Nan));
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// All items are zero.
    Zeros,
    /// All items are NaN.
    Nan,
    /// All items are the same. The value follows the header of the chunk, so such a chunk is in the frame.
    Value,
    /// The items were never written. They read as what the memory holds, mostly zeros.
    Uninitialized,
}

impl Special {
    /// What it is called: `zeros`, `nan`, `value` or `uninitialized`.
    ///
    /// ```
    /// assert_eq!(b2nd_frame::Special::Nan.name(), "nan");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Nan => "nan",
            Self::Value => "value",
            Self::Uninitialized => "uninitialized",
        }
    }
}

/// What the header of a chunk says. Its values have not been compared with anything.
///
/// ```
/// use b2nd_frame::{Codec, Frame};
///
/// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let mut chunks = frame.chunks()?;
/// let first = chunks.next().expect("a chunk")?;
/// let header = chunks.header(&first)?.expect("a chunk that is stored");
/// assert_eq!((header.nbytes, header.blocksize, header.typesize), (32, 8, 4));
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkHeader {
    /// The length of the header in bytes: 32, or 16 in a chunk of Blosc 1.
    pub header_len: usize,
    /// The version of the chunk's format: 5 or 6 today, 1 and 2 in Blosc 1.
    pub version: u8,
    /// The bytes of an item; 1 if it has more than 255.
    pub typesize: u8,
    /// The bytes of the data, decompressed.
    pub nbytes: usize,
    /// The bytes of a block, decompressed. If blocks have different sizes, the number of blocks.
    pub blocksize: usize,
    /// The bytes of the chunk as stored, with its header.
    pub cbytes: usize,
    /// Whether the data follows the header without compression and without filters.
    pub is_uncompressed: bool,
    /// The value that all items have, if they have one.
    pub special: Option<Special>,
    /// The codec; `None` if the data is not compressed, or if the header leaves it to the frame. `lz4` stands for
    /// `lz4hc` too, which has the same format.
    pub codec: Option<Codec>,
    /// The filters, in the order in which they are applied. An id of 0 means no filter.
    pub filters: [Filter; 6],
    /// Whether blocks have different sizes.
    pub has_variable_blocks: bool,
    /// Whether the blocks are compressed with a dictionary, which the chunk holds.
    pub has_dictionary: bool,
    pub(crate) flags: u8,
    /// The number of the special value, of which only 0 to 4 have a meaning. A chunk of Blosc 1 has data there, in which
    /// C-Blosc2 looks for it all the same.
    pub(crate) special_bits: u8,
}

impl ChunkHeader {
    /// The number of bytes that are enough for any header.
    pub(crate) const MAX_LEN: usize = BLOSC2_LEN;

    /// The header of the chunk that begins with these bytes; `None` if they cannot be one.
    ///
    /// The first 32 bytes of a chunk are enough, and 16 for a chunk of Blosc 1.
    ///
    /// ```
    /// use b2nd_frame::ChunkHeader;
    ///
    /// let header = ChunkHeader::parse(b"\x05\x01\x02\x01\x02\0\0\0\x02\0\0\0\x12\0\0\0ab").unwrap();
    /// assert_eq!((header.header_len, header.nbytes, header.cbytes), (16, 2, 18));
    /// assert!(header.is_uncompressed);
    /// assert!(ChunkHeader::parse(&[0; 32]).is_none());
    /// ```
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let start = bytes.first_chunk::<BLOSC1_LEN>()?;
        let flags = *start.get(FLAGS)?;
        let size = |offset: usize| {
            let size = start.get(offset..)?.first_chunk().copied().map(i32::from_le_bytes)?;
            usize::try_from(size).ok()
        };
        let is_blosc2 = flags & IS_BLOSC2 == IS_BLOSC2;
        let header_len = if is_blosc2 { BLOSC2_LEN } else { BLOSC1_LEN };
        let (nbytes, blocksize, cbytes) = (size(NBYTES)?, size(BLOCKSIZE)?, size(CBYTES)?);
        let more = |offset: usize| bytes.get(offset).copied().filter(|_| is_blosc2).unwrap_or_default();
        let special_bits = more(MORE_FLAGS) >> 4 & 7;
        let special = special(special_bits);
        let is_uncompressed = flags & IS_STORED != 0;
        let mut filters = [Filter::default(); 6];
        for ((at, filter), meta) in (FILTERS..).zip(&mut filters).zip(FILTERS_META..) {
            *filter = Filter { id: more(at), meta: more(meta) };
        }
        (cbytes >= header_len).then_some(Self {
            header_len,
            version: *start.get(VERSION)?,
            typesize: *start.get(TYPESIZE)?,
            nbytes,
            blocksize,
            cbytes,
            is_uncompressed,
            special,
            codec: if is_uncompressed || special.is_some() { None } else { codec(flags, more(CODEC)) },
            filters,
            has_variable_blocks: more(BLOCK_FLAGS) & HAS_VARIABLE_BLOCKS != 0,
            has_dictionary: more(MORE_FLAGS) & HAS_DICTIONARY != 0,
            flags,
            special_bits: bytes.get(MORE_FLAGS).map_or(0, |bits| bits >> 4 & 7),
        })
    }

    /// The number of blocks; `None` if the size of a block is 0.
    #[must_use]
    pub fn nblocks(&self) -> Option<usize> {
        match self.blocksize {
            0 => None,
            blocks if self.has_variable_blocks => Some(blocks),
            blocksize => Some(self.nbytes.div_ceil(blocksize)),
        }
    }

    /// Whether the header is followed by a table: the offsets of its compressed blocks.
    pub(crate) fn has_table(&self) -> bool {
        !self.is_uncompressed && self.special.is_none()
    }

    /// The bytes of the table; `None` if they are not known.
    pub(crate) fn table_len(&self) -> Option<usize> {
        if self.has_table() { self.nblocks()?.checked_mul(INT32) } else { Some(0) }
    }

    /// Whether blocks are split into a stream for each byte of an item. A chunk with a dictionary is split as any other, as
    /// C-Blosc2 3.3.5 writes it.
    pub(crate) fn is_split(&self) -> bool {
        self.flags & IS_UNSPLIT == 0
    }

    /// The number of streams of a block that has this length when decompressed.
    pub(crate) fn nstreams(&self, length: usize) -> usize {
        if self.is_split() && !self.is_short(length) { self.typesize.into() } else { 1 }
    }

    /// Whether a block of this length is the last one, and shorter than the others.
    fn is_short(&self, length: usize) -> bool {
        length < self.blocksize.min(self.nbytes)
    }

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

    /// Whether the codec is one of those that C-Blosc2 always has, which this crate can decompress.
    pub(crate) fn has_common_codec(&self) -> bool {
        matches!(self.codec.and_then(Codec::name), Some("blosclz" | "lz4" | "lz4hc" | "zlib" | "zstd"))
    }

    /// The data of a chunk, of at most `longest` bytes, or why it cannot be read.
    ///
    /// A chunk of 32 bytes can claim 2 GiB of zeros. So the data may have at most 1 MiB and 1024 bytes for each byte of the
    /// chunk.
    pub(crate) fn data(self, chunk: &[u8], longest: usize) -> Result<Cow<'_, [u8]>, String> {
        if let Some(data) = self.stored(chunk) {
            return Ok(Cow::Borrowed(data));
        }
        let longest = chunk.len().saturating_mul(MAX_RATIO).saturating_add(VALUE_LEN).min(longest);
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
        let data = chunk.get(self.header_len..)?.get(..self.nbytes)?;
        (self.is_uncompressed || data.is_empty()).then_some(data)
    }
}

/// The size of an item as the header of a chunk has it.
pub(crate) fn typesize_byte(typesize: impl TryInto<u8>) -> u8 {
    typesize.try_into().unwrap_or(1)
}

/// The header of a chunk that is not compressed, of which `body` bytes follow: the data, or one value that repeats. `None`
/// if a number does not fit.
pub(crate) fn header_of_stored(
    repeats: bool,
    typesize: usize,
    nbytes: usize,
    blocksize: usize,
    body: usize,
) -> Option<[u8; BLOSC2_LEN]> {
    let size = |size: usize| Some(i32::try_from(size).ok()?.to_le_bytes());
    let flags = IS_BLOSC2 | if repeats { 0 } else { IS_STORED };
    let start = [WRITTEN_VERSION, WRITTEN_CODEC_VERSION, flags, typesize_byte(typesize)];
    let sizes = [size(nbytes)?, size(blocksize)?, size(body.checked_add(BLOSC2_LEN)?)?];
    let mut header = [0; BLOSC2_LEN];
    header.iter_mut().zip(start.iter().chain(sizes.as_flattened())).for_each(|(slot, &byte)| *slot = byte);
    let [.., more_flags] = &mut header;
    *more_flags = if repeats { VALUE << 4 } else { 0 };
    Some(header)
}

/// The number of [`Special::Value`].
const VALUE: u8 = 3;

/// The special value of this number. 0 is none.
fn special(bits: u8) -> Option<Special> {
    Some(match bits {
        1 => Special::Zeros,
        2 => Special::Nan,
        VALUE => Special::Value,
        4 => Special::Uninitialized,
        _ => return None,
    })
}

/// The codec that the flags name; `other` is the byte for those that have no number there.
fn codec(flags: u8, other: u8) -> Option<Codec> {
    Some(Codec(match flags >> 5 {
        0 => 0,
        1 => 1,
        3 => 4,
        4 => 5,
        6 => other,
        _ => return None,
    }))
}

/// Whether a compressed chunk has blocks that cannot be decompressed one by one.
pub(crate) fn needs_other_blocks(header: &ChunkHeader) -> bool {
    header.has_dictionary
        || header.has_variable_blocks
        || header.flags & IS_DELTA != 0
        || header.filters.iter().any(|filter| filter.id == DELTA)
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
    let start = parsed.header_len + size_of::<i32>();
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

/// The data of a whole compressed chunk.
#[cfg(feature = "decompress")]
pub(crate) fn decompress(chunk: &[u8]) -> Result<Vec<u8>, String> {
    // Chunks outside of an array's data are too short for a second thread.
    blosc2_pure_rs::compress::decompress_chunk_with_threads(chunk, 1).map_err(Into::into)
}

#[cfg(not(feature = "decompress"))]
pub(crate) fn decompress(_: &[u8]) -> Result<Vec<u8>, String> {
    Err("the value is compressed; build with the feature `decompress` to read it".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_header_follow_one_another() {
        let end = PARTS.into_iter().fold(0, |end, (name, offset, len)| {
            assert_eq!(offset, end, "{name}");
            end + len
        });
        assert_eq!(end, BLOSC2_LEN);
    }

    #[test]
    fn the_picture_of_the_header_shows_its_parts() {
        let source = include_str!("chunk.rs");
        for (name, offset, len) in PARTS {
            let row = format!("//! | {offset} | {len} | ");
            assert!(source.lines().any(|line| line.starts_with(&row)), "{name}: {row:?}");
        }
    }
}
