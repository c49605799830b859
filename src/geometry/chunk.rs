//! From the array to its chunks, to their blocks, to the runs of items that lie together.

use core::iter::FusedIterator;
use core::ops::Range;

use super::Geometry;
use super::dimensions::Dimensions;
use super::extent::{Cells, Extent};

/// The chunks that hold what was asked for, in the order of their numbers. See [`Geometry::chunks`] and
/// [`Geometry::chunks_in`].
#[derive(Clone, Debug)]
pub struct Chunks<'g> {
    geometry: &'g Geometry,
    asked: Extent,
    cells: Cells,
}

impl<'g> Chunks<'g> {
    pub(super) fn new(geometry: &'g Geometry, asked: Extent) -> Self {
        let first = asked.start().zeros();
        let cells = asked.cells(&first, &geometry.chunkshape());
        Self { geometry, asked, cells }
    }
}

impl<'g> Iterator for Chunks<'g> {
    type Item = Chunk<'g>;

    fn next(&mut self) -> Option<Chunk<'g>> {
        self.cells.next().map(|index| Chunk::new(self.geometry, self.asked.clone(), index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.cells.size_hint()
    }
}

impl FusedIterator for Chunks<'_> {}

/// A chunk, and what it holds of what was asked for: of the whole array, or of a slice.
///
/// ```
/// use b2nd_serde::Geometry;
///
/// let geometry = Geometry::new(&[3, 5], &[2, 3], &[1, 2])?;
/// let chunk = geometry.chunk(1).unwrap();
/// assert_eq!(chunk.number(), 1);
/// assert_eq!(*chunk.index(), [0, 1]);
/// assert!(chunk.extent().ranges().eq([0..2, 3..5]));
///
/// // The same chunk, of which a slice takes the second row only.
/// let chunk = geometry.chunks_in(&[1..3, 2..5])?.nth(1).unwrap();
/// assert_eq!(chunk.number(), 1);
/// assert!(chunk.extent().ranges().eq([1..2, 3..5]));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunk<'g> {
    geometry: &'g Geometry,
    asked: Extent,
    index: Dimensions,
}

impl<'g> Chunk<'g> {
    /// The chunk at `index`, which is within the grid.
    pub(super) fn new(geometry: &'g Geometry, asked: Extent, index: Dimensions) -> Self {
        Self { geometry, asked, index }
    }

    /// The number of the chunk within the super-chunk, counted from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.index.linear(&self.geometry.grid_of_chunks())
    }

    /// The coordinate of the chunk within the grid of chunks.
    #[must_use]
    pub fn index(&self) -> &Dimensions {
        &self.index
    }

    /// The part of the array, or of the slice, that lies in the chunk.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.asked.within(&self.origin(), &self.geometry.chunkshape())
    }

    /// The blocks that hold a part of the [`extent`](Chunk::extent), in the order of their numbers. A block that
    /// holds none of it, such as one that is padding only, is not among them.
    #[must_use]
    pub fn blocks(&self) -> Blocks<'g> {
        Blocks {
            cells: self.extent().cells(&self.origin(), &self.geometry.blockshape()),
            chunk: self.clone(),
        }
    }

    fn origin(&self) -> Dimensions {
        Dimensions::combine(&self.index, &self.geometry.chunkshape(), |index, items| index * items)
    }
}

/// The blocks of a chunk that hold what was asked for. See [`Chunk::blocks`].
#[derive(Clone, Debug)]
pub struct Blocks<'g> {
    chunk: Chunk<'g>,
    cells: Cells,
}

impl<'g> Iterator for Blocks<'g> {
    type Item = Block<'g>;

    fn next(&mut self) -> Option<Block<'g>> {
        self.cells.next().map(|index| Block { chunk: self.chunk.clone(), index })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.cells.size_hint()
    }
}

impl FusedIterator for Blocks<'_> {}

/// A block, and what it holds of what was asked for.
///
/// ```
/// use b2nd_serde::Geometry;
///
/// let geometry = Geometry::new(&[3, 5], &[2, 3], &[1, 2])?;
/// let block = geometry.chunk(0).unwrap().blocks().last().unwrap();
/// assert_eq!(block.number(), 3);
/// assert_eq!(*block.index(), [1, 1]);
/// assert!(block.extent().ranges().eq([1..2, 2..3]));
/// assert_eq!(block.byte_offset(4), Some(24));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Block<'g> {
    chunk: Chunk<'g>,
    index: Dimensions,
}

impl Block<'_> {
    /// The number of the block within its chunk, counted from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.index.linear(&self.chunk.geometry.blocks_per_chunk())
    }

    /// The coordinate of the block within its chunk, counted in blocks.
    #[must_use]
    pub fn index(&self) -> &Dimensions {
        &self.index
    }

    /// The part of the array, or of the slice, that lies in the block.
    #[must_use]
    pub fn extent(&self) -> Extent {
        let blockshape = self.chunk.geometry.blockshape();
        self.chunk.extent().within(&self.origin(), &blockshape)
    }

    /// The first byte of the block in the decompressed chunk; `None` beyond `usize`.
    #[must_use]
    pub fn byte_offset(&self, typesize: usize) -> Option<usize> {
        usize::try_from(self.first_item()).ok()?.checked_mul(typesize)
    }

    /// The items of the [`extent`](Block::extent), in pieces that lie together both in the decompressed chunk and in
    /// what was asked for: the rows of the extent.
    #[must_use]
    pub fn runs(&self) -> Runs {
        let extent = self.extent();
        let start = extent.start().clone();
        // A row is as long as the last dimension, in which the walk stands still.
        let mut stop = extent.stop().clone();
        let mut len = 1;
        if let (Some(stop), Some(&start)) = (stop.numbers_mut().next_back(), start.last()) {
            len = *stop - start;
            *stop = start + 1;
        }
        Runs {
            rows: Cells::new(start, stop),
            len,
            first_item: self.first_item(),
            origin: self.origin(),
            blockshape: self.chunk.geometry.blockshape(),
            asked: self.chunk.asked.start().clone(),
            asked_shape: self.chunk.asked.shape(),
        }
    }

    fn first_item(&self) -> u64 {
        self.number() * self.chunk.geometry.block_nitems()
    }

    fn origin(&self) -> Dimensions {
        let blockshape = self.chunk.geometry.blockshape();
        let in_chunk = Dimensions::combine(&self.index, &blockshape, |index, items| index * items);
        Dimensions::combine(&self.chunk.origin(), &in_chunk, |chunk, block| chunk + block)
    }
}

/// The runs of items of a block. See [`Block::runs`].
#[derive(Clone, Debug)]
pub struct Runs {
    rows: Cells,
    len: u64,
    first_item: u64,
    origin: Dimensions,
    blockshape: Dimensions,
    asked: Dimensions,
    asked_shape: Dimensions,
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let row = self.rows.next()?;
        let from = |origin: &Dimensions| Dimensions::combine(&row, origin, |row, origin| row - origin);
        Some(Run {
            source: self.first_item + from(&self.origin).linear(&self.blockshape),
            target: from(&self.asked).linear(&self.asked_shape),
            len: self.len,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl FusedIterator for Runs {}

/// Items that lie together, both in a decompressed chunk and in what was asked for: the whole array, or a slice as an
/// array of its own, both in C order.
///
/// ```
/// use b2nd_serde::Geometry;
///
/// let geometry = Geometry::new(&[3, 5], &[2, 3], &[1, 2])?;
/// let block = geometry.chunk(1).unwrap().blocks().next().unwrap();
/// let run = block.runs().next().unwrap();
/// assert_eq!(run.source(4), Some(0..8));
/// assert_eq!(run.target(4), Some(12..20));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    source: u64,
    target: u64,
    len: u64,
}

impl Run {
    /// The bytes in the decompressed chunk; `None` beyond `usize`. With a type size of 1 it counts items.
    #[must_use]
    pub fn source(&self, typesize: usize) -> Option<Range<usize>> {
        bytes(self.source, self.len, typesize)
    }

    /// The bytes in the array, or in the slice; `None` beyond `usize`. With a type size of 1 it counts items.
    #[must_use]
    pub fn target(&self, typesize: usize) -> Option<Range<usize>> {
        bytes(self.target, self.len, typesize)
    }
}

fn bytes(first: u64, len: u64, typesize: usize) -> Option<Range<usize>> {
    let byte = |item: u64| usize::try_from(item).ok()?.checked_mul(typesize);
    // Both are places in an array or chunk, whose number of items fits.
    Some(byte(first)?..byte(first + len)?)
}
