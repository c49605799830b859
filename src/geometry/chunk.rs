//! The chunks of an array, and the blocks of a chunk.

use core::ops::Range;

use super::Geometry;
use super::axis::check_count;
use super::dimensions::{Dimensions, zip};
use super::error::{Buffer, Error, Violation};
use super::extent::Extent;
use super::run::Runs;
use super::walk::{Cells, iterate};

impl Geometry {
    /// The chunk with this number; `None` if the array has no such chunk.
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
        let coordinate = self.grid_of_chunks().coordinate(number)?;
        Some(Chunk::new(self, self.extent(), coordinate))
    }

    /// All chunks of the array, in the order of their numbers.
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

    /// The chunks that a slice of the array touches. The slice has one range per dimension.
    ///
    /// The [extent](Chunk::extent), the blocks and the runs of each chunk have only items of the slice. The items of
    /// the slice count as a separate array in C order. The [target](crate::geometry::Run::target) of a run is a range
    /// of bytes in this separate array, not in the whole array.
    ///
    /// # Errors
    ///
    /// It is an error if the number of ranges is not the number of dimensions, if a range starts after its stop, or if
    /// a range stops after the end of the array.
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
        self.chunks_of(slice, self.shape().ones())
    }

    /// The chunks that a slice with steps touches. Along each dimension, the slice has every `step`th item of its
    /// range, beginning with the first. Chunks and blocks without an item of the slice are skipped.
    ///
    /// # Errors
    ///
    /// The errors of [`chunks_in`](Self::chunks_in). It is also an error if the number of steps is not the number of
    /// dimensions, or if a step is 0.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[90, 5], chunkshape: &[10, 3], blockshape: &[5, 3] })?;
    /// // The first column of the rows 2, 32 and 62.
    /// let chunks = geometry.chunks_in_steps(&[2..90, 0..1], &[30, 1])?;
    /// assert!(chunks.map(|chunk| chunk.number()).eq([0, 6, 12]));
    ///
    /// let error = geometry.chunks_in_steps(&[2..90, 0..1], &[30, 0]).unwrap_err();
    /// assert_eq!(error.to_string(), "the step of slice[1] is 0, but must be at least 1");
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    pub fn chunks_in_steps(&self, slice: &[Range<u64>], steps: &[u64]) -> Result<Chunks<'_>, Error> {
        check_count(None, steps.len(), self.ndim())?;
        if let Some((dimension, _)) = (0..).zip(steps).find(|(_, step)| **step == 0) {
            return Err(Error(Violation::Step { dimension }));
        }
        self.chunks_of(slice, Dimensions::collect(steps.iter().copied()))
    }

    fn chunks_of(&self, slice: &[Range<u64>], steps: Dimensions) -> Result<Chunks<'_>, Error> {
        check_count(None, slice.len(), self.ndim())?;
        for (dimension, (range, axis)) in (0..).zip(slice.iter().zip(self.axes())) {
            let (start, stop) = (range.start, range.end);
            if start > stop {
                return Err(Error(Violation::Backward { dimension, start, stop }));
            }
            if stop > axis.shape {
                let items = axis.shape;
                return Err(Error(Violation::Outside { dimension, stop, items }));
            }
        }
        let start = Dimensions::collect(slice.iter().map(|range| range.start));
        let stop = Dimensions::collect(slice.iter().map(|range| range.end));
        Ok(Chunks::new(self, Extent::new(start, stop, steps)))
    }

    /// The box of all items of the array.
    fn extent(&self) -> Extent {
        let shape = self.shape();
        Extent::new(shape.zeros(), shape, shape.ones())
    }
}

/// An iterator over chunks in the order of their numbers, from [`Geometry::chunks`], [`Geometry::chunks_in`] or
/// [`Geometry::chunks_in_steps`]. `count`, `nth` and `last` take the same time for any number of chunks.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[1 << 33], chunkshape: &[8], blockshape: &[8] })?;
/// assert_eq!(geometry.chunks().count(), 1 << 30);
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunks<'g> {
    geometry: &'g Geometry,
    selection: Extent,
    over: Cells,
}

impl<'g> Chunks<'g> {
    fn new(geometry: &'g Geometry, selection: Extent) -> Self {
        let first = selection.start().zeros();
        let over = selection.cells(&first, &geometry.chunkshape());
        Self { geometry, selection, over }
    }

    fn item(&self, cell: Dimensions) -> Chunk<'g> {
        let chunkshape = self.geometry.chunkshape();
        let coordinate = self.selection.cell(cell, &cell.zeros(), &chunkshape);
        Chunk::new(self.geometry, self.selection.clone(), coordinate)
    }
}

iterate!(['g] Chunks<'g> => Chunk<'g>);

/// A chunk with its part of the selection. The selection is the whole array, or a slice of it.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let chunk = geometry.chunk(1).unwrap();
/// assert_eq!(chunk.number(), 1);
/// assert_eq!(*chunk.coordinate(), [0, 1]);
/// assert!(chunk.extent().ranges().eq([0..2, 3..5]));
///
/// // The same chunk, reached through a slice that has only the second row of the chunk.
/// let part = geometry.chunks_in(&[1..3, 2..5])?.nth(1).unwrap();
/// assert_eq!(part.number(), 1);
/// assert!(part.extent().ranges().eq([1..2, 3..5]));
/// assert_eq!(part.whole(), chunk);
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunk<'g> {
    geometry: &'g Geometry,
    selection: Extent,
    cell: Cell,
}

impl<'g> Chunk<'g> {
    /// The chunk at a coordinate of the grid.
    fn new(geometry: &'g Geometry, selection: Extent, coordinate: Dimensions) -> Self {
        let cell = Cell::new(&selection, &coordinate.zeros(), coordinate, &geometry.chunkshape());
        Self { geometry, selection, cell }
    }

    /// The number of the chunk in the array, in C order, counted from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.coordinate().linear(&self.geometry.grid_of_chunks())
    }

    /// The coordinate of the chunk in the grid of chunks, counted in chunks.
    #[must_use]
    pub fn coordinate(&self) -> &Dimensions {
        &self.cell.coordinate
    }

    /// The items of the chunk that belong to the array, or to the slice if the chunk is from [`Geometry::chunks_in`] or
    /// [`Geometry::chunks_in_steps`].
    #[must_use]
    pub fn extent(&self) -> &Extent {
        &self.cell.extent
    }

    /// This chunk, with the whole array as the selection instead of a slice. If the returned chunk has the same extent
    /// as this one, the slice has all items of the chunk. In this case, a program that overwrites the slice need not
    /// read the chunk first.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self::new(self.geometry, self.geometry.extent(), *self.coordinate())
    }

    /// The blocks that have items of the [`extent`](Chunk::extent), in the order of their numbers. Blocks without items
    /// of the extent are skipped, for example blocks of padding.
    #[must_use]
    pub fn blocks(&self) -> Blocks<'g> {
        Blocks {
            over: self.extent().cells(&self.cell.origin, &self.geometry.blockshape()),
            chunk: self.clone(),
        }
    }

    /// Copies the items of the [`extent`](Chunk::extent) from the array, or from the slice, into a decompressed chunk.
    ///
    /// The array and the chunk are given as bytes; the array is in C order. Bytes of the chunk outside the extent, such
    /// as padding, are not changed.
    ///
    /// # Errors
    ///
    /// It is an error if the type size is 0, or if the chunk or the array is too short for the items that must be
    /// copied. Some items may have been copied before the error. The error names the number of bytes of the whole chunk
    /// or array, even if fewer bytes would be enough.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// let array: Vec<u8> = (1..16).collect();
    /// let mut chunk = vec![0; geometry.chunk_nbytes(1)?];
    /// geometry.chunk(1).unwrap().gather(&array, 1, &mut chunk)?;
    /// assert_eq!(chunk, [4, 5, 0, 0, 9, 10, 0, 0]);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    pub fn gather(&self, array: &[u8], typesize: usize, chunk: &mut [u8]) -> Result<(), Error> {
        self.copy(typesize, chunk.len(), array.len(), |in_chunk, in_array| {
            chunk.get_mut(in_chunk)?.copy_from_slice(array.get(in_array)?);
            Some(())
        })
    }

    /// Copies the items of the [`extent`](Chunk::extent) from a decompressed chunk into the array, or into the slice.
    ///
    /// The array and the chunk are given as bytes; the array is in C order.
    ///
    /// # Errors
    ///
    /// It is an error if the type size is 0, or if the chunk or the array is too short for the items that must be
    /// copied. Some items may have been copied before the error. The error names the number of bytes of the whole chunk
    /// or array, even if fewer bytes would be enough.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// let chunk = [4, 5, 0, 0, 9, 10, 0, 0];
    /// let mut slice = [0; 2];
    /// geometry.chunks_in(&[1..2, 3..5])?.next().unwrap().scatter(&chunk, 1, &mut slice)?;
    /// assert_eq!(slice, [9, 10]);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    pub fn scatter(&self, chunk: &[u8], typesize: usize, array: &mut [u8]) -> Result<(), Error> {
        self.copy(typesize, chunk.len(), array.len(), |in_chunk, in_array| {
            array.get_mut(in_array)?.copy_from_slice(chunk.get(in_chunk)?);
            Some(())
        })
    }

    /// Calls `copy_run` for each run, with the run's byte ranges in the chunk and in the array. `copy_run` returns
    /// `None` if the chunk or the array is too short.
    fn copy(
        &self,
        typesize: usize,
        chunk_len: usize,
        array_len: usize,
        mut copy_run: impl FnMut(Range<usize>, Range<usize>) -> Option<()>,
    ) -> Result<(), Error> {
        // A metalayer of a few bytes can state a chunk of 2^31 - 1 items. The loop over its runs ends as soon as an
        // item does not fit the buffers. Items of 0 bytes fit any buffer, so the loop would not end before the last
        // run, which would take too long. Therefore, a type size of 0 is an error.
        if typesize == 0 {
            return Err(Error(Violation::TypeSize));
        }
        let mut runs = self.blocks().flat_map(|block| block.runs());
        let copied = runs.try_for_each(|run| copy_run(run.source(typesize)?, run.target(typesize)?));
        copied.ok_or_else(|| {
            let bytes = |nitems: u64| nitems.saturating_mul(typesize as u64);
            // The array or the chunk is too short. If the array has its full length, the chunk is too short. The length
            // of the chunk is not checked first, because a chunk that lacks only padding is not an error.
            let needed = bytes(self.selection.nitems());
            Error(if (array_len as u64) < needed {
                Violation::TooShort { of: Buffer::Array, found: array_len, needed }
            } else {
                let needed = bytes(self.geometry.padded_chunk_nitems());
                Violation::TooShort { of: Buffer::Chunk, found: chunk_len, needed }
            })
        })
    }
}

/// An iterator over the blocks of a chunk, from [`Chunk::blocks`].
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// // The last chunk has 1 x 2 items of the array; its other blocks are padding.
/// let chunk = geometry.chunk(3).unwrap();
/// assert!(chunk.blocks().map(|block| block.number()).eq([0]));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocks<'g> {
    chunk: Chunk<'g>,
    over: Cells,
}

impl<'g> Blocks<'g> {
    fn item(&self, block: Dimensions) -> Block<'g> {
        let Chunk { geometry, selection, cell } = &self.chunk;
        let (extent, origin, blockshape) = (&cell.extent, &cell.origin, geometry.blockshape());
        let coordinate = extent.cell(block, origin, &blockshape);
        Block {
            geometry,
            selection: selection.clone(),
            cell: Cell::new(extent, origin, coordinate, &blockshape),
        }
    }
}

iterate!(['g] Blocks<'g> => Block<'g>);

/// The number of blocks fits `usize`, because a chunk has at most as many blocks as items, and the number of items fits
/// int32.
#[cfg(not(target_pointer_width = "16"))]
impl ExactSizeIterator for Blocks<'_> {}

/// A block with its part of the selection. The selection is the whole array, or a slice of it.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let block = geometry.chunk(0).unwrap().blocks().last().unwrap();
/// assert_eq!(block.number(), 3);
/// assert_eq!(*block.coordinate(), [1, 1]);
/// assert!(block.extent().ranges().eq([1..2, 2..3]));
/// assert_eq!(block.byte_offset(4), Some(24));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block<'g> {
    geometry: &'g Geometry,
    selection: Extent,
    cell: Cell,
}

impl Block<'_> {
    /// The number of the block in its chunk, counted from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.coordinate().linear(&self.geometry.blocks_per_chunk())
    }

    /// The coordinate of the block in its chunk, counted in blocks.
    #[must_use]
    pub fn coordinate(&self) -> &Dimensions {
        &self.cell.coordinate
    }

    /// The part of the array, or of the slice, that the block holds.
    #[must_use]
    pub fn extent(&self) -> &Extent {
        &self.cell.extent
    }

    /// The offset of the block in the decompressed chunk, in bytes; `None` if the offset does not fit `usize`.
    #[must_use]
    pub fn byte_offset(&self, typesize: usize) -> Option<usize> {
        usize::try_from(self.first_item()).ok()?.checked_mul(typesize)
    }

    /// Divides the items of the [`extent`](Block::extent) into runs. A run is contiguous both in the decompressed chunk
    /// and in the selection, so one copy operation is enough for it.
    ///
    /// Usually a run is one row of the extent, that is, all items along the last dimension. If the rows of the extent,
    /// of the block and of the selection have the same length, there is no gap between two rows, so a run can have
    /// several rows. Along a dimension in which the extent has a step above 1, and along the dimensions before it, a
    /// run has one item. Apart from that, each run is as long as possible.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let shapes = Shapes { shape: &[6, 5, 4], chunkshape: &[3, 5, 4], blockshape: &[2, 5, 4] };
    /// let geometry = Geometry::new(shapes)?;
    /// let block = geometry.chunk(0).unwrap().blocks().next().unwrap();
    /// assert!(block.runs().map(|run| run.nitems()).eq([40]));
    ///
    /// // A slice without the last item of each row.
    /// let block = geometry.chunks_in(&[0..6, 0..5, 0..3])?.next().unwrap().blocks().next().unwrap();
    /// assert!(block.runs().map(|run| run.nitems()).eq([3; 10]));
    ///
    /// // Every second row.
    /// let block = geometry.chunks_in_steps(&[0..6, 0..5, 0..4], &[1, 2, 1])?.next().unwrap().blocks().next().unwrap();
    /// assert!(block.runs().map(|run| run.nitems()).eq([4; 6]));
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn runs(&self) -> Runs {
        let (extent, blockshape) = (self.extent(), self.geometry.blockshape());
        let (shape, target_shape, step) = (extent.shape(), self.selection.shape(), *extent.step());
        // The number of runs along each dimension.
        let mut count = shape;
        let mut nitems = 1;
        let filled = zip(&blockshape, &target_shape).zip(step.iter());
        for (count, ((in_block, in_target), step)) in count.numbers_mut().zip(filled).rev() {
            // A step leaves gaps between the items along this dimension, so a run has only one item along it.
            if *step > 1 {
                break;
            }
            // A run has all items of the extent along this dimension, so there is only one run along this dimension.
            let items = core::mem::replace(count, 1);
            nitems *= items;
            // If the block or the selection has more items along this dimension than the run, there is a gap after the
            // items of the run. So the run ends at this gap, and the loop ends before the earlier dimensions.
            if items != in_block || items != in_target {
                break;
            }
        }
        let target = extent.start_from(self.selection.start());
        Runs {
            over: Cells::new(shape.zeros(), count),
            first: *extent.start(),
            step,
            nitems,
            source: self.first_item() + extent.start_from(&self.cell.origin).linear(&blockshape),
            target: Dimensions::combine(&target, self.selection.step(), |target, step| target / step)
                .linear(&target_shape),
            source_strides: Dimensions::combine(&blockshape.strides(), &step, |stride, step| stride * step),
            target_strides: target_shape.strides(),
        }
    }

    fn first_item(&self) -> u64 {
        self.number() * self.geometry.block_nitems()
    }
}

/// A cell of a grid: a chunk in the grid over the array, or a block in the grid over a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cell {
    coordinate: Dimensions,
    /// The coordinate of the cell's first item in the array.
    origin: Dimensions,
    /// The part of the selection in the cell.
    extent: Extent,
}

impl Cell {
    /// The cell at `coordinate` of a grid whose cells have the shape `shape`. The first cell begins at `first`.
    fn new(selection: &Extent, first: &[u64], coordinate: Dimensions, shape: &[u64]) -> Self {
        let from_first = Dimensions::combine(&coordinate, shape, |cells, items| cells * items);
        let origin = Dimensions::combine(first, &from_first, |first, items| first + items);
        Self { extent: selection.within(&origin, shape), coordinate, origin }
    }
}
