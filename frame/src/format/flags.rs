//! What the flags and the filters of a header mean: frame type, codec, filters and split mode.

use core::fmt;

/// The type of a frame, which says where its chunks are.
///
/// ```
/// use b2nd_frame::{Frame, FrameType};
///
/// let frame = Frame::open("tests/data/sparse.b2nd")?;
/// assert_eq!(frame.header().frame_type, FrameType::Sparse);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameType {
    /// A CFrame: one file, with the chunks between header and trailer.
    Contiguous,
    /// An SFrame: a directory with a file for each chunk, and one file for the rest of the frame.
    Sparse,
    /// Another number, whose meaning is not known.
    Unknown(u8),
}

/// A compression codec, by its number in C-Blosc2.
///
/// ```
/// use b2nd_frame::Codec;
///
/// assert_eq!(Codec(5).to_string(), "zstd");
/// assert_eq!(Codec(200).name(), None);
/// assert_eq!(Codec(200).to_string(), "codec 200");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Codec(pub u8);

impl Codec {
    /// The name in C-Blosc2, or in its registry of plugins; `None` for an unknown number, and for 160 to 255, which
    /// every program can use for its own.
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

/// The most filters of a frame.
pub(crate) const MAX_FILTERS: u8 = 6;

/// Filters from this number on belong to users, so they can mean anything.
const FIRST_OWN_FILTER: u8 = 160;

/// A filter of the pipeline, by its number in C-Blosc2, with its parameter.
///
/// ```
/// use b2nd_frame::Filter;
///
/// assert_eq!(Filter { id: 1, meta: 0 }.to_string(), "shuffle");
/// assert_eq!(Filter { id: 4, meta: 10 }.to_string(), "trunc_prec (10)");
/// assert_eq!(Filter { id: 200, meta: 0 }.to_string(), "filter 200");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The number of the filter; 0 means no filter.
    pub id: u8,
    /// A parameter of the filter, such as the number of bits that `trunc_prec` keeps.
    pub meta: u8,
}

impl Filter {
    /// The name in C-Blosc2, or in its registry of plugins; `None` for an unknown number, and for 160 to 255, which
    /// every program can use for its own.
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

    /// Whether the number belongs neither to a known filter nor to a user.
    pub(crate) fn is_unknown(self) -> bool {
        self.id < FIRST_OWN_FILTER && self.name().is_none()
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
///
/// ```
/// use b2nd_frame::{Frame, SplitMode};
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// assert_eq!(frame.header().split_mode, SplitMode::Auto);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitMode {
    /// Always.
    Always,
    /// No block is split.
    Never,
    /// The codec and the type size decide.
    Auto,
    /// Split as Blosc 1 does, so that it can read the chunks.
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

    pub(crate) fn bits(self) -> u8 {
        match self {
            Self::Always => 0,
            Self::Never => 1,
            Self::Auto => 2,
            Self::ForwardCompatible => 3,
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
