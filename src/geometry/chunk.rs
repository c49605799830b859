//! From the array to its chunks, to their blocks, to the runs of items that lie together.

use core::ops::Range;

use super::Geometry;
use super::dimensions::Dimensions;
use super::extent::Extent;
use super::walk::{Cells, iterate};

/// The chunks that hold what was asked for, in the order of their numbers. See [`Geometry::chunks`] and
/// [`Geometry::chunks_in`].
#[derive(Clone, Debug)]
pub struct Chunks<'g> {
    geometry: &'g Geometry,
    asked: Extent,
    over: Cells,
}

impl<'g> Chunks<'g> {
    pub(super) fn new(geometry: &'g Geometry, asked: Extent) -> Self {
        let first = asked.start().zeros();
        let over = asked.cells(&first, &geometry.chunkshape());
        Self { geometry, asked, over }
    }

    fn item(&self, index: Dimensions) -> Chunk<'g> {
        Chunk::new(self.geometry, self.asked.clone(), index)
    }
}

iterate!(['g] Chunks<'g> => Chunk<'g>);

/// A chunk, and what it holds of what was asked for: of the whole array, or of a slice.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let chunk = geometry.chunk(1).unwrap();
/// assert_eq!(chunk.number(), 1);
/// assert_eq!(*chunk.index(), [0, 1]);
/// assert!(chunk.extent().ranges().eq([0..2, 3..5]));
///
/// // The same chunk, of which a slice takes the second row only.
/// let part = geometry.chunks_in(&[1..3, 2..5])?.nth(1).unwrap();
/// assert_eq!(part.number(), 1);
/// assert!(part.extent().ranges().eq([1..2, 3..5]));
/// assert_eq!(part.whole(), chunk);
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunk<'g> {
    geometry: &'g Geometry,
    asked: Extent,
    cell: Cell,
}

impl<'g> Chunk<'g> {
    /// The chunk at `index`, which is within the grid.
    pub(super) fn new(geometry: &'g Geometry, asked: Extent, index: Dimensions) -> Self {
        let cell = Cell::new(&asked, &index.zeros(), index, &geometry.chunkshape());
        Self { geometry, asked, cell }
    }

    /// The number of the chunk within the super-chunk, counted from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.index().linear(&self.geometry.grid_of_chunks())
    }

    /// The coordinate of the chunk within the grid of chunks.
    #[must_use]
    pub fn index(&self) -> &Dimensions {
        &self.cell.index
    }

    /// The part of the array, or of the slice, that lies in the chunk.
    #[must_use]
    pub fn extent(&self) -> &Extent {
        &self.cell.extent
    }

    /// The chunk with all that it holds of the array, also if a slice was asked for. Where the two have the same
    /// extent, the slice can be written without reading the chunk before.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self::new(self.geometry, self.geometry.extent(), *self.index())
    }

    /// The blocks that hold a part of the [`extent`](Chunk::extent), in the order of their numbers. A block that
    /// holds none of it, such as one that is padding only, is not among them.
    #[must_use]
    pub fn blocks(&self) -> Blocks<'g> {
        Blocks {
            over: self.extent().cells(&self.cell.origin, &self.geometry.blockshape()),
            chunk: self.clone(),
        }
    }
}

/// The blocks of a chunk that hold what was asked for. See [`Chunk::blocks`].
#[derive(Clone, Debug)]
pub struct Blocks<'g> {
    chunk: Chunk<'g>,
    over: Cells,
}

impl<'g> Blocks<'g> {
    fn item(&self, index: Dimensions) -> Block<'g> {
        let Chunk { geometry, asked, cell } = &self.chunk;
        Block {
            geometry,
            asked: asked.clone(),
            cell: Cell::new(&cell.extent, &cell.origin, index, &geometry.blockshape()),
        }
    }
}

iterate!(['g] Blocks<'g> => Block<'g>);

/// A chunk has at most as many blocks as items, which fit int32.
#[cfg(not(target_pointer_width = "16"))]
impl ExactSizeIterator for Blocks<'_> {}

/// A block, and what it holds of what was asked for.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let block = geometry.chunk(0).unwrap().blocks().last().unwrap();
/// assert_eq!(block.number(), 3);
/// assert_eq!(*block.index(), [1, 1]);
/// assert!(block.extent().ranges().eq([1..2, 2..3]));
/// assert_eq!(block.byte_offset(4), Some(24));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block<'g> {
    geometry: &'g Geometry,
    asked: Extent,
    cell: Cell,
}

impl Block<'_> {
    /// The number of the block within its chunk, counted from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.index().linear(&self.geometry.blocks_per_chunk())
    }

    /// The coordinate of the block within its chunk, counted in blocks.
    #[must_use]
    pub fn index(&self) -> &Dimensions {
        &self.cell.index
    }

    /// The part of the array, or of the slice, that lies in the block.
    #[must_use]
    pub fn extent(&self) -> &Extent {
        &self.cell.extent
    }

    /// The first byte of the block in the decompressed chunk; `None` beyond `usize`.
    #[must_use]
    pub fn byte_offset(&self, typesize: usize) -> Option<usize> {
        usize::try_from(self.first_item()).ok()?.checked_mul(typesize)
    }

    /// The items of the [`extent`](Block::extent), in pieces that lie together both in the decompressed chunk and in
    /// what was asked for. No two of them could be one.
    ///
    /// A piece is a row of the extent, or, where the rows fill both the block and what was asked for, all that follows
    /// without a gap.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[6, 5, 4], chunkshape: &[3, 5, 4], blockshape: &[2, 5, 4] })?;
    /// let block = geometry.chunk(0).unwrap().blocks().next().unwrap();
    /// assert!(block.runs().map(|run| run.nitems()).eq([40]));
    ///
    /// // A slice that leaves out an item of each row.
    /// let block = geometry.chunks_in(&[0..6, 0..5, 0..3])?.next().unwrap().blocks().next().unwrap();
    /// assert!(block.runs().map(|run| run.nitems()).eq([3; 10]));
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn runs(&self) -> Runs {
        let (extent, blockshape, asked) = (self.extent(), self.geometry.blockshape(), self.asked.shape());
        let start = *extent.start();
        let mut stop = *extent.stop();
        let mut nitems = 1;
        let target_shape = blockshape.iter().zip(asked.iter());
        let dimensions = stop.numbers_mut().zip(start.iter()).zip(target_shape);
        for ((stop, start), (block, asked)) in dimensions.rev() {
            // Along the dimensions of a run the walk stands still.
            let items = *stop - start;
            nitems *= items;
            *stop = start + 1;
            if items != *block || items != *asked {
                break;
            }
        }
        Runs {
            over: Cells::new(start, stop),
            nitems,
            source: self.first_item() + extent.from(&self.cell.origin).linear(&blockshape),
            target: extent.from(self.asked.start()).linear(&asked),
            source_strides: blockshape.strides(),
            target_strides: asked.strides(),
        }
    }

    fn first_item(&self) -> u64 {
        self.number() * self.geometry.block_nitems()
    }
}

/// A cell of a grid that is laid over the array: a chunk, or a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cell {
    index: Dimensions,
    /// The coordinate within the array at which it begins.
    origin: Dimensions,
    /// What it holds of what was asked for.
    extent: Extent,
}

impl Cell {
    /// The cell at `index` of a grid of cells of this size, the first of which begins at `first`.
    fn new(asked: &Extent, first: &[u64], index: Dimensions, size: &[u64]) -> Self {
        let from_first = Dimensions::combine(&index, size, |index, items| index * items);
        let origin = Dimensions::combine(first, &from_first, |first, items| first + items);
        Self { extent: asked.within(&origin, size), index, origin }
    }
}

/// The runs of items of a block. See [`Block::runs`].
#[derive(Clone, Debug)]
pub struct Runs {
    /// Over the first item of each.
    over: Cells,
    nitems: u64,
    source: u64,
    target: u64,
    source_strides: Dimensions,
    target_strides: Dimensions,
}

impl Runs {
    #[inline]
    fn item(&self, start: Dimensions) -> Run {
        let (mut source, mut target) = (self.source, self.target);
        let strides = self.source_strides.iter().zip(self.target_strides.iter());
        for ((x, first), (in_source, in_target)) in start.iter().zip(self.over.start().iter()).zip(strides) {
            source += (x - first) * in_source;
            target += (x - first) * in_target;
        }
        Run { source, target, nitems: self.nitems, start }
    }
}

iterate!([] Runs => Run);

/// A block has at most as many runs as items, which fit int32.
#[cfg(not(target_pointer_width = "16"))]
impl ExactSizeIterator for Runs {}

/// Items that lie together, both in a decompressed chunk and in what was asked for: the whole array, or a slice as an
/// array of its own, both in C order.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let block = geometry.chunk(1).unwrap().blocks().next().unwrap();
/// let run = block.runs().next().unwrap();
/// assert_eq!(run.source(4), Some(0..8));
/// assert_eq!(run.target(4), Some(12..20));
/// // For an array that is laid out in another way.
/// assert_eq!((run.start(), run.nitems()), (block.extent().start(), 2));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    source: u64,
    target: u64,
    nitems: u64,
    start: Dimensions,
}

impl Run {
    /// The bytes in the decompressed chunk; `None` beyond `usize`. With a type size of 1 it counts items.
    #[must_use]
    #[inline]
    pub fn source(&self, typesize: usize) -> Option<Range<usize>> {
        bytes(self.source, self.nitems, typesize)
    }

    /// The bytes in the array, or in the slice; `None` beyond `usize`. With a type size of 1 it counts items.
    #[must_use]
    #[inline]
    pub fn target(&self, typesize: usize) -> Option<Range<usize>> {
        bytes(self.target, self.nitems, typesize)
    }

    /// Number of items.
    #[must_use]
    pub fn nitems(&self) -> u64 {
        self.nitems
    }

    /// The coordinate, in the array, of the first item. The others follow it in the C order of what was asked for.
    #[must_use]
    pub fn start(&self) -> &Dimensions {
        &self.start
    }
}

#[inline]
fn bytes(first: u64, nitems: u64, typesize: usize) -> Option<Range<usize>> {
    let byte = |item: u64| usize::try_from(item).ok()?.checked_mul(typesize);
    // Both are places in an array or chunk, whose number of items fits.
    Some(byte(first)?..byte(first + nitems)?)
}
