//! The values in the flags of a header: frame type and split mode.

use b2nd_chunk::SplitMode;

/// The type of a frame: all chunks in one file, or a file for each chunk.
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
    /// Another number, with an unknown meaning.
    Unknown(u8),
}

/// The maximum number of filters of a frame.
pub(crate) const MAX_FILTERS: u8 = 6;

/// The split mode in the fourth byte of the header's `flags`. Only the lowest two bits of this byte count.
pub(crate) fn split_mode(bits: u8) -> SplitMode {
    match bits & 3 {
        0 => SplitMode::Always,
        1 => SplitMode::Never,
        2 => SplitMode::Auto,
        _ => SplitMode::ForwardCompatible,
    }
}

pub(crate) fn split_mode_bits(split_mode: SplitMode) -> u8 {
    // The variants of `SplitMode` are in the order of their bits, so `as` converts a variant to its bits.
    split_mode as u8
}
