//! The header of a chunk: its parts with their offsets.

use core::ops::RangeInclusive;
use core::{array, mem};

use crate::codec::Codec;
use crate::filter::Filter;

/// The number of bytes of a header of Blosc 1.
const BLOSC1_LEN: usize = 16;
const BLOSC2_LEN: usize = 32;

/// The largest size of a decompressed block, in bytes, that C-Blosc2 reads (`BLOSC2_MAXBLOCKSIZE`).
pub const MAX_BLOCKSIZE: usize = 536_866_816;

/// The maximum size of the data of a chunk in bytes (`BLOSC2_MAX_BUFFERSIZE`).
pub(crate) const MAX_NBYTES: usize = i32::MAX as usize - BLOSC2_LEN;

/// The versions of the chunk's format and of the codec's format in chunks that this crate makes.
// Version 6 of the chunk's format adds only blocks of different sizes, which this crate does not make. The formats of
// all built-in codecs have version 1.
const WRITTEN_VERSION: u8 = 5;
const WRITTEN_CODEC_VERSION: u8 = 1;

/// Bits 0 and 2 of the flags. If both are set, the header has 32 bytes. In a chunk of Blosc 1, at most one of them is
/// set: bit 0 means shuffle, and bit 2 means bitshuffle.
const IS_BLOSC2: u8 = 0x05;
const IS_STORED: u8 = 0x02;

/// The flags for the filters in a chunk of Blosc 1.
const IS_SHUFFLED: u8 = 0x01;
const IS_BITSHUFFLED: u8 = 0x04;
const IS_DELTA: u8 = 0x08;

const IS_UNSPLIT: u8 = 0x10;

/// The codecs by their numbers in bits 5 to 7 of the flags. C-Blosc2 does not use the numbers 2 and 5.
const CODECS: [Option<Codec>; 5] =
    [Some(Codec::BLOSCLZ), Some(Codec::LZ4), None, Some(Codec::ZLIB), Some(Codec::ZSTD)];

/// The number in bits 5 to 7 of the flags if the codec is a plugin or the codec of a user. The byte `codec` then holds
/// the number of this codec.
pub(crate) const CODEC_IN_BYTE: u8 = 6;

/// The number in bits 5 to 7 of the flags if the header does not record the codec. In this case, the frame records it.
pub(crate) const CODEC_OF_FRAME: u8 = 7;

/// In byte 30: blocks may have different lengths. If this flag is set, the field `blocksize` holds the number of
/// blocks.
const HAS_VARIABLE_BLOCKS: u8 = 0x01;

/// In byte 31: a dictionary follows the table of blocks.
const HAS_DICTIONARY: u8 = 0x01;

/// In byte 31: only the header and the table of blocks are loaded. C-Blosc2 sets this flag in memory, never in a file.
/// If a chunk in a file has this flag, C-Blosc2 cannot decompress it as a whole.
const IS_LAZY: u8 = 0x08;

/// In byte 31: the data is measurements of the codec, not compressed data.
const IS_INSTRUMENTED: u8 = 0x80;

/// The format version of chunks that an alpha release of C-Blosc2 wrote.
const ALPHA_VERSION: u8 = 3;

/// The format versions of the chunks that C-Blosc2 has written to frames.
pub const VERSIONS: RangeInclusive<u8> = ALPHA_VERSION..=WRITTEN_VERSION + 1;

/// The number of bytes of a length or an offset in a chunk.
pub const INT32: usize = size_of::<i32>();

/// Generates a constant for the offset of each part of a header, the list of all parts, and a table of them for the
/// documentation.
macro_rules! parts {
    ($($offset:ident $name:literal $at:literal $len:literal $what:literal)*) => {
        $(
            #[doc = concat!("The offset of `", $name, "`.")]
            const $offset: usize = $at;
        )*

        /// The parts of a header, each with its name, offset and number of bytes. Parts from offset 16 on exist only in
        /// a header of 32 bytes.
        pub const PARTS: &[(&str, usize, usize)] = &[$(($name, $offset, $len)),*];

        macro_rules! table_of_parts {
            () => {
                concat!(
                    "| offset | bytes | name | value |\n|---|---|---|---|\n",
                    $("| ", $at, " | ", $len, " | `", $name, "` | ", $what, " |\n"),*
                )
            };
        }
    };
}

parts! {
    VERSION "version" 0 1 "the version of the chunk's format"
    CODEC_VERSION "codec_version" 1 1 "the version of the codec's format"
    FLAGS "flags" 2 1 "bits 0 and 2 together: the header has 32 bytes; bit 1: not compressed; bit 3: delta; bit 4: blocks \
        are not split; bits 5 to 7: the format of the codec, 0 blosclz, 1 lz4, 3 zlib, 4 zstd, 6 that of `codec`, 7 that of \
        the frame"
    TYPESIZE "typesize" 3 1 "the size of an item in bytes; 1 if it is above 255"
    NBYTES "nbytes" 4 4 "the size of the data in bytes, decompressed (int32)"
    BLOCKSIZE "blocksize" 8 4 "the size of a block in bytes, decompressed (int32)"
    CBYTES "cbytes" 12 4 "the size of the chunk in bytes, with its header (int32)"
    FILTERS "filters" 16 6 "the number of each filter"
    CODEC "codec" 22 1 "the codec, if the flags have no room for it"
    CODEC_META "codec_meta" 23 1 "the codec's parameter"
    FILTERS_META "filters_meta" 24 6 "a parameter for each filter"
    BLOCK_FLAGS "block_flags" 30 1 "bit 0: blocks have different lengths, and `blocksize` is their number"
    MORE_FLAGS "more_flags" 31 1 "bit 0: there is a dictionary; bits 4 to 6: the value of all items, 1 zero, 2 NaN, 3 stored once, 4 not \
        initialized"
}

/// The single value of all items of a constant chunk.
///
/// ```
/// use b2nd_chunk::{ChunkHeader, SpecialValue};
///
/// // Five items of 8 bytes, all zero.
/// let mut chunk = *b"\x05\x01\x05\x08\x28\0\0\0\x28\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10";
/// let header = ChunkHeader::parse(&chunk).expect("a header");
/// assert_eq!(header.special(), Some(SpecialValue::Zeros));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum SpecialValue {
    /// All items are zero.
    Zeros = 1,
    /// All items are NaN.
    Nan,
    /// All items are equal. Their value follows the header of the chunk, so a frame must store the chunk. For any other
    /// special value, a frame can record the number of the special value instead of the chunk.
    Value,
    /// The items were never written. This crate decompresses them to zeros. C-Blosc2 writes nothing to the output
    /// buffer, so the caller gets the old bytes of that buffer. They are often zeros, but can be anything.
    Uninitialized,
}

impl SpecialValue {
    /// The name: `zeros`, `nan`, `value` or `uninitialized`.
    ///
    /// ```
    /// assert_eq!(b2nd_chunk::SpecialValue::Nan.name(), "nan");
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

/// The header of a chunk. The values are as stored in the chunk, and can be invalid: [`check`](Self::check) checks
/// them.
///
/// Parts from offset 16 on exist only in a header of 32 bytes. A header of Blosc 1 ends after 16 bytes. All numbers are
/// little-endian.
///
#[doc = table_of_parts!()]
///
/// The bytes after the header:
///
/// | chunk | bytes |
/// |---|---|
/// | not compressed | the data |
/// | one value | the value, once (no bytes for zeros, NaN and uninitialized items) |
/// | compressed | the offset of each block (int32, from the start of the chunk), a dictionary if there is one, the blocks |
///
/// ```
/// use b2nd_chunk::{ChunkHeader, Codec, Filter};
///
/// // The first 32 bytes of a chunk contain all its sizes.
/// let bytes = b"\x05\x01\x95\x04\x20\0\0\0\x10\0\0\0\x3a\0\0\0\0\0\0\0\0\x01\x05\0\0\0\0\0\0\0\0\0";
/// let header = ChunkHeader::parse(bytes).expect("a header");
/// // The chunk has 58 bytes. Decompressed, it has 32 bytes: 8 items of 4 bytes.
/// assert_eq!((header.cbytes(), header.nbytes(), header.typesize()), (58, 32, 4));
/// // It has two blocks of 16 bytes, and their offsets are in a table of 8 bytes after the header.
/// assert_eq!((header.nblocks(), header.blocksize(), header.block_len(1)), (Some(2), 16, Some(16)));
/// assert_eq!((header.has_table(), header.table_len(), header.header_len()), (true, Some(8), 32));
/// // The blocks are compressed with zstd after a shuffle, each as one stream, and can be read one by one.
/// assert_eq!((header.codec(), header.filters()[5]), (Some(Codec::ZSTD), Filter::SHUFFLE));
/// assert!(!header.is_split() && !header.has_dictionary() && !header.has_variable_blocks());
/// assert!(!header.needs_other_blocks());
/// // A constant or uncompressed chunk has no compressed blocks.
/// assert_eq!((header.special(), header.is_uncompressed(), header.version()), (None, false, 5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    pub(crate) header_len: usize,
    pub(crate) version: u8,
    pub(crate) typesize: u8,
    pub(crate) nbytes: usize,
    pub(crate) blocksize: usize,
    pub(crate) cbytes: usize,
    pub(crate) is_uncompressed: bool,
    pub(crate) special: Option<SpecialValue>,
    pub(crate) codec: Option<Codec>,
    pub(crate) filters: [Filter; 6],
    pub(crate) has_variable_blocks: bool,
    pub(crate) has_dictionary: bool,
    pub(crate) flags: u8,
    pub(crate) more_flags: u8,
    pub(crate) block_flags: u8,
    /// Bits 4 to 6 of byte 31: the number of the special value. Only 0 to 4 are defined. In a chunk of Blosc 1,
    /// byte 31 is data. Nevertheless, if such a chunk is in a frame, C-Blosc2 reads a special value from byte 31.
    pub(crate) special_bits: u8,
}

impl ChunkHeader {
    /// The number of bytes of the longest header.
    pub const MAX_LEN: usize = BLOSC2_LEN;

    /// The header at the start of these bytes. `None` if `bytes` ends within the header, if a size in the header is
    /// negative, or if `cbytes` is less than the length of the header.
    ///
    /// The first 32 bytes of a chunk are enough, or the first 16 bytes of a chunk of Blosc 1.
    ///
    /// ```
    /// use b2nd_chunk::ChunkHeader;
    ///
    /// let header = ChunkHeader::parse(b"\x05\x01\x02\x01\x02\0\0\0\x02\0\0\0\x12\0\0\0ab").unwrap();
    /// assert_eq!((header.header_len(), header.nbytes(), header.cbytes()), (16, 2, 18));
    /// assert!(header.is_uncompressed());
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
        // A chunk of Blosc 1 has data from byte 16 on, and lacks the header fields that Blosc2 has there, so `more`
        // returns 0 for these fields.
        let more = |offset: usize| bytes.get(offset).copied().filter(|_| is_blosc2).unwrap_or_default();
        let special = special(more(MORE_FLAGS) >> 4 & 7);
        let is_uncompressed = flags & IS_STORED != 0;
        let filter = |at| Filter { id: more(FILTERS + at), meta: more(FILTERS_META + at) };
        // A chunk shorter than its header is rejected, because the callers subtract `header_len` from `cbytes`.
        (cbytes >= header_len && bytes.len() >= header_len).then_some(Self {
            header_len,
            version: *start.get(VERSION)?,
            typesize: *start.get(TYPESIZE)?,
            nbytes,
            blocksize,
            cbytes,
            is_uncompressed,
            special,
            codec: if is_uncompressed || special.is_some() { None } else { codec(flags, more(CODEC)) },
            filters: if is_blosc2 { array::from_fn(filter) } else { filters_of_blosc1(flags) },
            has_variable_blocks: more(BLOCK_FLAGS) & HAS_VARIABLE_BLOCKS != 0,
            has_dictionary: more(MORE_FLAGS) & HAS_DICTIONARY != 0,
            flags,
            more_flags: more(MORE_FLAGS),
            block_flags: more(BLOCK_FLAGS),
            // These bits are also read from a chunk of Blosc 1, because `false_special` needs them.
            special_bits: bytes.get(MORE_FLAGS).map_or(0, |bits| bits >> 4 & 7),
        })
    }

    /// The length of the header in bytes: 32, or 16 in a chunk of Blosc 1.
    #[must_use]
    pub fn header_len(&self) -> usize {
        self.header_len
    }

    /// The version of the chunk's format: 5 or 6 today, 1 or 2 in Blosc 1, 3 or 4 in prereleases of Blosc 2.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The size of an item in bytes; 1 if an item has more than 255 bytes.
    #[must_use]
    pub fn typesize(&self) -> u8 {
        self.typesize
    }

    /// The size of the decompressed data in bytes.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The size of a decompressed block in bytes. If blocks have different sizes, this value is the number of blocks
    /// instead.
    #[must_use]
    pub fn blocksize(&self) -> usize {
        self.blocksize
    }

    /// The stored size of the chunk in bytes, with its header.
    #[must_use]
    pub fn cbytes(&self) -> usize {
        self.cbytes
    }

    /// Whether the data follows the header without compression and without filters.
    #[must_use]
    pub fn is_uncompressed(&self) -> bool {
        self.is_uncompressed
    }

    /// The single value of all items, if the chunk is constant.
    #[must_use]
    pub fn special(&self) -> Option<SpecialValue> {
        self.special
    }

    /// The codec; `None` if the chunk has no compressed blocks, if the header leaves the codec to the frame, or if
    /// no codec has the number in the flags. `lz4` also means `lz4hc`, which has the same format.
    #[must_use]
    pub fn codec(&self) -> Option<Codec> {
        self.codec
    }

    /// The filters, in order of application. An id of 0 means no filter.
    #[must_use]
    pub fn filters(&self) -> [Filter; 6] {
        self.filters
    }

    /// Whether blocks have different sizes.
    #[must_use]
    pub fn has_variable_blocks(&self) -> bool {
        self.has_variable_blocks
    }

    /// Whether the blocks are compressed with a dictionary. The chunk then also holds the dictionary.
    #[must_use]
    pub fn has_dictionary(&self) -> bool {
        self.has_dictionary
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

    /// Whether a table with the offsets of the compressed blocks follows the header.
    #[must_use]
    pub fn has_table(&self) -> bool {
        !self.is_uncompressed && self.special.is_none()
    }

    /// The length of the table in bytes, 0 if there is no table. `None` if the block size is 0 or the length overflows.
    #[must_use]
    pub fn table_len(&self) -> Option<usize> {
        if self.has_table() { self.nblocks()?.checked_mul(INT32) } else { Some(0) }
    }

    /// The size of a decompressed block in bytes: `blocksize`, or less for the last block. `None` if there is no block
    /// of this number, or if blocks have different sizes.
    ///
    /// ```
    /// # use b2nd_chunk::ChunkHeader;
    /// // The header of ten bytes in blocks of four.
    /// let header = ChunkHeader::parse(b"\x05\x01\x02\x01\x0a\0\0\0\x04\0\0\0\x1a\0\0\0").expect("a header");
    /// assert_eq!([0, 1, 2, 3].map(|number| header.block_len(number)), [Some(4), Some(4), Some(2), None]);
    /// ```
    #[must_use]
    pub fn block_len(&self, number: usize) -> Option<usize> {
        let left = self.nbytes.checked_sub(number.checked_mul(self.blocksize)?)?;
        Some(left.min(self.blocksize)).filter(|&length| length > 0 && !self.has_variable_blocks)
    }

    /// Whether blocks are split into one stream per byte of an item.
    // Only the flag decides. A dictionary makes no difference: C-Blosc2 3.3.5 also splits blocks if the chunk has one.
    #[must_use]
    pub fn is_split(&self) -> bool {
        self.flags & IS_UNSPLIT == 0
    }

    /// The number of streams of a block of this decompressed length.
    // C-Blosc2 never splits a last block that is shorter than the other blocks.
    #[doc(hidden)]
    #[must_use]
    pub fn nstreams(&self, length: usize) -> usize {
        let is_short = length < self.blocksize.min(self.nbytes);
        if self.is_split() && !is_short && !self.has_variable_blocks { self.typesize.into() } else { 1 }
    }

    /// Whether the chunk is uncompressed, but has the dictionary flag. Such a chunk holds no dictionary, but C-Blosc2
    /// looks for one.
    #[doc(hidden)]
    #[must_use]
    pub fn has_false_dictionary(&self) -> bool {
        self.is_uncompressed && self.has_dictionary
    }

    /// The number of the special value that C-Blosc2 wrongly reads from a chunk of Blosc 1; `None` if it reads no
    /// special value. Byte 31 of a chunk of Blosc 1 is data. If the chunk is in a frame, C-Blosc2 nevertheless reads
    /// flags from this byte. If these flags mean a special value, C-Blosc2 cannot read the chunk.
    #[doc(hidden)]
    #[must_use]
    pub fn false_special(&self) -> Option<u8> {
        Some(self.special_bits).filter(|&bits| self.header_len == BLOSC1_LEN && bits != 0)
    }

    /// Whether the header has the flag of a lazily loaded chunk.
    pub(crate) fn is_lazy(&self) -> bool {
        // C-Blosc2 ignores the flag in a constant chunk.
        self.more_flags & IS_LAZY != 0 && self.special.is_none()
    }

    /// Whether the data is measurements of the codec, not compressed data.
    pub(crate) fn is_instrumented(&self) -> bool {
        self.more_flags & IS_INSTRUMENTED != 0
    }

    /// The position of the first unknown filter, counted from 0.
    #[doc(hidden)]
    #[must_use]
    pub fn unknown_filter(&self) -> Option<usize> {
        self.filters.iter().position(|filter| filter.id != 0 && filter.is_unknown())
    }

    /// The number in bits 5 to 7 of the flags.
    pub(crate) fn codec_format(&self) -> u8 {
        self.flags >> 5
    }

    /// Whether byte 30 has flags that no program sets. C-Blosc2 ignores them.
    #[doc(hidden)]
    #[must_use]
    pub fn has_unknown_flags(&self) -> bool {
        self.block_flags & !HAS_VARIABLE_BLOCKS != 0
    }

    /// Whether a block can be decompressed only with other parts of the chunk: with block 0 for the filter delta, or
    /// with the dictionary. Also true if blocks have different sizes, because the position of such a block in the data
    /// depends on the blocks before it.
    #[must_use]
    pub fn needs_other_blocks(&self) -> bool {
        self.has_dictionary || self.has_variable_blocks || self.has_delta()
    }

    /// Whether the chunk was written by an alpha release of C-Blosc2. In such a header the last of the six filters is
    /// not initialized.
    #[doc(hidden)]
    #[must_use]
    pub fn is_of_alpha(&self) -> bool {
        self.header_len == BLOSC2_LEN && self.version == ALPHA_VERSION
    }

    pub(crate) fn has_delta(&self) -> bool {
        self.pipeline().any(|filter| filter.id == Filter::DELTA.id)
    }

    /// The filters in use, in order of application.
    pub(crate) fn pipeline(&self) -> impl DoubleEndedIterator<Item = Filter> {
        let count = if self.is_of_alpha() { 5 } else { 6 };
        self.filters.into_iter().take(count).filter(|filter| filter.id != 0)
    }

    /// The data of an uncompressed chunk, or an empty slice for any chunk without data. `None` if the data is
    /// compressed or constant. Also `None` if `chunk` ends before its data does.
    #[doc(hidden)]
    #[must_use]
    pub fn stored<'c>(&self, chunk: &'c [u8]) -> Option<&'c [u8]> {
        let data = chunk.get(self.header_len..)?.get(..self.nbytes)?;
        // If there is no data, there is nothing to decompress, whatever the flags are.
        (self.is_uncompressed || data.is_empty()).then_some(data)
    }
}

/// The value of the byte `typesize` in the header of a chunk: the item size, or 1 if an item has more than 255 bytes.
/// C-Blosc2 writes the same value.
#[must_use]
pub fn typesize_byte(typesize: impl TryInto<u8>) -> u8 {
    typesize.try_into().unwrap_or(1)
}

/// The header of an uncompressed chunk, or of a constant chunk if `repeats` is true. `body` is the number of bytes
/// after the header. In an uncompressed chunk, this is the length of the data. In a constant chunk, it is the length of
/// the value, or 0 if all data is zero. `None` if a number does not fit the header.
#[must_use]
pub fn stored_header(
    repeats: bool,
    typesize: usize,
    nbytes: usize,
    blocksize: usize,
    body: usize,
) -> Option<[u8; BLOSC2_LEN]> {
    let special = if body == 0 { SpecialValue::Zeros } else { SpecialValue::Value };
    let (flags, special) = if repeats { (0, special as u8) } else { (IS_STORED, 0) };
    let mut header = new_header(flags, typesize, [nbytes, blocksize, body])?;
    *header.get_mut(MORE_FLAGS)? = special << 4;
    Some(header)
}

/// The header of a chunk of compressed blocks. `sizes` are the three sizes that `new_header` needs: `nbytes`,
/// `blocksize` and the number of bytes after the header. `None` if a size does not fit the header, or if the flags have
/// no number for the codec.
#[cfg(feature = "compress")]
pub(crate) fn compressed_header(
    codec: Codec,
    filters: &[Filter; 6],
    is_split: bool,
    typesize: usize,
    sizes: [usize; 3],
) -> Option<[u8; BLOSC2_LEN]> {
    let flags = format_of(codec)? << 5 | if is_split { 0 } else { IS_UNSPLIT };
    let mut header = new_header(flags, typesize, sizes)?;
    *header.get_mut(CODEC)? = codec.0;
    for (at, filter) in filters.iter().enumerate() {
        *header.get_mut(FILTERS + at)? = filter.id;
        *header.get_mut(FILTERS_META + at)? = filter.meta;
    }
    Some(header)
}

/// A header with three sizes: `nbytes`, `blocksize` and the number of bytes after the header.
fn new_header(flags: u8, typesize: usize, [nbytes, blocksize, body]: [usize; 3]) -> Option<[u8; BLOSC2_LEN]> {
    let start = [WRITTEN_VERSION, WRITTEN_CODEC_VERSION, IS_BLOSC2 | flags, typesize_byte(typesize)];
    let mut header = [0; BLOSC2_LEN];
    *header.first_chunk_mut()? = start;
    HeaderSize::Nbytes.replace(&mut header, nbytes)?;
    HeaderSize::Blocksize.replace(&mut header, blocksize)?;
    HeaderSize::Cbytes.replace(&mut header, body.checked_add(BLOSC2_LEN)?)?;
    Some(header)
}

/// A size in the header of a chunk.
///
/// ```
/// use b2nd_chunk::ChunkHeader;
/// use b2nd_chunk::internals::{HeaderSize, stored_header};
///
/// let mut header = stored_header(false, 4, 12, 12, 12).expect("sizes that fit");
/// assert_eq!(HeaderSize::Nbytes.replace(&mut header, 8), Some(12));
/// assert_eq!(ChunkHeader::parse(&header).expect("a header").nbytes(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum HeaderSize {
    /// The size of an item.
    Typesize = TYPESIZE,
    /// The size of the decompressed data.
    Nbytes = NBYTES,
    /// The size of a decompressed block.
    Blocksize = BLOCKSIZE,
    /// The stored size of the chunk.
    Cbytes = CBYTES,
}

impl HeaderSize {
    /// The name of this size in `PARTS`: `typesize`, `nbytes`, `blocksize` or `cbytes`.
    #[must_use]
    pub fn name(self) -> &'static str {
        PARTS.iter().find(|(_, offset, _)| *offset == self as usize).map_or("", |(name, ..)| name)
    }

    /// Replaces the size in the header of a chunk, and returns the old size. `None` if `chunk` ends before the end of
    /// this part of the header, or if `value` does not fit this part.
    pub fn replace(self, chunk: &mut [u8], value: usize) -> Option<i32> {
        let bytes = chunk.get_mut(self as usize..)?;
        if self == Self::Typesize {
            return Some(mem::replace(bytes.first_mut()?, u8::try_from(value).ok()?).into());
        }
        let bytes = bytes.first_chunk_mut()?;
        let old = mem::replace(bytes, i32::try_from(value).ok()?.to_le_bytes());
        Some(i32::from_le_bytes(old))
    }
}

/// Restores the codec number in the flags of a compressed chunk. If this number is not that of a built-in codec, but
/// the byte `codec` holds a built-in codec, the flags get the number of this codec. Returns the old and the new number
/// in the flags; `None` if nothing was restored.
pub fn restore_codec(chunk: &mut [u8]) -> Option<[u8; 2]> {
    let header = ChunkHeader::parse(chunk).filter(ChunkHeader::has_table)?;
    let old = header.codec_format();
    // In a chunk of Blosc 1, byte 22 is data, not a codec. So only a header of 32 bytes is changed.
    let is_lost = codec(header.flags, u8::MAX).is_none_or(|codec| !codec.is_built_in());
    let right =
        format_of(Codec(*chunk.get(CODEC)?)).filter(|_| is_lost && header.header_len == BLOSC2_LEN)?;
    *chunk.get_mut(FLAGS)? = header.flags & !(7 << 5) | right << 5;
    Some([old, right])
}

/// Sets the id of a filter in the header of a chunk.
pub fn set_filter(chunk: &mut [u8], number: usize, id: u8) {
    let filters = chunk.get_mut(FILTERS..).unwrap_or_default();
    if let Some(slot) = filters.get_mut(number) {
        *slot = id;
    }
}

/// Clears the dictionary flag in a chunk that is not compressed, and returns whether it was set.
pub fn clear_false_dictionary(chunk: &mut [u8]) -> bool {
    clear_flag(chunk, HAS_DICTIONARY, ChunkHeader::has_false_dictionary)
}

/// Clears the flag of a lazily loaded chunk, and returns whether it was set.
pub fn clear_lazy(chunk: &mut [u8]) -> bool {
    clear_flag(chunk, IS_LAZY, ChunkHeader::is_lazy)
}

/// Clears a flag of byte 31 if `is_wrong` is true for the header of the chunk. Returns the result of `is_wrong`.
fn clear_flag(chunk: &mut [u8], flag: u8, is_wrong: fn(&ChunkHeader) -> bool) -> bool {
    let is_wrong = ChunkHeader::parse(chunk).is_some_and(|header| is_wrong(&header));
    if let Some(flags) = chunk.get_mut(MORE_FLAGS).filter(|_| is_wrong) {
        *flags &= !flag;
    }
    is_wrong
}

/// The special value with this number; `None` for 0 and for an unknown number.
fn special(bits: u8) -> Option<SpecialValue> {
    use SpecialValue::{Nan, Uninitialized, Value, Zeros};
    [Zeros, Nan, Value, Uninitialized].into_iter().find(|&value| value as u8 == bits)
}

/// The filters of a chunk of Blosc 1. The flag for shuffle can be set even if an item has only one byte. The result
/// then includes the shuffle, although this shuffle changes nothing.
fn filters_of_blosc1(flags: u8) -> [Filter; 6] {
    let delta = if flags & IS_DELTA == 0 { Filter::NONE } else { Filter::DELTA };
    let shuffle = match flags & (IS_SHUFFLED | IS_BITSHUFFLED) {
        IS_SHUFFLED => Filter::SHUFFLE,
        IS_BITSHUFFLED => Filter::BITSHUFFLE,
        _ => Filter::NONE,
    };
    [Filter::NONE, Filter::NONE, Filter::NONE, Filter::NONE, delta, shuffle]
}

/// The number that stands for a built-in codec in bits 5 to 7 of the flags. `None` for any other codec.
pub(crate) fn format_of(codec: Codec) -> Option<u8> {
    let same_format = if codec == Codec::LZ4HC { Codec::LZ4 } else { codec };
    (0..).zip(CODECS).find_map(|(format, other)| (other == Some(same_format)).then_some(format))
}

/// The codec with the number in bits 5 to 7 of the flags. If this number is 6, the codec is `other`, the value of the
/// byte `codec`.
fn codec(flags: u8, other: u8) -> Option<Codec> {
    match flags >> 5 {
        CODEC_IN_BYTE => Some(Codec(other)),
        format => CODECS.get(usize::from(format)).copied().flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_header_follow_one_another() {
        let end = PARTS.iter().fold(0, |end, &(name, offset, len)| {
            assert_eq!(offset, end, "{name}");
            end + len
        });
        assert_eq!(end, BLOSC2_LEN);
    }
}
