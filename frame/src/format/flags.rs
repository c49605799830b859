//! The values in the flags and filters of a header: frame type, codec, filters and split mode.

use core::fmt;

/// The type of a frame: chunks in one file, or in a file each.
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
    /// Another number. Its meaning is not known.
    Unknown(u8),
}

/// The first number for users, which can mean any codec or filter (`BLOSC2_USER_REGISTERED_CODECS_START`).
const FIRST_OF_USERS: u8 = 160;

/// The most filters of a frame.
pub(crate) const MAX_FILTERS: u8 = 6;

macro_rules! codecs {
    ($($constant:ident $id:literal $name:literal $what:literal)*) => {
        /// A compression codec, by its number in C-Blosc2.
        ///
        /// | constant | number | name | codec |
        /// |---|---|---|---|
        $(#[doc = concat!("| `", stringify!($constant), "` | ", $id, " | `", $name, "` | ", $what, " |")])*
        ///
        /// ```
        /// use b2nd_frame::Codec;
        ///
        /// assert_eq!(Codec::ZSTD.to_string(), "zstd");
        /// assert_eq!(Codec(200).name(), None);
        /// assert_eq!(Codec(200).to_string(), "codec 200");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct Codec(pub u8);

        impl Codec {
            $(
                #[doc = concat!("`", $name, "`: ", $what, ".")]
                pub const $constant: Self = Self($id);
            )*

            /// The name in C-Blosc2, or in its registry of plugins; `None` for an unknown number, and for 160 to 255,
            /// which any program may use for codecs of its own.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($id => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

codecs! {
    BLOSCLZ 0 "blosclz" "Blosc's own"
    LZ4 1 "lz4" "LZ4"
    LZ4HC 2 "lz4hc" "LZ4 with better but slower compression, in the same format"
    ZLIB 4 "zlib" "Deflate"
    ZSTD 5 "zstd" "Zstandard"
    NDLZ 32 "ndlz" "a plugin for two dimensions"
    ZFP_ACC 33 "zfp_acc" "zfp with a fixed accuracy, a plugin"
    ZFP_PREC 34 "zfp_prec" "zfp with a fixed precision, a plugin"
    ZFP_RATE 35 "zfp_rate" "zfp with a fixed rate, a plugin"
    OPENHTJ2K 36 "openhtj2k" "JPEG 2000, a plugin"
    GROK 37 "grok" "JPEG 2000, a plugin"
    OPENZL 38 "openzl" "OpenZL, a plugin"
    J2K 39 "j2k" "JPEG 2000, a plugin"
    HTJ2K 40 "htj2k" "High-Throughput JPEG 2000, a plugin"
}

impl Codec {
    /// Whether the number belongs neither to a known codec nor to a user.
    pub(crate) fn is_unknown(self) -> bool {
        self.0 < FIRST_OF_USERS && self.name().is_none()
    }

    /// Whether every build of C-Blosc2 has the codec.
    pub(crate) fn is_built_in(self) -> bool {
        [Self::BLOSCLZ, Self::LZ4, Self::LZ4HC, Self::ZLIB, Self::ZSTD].contains(&self)
    }

    /// Whether it may use a dictionary. That is not known for plugins.
    pub(crate) fn takes_dictionary(self) -> bool {
        ![Self::BLOSCLZ, Self::ZLIB].contains(&self)
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

macro_rules! filters {
    ($($constant:ident $id:literal $name:literal $what:literal)*) => {
        /// A filter of the pipeline, by its number in C-Blosc2, with its parameter.
        ///
        /// | constant | number | name | filter |
        /// |---|---|---|---|
        $(#[doc = concat!("| `", stringify!($constant), "` | ", $id, " | `", $name, "` | ", $what, " |")])*
        ///
        /// ```
        /// use b2nd_frame::Filter;
        ///
        /// assert_eq!(Filter::SHUFFLE.to_string(), "shuffle");
        /// assert_eq!(Filter { meta: 10, ..Filter::TRUNC_PREC }.to_string(), "trunc_prec (10)");
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
            $(
                #[doc = concat!("`", $name, "`: ", $what, ". Its parameter is 0.")]
                pub const $constant: Self = Self { id: $id, meta: 0 };
            )*

            /// The name in C-Blosc2, or in its registry of plugins; `None` for an unknown number, and for 160 to 255,
            /// which any program may use for filters of its own.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.id {
                    $($id => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

filters! {
    NONE 0 "none" "no filter"
    SHUFFLE 1 "shuffle" "the first byte of all items, then the second one, and so on"
    BITSHUFFLE 2 "bitshuffle" "the same with bits"
    DELTA 3 "delta" "XOR with the first block"
    TRUNC_PREC 4 "trunc_prec" "the parameter is the number of bits of a float that are kept"
    NDCELL 32 "ndcell" "a plugin: cells of several dimensions"
    NDMEAN 33 "ndmean" "a plugin: means of cells"
    BYTEDELTA_BUGGY 34 "bytedelta_buggy" "the first release of `bytedelta`, which has a bug"
    BYTEDELTA 35 "bytedelta" "a plugin: differences of bytes after a shuffle"
    INT_TRUNC 36 "int_trunc" "a plugin: the parameter is the number of bits of an integer that are kept"
}

impl Filter {
    /// Whether the number belongs neither to a known filter nor to a user.
    pub(crate) fn is_unknown(self) -> bool {
        self.id < FIRST_OF_USERS && self.name().is_none()
    }

    /// Whether it is a plugin, a filter of a user, or unknown.
    pub(crate) fn is_plugin(self) -> bool {
        self.id > Self::TRUNC_PREC.id
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

/// Whether a block is split into one stream per byte of an item before compression.
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
        // The variants are in the order of their bits.
        self as u8
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
