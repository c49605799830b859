//! The error of checking or decompressing a chunk.

use core::fmt;

use crate::codec::Codec;
use crate::filter::Filter;
use crate::header::MAX_BLOCKSIZE;
#[cfg(feature = "compress")]
use crate::header::MAX_NBYTES;

/// The error of checking or decompressing a chunk. Its text has the numbers that contradict each other.
///
/// ```
/// use b2nd_chunk::{ChunkHeader, ErrorKind};
///
/// // Items of 0 bytes.
/// let bytes = b"\x05\x01\x02\0\x02\0\0\0\x02\0\0\0\x12\0\0\0ab";
/// let error = ChunkHeader::parse(bytes).expect("a header").check().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Header);
/// assert_eq!(error.to_string(), "the chunk has items of 0 bytes, but must have at least 1");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(Detail);

/// The kind of an [`Error`], for a program to act on.
///
/// ```
/// use b2nd_chunk::{ChunkHeader, ErrorKind, header::stored_header};
///
/// // zfp is a plugin of C-Blosc2.
/// let mut chunk = stored_header(false, 8, 64, 64, 8).expect("sizes that fit");
/// (chunk[2], chunk[22]) = (0xc5, 33);
/// let header = ChunkHeader::parse(&chunk).expect("a header");
/// assert_eq!(header.check_support().unwrap_err().kind(), ErrorKind::Unsupported);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The header contradicts itself or the length of the chunk.
    Header,
    /// The table of blocks has an offset outside of the chunk, or an invalid dictionary.
    Table,
    /// A block is damaged.
    Data,
    /// The chunk may be valid, but its codec or a filter is a plugin of C-Blosc2 or of a user.
    Unsupported,
    /// The chunk has no block of this number.
    NoBlock,
    /// The buffer is shorter than the data.
    BufferTooSmall,
    /// The parameters of compression are invalid, or this crate cannot apply them.
    Params,
    /// The data is too long for a chunk.
    DataTooLong,
}

/// A fault, with its numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    Header(HeaderFault),
    Table(TableFault),
    Unsupported(UnsupportedPart),
    #[cfg(feature = "decompress")]
    Block {
        number: usize,
        fault: BlockFault,
    },
    #[cfg(feature = "decompress")]
    NoBlock {
        number: usize,
        count: usize,
    },
    #[cfg(feature = "decompress")]
    BufferTooSmall {
        needed: usize,
        given: usize,
    },
    #[cfg(feature = "compress")]
    Params(ParamsFault),
    #[cfg(feature = "compress")]
    DataTooLong {
        nbytes: usize,
    },
}

/// Why a header is invalid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    /// The bytes cannot be a header.
    #[cfg(feature = "decompress")]
    NoHeader,
    #[cfg(feature = "decompress")]
    Truncated {
        cbytes: usize,
        found: usize,
    },
    Typesize,
    Blocksize(usize),
    SpecialWithData,
    VariableWithoutTable,
    LazyWithData,
    Dictionary(Codec),
    SpecialBits(u8),
    Value {
        body: usize,
        nbytes: usize,
    },
    Items {
        nbytes: usize,
        typesize: u8,
    },
    Stored {
        body: usize,
        nbytes: usize,
    },
    NoRoomForTable {
        cbytes: usize,
    },
    Split {
        length: usize,
        nstreams: usize,
    },
}

/// Why a table of blocks is invalid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableFault {
    Dictionary { length: i32, most: usize },
    BlockStart { number: usize, start: i32, least: usize, cbytes: usize },
}

/// What this crate does not decompress.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnsupportedPart {
    Codec(Codec),
    CodecOfFrame,
    Filter(Filter),
    /// The filter bytedelta with parameter 0.
    RowsOfBytedelta,
    Instrumented,
    Nan {
        typesize: u8,
    },
}

/// Why a block cannot be decompressed.
#[cfg(feature = "decompress")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockFault {
    /// A stream ends beyond the chunk.
    BeyondEnd,
    /// A stream is longer than the data in it.
    StreamLength { stored: usize, length: usize },
    /// Not the length of a run, or not its token.
    Run { length: i32 },
    /// A codec refuses a stream, or its data has another length.
    Codec { codec: Codec, stored: usize, length: usize },
    /// Not a dictionary in the format of the codec.
    Dictionary,
    /// The sizes of the blocks do not add up to that of the data.
    Sizes { nbytes: usize },
    /// It was given without the rest of the chunk, on which it depends.
    OtherBlocks,
}

/// Why a chunk cannot be compressed with these parameters.
#[cfg(feature = "compress")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamsFault {
    Codec(Codec),
    Level(u8),
    Typesize,
    Filter(Filter),
    /// The filter must be before those that are before it.
    FilterOrder(Filter),
    /// A truncation clears no bits of such items, or all of them.
    Truncation {
        filter: Filter,
        typesize: usize,
    },
}

impl Error {
    #[cold]
    pub(crate) fn new(detail: Detail) -> Self {
        Self(detail)
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.0 {
            Detail::Header(_) => ErrorKind::Header,
            Detail::Table(_) => ErrorKind::Table,
            Detail::Unsupported(_) => ErrorKind::Unsupported,
            #[cfg(feature = "decompress")]
            Detail::Block { .. } => ErrorKind::Data,
            #[cfg(feature = "decompress")]
            Detail::NoBlock { .. } => ErrorKind::NoBlock,
            #[cfg(feature = "decompress")]
            Detail::BufferTooSmall { .. } => ErrorKind::BufferTooSmall,
            #[cfg(feature = "compress")]
            Detail::Params(_) => ErrorKind::Params,
            #[cfg(feature = "compress")]
            Detail::DataTooLong { .. } => ErrorKind::DataTooLong,
        }
    }

    /// The text without "the chunk", for a program that names the chunk itself.
    ///
    /// ```
    /// # use b2nd_chunk::ChunkHeader;
    /// # let bytes = b"\x05\x01\x02\0\x02\0\0\0\x02\0\0\0\x12\0\0\0ab";
    /// # let error = ChunkHeader::parse(bytes).expect("a header").check().unwrap_err();
    /// let text = format!("chunk 7 {}", error.message());
    /// assert_eq!(text, "chunk 7 has items of 0 bytes, but must have at least 1");
    /// ```
    #[must_use]
    pub fn message(&self) -> impl fmt::Display {
        self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the chunk {}", self.message())
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(fault) => fault.fmt(f),
            Self::Table(fault) => fault.fmt(f),
            Self::Unsupported(part) => part.fmt(f),
            #[cfg(feature = "decompress")]
            Self::Block { number, fault } => write!(f, "cannot be decompressed: block {number}: {fault}"),
            #[cfg(feature = "decompress")]
            Self::NoBlock { number, count } => write!(f, "has {count} blocks, and no block {number}"),
            #[cfg(feature = "decompress")]
            Self::BufferTooSmall { needed, given } => {
                write!(f, "needs a buffer of {needed} bytes, but this one has {given}")
            }
            #[cfg(feature = "compress")]
            Self::Params(fault) => write!(f, "cannot be compressed: {fault}"),
            #[cfg(feature = "compress")]
            Self::DataTooLong { nbytes } => {
                write!(f, "has {nbytes} bytes of data, but must have at most {MAX_NBYTES}")
            }
        }
    }
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "decompress")]
            Self::NoHeader => f.write_str("does not begin with the header of a chunk"),
            #[cfg(feature = "decompress")]
            Self::Truncated { cbytes, found } => write!(f, "has {cbytes} bytes, but only {found} are given"),
            Self::Typesize => f.write_str("has items of 0 bytes, but must have at least 1"),
            Self::Blocksize(size) => {
                write!(f, "has blocks of {size} bytes, but must have 1 to {MAX_BLOCKSIZE}")
            }
            Self::SpecialWithData => f.write_str("has one value, but also data or a dictionary"),
            Self::VariableWithoutTable => f.write_str("has blocks of any length, but none is compressed"),
            Self::LazyWithData => f.write_str("is marked as lazy, but has data"),
            Self::Dictionary(codec) => write!(f, "has a dictionary, but {codec} takes none"),
            Self::SpecialBits(bits) => {
                write!(f, "has the special value {bits}, but only 1 to 4 are known")
            }
            Self::Value { body, nbytes } => {
                write!(f, "repeats a value of {body} bytes, which does not fit {nbytes} bytes")
            }
            Self::Items { nbytes, typesize } => {
                write!(f, "has {nbytes} bytes of one value, which are no whole items of {typesize}")
            }
            Self::Stored { body, nbytes } => {
                write!(f, "is not compressed, but has {body} bytes for {nbytes} of data")
            }
            Self::NoRoomForTable { cbytes } => {
                write!(f, "has no room for the offsets of its blocks in {cbytes} bytes")
            }
            Self::Split { length, nstreams } => {
                write!(f, "has blocks of {length} bytes that are split into {nstreams} streams, ")?;
                f.write_str("which cannot be of one length")
            }
        }
    }
}

impl fmt::Display for TableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dictionary { length, most } => {
                write!(f, "has a dictionary of {length} bytes, but must have one of at most {most}")
            }
            Self::BlockStart { number, start, least, cbytes } => {
                write!(
                    f,
                    "has block {number} at byte {start} of it, but must have it at {least} or after, "
                )?;
                write!(f, "and before {cbytes}")
            }
        }
    }
}

impl fmt::Display for UnsupportedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Codec(codec) => write!(f, "has {codec}, a codec that this crate cannot decompress"),
            Self::CodecOfFrame => f.write_str("leaves its codec to the frame"),
            Self::Filter(filter) => write!(f, "has {filter}, a filter that this crate cannot undo"),
            Self::RowsOfBytedelta => {
                let filter = Filter::BYTEDELTA;
                write!(f, "has {filter} with parameter 0, a filter that takes the item size from the frame")
            }
            Self::Instrumented => f.write_str("has measurements of its codec in the place of data"),
            Self::Nan { typesize } => write!(f, "is all NaN, but Blosc2 has no NaN of {typesize} bytes"),
        }
    }
}

#[cfg(feature = "decompress")]
impl fmt::Display for BlockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondEnd => f.write_str("it reaches beyond the end of the chunk"),
            Self::StreamLength { stored, length } => {
                write!(f, "a stream has {stored} bytes, but must have at most the {length} of its data")
            }
            Self::Run { length } => write!(f, "a stream has the length {length}, but repeats no byte"),
            Self::Codec { codec, stored, length } => {
                write!(f, "{codec} cannot decompress a stream of {stored} bytes to {length}")
            }
            Self::Dictionary => f.write_str("the dictionary is not in the format of the codec"),
            Self::Sizes { nbytes } => write!(f, "the blocks do not add up to {nbytes} bytes"),
            Self::OtherBlocks => f.write_str("it cannot be decompressed without the rest of the chunk"),
        }
    }
}

#[cfg(feature = "compress")]
impl fmt::Display for ParamsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Codec(codec) if codec.is_built_in() => {
                write!(f, "{codec} is only decompressed here; to compress, use blosclz, lz4, zlib or zstd")
            }
            Self::Codec(codec) => write!(f, "{codec} is not one of blosclz, lz4, zlib and zstd"),
            Self::Level(level) => write!(f, "the level is {level}, but must be 0 to 9"),
            Self::Typesize => f.write_str("items have 0 bytes, but must have at least 1"),
            Self::Filter(filter) => write!(f, "{filter} is a filter that this crate cannot apply"),
            Self::FilterOrder(filter) => write!(
                f,
                "the filter {filter} is at the wrong place: trunc_prec and int_trunc come first, then at most one delta"
            ),
            Self::Truncation { filter, typesize } => {
                write!(f, "the filter {filter} does not fit items of {typesize} bytes")
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Error");
        fields.field("kind", &self.kind()).field("message", &format_args!("{self}")).finish()
    }
}

impl core::error::Error for Error {}
