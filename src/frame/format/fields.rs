//! The numbers of a header that have names.

use core::fmt;

/// The three generations of the header, by its first byte.
///
/// ```
/// use b2nd_serde::frame::{Frame, Generation};
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// assert_eq!(frame.header().generation, Generation::Present);
/// assert_eq!(frame.header().generation.marker(), 0x9e);
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// `9c`, 12 values: C-Blosc2 2.0 beta 1. It has no filters.
    Beta1,
    /// `9d`, 13 values: C-Blosc2 2.0 beta 2 to 5. It has no block size.
    Beta2,
    /// `9e`, 14 values: everything since C-Blosc2 2.0.0-rc1. Its format version is 2, or 3 where chunks or blocks may have
    /// different sizes, as C-Blosc2 also says of a chunk size of 0.
    Present,
}

impl Generation {
    /// The first byte of the frame.
    #[must_use]
    pub fn marker(self) -> u8 {
        match self {
            Self::Beta1 => 0x9c,
            Self::Beta2 => 0x9d,
            Self::Present => 0x9e,
        }
    }

    pub(crate) fn of_marker(marker: u8) -> Option<Self> {
        [Self::Beta1, Self::Beta2, Self::Present].into_iter().find(|generation| generation.marker() == marker)
    }

    /// How many bytes the values behind the type size stand before those of the present generation.
    fn shift(self, field: Field) -> usize {
        match (self, field < Field::Filters) {
            (Self::Present, _) => 0,
            (Self::Beta2, _) | (Self::Beta1, true) => 5,
            (Self::Beta1, false) => 23,
        }
    }
}

/// The values of a header that can be changed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The length of the header.
    HeaderLen,
    /// The length of the frame.
    FrameLen,
    /// The four bytes of flags.
    Flags,
    /// The bytes of all chunks, decompressed.
    Nbytes,
    /// The bytes of all chunks, as stored.
    Cbytes,
    /// The bytes of an item.
    Typesize,
    /// The bytes of a block.
    Blocksize,
    /// The bytes of a chunk.
    Chunksize,
    /// Threads for compression.
    CompressionThreads,
    /// Threads for decompression.
    DecompressionThreads,
    /// Whether the trailer has vlmetalayers.
    HasVlmetalayers,
    /// The number of filters, their ids, the codec's own id and number, and the filters' numbers.
    Filters,
    /// The metalayers.
    Metalayers,
}

impl Field {
    /// Where the value stands, behind its marker, and how many bytes it has; the metalayers have none of their own.
    pub(crate) fn position(self, generation: Generation) -> Option<(usize, usize)> {
        let (start, length) = match self {
            Self::HeaderLen => return Some((11, 4)),
            Self::FrameLen => return Some((16, 8)),
            Self::Flags => return Some((25, 4)),
            Self::Nbytes => return Some((30, 8)),
            Self::Cbytes => return Some((39, 8)),
            Self::Typesize => return Some((48, 4)),
            Self::Blocksize if generation != Generation::Present => return None,
            Self::Filters if generation == Generation::Beta1 => return None,
            Self::Blocksize => (53, 4),
            Self::Chunksize => (58, 4),
            Self::CompressionThreads => (63, 2),
            Self::DecompressionThreads => (66, 2),
            Self::HasVlmetalayers => (68, 1),
            Self::Filters => (70, 17),
            Self::Metalayers => (87, 0),
        };
        Some((start - generation.shift(self), length))
    }
}

/// Whether the chunks stand in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameType {
    /// A CFrame: one file, in which the chunks stand between header and trailer.
    Contiguous,
    /// An SFrame: a directory with a file for each chunk, and one for the rest of the frame.
    Sparse,
    /// A number without a meaning.
    Unknown(u8),
}

/// A compression codec, by its number in C-Blosc2.
///
/// ```
/// use b2nd_serde::frame::Codec;
///
/// assert_eq!(Codec(5).to_string(), "zstd");
/// assert_eq!(Codec(200).name(), None);
/// assert_eq!(Codec(200).to_string(), "codec 200");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Codec(pub u8);

impl Codec {
    /// The name in C-Blosc2, or in its registry of plugins; 160 to 255 are a program's own and have none.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "blosclz",
            1 => "lz4",
            2 => "lz4hc",
            4 => "zlib",
            5 => "zstd",
            32 => "ndlz",
            33 => "zfp_acc",
            34 => "zfp_prec",
            35 => "zfp_rate",
            36 => "openhtj2k",
            37 => "grok",
            38 => "openzl",
            39 => "j2k",
            40 => "htj2k",
            _ => return None,
        })
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "codec {}", self.0),
        }
    }
}

/// A filter of the pipeline, by its number in C-Blosc2, with the number that it was given.
///
/// ```
/// use b2nd_serde::frame::Filter;
///
/// assert_eq!(Filter { id: 1, meta: 0 }.to_string(), "shuffle");
/// assert_eq!(Filter { id: 4, meta: 10 }.to_string(), "trunc_prec (10)");
/// assert_eq!(Filter { id: 200, meta: 0 }.to_string(), "filter 200");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Which filter; 0 is none.
    pub id: u8,
    /// What the filter makes of it is its own business, such as the bits that `trunc_prec` keeps.
    pub meta: u8,
}

impl Filter {
    /// The name in C-Blosc2, or in its registry of plugins; 160 to 255 are a program's own and have none.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self.id {
            0 => "none",
            1 => "shuffle",
            2 => "bitshuffle",
            3 => "delta",
            4 => "trunc_prec",
            32 => "ndcell",
            33 => "ndmean",
            34 => "bytedelta_buggy",
            35 => "bytedelta",
            36 => "int_trunc",
            _ => return None,
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "filter {}", self.id),
        }?;
        if self.meta == 0 { Ok(()) } else { write!(f, " ({})", self.meta) }
    }
}

/// Whether a block is split into one stream for each byte of an item before it is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitMode {
    /// Always.
    Always,
    /// Never.
    Never,
    /// As suits codec and type size.
    Auto,
    /// As Blosc 1 did.
    ForwardCompatible,
}

impl SplitMode {
    pub(crate) fn of_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Always,
            1 => Self::Never,
            2 => Self::Auto,
            _ => Self::ForwardCompatible,
        }
    }
}

impl fmt::Display for SplitMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::Auto => "auto",
            Self::ForwardCompatible => "forward compatible",
        })
    }
}
