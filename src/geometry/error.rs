//! The errors of a geometry, with the wrong number and its dimension.

use core::fmt;

use crate::layout::{Entry, MAX_NDIM};

/// The maximum size of a Blosc2 chunk in bytes: `BLOSC2_MAX_BUFFERSIZE` in C-Blosc2. It is `i32::MAX` minus the 32
/// bytes of a header.
pub(super) const MAX_CHUNK_NBYTES: u64 = 2_147_483_615;

/// The error for numbers that do not form a valid geometry, or for an argument that does not fit the geometry.
///
/// The text names the wrong number, its dimension and the valid range. The error is a small `Copy` value and needs no
/// heap.
///
/// ```
/// use b2nd_serde::geometry::ErrorKind;
/// use b2nd_serde::{Entry, Geometry, Shapes};
///
/// let shapes = Shapes { shape: &[3, 5], chunkshape: &[2, -3], blockshape: &[1, 2] };
/// let error = Geometry::new(shapes).unwrap_err();
/// assert_eq!(error.to_string(), "chunkshape[1] is -3, but must be at least 0");
/// assert_eq!(error.kind(), ErrorKind::Negative);
/// assert_eq!(error.entry(), Some(Entry::Chunkshape));
/// assert_eq!(error.dimension(), Some(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(pub(super) Violation);

/// The kind of an [`Error`], for a program to act on.
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
    /// The version of the metalayer is not 0. The rules of other versions are not known.
    Version,
    /// There are more than 16 dimensions.
    Rank,
    /// A shape or a slice has more or fewer dimensions than the array.
    DimensionCount,
    /// A number is negative.
    Negative,
    /// Chunks have 0 items along a dimension in which the array has items, or blocks have 0 items along a dimension in
    /// which chunks have items.
    Zero,
    /// A number of items is too large for the format: it does not fit int64 for an array, or int32 for a chunk or
    /// block.
    Overflow,
    /// A decompressed chunk has more bytes than a Blosc2 chunk can hold.
    ChunkSize,
    /// A slice starts after its stop, stops after the end of the array, or has a step of 0.
    Slice,
    /// The type size is 0.
    TypeSize,
    /// A chunk or an array has too few bytes for its items.
    BufferTooSmall,
}

/// One of the two divisions along a dimension: the array into chunks, or a chunk into blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Divided {
    Array,
    Chunk,
}

impl Divided {
    /// The entry with the shape of the array or chunk that is divided.
    fn whole(self) -> Entry {
        match self {
            Self::Array => Entry::Shape,
            Self::Chunk => Entry::Chunkshape,
        }
    }

    /// The entry with the shape of the parts: the chunks of the array, or the blocks of the chunk.
    fn part(self) -> Entry {
        match self {
            Self::Array => Entry::Chunkshape,
            Self::Chunk => Entry::Blockshape,
        }
    }
}

/// The numbers whose product over all dimensions has a limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Factors {
    Shape,
    ExtendedShape,
    Chunkshape,
    Blockshape,
}

impl Factors {
    /// The largest product of these numbers that the format allows.
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

/// A buffer of [`gather`](super::Chunk::gather) or [`scatter`](super::Chunk::scatter).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Buffer {
    Chunk,
    Array,
}

/// The violated rule, with the numbers that show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Violation {
    #[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "only a `Meta` has a version"))]
    Version {
        found: u8,
    },
    Rank {
        found: usize,
    },
    /// A shape, a slice or the steps of a slice have more or fewer than `ndim` dimensions. `entry` is the entry with
    /// the shape; `None` for a slice or its steps.
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
    /// The chunks have 0 items along the dimension, although the array has items along it. Or the blocks have 0 items,
    /// although the chunks have items.
    Zero {
        divided: Divided,
        dimension: u8,
        items: u64,
    },
    /// Along this dimension, the number of items of the array, rounded up to whole chunks, does not fit int64.
    RoundedUp {
        dimension: u8,
        items: u64,
        chunk: u32,
    },
    /// The product exceeds its limit at this dimension. `before` is the product of the dimensions before this one.
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
    Step {
        dimension: u8,
    },
    TypeSize,
    TooShort {
        of: Buffer,
        found: usize,
        needed: u64,
    },
}

impl Error {
    #[cfg(feature = "alloc")]
    pub(crate) fn version(found: u8) -> Self {
        Self(Violation::Version { found })
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.0 {
            Violation::Version { .. } => ErrorKind::Version,
            Violation::Rank { .. } => ErrorKind::Rank,
            Violation::DimensionCount { .. } => ErrorKind::DimensionCount,
            Violation::Negative { .. } => ErrorKind::Negative,
            Violation::Zero { .. } => ErrorKind::Zero,
            Violation::RoundedUp { .. } | Violation::Product { .. } => ErrorKind::Overflow,
            Violation::ChunkSize { .. } => ErrorKind::ChunkSize,
            Violation::Backward { .. } | Violation::Outside { .. } | Violation::Step { .. } => {
                ErrorKind::Slice
            }
            Violation::TypeSize => ErrorKind::TypeSize,
            Violation::TooShort { .. } => ErrorKind::BufferTooSmall,
        }
    }

    /// The entry that is wrong; `None` if a slice, a type size or a buffer is wrong.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        match self.0 {
            Violation::Version { .. } => Some(Entry::Version),
            Violation::Rank { .. } => Some(Entry::Ndim),
            Violation::DimensionCount { entry, .. } => entry,
            Violation::Negative { entry, .. } => Some(entry),
            Violation::Zero { divided, .. } => Some(divided.part()),
            Violation::RoundedUp { .. } => Some(Entry::Shape),
            Violation::Product { of, .. } => Some(of.entry()),
            Violation::ChunkSize { .. } => Some(Entry::Chunkshape),
            _ => None,
        }
    }

    /// The invalid dimension, counted from 0; `None` if the error is not about a single dimension.
    #[must_use]
    pub fn dimension(&self) -> Option<usize> {
        match self.0 {
            Violation::Negative { dimension, .. }
            | Violation::Zero { dimension, .. }
            | Violation::RoundedUp { dimension, .. }
            | Violation::Product { dimension, .. }
            | Violation::Backward { dimension, .. }
            | Violation::Outside { dimension, .. }
            | Violation::Step { dimension } => Some(dimension.into()),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Violation::Version { found } => write!(f, "version is {found}, but only version 0 is known"),
            Violation::Rank { found } => write!(f, "ndim is {found}, but must be at most {MAX_NDIM}"),
            Violation::DimensionCount { entry, found, ndim } => {
                let (name, s) = (entry.map_or("the slice", Entry::name), plural(found));
                write!(f, "{name} has {found} dimension{s}, but ndim is {ndim}")
            }
            Violation::Negative { entry, dimension, found } => {
                write!(f, "{entry}[{dimension}] is {found}, but must be at least 0")
            }
            Violation::Zero { divided, dimension, items } => {
                let (part, whole) = (divided.part(), divided.whole());
                write!(f, "{part}[{dimension}] is 0, but {whole}[{dimension}] is {items}: ")?;
                f.write_str(match divided {
                    Divided::Array => "a dimension that is not empty needs chunks of at least 1",
                    Divided::Chunk => "a chunk that is not empty needs blocks of at least 1",
                })
            }
            Violation::RoundedUp { dimension, items, chunk } => {
                let most = Factors::ExtendedShape.max_product();
                write!(f, "shape[{dimension}] is {items}: ")?;
                write!(f, "rounded up to whole chunks of {chunk}, it is more than {most} (int64)")
            }
            Violation::Product { of, dimension, before, items } => {
                let (entry, most) = (of.entry(), of.max_product());
                let (rounded, integer) = match of {
                    Factors::Shape => ("", "int64"),
                    Factors::ExtendedShape => (", rounded up to whole chunks,", "int64"),
                    Factors::Chunkshape | Factors::Blockshape => ("", "int32"),
                };
                write!(f, "{entry}[{dimension}]{rounded} is {items}: ")?;
                write!(f, "{before} x {items} items are more than {most} ({integer})")
            }
            Violation::ChunkSize { items, typesize } => {
                let s = plural(typesize);
                write!(
                    f,
                    "chunkshape: a chunk has {items} items of {typesize} byte{s}, padding included, \
                     but can hold at most {MAX_CHUNK_NBYTES} bytes"
                )
            }
            Violation::Backward { dimension, start, stop } => {
                write!(f, "slice[{dimension}] starts at {start}, after its stop at {stop}")
            }
            Violation::Outside { dimension, stop, items } => {
                write!(f, "slice[{dimension}] stops at {stop}, but shape[{dimension}] is {items}")
            }
            Violation::Step { dimension: at } => {
                write!(f, "the step of slice[{at}] is 0, but must be at least 1")
            }
            Violation::TypeSize => f.write_str("the type size is 0, but must be at least 1"),
            Violation::TooShort { of, found, needed } => {
                let buffer = match of {
                    Buffer::Chunk => "chunk",
                    Buffer::Array => "array",
                };
                write!(f, "the {buffer} has {found} byte{}, but a whole {buffer} has {needed}", plural(found))
            }
        }
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Prints the message, because `unwrap` and a `main` that returns an error show the `Debug` text. `{:#?}` prints the
/// fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return fmt::Display::fmt(self, f);
        }
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("entry", &self.entry())
            .field("dimension", &self.dimension())
            .field("message", &format_args!("{self}"))
            .finish()
    }
}

impl core::error::Error for Error {}
