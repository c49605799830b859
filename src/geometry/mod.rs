//! The position of each item of an array: its chunk, its block in the chunk, and its byte offset.
//!
//! An array of shape S is divided into chunks of shape C, and each chunk into blocks of shape B. The chunks of an
//! array, the blocks of a chunk and the items of a block are in C order: the last dimension varies fastest. Along each
//! dimension, these numbers are computed from S, C and B:
//!
//! | | | method |
//! |---|---|---|
//! | E = ⌈S / C⌉ × C | the shape, rounded up to whole chunks | [`extended_shape`](Geometry::extended_shape) |
//! | P = ⌈C / B⌉ × B | the chunk shape, rounded up to whole blocks | [`padded_chunk`](Geometry::padded_chunk) |
//! | G = E / C | the grid of chunks | [`grid_of_chunks`](Geometry::grid_of_chunks) |
//! | H = P / B | the blocks of a chunk | [`blocks_per_chunk`](Geometry::blocks_per_chunk) |
//!
//! A decompressed chunk has as many items as an array of shape P, but stores them block after block. So a chunk with
//! more than one block is usually not an array in C order. All decompressed chunks have the same length, including
//! those at the end of the array.
//!
//! ```
//! use b2nd_serde::{Geometry, Shapes};
//!
//! let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
//! assert_eq!(geometry.extended_shape(), [4, 6]);
//! assert_eq!(geometry.padded_chunk(), [2, 4]);
//! assert_eq!(geometry.grid_of_chunks(), [2, 2]);
//! assert_eq!(geometry.blocks_per_chunk(), [2, 2]);
//! # Ok::<(), b2nd_serde::geometry::Error>(())
//! ```
//!
//! # Reading an array
//!
//! To assemble an array, iterate over its chunks: [`Chunk::scatter`] copies the items of a decompressed chunk to their
//! places in the array, and [`Chunk::gather`] copies them back. [`Geometry::chunks_in`] iterates over the chunks of a
//! slice.
//!
//! ```
//! use b2nd_serde::{Geometry, Shapes};
//!
//! # fn decompressed_chunk(number: u64) -> Vec<u8> {
//! #     // 4 blocks of 2 items; 0xff is padding.
//! #     [
//! #         [0, 1, 2, 0xff, 5, 6, 7, 0xff],
//! #         [3, 4, 0xff, 0xff, 8, 9, 0xff, 0xff],
//! #         [10, 11, 12, 0xff, 0xff, 0xff, 0xff, 0xff],
//! #         [13, 14, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
//! #     ][number as usize].to_vec()
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
//! let typesize = 1;
//! let mut array = [0; 15];
//! for chunk in geometry.chunks() {
//!     let bytes = decompressed_chunk(chunk.number());
//!     chunk.scatter(&bytes, typesize, &mut array)?;
//! }
//! assert_eq!(array, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
//! # Ok(())
//! # }
//! ```
//!
//! To copy items to a file, or to an array that is not in C order, iterate over the [blocks](Chunk::blocks) of each
//! chunk and the [runs](Block::runs) of each block. The items of a run are contiguous in the chunk, and also in an
//! array in C order.
//!
//! # What is accepted
//!
//! [`Geometry::new`] accepts shapes that follow these rules:
//!
//! - The three shapes have the same number of dimensions, at most 16. No number is negative.
//! - If S > 0, then C > 0. If C > 0, then B > 0. A chunk may be larger than the array, and a block larger than the
//!   chunk.
//! - The products of S and of E over all dimensions fit int64. The products of C and of B fit int32. Without dimensions
//!   the product is 1.
//!
//! The draft specification of the format and C-Blosc2 3.3.5 have nearly the same rules. In the following cases, one of
//! the two differs from this crate, or the result may be a surprise:
//!
//! - S = 0, C = 5, B = 0: the draft specification allows it, but C-Blosc2 and this crate reject it. Such a chunk has
//!   items, but no blocks for them.
//! - S = 0, C = 0, B = 1: the draft specification, C-Blosc2 and this crate allow it. Neither the array nor a chunk has
//!   items, so E, P, G and H are 0 for any B.
//! - Products with a zero are 0 here, even if the other factors overflow. C-Blosc2 multiplies from the first dimension
//!   on, and rejects a product that overflows before the zero: it opens S = \[0, 2^40, 2^40\], but not \[2^40, 2^40,
//!   0\]. The draft specification does not define the order, so this crate accepts both shapes. But if the E of a
//!   single dimension does not fit int64, this crate rejects the shape, even if another dimension is 0.
//! - S near the limit of int64: C-Blosc2 adds a whole chunk to S before it checks the limit, so it rejects S = 2^63 - 2
//!   with C = 7. This crate accepts this shape, because E is 2^63 - 1, which fits int64.
//! - A version other than 0: C-Blosc2 ignores the version. `Meta::geometry` rejects the metalayer, because the rules of
//!   other versions are not known.
//! - A chunk larger than the limit of Blosc2, about 2 GiB: C-Blosc2 opens the array, but cannot read from it.
//!   [`Geometry::new`] does not know the type size, and accepts such a chunk; [`Geometry::chunk_nbytes`] rejects it.

use core::fmt;

use axis::{Axis, check_count, check_product, unsigned};
use dimensions::CAPACITY;
use error::{Factors, MAX_CHUNK_NBYTES, Violation};

use crate::layout::Entry;
use crate::shapes::Shapes;

mod dimensions;
mod error;

mod axis;
mod walk;

mod extent;
mod run;

pub use chunk::{Block, Blocks, Chunk, Chunks};
pub use dimensions::Dimensions;
pub use error::{Error, ErrorKind};
pub use extent::Extent;
pub use position::Position;
pub use resize::Resize;
pub use run::{Run, Runs};

/// Computes the position of each item of an array: the chunk, the block in the chunk, and the byte offset in the
/// decompressed chunk.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// assert_eq!(geometry.grid_of_chunks(), [2, 2]);
/// let position = geometry.position(&[1, 2]).unwrap();
/// assert_eq!((position.chunk, position.block, position.item), (0, 3, 0));
/// assert_eq!(geometry.byte_offset(position, 4), Some(24));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
///
/// [`Geometry::new`] checks that the numbers of a metalayer are consistent. After this check no method overflows,
/// divides by zero or panics, for any arguments. A `Geometry` needs no heap.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    // `axes` always has 16 elements, and `ndim` is the number of elements in use. So neither a vector type nor an
    // allocator is needed.
    /// In the axes that are not in use, all numbers are 0. So the results of the derived comparisons depend only on the
    /// axes in use.
    axes: [Axis; CAPACITY],
    ndim: u8,
}

impl Geometry {
    /// A geometry of three consistent shapes. For a metalayer use `Meta::geometry`.
    ///
    /// # Errors
    ///
    /// If the numbers violate one of the [rules](crate::geometry#what-is-accepted).
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let shapes = Shapes { shape: &[3, 5], chunkshape: &[2, 0], blockshape: &[1, 2] };
    /// assert_eq!(
    ///     Geometry::new(shapes).unwrap_err().to_string(),
    ///     "chunkshape[1] is 0, but shape[1] is 5: a dimension that is not empty needs chunks of at least 1"
    /// );
    /// ```
    pub fn new(shapes: Shapes<'_>) -> Result<Self, Error> {
        let Shapes { shape, chunkshape, blockshape } = shapes;
        let ndim = shape.len();
        if ndim > CAPACITY {
            return Err(Error(Violation::Rank { found: ndim }));
        }
        check_count(Some(Entry::Chunkshape), chunkshape.len(), ndim)?;
        check_count(Some(Entry::Blockshape), blockshape.len(), ndim)?;
        let dimensions = shape.iter().zip(chunkshape.iter().zip(blockshape));
        let numbered = (0..).zip(dimensions);
        Self::of_axes(numbered.map(|(dimension, (&shape, (&chunk, &block)))| {
            let axis = Axis {
                shape: unsigned(Entry::Shape, dimension, shape)?,
                chunk: unsigned(Entry::Chunkshape, dimension, chunk)?,
                block: unsigned(Entry::Blockshape, dimension, block)?,
            };
            axis.check(dimension)
        }))
    }

    /// Makes a geometry of at most 16 checked axes, and checks the products over all axes.
    fn of_axes(axes: impl Iterator<Item = Result<Axis, Error>>) -> Result<Self, Error> {
        let mut geometry = Self { axes: [Axis::default(); CAPACITY], ndim: 0 };
        for (place, axis) in geometry.axes.iter_mut().zip(axes) {
            *place = axis?;
            geometry.ndim += 1;
        }
        check_product(Factors::Shape, &geometry.shape())?;
        check_product(Factors::ExtendedShape, &geometry.extended_shape())?;
        check_product(Factors::Chunkshape, &geometry.chunkshape())?;
        check_product(Factors::Blockshape, &geometry.blockshape())?;
        // The padded chunk shape P needs no check. C is the chunk shape, and B the block shape. Along each dimension,
        // P = ceil(C / B) * B, which is at most C * B. The products of C and of B over all dimensions are below 2^31,
        // so the product of P is below 2^62.
        Ok(geometry)
    }

    /// The axes of the array, one for each dimension.
    fn axes(&self) -> &[Axis] {
        self.axes.get(..self.ndim.into()).unwrap_or_default()
    }

    /// The number of dimensions, 0 to 16.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.ndim.into()
    }

    /// The shape of the array (S): its items along each dimension.
    #[must_use]
    pub fn shape(&self) -> Dimensions {
        self.each(|axis| axis.shape)
    }

    /// The chunk shape (C): the items of a chunk along each dimension.
    #[must_use]
    pub fn chunkshape(&self) -> Dimensions {
        self.each(|axis| axis.chunk.into())
    }

    /// The block shape (B): the items of a block along each dimension.
    #[must_use]
    pub fn blockshape(&self) -> Dimensions {
        self.each(|axis| axis.block.into())
    }

    /// The shape of the array, rounded up to whole chunks (E).
    #[must_use]
    pub fn extended_shape(&self) -> Dimensions {
        self.each(Axis::extended)
    }

    /// The chunk shape, rounded up to whole blocks (P).
    #[must_use]
    pub fn padded_chunk(&self) -> Dimensions {
        self.each(Axis::padded)
    }

    /// The number of chunks of the array along each dimension (G).
    #[must_use]
    pub fn grid_of_chunks(&self) -> Dimensions {
        self.each(Axis::chunks)
    }

    /// The number of blocks of a chunk along each dimension (H).
    #[must_use]
    pub fn blocks_per_chunk(&self) -> Dimensions {
        self.each(Axis::blocks)
    }

    /// The number of items of the array.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// assert_eq!(geometry.nitems(), 15);
    /// assert_eq!(geometry.nchunks(), 4);
    /// assert_eq!(geometry.chunk_nitems(), 6);
    /// assert_eq!(geometry.padded_chunk_nitems(), 8);
    /// assert_eq!(geometry.nblocks(), 4);
    /// assert_eq!(geometry.block_nitems(), 2);
    ///
    /// // An array without dimensions has one item.
    /// assert_eq!(Geometry::new(Shapes { shape: &[], chunkshape: &[], blockshape: &[] })?.nitems(), 1);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn nitems(&self) -> u64 {
        self.shape().product()
    }

    /// The number of chunks of the array.
    // The number is not a `usize`, because an array with a metalayer of a few bytes can have 2^62 chunks.
    #[must_use]
    pub fn nchunks(&self) -> u64 {
        self.grid_of_chunks().product()
    }

    /// The number of blocks of a chunk.
    #[must_use]
    pub fn nblocks(&self) -> u64 {
        self.blocks_per_chunk().product()
    }

    /// The number of items of a chunk, without padding.
    #[must_use]
    pub fn chunk_nitems(&self) -> u64 {
        self.chunkshape().product()
    }

    /// The number of items of a decompressed chunk, with the padding that rounds the chunk up to whole blocks.
    #[must_use]
    pub fn padded_chunk_nitems(&self) -> u64 {
        self.padded_chunk().product()
    }

    /// The number of items of a block. All blocks have the same number of items, some of which may be padding.
    #[must_use]
    pub fn block_nitems(&self) -> u64 {
        self.blockshape().product()
    }

    /// The number of bytes of a decompressed chunk, with padding.
    ///
    /// # Errors
    ///
    /// If the chunk has more bytes than Blosc2 allows: 2147483615.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let shapes = Shapes { shape: &[1 << 30], chunkshape: &[1 << 30], blockshape: &[1 << 20] };
    /// let geometry = Geometry::new(shapes)?;
    /// assert_eq!(geometry.chunk_nbytes(1)?, 1073741824);
    /// assert_eq!(
    ///     geometry.chunk_nbytes(2).unwrap_err().to_string(),
    ///     "chunkshape: a chunk has 1073741824 items of 2 bytes, padding included, but can hold at most 2147483615 \
    ///      bytes"
    /// );
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    pub fn chunk_nbytes(&self, typesize: usize) -> Result<usize, Error> {
        let items = self.padded_chunk_nitems();
        usize::try_from(items)
            .ok()
            .and_then(|items| items.checked_mul(typesize))
            .filter(|&nbytes| nbytes as u64 <= MAX_CHUNK_NBYTES)
            .ok_or(Error(Violation::ChunkSize { items, typesize }))
    }

    /// The share of padding in the decompressed chunks, from 0 (none) to 1. It is 0 if there are no chunks.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// // 15 items in 4 chunks of 8.
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// assert_eq!(geometry.padding(), 17.0 / 32.0);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share is not exact")]
    pub fn padding(&self) -> f64 {
        // The product is below 2^63 times 2^62, so it fits u128.
        let stored = u128::from(self.nchunks()) * u128::from(self.padded_chunk_nitems());
        if stored == 0 {
            return 0.0;
        }
        (stored - u128::from(self.nitems())) as f64 / stored as f64
    }

    fn each(&self, number: impl Fn(Axis) -> u64) -> Dimensions {
        Dimensions::collect(self.axes().iter().map(|&axis| number(axis)))
    }
}

impl fmt::Debug for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Geometry")
            .field("shape", &self.shape())
            .field("chunkshape", &self.chunkshape())
            .field("blockshape", &self.blockshape())
            .finish()
    }
}

// These files have more methods of `Geometry`. rustdoc lists the methods in the order of the files.
mod chunk;
mod default;
mod position;
mod resize;
