//! What becomes of the chunks when the shape changes.

use core::ops::Range;

use super::Geometry;
use super::dimensions::{Dimensions, zip};
use super::walk::{Cells, iterate};

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
        self.new_count() > 0 || self.gone_count() > 0
    }

    /// How many chunks are new.
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

    /// How many chunks are gone.
    #[must_use]
    pub fn gone_count(&self) -> u64 {
        self.before.nchunks() - self.kept_count()
    }

    /// How many chunks are kept.
    #[must_use]
    pub fn kept_count(&self) -> u64 {
        self.common().product()
    }

    /// The numbers that the new chunks have in the new grid, in ascending order: inserted one after the other, each
    /// comes to stand at its place.
    #[must_use]
    pub fn new_chunks(&self) -> ChangedChunks {
        ChangedChunks { over: 0..self.new_count(), grid: self.after.grid_of_chunks(), kept: self.common() }
    }

    /// The numbers that the chunks which are gone had in the old grid, in ascending order: removed one after the other
    /// from the last on, each still stands at its place.
    #[must_use]
    pub fn gone_chunks(&self) -> ChangedChunks {
        ChangedChunks { over: 0..self.gone_count(), grid: self.before.grid_of_chunks(), kept: self.common() }
    }

    /// The numbers of the chunks that are kept, in ascending order: what it was before, and what it is after.
    #[must_use]
    pub fn kept_chunks(&self) -> KeptChunks {
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

/// The numbers of the chunks that are new, or gone. See [`Resize::new_chunks`] and [`Resize::gone_chunks`].
#[derive(Clone, Debug)]
pub struct ChangedChunks {
    over: Range<u64>,
    grid: Dimensions,
    kept: Dimensions,
}

impl ChangedChunks {
    /// The number, in the grid, of a chunk counted among those that are not kept.
    fn item(&self, mut changed: u64) -> u64 {
        let mut number = 0;
        // How many chunks there are, and are kept, at one place along the dimensions passed.
        let (mut chunks, mut kept_chunks) = (self.grid.product(), self.kept.product());
        for (kept, places) in zip(&self.kept, &self.grid) {
            chunks /= places;
            kept_chunks = kept_chunks.checked_div(kept).unwrap_or(0);
            // At the first places some are kept, at the others none.
            let changed_at_each = chunks - kept_chunks;
            let changed_at_first = kept * changed_at_each;
            if changed >= changed_at_first {
                return number + kept * chunks + (changed - changed_at_first);
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

/// The numbers of the chunks that are kept, before and after. See [`Resize::kept_chunks`].
#[derive(Clone, Debug)]
pub struct KeptChunks {
    over: Cells,
    before: Dimensions,
    after: Dimensions,
}

impl KeptChunks {
    fn item(&self, index: Dimensions) -> (u64, u64) {
        (index.linear(&self.before), index.linear(&self.after))
    }
}

iterate!([] KeptChunks => (u64, u64));
