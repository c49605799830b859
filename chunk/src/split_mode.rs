//! The split modes.

use core::fmt;

/// Whether a block is split into one stream per byte of an item before compression.
///
/// ```
/// assert_eq!(b2nd_chunk::SplitMode::Auto.to_string(), "auto");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplitMode {
    /// Every block is split, except a shorter last block, and blocks that are not a whole number of items.
    Always,
    /// No block is split.
    Never,
    /// The codec, level, filters and sizes decide whether a block is split. The rule is the same as in C-Blosc2. Blocks
    /// are split for blosclz, for lz4, and for zstd up to level 5. In addition, the filters must include `shuffle`, a
    /// block must have at least 32 items, and an item must have at most 16 bytes.
    Auto,
    /// The same as `Auto`, but with another number in the header of a frame. In Blosc 1, this mode makes chunks that
    /// older versions of Blosc 1 can read.
    ForwardCompatible,
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
