//! Conversion between the coordinate of an item and its byte offset in a chunk.

use super::Geometry;
use super::dimensions::{Dimensions, is_within};

/// The position of an item, from [`Geometry::position`]. All numbers count from 0.
///
/// ```
/// use b2nd_serde::geometry::Position;
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let position = geometry.position(&[1, 4]).unwrap();
/// assert_eq!(position, Position { chunk: 1, block: 2, item: 1 });
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The number of the chunk in the array, in C order.
    pub chunk: u64,
    /// The number of the block in the chunk, in C order.
    pub block: u64,
    /// The number of the item in the block, in C order.
    pub item: u64,
}

impl Geometry {
    /// The position of the item at a coordinate; `None` if the array has no such item.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// let position = geometry.position(&[2, 4]).unwrap();
    /// assert_eq!((position.chunk, position.block, position.item), (3, 0, 1));
    /// assert_eq!(geometry.coordinate(position).unwrap(), [2, 4]);
    /// assert_eq!(geometry.position(&[2, 5]), None);
    /// assert_eq!(geometry.position(&[2]), None);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn position(&self, coordinate: &[u64]) -> Option<Position> {
        if !is_within(coordinate, &self.shape()) {
            return None;
        }
        // The array has items, so every chunk and block has items too, and no division is by 0. No multiplication
        // overflows, because the results are below the numbers of chunks, of blocks per chunk, and of items per block,
        // which all fit u64.
        let mut position = Position { chunk: 0, block: 0, item: 0 };
        for (&x, axis) in coordinate.iter().zip(self.axes()) {
            let (chunk, block) = (u64::from(axis.chunk), u64::from(axis.block));
            let (in_array, in_chunk) = (x / chunk, x % chunk);
            position.chunk = position.chunk * axis.chunks() + in_array;
            position.block = position.block * axis.blocks() + in_chunk / block;
            position.item = position.item * block + in_chunk % block;
        }
        Some(position)
    }

    /// The coordinate of the item at a position; `None` if the position is padding or outside the array.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    /// use b2nd_serde::geometry::Position;
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// let item = Position { chunk: 1, block: 2, item: 1 };
    /// assert_eq!(geometry.coordinate(item).unwrap(), [1, 4]);
    /// // The second block is after the end of the array, and there is no fifth chunk.
    /// assert_eq!(geometry.coordinate(Position { block: 1, ..item }), None);
    /// assert_eq!(geometry.coordinate(Position { chunk: 4, ..item }), None);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn coordinate(&self, position: Position) -> Option<Dimensions> {
        let mut coordinate = self.grid_of_chunks().coordinate(position.chunk)?;
        let block = self.blocks_per_chunk().coordinate(position.block)?;
        let item = self.blockshape().coordinate(position.item)?;
        let in_chunk = block.iter().zip(item.iter()).zip(self.axes());
        for (x, ((block, item), axis)) in coordinate.numbers_mut().zip(in_chunk) {
            let in_chunk = block * u64::from(axis.block) + item;
            *x = *x * u64::from(axis.chunk) + in_chunk;
            // A chunk is padded to whole blocks, and the array to whole chunks. This condition is true for a position
            // in the padding.
            if in_chunk >= axis.chunk.into() || *x >= axis.shape {
                return None;
            }
        }
        Some(coordinate)
    }

    /// The offset of a position in its decompressed chunk, in bytes. The position may be padding. `None` if no chunk
    /// has this position, or if the offset does not fit `usize`.
    #[must_use]
    pub fn byte_offset(&self, position: Position, typesize: usize) -> Option<usize> {
        let block_nitems = self.block_nitems();
        if position.chunk >= self.nchunks()
            || position.block >= self.nblocks()
            || position.item >= block_nitems
        {
            return None;
        }
        let item = position.block * block_nitems + position.item;
        usize::try_from(item).ok()?.checked_mul(typesize)
    }

    /// The position of the item that contains the byte at `offset` of a decompressed chunk. The item may be padding.
    /// `None` if there is no such chunk or byte, or if the type size is 0.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// // The third byte of an item that has four bytes.
    /// let position = geometry.position_at(0, 26, 4).unwrap();
    /// assert_eq!(geometry.byte_offset(position, 4), Some(24));
    /// assert_eq!(geometry.coordinate(position).unwrap(), [1, 2]);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn position_at(&self, chunk: u64, offset: usize, typesize: usize) -> Option<Position> {
        let item = offset.checked_div(typesize)? as u64;
        if chunk >= self.nchunks() || item >= self.padded_chunk_nitems() {
            return None;
        }
        let block_nitems = self.block_nitems();
        Some(Position { chunk, block: item / block_nitems, item: item % block_nitems })
    }
}
