//! What is wrong with the numbers of a metalayer, in which dimension.

use core::fmt;

use crate::layout::{Entry, MAX_NDIM};

/// The bytes that a Blosc2 chunk can hold: `BLOSC2_MAX_BUFFERSIZE` in C-Blosc2, which leaves room for a header.
pub(super) const MAX_CHUNK_NBYTES: u64 = 2_147_483_615;

/// Why numbers are no geometry, or a question to a geometry has no answer.
///
/// The text names the rule, the dimension and the numbers. It is a small `Copy` value, and needs no heap.
///
/// ```
/// use b2nd_serde::geometry::ErrorKind;
/// use b2nd_serde::{Entry, Geometry, Shapes};
///
/// let error = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 0], blockshape: &[1, 2] }).unwrap_err();
/// assert_eq!(error.to_string(), "expected at least 1 for chunkshape[1] beside shape[1] = 5, found 0");
/// assert_eq!(error.kind(), ErrorKind::Zero);
/// assert_eq!(error.entry(), Some(Entry::Chunkshape));
/// assert_eq!(error.dimension(), Some(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(pub(super) Detail);

/// Sorts of errors, for a program to act on.
///
/// ```
/// use b2nd_serde::geometry::ErrorKind;
/// use b2nd_serde::{Geometry, Shapes};
///
/// let error = Geometry::new(Shapes { shape: &[-1], chunkshape: &[1], blockshape: &[1] }).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Negative);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The metalayer has a version whose rules are not known.
    Version,
    /// There are more than 16 dimensions.
    Rank,
    /// Two vectors have different numbers of dimensions.
    DimensionCount,
    /// A dimension is negative.
    Negative,
    /// A chunk or block has no items along a dimension where it needs some.
    Zero,
    /// A number of items does not fit the integer that the format has for it.
    Overflow,
    /// A decompressed chunk has more bytes than a Blosc2 chunk can hold.
    ChunkSize,
    /// A slice runs backward or leaves the array.
    Slice,
}

/// What a product is taken of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Factors {
    Shape,
    ExtendedShape,
    Chunkshape,
    Blockshape,
}

impl Factors {
    /// The most items that the format has room for.
    pub(super) fn max_product(self) -> u64 {
        match self {
            Self::Shape | Self::ExtendedShape => i64::MAX.unsigned_abs(),
            Self::Chunkshape | Self::Blockshape => i32::MAX.unsigned_abs().into(),
        }
    }

    fn entry(self) -> Entry {
        match self {
            Self::Shape | Self::ExtendedShape => Entry::Shape,
            Self::Chunkshape => Entry::Chunkshape,
            Self::Blockshape => Entry::Blockshape,
        }
    }
}

/// What is wrong, with the numbers that show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    #[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "only a `Meta` has a version"))]
    Version {
        found: u8,
    },
    Rank {
        found: usize,
    },
    /// `None` is a slice.
    DimensionCount {
        entry: Option<Entry>,
        found: usize,
        ndim: usize,
    },
    Negative {
        entry: Entry,
        dimension: u8,
        found: i64,
    },
    /// A zero in `entry`, though the dimension has items in `beside`.
    Zero {
        entry: Entry,
        dimension: u8,
        beside: Entry,
        items: u64,
    },
    /// The shape does not fit when it is rounded up to whole chunks.
    RoundedUp {
        dimension: u8,
        items: u64,
        chunk: u32,
    },
    /// The product of the dimensions before this one, times this one, does not fit.
    Product {
        of: Factors,
        dimension: u8,
        before: u64,
        items: u64,
    },
    ChunkSize {
        items: u64,
        typesize: usize,
    },
    Backward {
        dimension: u8,
        start: u64,
        stop: u64,
    },
    Outside {
        dimension: u8,
        stop: u64,
        items: u64,
    },
}

impl Error {
    #[cfg(feature = "alloc")]
    pub(crate) fn version(found: u8) -> Self {
        Self(Detail::Version { found })
    }

    /// What sort of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.0 {
            Detail::Version { .. } => ErrorKind::Version,
            Detail::Rank { .. } => ErrorKind::Rank,
            Detail::DimensionCount { .. } => ErrorKind::DimensionCount,
            Detail::Negative { .. } => ErrorKind::Negative,
            Detail::Zero { .. } => ErrorKind::Zero,
            Detail::RoundedUp { .. } | Detail::Product { .. } => ErrorKind::Overflow,
            Detail::ChunkSize { .. } => ErrorKind::ChunkSize,
            Detail::Backward { .. } | Detail::Outside { .. } => ErrorKind::Slice,
        }
    }

    /// The entry that is at fault; `None` if it is a slice.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        match self.0 {
            Detail::Version { .. } => Some(Entry::Version),
            Detail::Rank { .. } => Some(Entry::Ndim),
            Detail::DimensionCount { entry, .. } => entry,
            Detail::Negative { entry, .. } | Detail::Zero { entry, .. } => Some(entry),
            Detail::RoundedUp { .. } => Some(Entry::Shape),
            Detail::Product { of, .. } => Some(of.entry()),
            Detail::ChunkSize { .. } => Some(Entry::Chunkshape),
            Detail::Backward { .. } | Detail::Outside { .. } => None,
        }
    }

    /// The dimension that is at fault, counted from 0, if one is.
    #[must_use]
    pub fn dimension(&self) -> Option<usize> {
        match self.0 {
            Detail::Version { .. }
            | Detail::Rank { .. }
            | Detail::DimensionCount { .. }
            | Detail::ChunkSize { .. } => None,
            Detail::Negative { dimension, .. }
            | Detail::Zero { dimension, .. }
            | Detail::RoundedUp { dimension, .. }
            | Detail::Product { dimension, .. }
            | Detail::Backward { dimension, .. }
            | Detail::Outside { dimension, .. } => Some(dimension.into()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Detail::Version { found } => write!(f, "expected version 0, found {found}"),
            Detail::Rank { found } => write!(f, "ndim is {found}, more than {MAX_NDIM}"),
            Detail::DimensionCount { entry, found, ndim } => {
                let plural = if found == 1 { "" } else { "s" };
                let name = entry.map_or("the slice", Entry::name);
                write!(f, "{name} has {found} dimension{plural}, but ndim is {ndim}")
            }
            Detail::Negative { entry, dimension, found } => {
                write!(f, "expected at least 0 for {entry}[{dimension}], found {found}")
            }
            Detail::Zero { entry, dimension, beside, items } => write!(
                f,
                "expected at least 1 for {entry}[{dimension}] beside {beside}[{dimension}] = {items}, found 0"
            ),
            Detail::RoundedUp { dimension, items, chunk } => {
                write!(f, "shape[{dimension}]: {items} rounded up to chunks of {chunk} does not fit int64")
            }
            Detail::Product { of, dimension, before, items } => {
                let entry = of.entry();
                write!(f, "{entry}[{dimension}]: {before} x {items} items ")?;
                f.write_str(match of {
                    Factors::Shape => "do not fit int64",
                    Factors::ExtendedShape => "in whole chunks do not fit int64",
                    Factors::Chunkshape | Factors::Blockshape => "do not fit int32",
                })
            }
            Detail::ChunkSize { items, typesize } => {
                let plural = if typesize == 1 { "" } else { "s" };
                write!(
                    f,
                    "chunkshape: {items} items of {typesize} byte{plural}, padding included, are more than the \
                     {MAX_CHUNK_NBYTES} bytes of a chunk"
                )
            }
            Detail::Backward { dimension, start, stop } => {
                write!(f, "slice[{dimension}] starts at {start}, but stops at {stop}")
            }
            Detail::Outside { dimension, stop, items } => {
                write!(f, "slice[{dimension}] stops at {stop}, but shape[{dimension}] is {items}")
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("entry", &self.entry())
            .field("dimension", &self.dimension())
            .field("message", &format_args!("{self}"))
            .finish()
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Error>() <= 24, "{}", size_of::<Error>());
    }
}
