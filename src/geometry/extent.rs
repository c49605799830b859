//! Boxes of items.

use core::ops::Range;

use super::dimensions::{Dimensions, ceildiv, zip};
use super::walk::Cells;

/// A box of items: along each dimension from `start` up to, but not including, `stop`.
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
    stop: Dimensions,
}

impl Extent {
    /// A box. `start` must not be after `stop` in any dimension.
    pub(super) fn new(start: Dimensions, stop: Dimensions) -> Self {
        Self { start, stop }
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

    /// The number of items along each dimension.
    #[must_use]
    pub fn shape(&self) -> Dimensions {
        Dimensions::combine(&self.stop, &self.start, |stop, start| stop - start)
    }

    /// The number of items.
    #[must_use]
    pub fn nitems(&self) -> u64 {
        self.shape().product()
    }

    /// `start..stop` for each dimension.
    #[must_use]
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        zip(&self.start, &self.stop).map(|(start, stop)| start..stop)
    }

    /// The coordinate of the first item, counted from an origin. The origin must not be after it.
    pub(super) fn start_from(&self, origin: &[u64]) -> Dimensions {
        Dimensions::combine(&self.start, origin, |start, origin| start - origin)
    }

    /// The intersection with the box of this shape at `origin`.
    pub(super) fn within(&self, origin: &[u64], shape: &[u64]) -> Self {
        let end = Dimensions::combine(origin, shape, |origin, items| origin + items);
        let start = Dimensions::combine(&self.start, origin, u64::max);
        let stop = Dimensions::combine(&self.stop, &end, u64::min);
        // Without an intersection the stop can be before the start.
        Self { stop: Dimensions::combine(&stop, &start, u64::max), start }
    }

    /// The cells that intersect the box, in a grid of cells of the given shape. The first cell begins at `origin`.
    pub(super) fn cells(&self, origin: &Dimensions, shape: &[u64]) -> Cells {
        let first = self.start_from(origin);
        let end = Dimensions::combine(&self.stop, origin, |stop, origin| stop - origin);
        // Only a box without items can have cells of 0 items, so this return prevents a division by 0.
        if self.nitems() == 0 {
            return Cells::new(origin.zeros(), origin.zeros());
        }
        Cells::new(
            Dimensions::combine(&first, shape, |first, items| first / items),
            Dimensions::combine(&end, shape, ceildiv),
        )
    }
}
