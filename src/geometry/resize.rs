//! The chunks that a new shape keeps, adds and removes.

use core::fmt::Debug;
use core::iter::FusedIterator;
use core::ops::Range;

use super::axis::{Axis, check_count, unsigned};
use super::dimensions::{Dimensions, zip};
use super::error::Error;
use super::grid::Geometry;
use super::walk::{Cells, iterate};
use crate::layout::Entry;

impl Geometry {
    /// The chunks that a new shape keeps, adds and removes. The array grows and shrinks at its end, as with C-Blosc2's
    /// `b2nd_resize`; chunk shape and block shape stay the same.
    ///
    /// # Errors
    ///
    /// If the new shape violates one of the [rules](crate::geometry#what-is-accepted).
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// // The last chunk has room along both dimensions.
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
        let numbered = (0..).zip(shape.iter().zip(self.axes()));
        let after = Self::of_axes(numbered.map(|(dimension, (&shape, &axis))| {
            let shape = unsigned(Entry::Shape, dimension, shape)?;
            Axis { shape, ..axis }.check(dimension)
        }))?;
        Ok(Resize { before: self, after })
    }
}

/// The chunks that a new shape keeps, adds and removes, from [`Geometry::resize`].
///
/// A chunk is kept if its coordinate is in the grid before and after. Its number may change, but its bytes do not.
/// C-Blosc2 does not clear the items that a smaller shape cuts off, so they reappear if the array grows again.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let resize = geometry.resize(&[4, 6])?;
/// assert!(!resize.changes_chunks());
/// assert_eq!(resize.after().shape(), [4, 6]);
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
// Three lists, because a writer that resizes must insert the new chunks, remove the old ones, and move the index
// entries of the kept ones. C-Blosc2's own resizes confirm all three in the tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resize<'g> {
    before: &'g Geometry,
    after: Geometry,
}

impl Resize<'_> {
    /// The geometry with the new shape.
    #[must_use]
    pub fn after(&self) -> &Geometry {
        &self.after
    }

    /// Whether chunks are added or removed. If not, each chunk keeps its number, and only the shape in the metalayer
    /// changes.
    #[must_use]
    pub fn changes_chunks(&self) -> bool {
        self.new_count() > 0 || self.gone_count() > 0
    }

    /// The number of chunks that are added.
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// // From 2 x 2 chunks to 1 x 3.
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// let resize = geometry.resize(&[2, 9])?;
    /// assert_eq!((resize.new_count(), resize.gone_count(), resize.kept_count()), (1, 2, 2));
    /// # Ok::<(), b2nd_serde::geometry::Error>(())
    /// ```
    #[must_use]
    pub fn new_count(&self) -> u64 {
        self.after.nchunks() - self.kept_count()
    }

    /// The number of chunks that are removed.
    #[must_use]
    pub fn gone_count(&self) -> u64 {
        self.before.nchunks() - self.kept_count()
    }

    /// The number of chunks that are kept.
    #[must_use]
    pub fn kept_count(&self) -> u64 {
        self.common().product()
    }

    /// The numbers of the added chunks in the new grid, in ascending order. If they are inserted in this order, each
    /// one gets its number.
    #[must_use]
    pub fn new_chunks(&self) -> impl DoubleEndedIterator<Item = u64> + FusedIterator + Clone + Debug + use<> {
        ChangedChunks { over: 0..self.new_count(), grid: self.after.grid_of_chunks(), kept: self.common() }
    }

    /// The numbers of the removed chunks in the old grid, in ascending order. Remove them in reverse order, so that
    /// each one still has its number.
    #[must_use]
    pub fn gone_chunks(
        &self,
    ) -> impl DoubleEndedIterator<Item = u64> + FusedIterator + Clone + Debug + use<> {
        ChangedChunks { over: 0..self.gone_count(), grid: self.before.grid_of_chunks(), kept: self.common() }
    }

    /// The old and the new number of each kept chunk, in ascending order.
    #[must_use]
    pub fn kept_chunks(&self) -> impl FusedIterator<Item = (u64, u64)> + Clone + Debug + use<> {
        let common = self.common();
        KeptChunks {
            over: Cells::new(common.zeros(), common),
            before: self.before.grid_of_chunks(),
            after: self.after.grid_of_chunks(),
        }
    }

    /// The grid of the chunks that are kept.
    fn common(&self) -> Dimensions {
        let (before, after) = (self.before.grid_of_chunks(), self.after.grid_of_chunks());
        Dimensions::combine(&before, &after, u64::min)
    }
}

/// The numbers of the chunks of a grid that are not kept, computed without stepping over the kept ones.
#[derive(Clone, Debug)]
struct ChangedChunks {
    over: Range<u64>,
    grid: Dimensions,
    kept: Dimensions,
}

impl ChangedChunks {
    /// The grid number of a changed chunk, given its index among the changed chunks.
    fn item(&self, mut changed: u64) -> u64 {
        let mut number = 0;
        // How many chunks, and how many kept chunks, share one coordinate in the dimensions handled so far.
        let (mut chunks, mut kept_chunks) = (self.grid.product(), self.kept.product());
        for (kept, places) in zip(&self.kept, &self.grid) {
            chunks /= places;
            kept_chunks = kept_chunks.checked_div(kept).unwrap_or(0);
            // Only the first `kept` places along this dimension have kept chunks.
            let changed_at_each = chunks - kept_chunks;
            let changed_at_first = kept * changed_at_each;
            if changed >= changed_at_first {
                number += kept * chunks + (changed - changed_at_first);
                break;
            }
            number += changed / changed_at_each * chunks;
            changed %= changed_at_each;
        }
        number
    }
}

iterate!([] ChangedChunks => u64);

impl DoubleEndedIterator for ChangedChunks {
    fn next_back(&mut self) -> Option<u64> {
        self.over.next_back().map(|changed| self.item(changed))
    }

    fn nth_back(&mut self, n: usize) -> Option<u64> {
        self.over.nth_back(n).map(|changed| self.item(changed))
    }
}

/// The old and the new number of each kept chunk.
#[derive(Clone, Debug)]
struct KeptChunks {
    over: Cells,
    before: Dimensions,
    after: Dimensions,
}

impl KeptChunks {
    fn item(&self, coordinate: Dimensions) -> (u64, u64) {
        (coordinate.linear(&self.before), coordinate.linear(&self.after))
    }
}

iterate!([] KeptChunks => (u64, u64));
