//! The chunks that an array keeps when its shape changes.

use core::fmt::Debug;
use core::iter::FusedIterator;

use super::Geometry;
use super::axis::{Axis, check_count, unsigned};
use super::dimensions::Dimensions;
use super::error::Error;
use super::walk::{Cells, iterate};
use crate::layout::Entry;

impl Geometry {
    /// The chunks that the array keeps when its shape changes. It grows or shrinks at the end of each dimension. The
    /// chunk shape and the block shape stay the same. C-Blosc2's `b2nd_resize` does the same.
    ///
    /// # Errors
    ///
    /// If the new shape violates one of the [rules](crate::geometry#what-is-accepted).
    ///
    /// ```
    /// use b2nd_serde::{Geometry, Shapes};
    ///
    /// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    /// // The last chunk has room for the new items, so no chunk is added.
    /// assert!(!geometry.resize(&[4, 6])?.changes_chunks());
    ///
    /// // The grid changes from 2 x 2 chunks to 1 x 3.
    /// let resize = geometry.resize(&[2, 9])?;
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

/// The chunks that an array keeps when its shape changes, from [`Geometry::resize`].
///
/// A chunk is kept if its coordinate is in both the old and the new grid. Its number may change, but its bytes do not.
/// C-Blosc2 does not clear the items that a smaller shape cuts off, so these items reappear if the array grows again.
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
        let kept = self.common().product();
        [self.before.nchunks(), self.after.nchunks()] != [kept; 2]
    }

    /// The old and the new number of each kept chunk, in ascending order. An old chunk that is not in this list is
    /// removed, and a new chunk that is not in this list is added.
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
