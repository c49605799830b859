//! `Geometry` itself: the array, its grid of chunks, and their blocks.

use core::fmt;

use super::axis::{Axis, check_count, check_product, unsigned};
use super::dimensions::{CAPACITY, Dimensions};
use super::error::{Error, Factors, MAX_CHUNK_NBYTES, Violation};
use crate::layout::Entry;
use crate::shapes::Shapes;

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
    // `axes` has a fixed length of 16, and `ndim` is the number of axes in use. So no vector type and no allocator is
    // needed.
    /// The axes after the last dimension have only zeros. So the derived comparisons depend only on the axes in use.
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
    pub(super) fn of_axes(axes: impl Iterator<Item = Result<Axis, Error>>) -> Result<Self, Error> {
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
    pub(super) fn axes(&self) -> &[Axis] {
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

    /// The number of items of a decompressed chunk, with the padding that rounds it up to whole blocks.
    #[must_use]
    pub fn padded_chunk_nitems(&self) -> u64 {
        self.padded_chunk().product()
    }

    /// The number of items of a block. All blocks have the same number of items; some items may be padding.
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
