//! Parts of an array.

use core::ops::Range;

use super::dimensions::{Dimensions, ceildiv, zip};
use super::walk::Cells;

/// A part of the array: along each dimension from `start` up to, not including, `stop`.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// // The last of four chunks is cut at both edges of the array.
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
    /// In no dimension may `start` be behind `stop`.
    pub(super) fn new(start: Dimensions, stop: Dimensions) -> Self {
        Self { start, stop }
    }

    /// The coordinate of the first item.
    #[must_use]
    pub fn start(&self) -> &Dimensions {
        &self.start
    }

    /// The coordinate behind the last item.
    #[must_use]
    pub fn stop(&self) -> &Dimensions {
        &self.stop
    }

    /// Items along each dimension.
    #[must_use]
    pub fn shape(&self) -> Dimensions {
        Dimensions::combine(&self.stop, &self.start, |stop, start| stop - start)
    }

    /// Number of items.
    #[must_use]
    pub fn nitems(&self) -> u64 {
        self.shape().product()
    }

    /// `start..stop` for each dimension.
    #[must_use]
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        zip(&self.start, &self.stop).map(|(start, stop)| start..stop)
    }

    /// The coordinate of its first item, counted from that of another extent, which it is a part of.
    pub(super) fn from(&self, origin: &[u64]) -> Dimensions {
        Dimensions::combine(&self.start, origin, |start, origin| start - origin)
    }

    /// What of this lies in the box of this size at `origin`.
    pub(super) fn within(&self, origin: &[u64], size: &[u64]) -> Self {
        let end = Dimensions::combine(origin, size, |origin, size| origin + size);
        let start = Dimensions::combine(&self.start, origin, u64::max);
        let stop = Dimensions::combine(&self.stop, &end, u64::min);
        Self { stop: Dimensions::combine(&stop, &start, u64::max), start }
    }

    /// The cells that this touches in a grid of boxes of this size, the first of which begins at `origin`.
    pub(super) fn cells(&self, origin: &Dimensions, size: &[u64]) -> Cells {
        // Only where there are no items along a dimension is the size of a box 0.
        let first = Dimensions::combine(&self.start, origin, |start, origin| start - origin);
        let end = Dimensions::combine(&self.stop, origin, |stop, origin| stop - origin);
        if self.nitems() == 0 {
            return Cells::new(origin.zeros(), origin.zeros());
        }
        Cells::new(
            Dimensions::combine(&first, size, |first, size| first / size),
            Dimensions::combine(&end, size, ceildiv),
        )
    }
}
