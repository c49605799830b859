//! What becomes of the chunks when the shape changes.

use core::iter::FusedIterator;

use super::Geometry;
use super::dimensions::{Dimensions, is_within, zip};
use super::extent::Cells;

/// What becomes of the chunks when the shape changes and the chunk and block shapes stay. See [`Geometry::resize`].
///
/// A chunk is kept if the grid has its place before and after. It may get another number, but its bytes stay as they
/// are: C-Blosc2 does not clear the items that a smaller shape cuts off, and they are there again if the array grows
/// back over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resize<'g> {
    before: &'g Geometry,
    after: Geometry,
}

impl<'g> Resize<'g> {
    pub(super) fn new(before: &'g Geometry, after: Geometry) -> Self {
        Self { before, after }
    }

    /// The geometry with the new shape.
    #[must_use]
    pub fn after(&self) -> &Geometry {
        &self.after
    }

    /// Whether any chunk is new or gone. If none is, every chunk keeps its number, and only the metalayer's shape
    /// changes.
    #[must_use]
    pub fn changes_chunks(&self) -> bool {
        self.new_chunks().next().is_some() || self.gone_chunks().next().is_some()
    }

    /// The numbers that the new chunks have in the new grid, in ascending order: inserted one after the other, each
    /// comes to stand at its place.
    #[must_use]
    pub fn new_chunks(&self) -> impl FusedIterator<Item = u64> {
        Outside::new(self.after.grid_of_chunks(), self.common())
    }

    /// The numbers that the chunks which are gone had in the old grid, in ascending order.
    #[must_use]
    pub fn gone_chunks(&self) -> impl FusedIterator<Item = u64> {
        Outside::new(self.before.grid_of_chunks(), self.common())
    }

    /// The numbers of the chunks that are kept, in ascending order: what it was before, and what it is after.
    #[must_use]
    pub fn kept_chunks(&self) -> impl FusedIterator<Item = (u64, u64)> {
        let (before, after) = (self.before.grid_of_chunks(), self.after.grid_of_chunks());
        let common = self.common();
        Cells::new(common.zeros(), common).map(move |index| (index.linear(&before), index.linear(&after)))
    }

    /// The grid of the chunks that are kept.
    fn common(&self) -> Dimensions {
        let (before, after) = (self.before.grid_of_chunks(), self.after.grid_of_chunks());
        Dimensions::combine(&before, &after, u64::min)
    }
}

/// The numbers of the chunks that a grid has outside the inner grid at its origin.
struct Outside {
    grid: Dimensions,
    inner: Dimensions,
    /// Where to look on; `None` at the end.
    next: Option<Dimensions>,
}

impl Outside {
    fn new(grid: Dimensions, inner: Dimensions) -> Self {
        let next = (grid.product() > 0).then(|| grid.zeros());
        Self { grid, inner, next }
    }

    /// Moves a coordinate of the inner grid to the first behind it, in C order, that is not: across the inner grid's
    /// side in the last dimension in which the grid goes on beyond. False if there is none.
    fn leave_inner(&self, index: &mut Dimensions) -> bool {
        let sides = zip(&self.inner, &self.grid);
        let mut dimensions = index.numbers_mut().zip(sides).rev();
        // Behind that dimension all are 0: it takes a step in this one, or in one before it, to come back inside.
        match dimensions.find(|(_, (inner, grid))| inner < grid) {
            Some((index, (inner, _))) => {
                *index = inner;
                true
            }
            None => false,
        }
    }
}

impl Iterator for Outside {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let mut index = self.next.take()?;
        if is_within(&index, &self.inner) && !self.leave_inner(&mut index) {
            return None;
        }
        let number = index.linear(&self.grid);
        let goes_on = index.advance(&self.grid.zeros(), &self.grid);
        self.next = goes_on.then_some(index);
        Some(number)
    }
}

impl FusedIterator for Outside {}
