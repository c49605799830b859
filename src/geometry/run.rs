//! The runs of a block: items that are contiguous both in a chunk and in the selection.

use core::ops::Range;

use super::dimensions::{Dimensions, zip};
use super::walk::{Cells, iterate};

/// An iterator over the runs of a block, from [`Block::runs`](super::Block::runs).
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// // The first block of the first chunk has only one item of this slice.
/// let chunk = geometry.chunks_in(&[0..1, 1..5])?.next().unwrap();
/// let block = chunk.blocks().next().unwrap();
/// let run = block.runs().next().unwrap();
/// assert_eq!((run.source(4), run.target(4)), (Some(4..8), Some(0..4)));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Runs {
    /// Iterates over the coordinates of the runs. Along each dimension, a coordinate counts runs, not items.
    pub(super) over: Cells,
    /// The array coordinate of the block's first item in the selection. The first run begins at this item.
    pub(super) first: Dimensions,
    /// The distance from a run to the next run along each dimension, in items.
    pub(super) step: Dimensions,
    pub(super) nitems: u64,
    pub(super) source: u64,
    pub(super) target: u64,
    pub(super) source_strides: Dimensions,
    pub(super) target_strides: Dimensions,
}

impl Runs {
    #[inline]
    fn item(&self, run: Dimensions) -> Run {
        let (mut source, mut target, mut start) = (self.source, self.target, self.first);
        let strides = zip(&self.source_strides, &self.target_strides).zip(self.step.iter());
        for ((start, number), ((in_source, in_target), step)) in
            start.numbers_mut().zip(run.iter()).zip(strides)
        {
            *start += number * step;
            source += number * in_source;
            target += number * in_target;
        }
        Run { source, target, nitems: self.nitems, start }
    }
}

iterate!([] Runs => Run);

/// The number of runs fits `usize`, because a block has at most as many runs as items, and the number of items fits
/// int32.
#[cfg(not(target_pointer_width = "16"))]
impl ExactSizeIterator for Runs {}

/// Items that are contiguous both in a decompressed chunk and in the selection. The selection is the whole array or a
/// slice. The items of the selection count as a separate array in C order.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let block = geometry.chunk(1).unwrap().blocks().next().unwrap();
/// let run = block.runs().next().unwrap();
/// assert_eq!(run.source(4), Some(0..8));
/// assert_eq!(run.target(4), Some(12..20));
/// // If the array is in another order, compute the places of the items from these two values.
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
    /// The range of bytes in the decompressed chunk; `None` if the range does not fit `usize`. If `typesize` is 1, the
    /// range counts items.
    // The type size is an argument, because the three shapes that make a geometry do not include a type size. If a type
    // size were optional in a geometry, every type of this module would need two versions, one with a type size and one
    // without. A result that can be `None` is no extra work for the caller. The caller passes the range to the method
    // `get` of a buffer, which can return `None` too.
    #[must_use]
    #[inline]
    pub fn source(&self, typesize: usize) -> Option<Range<usize>> {
        bytes(self.source, self.nitems, typesize)
    }

    /// The range of bytes in the array, or in the slice; `None` if the range does not fit `usize`. If `typesize` is 1,
    /// the range counts items.
    #[must_use]
    #[inline]
    pub fn target(&self, typesize: usize) -> Option<Range<usize>> {
        bytes(self.target, self.nitems, typesize)
    }

    /// The number of items of the run.
    #[must_use]
    pub fn nitems(&self) -> u64 {
        self.nitems
    }

    /// The array coordinate of the first item of the run. The next items of the run follow in the C order of the
    /// selection.
    #[must_use]
    pub fn start(&self) -> &Dimensions {
        &self.start
    }
}

#[inline]
fn bytes(first: u64, nitems: u64, typesize: usize) -> Option<Range<usize>> {
    let byte = |item: u64| usize::try_from(item).ok()?.checked_mul(typesize);
    // `first` and `nitems` are at most the number of items of an array or a chunk, so the sum fits u64.
    Some(byte(first)?..byte(first + nitems)?)
}
