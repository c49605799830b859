//! Boxes of items.

use core::ops::Range;

use super::dimensions::{Dimensions, ceildiv, zip};
use super::walk::Cells;

/// A box of items. Along each dimension it has every [`step`](Self::step)th item from `start` up to, but not including,
/// `stop`.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// // The last of four chunks extends beyond the array along both dimensions, so its extent is clipped.
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let chunk = geometry.chunk(3).unwrap();
/// let extent = chunk.extent();
/// assert_eq!(*extent.start(), [2, 3]);
/// assert_eq!(*extent.stop(), [3, 5]);
/// assert_eq!(extent.shape(), [1, 2]);
/// assert_eq!(extent.nitems(), 2);
/// assert!(extent.ranges().eq([2..3, 3..5]));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    start: Dimensions,
    /// Along each dimension, the coordinate directly after the last item.
    stop: Dimensions,
    /// The distance from one item of the extent to the next, along each dimension. It is at least 1. It is 1 along a
    /// dimension with fewer than two items, so two boxes with the same items compare equal.
    step: Dimensions,
}

impl Extent {
    /// The box from `start` up to, but not including, `stop`. Along each dimension, `steps` has the distance from one
    /// item of the box to the next. `start` must not be after `stop` in any dimension, and no step may be 0.
    pub(super) fn new(start: Dimensions, mut stop: Dimensions, mut steps: Dimensions) -> Self {
        for (end, (first, step)) in stop.numbers_mut().zip(start.iter().zip(steps.numbers_mut())) {
            // The usual step of 1 needs no division.
            if *step > 1 && *end > *first {
                *end -= (*end - first - 1) % *step;
            }
            if *end - first <= 1 {
                *step = 1;
            }
        }
        Self { start, stop, step: steps }
    }

    /// The coordinate of the first item.
    #[must_use]
    pub fn start(&self) -> &Dimensions {
        &self.start
    }

    /// The first coordinate after the extent, along each dimension.
    #[must_use]
    pub fn stop(&self) -> &Dimensions {
        &self.stop
    }

    /// The distance from one item to the next along each dimension, at least 1.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[9], chunkshape: &[4], blockshape: &[2] })?;
    /// // The items 1, 4 and 7.
    /// let chunk = geometry.chunks_in_steps(&[1..9], &[3])?.nth(1).unwrap();
    /// assert!(chunk.extent().ranges().eq([4..8]));
    /// assert_eq!(*chunk.extent().step(), [3]);
    /// assert_eq!(chunk.extent().shape(), [2]);
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn step(&self) -> &Dimensions {
        &self.step
    }

    /// The number of items along each dimension.
    #[must_use]
    pub fn shape(&self) -> Dimensions {
        let items = Dimensions::combine(&self.stop, &self.start, |stop, start| stop - start);
        Dimensions::combine(&items, &self.step, u64::div_ceil)
    }

    /// The number of items.
    #[must_use]
    pub fn nitems(&self) -> u64 {
        self.shape().product()
    }

    /// The range `start..stop` of each dimension. If the step is above 1, the box has only some of the coordinates in
    /// the range.
    #[must_use]
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        zip(&self.start, &self.stop).map(|(start, stop)| start..stop)
    }

    /// The coordinate of the first item, counted from `origin`. `origin` must not be after the first item in any
    /// dimension.
    pub(super) fn start_from(&self, origin: &[u64]) -> Dimensions {
        Dimensions::combine(&self.start, origin, |start, origin| start - origin)
    }

    /// The items of this box that are also in another box, which begins at `origin` and has the shape `shape`.
    pub(super) fn within(&self, origin: &[u64], shape: &[u64]) -> Self {
        let end = Dimensions::combine(origin, shape, |origin, items| origin + items);
        // Moves the start to the first item of this box that is not before the origin.
        let mut start = Dimensions::combine(&self.start, origin, u64::max);
        for (start, (first, step)) in start.numbers_mut().zip(zip(&self.start, &self.step)) {
            if step > 1 {
                *start = first + (*start - first).next_multiple_of(step);
            }
        }
        let stop = Dimensions::combine(&self.stop, &end, u64::min);
        // If no item is in both boxes, the stop can be before the start. The stop is then moved to the start.
        Self::new(start, Dimensions::combine(&stop, &start, u64::max), self.step)
    }

    /// Iterates over the cells that have items of the box, in a grid whose cells have the shape `shape`. The first cell
    /// of the grid begins at `origin`. Each result is the coordinate of a cell in the grid. But along a dimension where
    /// the step of the box is longer than a cell, the result is the index of an item of the box. [`cell`](Self::cell)
    /// converts this index to the coordinate of the cell.
    pub(super) fn cells(&self, origin: &Dimensions, shape: &[u64]) -> Cells {
        // The cell shape has a 0 only if the box has no items. So after this return, the divisions below never divide
        // by 0.
        if self.nitems() == 0 {
            return Cells::new(origin.zeros(), origin.zeros());
        }
        let mut first = self.start_from(origin);
        let mut end = Dimensions::combine(&self.stop, origin, |stop, origin| stop - origin);
        let steps = zip(&self.step, shape);
        for ((first, end), (step, items)) in first.numbers_mut().zip(end.numbers_mut()).zip(steps) {
            (*first, *end) = if step > items {
                // The step is longer than a cell, so no cell has more than one item, and some cells have no item. Here
                // the result counts items, not cells. `cell` converts the number of an item to a coordinate.
                (0, (*end - *first).div_ceil(step))
            } else {
                (*first / items, ceildiv(*end, items))
            };
        }
        Cells::new(first, end)
    }

    /// Converts a result of [`cells`](Self::cells) to the coordinate of the cell in the grid.
    pub(super) fn cell(&self, mut cell: Dimensions, origin: &[u64], shape: &[u64]) -> Dimensions {
        let first = self.start.iter().zip(origin);
        for ((x, (step, items)), (start, origin)) in cell.numbers_mut().zip(zip(&self.step, shape)).zip(first)
        {
            if step > items {
                *x = (start - origin + *x * step) / items;
            }
        }
        cell
    }
}
