//! The values in the flags of a header: frame type and split mode.

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

/// The most filters of a frame.
pub(crate) const MAX_FILTERS: u8 = 6;

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
