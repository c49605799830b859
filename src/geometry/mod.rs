//! What the numbers of a metalayer mean: where the items of an array lie.
//!
//! An array of shape S is cut into chunks of shape C, and each chunk into blocks of shape B, all in C order: the last
//! dimension varies fastest. Along each dimension
//!
//! | | | method |
//! |---|---|---|
//! | E = ⌈S / C⌉ × C | the shape in whole chunks | [`extended_shape`](Geometry::extended_shape) |
//! | P = ⌈C / B⌉ × B | the chunk in whole blocks | [`padded_chunk`](Geometry::padded_chunk) |
//! | G = E / C | the grid of chunks | [`grid_of_chunks`](Geometry::grid_of_chunks) |
//! | H = P / B | the blocks of a chunk | [`blocks_per_chunk`](Geometry::blocks_per_chunk) |
//!
//! A decompressed chunk has P items, block after block. So it is not an array of shape P as soon as there is more than
//! one block, and chunks at the edge of the array are as long as any other.
//!
//! # Reading an array
//!
//! The chunks of an array, the blocks of each, and the runs of items that lie together, are all it takes to put an
//! array together. [`Geometry::chunks_in`] does the same for a slice of it.
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
//!     for run in chunk.blocks().flat_map(|block| block.runs()) {
//!         let source = run.source(typesize).and_then(|range| bytes.get(range)).ok_or("short chunk")?;
//!         let target = run.target(typesize).and_then(|range| array.get_mut(range)).ok_or("short array")?;
//!         target.copy_from_slice(source);
//!     }
//! }
//! assert_eq!(array, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
//! # Ok(())
//! # }
//! ```
//!
//! # What is accepted
//!
//! What C-Blosc2 opens and the draft specification of the format allows:
//!
//! - at most 16 dimensions, the same number in all three vectors, none negative;
//! - where S > 0, C > 0; where C > 0, B > 0. A chunk may be larger than the array, a block larger than the chunk;
//! - the product of S, and of E, fits int64; the products of C and of B fit int32. Over no dimensions a product is 1.
//!
//! Where these two differ from each other, or we from C-Blosc2 3.3.5:
//!
//! - S = 0, C = 5, B = 0: the draft specification allows it, C-Blosc2 refuses it, and so do we: such a chunk has items,
//!   but no block to hold them.
//! - S = 0, C = 0, B = 1: both allow it, and so do we. Nothing is cut, so E, P, G and H are 0, whatever B is.
//! - Overflow beside a zero: a product with a zero in it is 0. C-Blosc2 multiplies from the first dimension on, and
//!   refuses what overflows before it meets the zero: it opens S = \[0, 2^40, 2^40\], but not \[2^40, 2^40, 0\]. The
//!   draft specification knows no such order, and we accept both. E itself has to fit int64 in each dimension.
//! - Rounding up to the very end of int64: C-Blosc2 adds a whole chunk to S before it compares, and so refuses
//!   S = 2^63 - 2 with C = 7. E is 2^63 - 1 and fits, so we accept it.
//! - A version other than 0: C-Blosc2 does not look at it. `Meta::geometry` refuses it, as
//!   the rules of another version are not known.
//! - A chunk of more than Blosc2 can hold, about 2 GiB: C-Blosc2 opens the array, and refuses to read from it. So
//!   [`Geometry::new`], which knows no type size, accepts it, and [`Geometry::chunk_nbytes`] refuses it.

use core::fmt;
use core::ops::Range;

use arrayvec::ArrayVec;

#[cfg(feature = "alloc")]
use crate::Meta;
use crate::layout::Entry;
use crate::shapes::Shapes;
use axis::{Axis, check_product, unsigned};
use dimensions::CAPACITY;
use error::{Detail, Factors, MAX_CHUNK_NBYTES};

mod axis;
mod chunk;
mod dimensions;
mod error;
mod extent;
mod position;
mod resize;
mod walk;

pub use chunk::{Block, Blocks, Chunk, Chunks, Run, Runs};
pub use dimensions::Dimensions;
pub use error::{Error, ErrorKind};
pub use extent::Extent;
pub use position::Position;
pub use resize::{ChangedChunks, KeptChunks, Resize};

/// Where the items of an array lie: in which chunk, in which of its blocks, at which byte.
///
/// A `Geometry` is the proof that the numbers of a metalayer work. After [`Geometry::new`] no method can overflow,
/// divide by zero or panic, whatever it is asked. It needs no heap.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
/// use b2nd_serde::geometry::Position;
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// assert_eq!(geometry.extended_shape(), [4, 6]);
/// assert_eq!(geometry.padded_chunk(), [2, 4]);
/// assert_eq!(geometry.grid_of_chunks(), [2, 2]);
/// assert_eq!(geometry.blocks_per_chunk(), [2, 2]);
///
/// let position = geometry.position(&[1, 2]).unwrap();
/// assert_eq!(position, Position { chunk: 0, block: 3, item: 0 });
/// assert_eq!(geometry.byte_offset(position, 4), Some(24));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    axes: ArrayVec<Axis, CAPACITY>,
}

impl Geometry {
    /// The geometry of a metalayer with these vectors, which is what `Meta::geometry` gives.
    ///
    /// # Errors
    ///
    /// If the numbers break one of the [rules](crate::geometry#what-is-accepted).
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let error = Geometry::new(Shapes { shape: &[1 << 40, 1 << 40], chunkshape: &[1, 1], blockshape: &[1, 1] }).unwrap_err();
    /// assert_eq!(error.to_string(), "shape[1]: 1099511627776 x 1099511627776 items do not fit int64");
    /// ```
    pub fn new(shapes: Shapes<'_>) -> Result<Self, Error> {
        let Shapes { shape, chunkshape, blockshape } = shapes;
        let ndim = shape.len();
        if ndim > CAPACITY {
            return Err(Error(Detail::Rank { found: ndim }));
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

    fn of_axes(axes: impl Iterator<Item = Result<Axis, Error>>) -> Result<Self, Error> {
        let axes = axes.collect::<Result<_, _>>()?;
        let geometry = Self { axes };
        check_product(Factors::Shape, &geometry.shape())?;
        check_product(Factors::ExtendedShape, &geometry.extended_shape())?;
        check_product(Factors::Chunkshape, &geometry.chunkshape())?;
        check_product(Factors::Blockshape, &geometry.blockshape())?;
        // So the product of P is below 2^62: along a dimension, ceil(C / B) * B is at most C * B.
        Ok(geometry)
    }

    /// The number of dimensions, 0 to 16.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.axes.len()
    }

    /// S: items along each dimension.
    #[must_use]
    pub fn shape(&self) -> Dimensions {
        self.each(|axis| axis.shape)
    }

    /// C: items of a chunk along each dimension.
    #[must_use]
    pub fn chunkshape(&self) -> Dimensions {
        self.each(|axis| axis.chunk.into())
    }

    /// B: items of a block along each dimension.
    #[must_use]
    pub fn blockshape(&self) -> Dimensions {
        self.each(|axis| axis.block.into())
    }

    /// E: the shape, rounded up to whole chunks.
    #[must_use]
    pub fn extended_shape(&self) -> Dimensions {
        self.each(Axis::extended)
    }

    /// P: the chunk shape, rounded up to whole blocks.
    #[must_use]
    pub fn padded_chunk(&self) -> Dimensions {
        self.each(Axis::padded)
    }

    /// G: chunks along each dimension.
    #[must_use]
    pub fn grid_of_chunks(&self) -> Dimensions {
        self.each(Axis::chunks)
    }

    /// H: blocks of a chunk along each dimension.
    #[must_use]
    pub fn blocks_per_chunk(&self) -> Dimensions {
        self.each(Axis::blocks)
    }

    /// Number of items of the array.
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
    /// // Without dimensions an array is a single item.
    /// assert_eq!(Geometry::new(Shapes { shape: &[], chunkshape: &[], blockshape: &[] })?.nitems(), 1);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn nitems(&self) -> u64 {
        self.shape().product()
    }

    /// Number of chunks of the array.
    #[must_use]
    pub fn nchunks(&self) -> u64 {
        self.grid_of_chunks().product()
    }

    /// Number of blocks of a chunk.
    #[must_use]
    pub fn nblocks(&self) -> u64 {
        self.blocks_per_chunk().product()
    }

    /// Number of items of a chunk, without padding.
    #[must_use]
    pub fn chunk_nitems(&self) -> u64 {
        self.chunkshape().product()
    }

    /// Number of items of a decompressed chunk: with the padding to whole blocks.
    #[must_use]
    pub fn padded_chunk_nitems(&self) -> u64 {
        self.padded_chunk().product()
    }

    /// Number of items of a block, with whatever padding.
    #[must_use]
    pub fn block_nitems(&self) -> u64 {
        self.blockshape().product()
    }

    /// Number of bytes of a decompressed chunk.
    ///
    /// # Errors
    ///
    /// If they are more than a Blosc2 chunk can hold, which is 2147483615 bytes.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[1 << 30], chunkshape: &[1 << 30], blockshape: &[1 << 20] })?;
    /// assert_eq!(geometry.chunk_nbytes(1)?, 1073741824);
    /// assert_eq!(
    ///     geometry.chunk_nbytes(2).unwrap_err().to_string(),
    ///     "chunkshape: 1073741824 items of 2 bytes, padding included, are more than the 2147483615 bytes of a chunk"
    /// );
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    pub fn chunk_nbytes(&self, typesize: usize) -> Result<usize, Error> {
        let items = self.padded_chunk_nitems();
        usize::try_from(items)
            .ok()
            .and_then(|items| items.checked_mul(typesize))
            .filter(|&nbytes| nbytes as u64 <= MAX_CHUNK_NBYTES)
            .ok_or(Error(Detail::ChunkSize { items, typesize }))
    }

    /// The share of padding in all decompressed chunks, from 0 to 1; 0 where there are no chunks.
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
        // Below 2^63 times 2^62.
        let stored = u128::from(self.nchunks()) * u128::from(self.padded_chunk_nitems());
        if stored == 0 {
            return 0.0;
        }
        (stored - u128::from(self.nitems())) as f64 / stored as f64
    }

    /// The chunk of this number, if there are as many.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// let last = geometry.chunk(3).unwrap();
    /// assert!(last.extent().ranges().eq([2..3, 3..5]));
    /// assert!(geometry.chunk(4).is_none());
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn chunk(&self, number: u64) -> Option<Chunk<'_>> {
        let index = self.grid_of_chunks().coordinate(number)?;
        Some(Chunk::new(self, self.extent(), index))
    }

    /// All chunks.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[7], chunkshape: &[3], blockshape: &[2] })?;
    /// let nitems = geometry.chunks().map(|chunk| chunk.extent().nitems());
    /// assert!(nitems.eq([3, 3, 1]));
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn chunks(&self) -> Chunks<'_> {
        Chunks::new(self, self.extent())
    }

    /// The chunks that a slice of the array touches: from `start` up to, not including, `stop` along each dimension.
    ///
    /// Of the rest of the array they know nothing: their extents are cut to the slice, and their blocks and runs are
    /// those that it takes to read the slice into an array of its own.
    ///
    /// # Errors
    ///
    /// If the slice has not a range for every dimension, starts behind its stop, or stops behind the array.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// assert!(geometry.chunks_in(&[0..3, 3..5])?.map(|chunk| chunk.number()).eq([1, 3]));
    /// assert_eq!(geometry.chunks_in(&[0..3, 2..2])?.count(), 0);
    ///
    /// let error = geometry.chunks_in(&[0..4, 0..5]).unwrap_err();
    /// assert_eq!(error.to_string(), "slice[0] stops at 4, but shape[0] is 3");
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    pub fn chunks_in(&self, slice: &[Range<u64>]) -> Result<Chunks<'_>, Error> {
        check_count(None, slice.len(), self.ndim())?;
        for (dimension, (range, axis)) in (0..).zip(slice.iter().zip(&self.axes)) {
            let (start, stop) = (range.start, range.end);
            if start > stop {
                return Err(Error(Detail::Backward { dimension, start, stop }));
            }
            if stop > axis.shape {
                let items = axis.shape;
                return Err(Error(Detail::Outside { dimension, stop, items }));
            }
        }
        let start = Dimensions::collect(slice.iter().map(|range| range.start));
        let stop = Dimensions::collect(slice.iter().map(|range| range.end));
        Ok(Chunks::new(self, Extent::new(start, stop)))
    }

    /// What becomes of the chunks when the array is resized at its ends, as `b2nd_resize` of C-Blosc2 does it.
    ///
    /// # Errors
    ///
    /// If the new shape breaks one of the [rules](crate::geometry#what-is-accepted), with the chunks and blocks as
    /// they are.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// // Along both dimensions the last chunk has room.
    /// assert!(!geometry.resize(&[4, 6])?.changes_chunks());
    ///
    /// // From 2 x 2 chunks to 1 x 3.
    /// let resize = geometry.resize(&[2, 9])?;
    /// assert!(resize.new_chunks().eq([2]));
    /// assert!(resize.gone_chunks().eq([2, 3]));
    /// assert!(resize.kept_chunks().eq([(0, 0), (1, 1)]));
    /// assert_eq!(resize.after().shape(), [2, 9]);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    pub fn resize(&self, shape: &[i64]) -> Result<Resize<'_>, Error> {
        check_count(Some(Entry::Shape), shape.len(), self.ndim())?;
        let numbered = (0..).zip(shape.iter().zip(&self.axes));
        let after = Self::of_axes(numbered.map(|(dimension, (&shape, &axis))| {
            let shape = unsigned(Entry::Shape, dimension, shape)?;
            Axis { shape, ..axis }.check(dimension)
        }))?;
        Ok(Resize::new(self, after))
    }

    /// All of the array.
    fn extent(&self) -> Extent {
        let shape = self.shape();
        Extent::new(shape.zeros(), shape)
    }

    fn each(&self, number: impl Fn(Axis) -> u64) -> Dimensions {
        Dimensions::collect(self.axes.iter().map(|&axis| number(axis)))
    }
}

#[cfg(feature = "alloc")]
impl Meta {
    /// Where the items of the array lie: the proof that the numbers work.
    ///
    /// # Errors
    ///
    /// If the version is not 0, whose rules alone are known, or the numbers break one of the
    /// [rules](crate::geometry#what-is-accepted).
    ///
    /// ```
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?;
    /// assert_eq!(meta.geometry()?.nchunks(), 4);
    ///
    /// let meta = Meta::new(Shapes { shape: &[3, -5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?;
    /// let error = meta.geometry().unwrap_err();
    /// assert_eq!(error.to_string(), "expected at least 0 for shape[1], found -5");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn geometry(&self) -> Result<Geometry, Error> {
        if self.version() != 0 {
            return Err(Error::version(self.version()));
        }
        Geometry::new(self.shapes())
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

/// Refuses a vector, or with `None` a slice, that has not `ndim` dimensions.
fn check_count(entry: Option<Entry>, found: usize, ndim: usize) -> Result<(), Error> {
    if found == ndim { Ok(()) } else { Err(Error(Detail::DimensionCount { entry, found, ndim })) }
}
