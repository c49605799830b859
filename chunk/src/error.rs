//! The error of checking, decompressing or compressing a chunk.

use core::fmt;

use crate::codec::Codec;
use crate::filter::Filter;
use crate::header::{MAX_BLOCKSIZE, MAX_NBYTES};

/// The error of checking, decompressing or compressing a chunk. Its text contains the invalid numbers.
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
pub struct Error {
    fault: Fault,
    /// The number of the block that has the fault, if the fault is in a single block.
    block: Option<usize>,
}

/// The kind of an [`Error`], by which a program can decide what to do.
///
/// ```
/// use b2nd_chunk::{ChunkHeader, ErrorKind};
///
/// // zfp is a plugin of C-Blosc2.
/// let bytes = b"\x05\x01\xc5\x08\x40\0\0\0\x40\0\0\0\x28\0\0\0\0\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0";
/// let header = ChunkHeader::parse(bytes).expect("a header");
/// assert_eq!(header.checked().unwrap_err().kind(), ErrorKind::Unsupported);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes do not begin with a header, or the header contradicts itself or the length of the chunk.
    Header,
    /// An offset in the table of blocks is invalid, or the length of the dictionary is negative or too large.
    Table,
    /// A block or the dictionary is damaged, or a block cannot be decompressed without the rest of the chunk. An
    /// unknown number of the codec or of a filter gives this kind too. The numbers 160 to 255, which are for users, do
    /// not count as unknown. Flags that mark a built-in codec of C-Blosc2 as a plugin also give this kind.
    Data,
    /// The chunk may be valid, but this crate [cannot decompress it](crate#what-is-decompressed). For example, its
    /// codec is a plugin.
    Unsupported,
    /// The chunk has no block of this number.
    NoBlock,
    /// The buffer is shorter than the data.
    BufferTooSmall,
    /// The parameters of compression are invalid, or this crate cannot apply them.
    Params,
    /// The data is longer than a chunk can hold, or longer than the limit that the caller gave to `decompress_to_vec`.
    DataTooLong,
    /// The system has no memory for a block or a chunk. The call may succeed later.
    NoMemory,
}

/// Generates the faults, each with its kind and its text.
macro_rules! faults {
    ($($kind:ident { $($fault:ident $({ $($value:ident: $type:ty),+ })? $text:literal)+ })+) => {
        /// A fault, with its numbers.
        #[derive(Clone, Copy, PartialEq, Eq)]
        // Without the feature `compress`, the code that finds some of these faults is not compiled.
        #[cfg_attr(not(feature = "compress"), allow(dead_code))]
        pub(crate) enum Fault {
            $($($fault $({ $($value: $type),+ })?,)+)+
        }

        impl Error {
            /// The kind of error.
            #[must_use]
            pub fn kind(&self) -> ErrorKind {
                match self.fault {
                    $($(Fault::$fault { .. })|+ => ErrorKind::$kind,)+
                }
            }
        }

        impl fmt::Display for Fault {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(Self::$fault $({ $($value),+ })? => write!(f, $text),)+)+
                }
            }
        }
    };
}

faults! {
    Header {
        NoHeader "does not begin with the header of a chunk"
        Truncated { cbytes: usize, found: usize } "has {cbytes} bytes, but only {found} are given"
        Typesize "has items of 0 bytes, but must have at least 1"
        Blocksize { size: usize } "has blocks of {size} bytes, but must have 1 to {MAX_BLOCKSIZE}"
        SpecialWithData "has one value, but also data or a dictionary"
        VariableWithoutTable "has blocks of any length, but none is compressed"
        Lazy "is marked as lazily loaded, which is only possible in memory: bit 3 of its byte 31 must be 0"
        NeedlessDictionary { codec: Codec } "has a dictionary, but {codec} takes none"
        SpecialBits { bits: u8 } "has the special value {bits}, but only 1 to 4 are known"
        Value { body: usize, nbytes: usize } "repeats a value of {body} bytes, which does not fit {nbytes} bytes"
        Items { nbytes: usize, typesize: u8 }
            "has {nbytes} bytes of one value, which is not a multiple of the item size {typesize}"
        Stored { body: usize, nbytes: usize } "is not compressed, but has {body} bytes for {nbytes} of data"
        NoRoomForTable { cbytes: usize } "has no room for the offsets of its blocks in {cbytes} bytes"
        Split { length: usize, nstreams: usize }
            "has blocks of {length} bytes, which cannot be split into {nstreams} streams of equal length"
    }
    Table {
        DictionaryLength { length: i32, most: usize }
            "has a dictionary of {length} bytes, but must have one of at most {most}"
        BlockStart { number: usize, start: i32, least: usize, cbytes: usize }
            "has block {number} at its byte {start}, but it must begin at byte {least} or later, and before byte {cbytes}"
    }
    Unsupported {
        Codec { codec: Codec } "has {codec}, a codec that this crate cannot decompress"
        CodecOfFrame "leaves its codec to the frame"
        Filter { filter: Filter } "has {filter}, a filter that this crate cannot undo"
        RowsOfFrame { filter: Filter }
            "has {filter} with parameter 0, a filter that takes the item size from the frame"
        Instrumented "has measurements of its codec instead of data"
        Nan { typesize: u8 } "is all NaN, but Blosc2 has no NaN of {typesize} bytes"
    }
    Data {
        UnknownCodec { number: u8 } "has codec {number}, which belongs neither to C-Blosc2 nor to a plugin"
        BuiltInCodec { codec: Codec, right: u8 }
            "has {codec} as the codec of a plugin or a user: for {codec}, bits 5 to 7 of its byte 2 must be {right}, not 6"
        UnknownFilter { filter: Filter } "has {filter}, which belongs neither to C-Blosc2 nor to a plugin"
        BeyondEnd "it reaches beyond the end of the chunk"
        StreamLength { stored: usize, length: usize }
            "a stream has {stored} bytes, but must have at most the {length} of its data"
        Run { length: i32 } "a stream has the length {length}, but repeats no byte"
        Stream { codec: Codec, stored: usize, length: usize }
            "{codec} cannot decompress a stream of {stored} bytes to {length}"
        Dictionary "the dictionary is not in the format of the codec"
        BlockSizes { nbytes: usize } "the blocks do not add up to {nbytes} bytes"
        OtherBlocks "it cannot be decompressed without the rest of the chunk"
    }
    NoBlock {
        NoBlock { number: usize, count: usize } "has {count} blocks, and no block {number}"
    }
    BufferTooSmall {
        BufferTooSmall { needed: usize, given: usize }
            "needs a buffer of {needed} bytes, but this one has {given}"
    }
    Params {
        CodecOnlyRead { codec: Codec }
            "{codec} is only decompressed here; to compress, use blosclz, lz4, zlib or zstd"
        OtherCodec { codec: Codec } "{codec} is not one of blosclz, lz4, zlib and zstd"
        Level { level: u8 } "the level is {level}, but must be 0 to 9"
        ParamsTypesize "items have 0 bytes, but must have at least 1"
        OtherFilter { filter: Filter } "{filter} is a filter that this crate cannot apply"
        FilterOrder { filter: Filter }
            "the filter {filter} is at the wrong place: trunc_prec and int_trunc come first, then at most one delta"
        Truncation { filter: Filter, typesize: usize } "the filter {filter} does not fit items of {typesize} bytes"
    }
    DataTooLong {
        DataTooLong { nbytes: usize } "has {nbytes} bytes of data, but must have at most {MAX_NBYTES}"
        OverLimit { nbytes: usize, limit: usize } "has {nbytes} bytes of data, but at most {limit} are allowed"
    }
    NoMemory {
        NoMemory { nbytes: usize } "needs {nbytes} bytes of memory, which the system does not have"
    }
}

impl Fault {
    /// The error for this fault in the block with this number.
    #[cfg(feature = "decompress")]
    #[cold]
    pub(crate) fn in_block(self, number: usize) -> Error {
        Error { fault: self, block: Some(number) }
    }
}

impl From<Fault> for Error {
    #[cold]
    fn from(fault: Fault) -> Self {
        Self { fault, block: None }
    }
}

/// Fails with the fault unless the condition holds.
pub(crate) fn ensure(holds: bool, fault: Fault) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(fault.into()) }
}

impl Error {
    /// The text without its first words, "the chunk". So a program can put its own name of the chunk before the text.
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
        Message(*self)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the chunk {}", self.message())
    }
}

struct Message(Error);

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        if let Some(number) = error.block {
            write!(f, "cannot be decompressed: block {number}: ")?;
        } else if error.kind() == ErrorKind::Params {
            f.write_str("cannot be compressed: ")?;
        }
        error.fault.fmt(f)
    }
}

/// Writes the message, because `unwrap` and a `main` that returns the error show the `Debug` text. With `{:#?}`, the
/// fields are written.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return fmt::Display::fmt(self, f);
        }
        let mut fields = f.debug_struct("Error");
        fields.field("kind", &self.kind()).field("message", &format_args!("{self}")).finish()
    }
}

impl core::error::Error for Error {}

/// Wraps the error. Call `downcast` to get it back.
///
/// ```
/// use std::io;
/// use b2nd_chunk::{ChunkHeader, Error};
///
/// // Items of 0 bytes.
/// let header = ChunkHeader::parse(b"\x05\x01\x02\0\x02\0\0\0\x02\0\0\0\x12\0\0\0ab").expect("a header");
/// let error = io::Error::from(header.check().unwrap_err());
/// assert_eq!(error.kind(), io::ErrorKind::InvalidData);
/// assert_eq!(error.downcast::<Error>()?.kind(), b2nd_chunk::ErrorKind::Header);
/// # Ok::<(), io::Error>(())
/// ```
#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io;

        let kind = match error.kind() {
            ErrorKind::Header | ErrorKind::Table | ErrorKind::Data => io::ErrorKind::InvalidData,
            ErrorKind::NoBlock | ErrorKind::BufferTooSmall | ErrorKind::Params | ErrorKind::DataTooLong => {
                io::ErrorKind::InvalidInput
            }
            ErrorKind::Unsupported => io::ErrorKind::Unsupported,
            ErrorKind::NoMemory => io::ErrorKind::OutOfMemory,
        };
        Self::new(kind, error)
    }
}
