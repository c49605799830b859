//! Iteration over the cells of a grid.

use core::iter::FusedIterator;

use super::dimensions::Dimensions;

/// An iterator over the coordinates of a box, in C order. `nth` and `last` take the same time for any size of the box.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    start: Dimensions,
    stop: Dimensions,
    next: Dimensions,
    left: u64,
}

impl Cells {
    /// The coordinates from `start` up to, but not including, `stop`. `start` must not be after `stop` in any
    /// dimension.
    pub(super) fn new(start: Dimensions, stop: Dimensions) -> Self {
        let left = Dimensions::combine(&stop, &start, |stop, start| stop - start).product();
        Self { next: start, start, stop, left }
    }
}

impl Iterator for Cells {
    type Item = Dimensions;

    #[inline]
    fn next(&mut self) -> Option<Dimensions> {
        self.left = self.left.checked_sub(1)?;
        let cell = self.next;
        self.next.advance(1, &self.start, &self.stop);
        Some(cell)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // If the count does not fit `usize`, the upper bound is `None`. By the rules of `Iterator`, a lower bound may
        // be too small, but an upper bound must not be too small.
        let left = usize::try_from(self.left).ok();
        (left.unwrap_or(usize::MAX), left)
    }

    fn last(self) -> Option<Dimensions> {
        (self.left > 0).then(|| Dimensions::collect(self.stop.iter().map(|stop| stop - 1)))
    }

    fn nth(&mut self, n: usize) -> Option<Dimensions> {
        let skipped = n as u64;
        if skipped >= self.left {
            self.left = 0;
            return None;
        }
        self.left -= skipped;
        self.next.advance(skipped, &self.start, &self.stop);
        self.next()
    }
}

impl FusedIterator for Cells {}

/// Implements `Iterator` for the type `$walk`. The type must have a field `over`, which is an iterator, and a method
/// `item` that turns each value of `over` into an `$item`.
// `Iterator::map` is not used, because its `count`, `nth` and `last` call the closure for each item, and a metalayer of
// a few bytes can state 2^62 chunks.
macro_rules! iterate {
    ([$($lifetime:lifetime)?] $walk:ty => $item:ty) => {
        impl$(<$lifetime>)? Iterator for $walk {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                self.over.next().map(|place| self.item(place))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.over.size_hint()
            }

            /// Takes the same time for any number of items, and returns at most `usize::MAX`.
            fn count(self) -> usize {
                self.over.size_hint().0
            }

            fn last(self) -> Option<$item> {
                self.over.clone().last().map(|place| self.item(place))
            }

            fn nth(&mut self, n: usize) -> Option<$item> {
                self.over.nth(n).map(|place| self.item(place))
            }
        }

        impl$(<$lifetime>)? core::iter::FusedIterator for $walk {}
    };
}

pub(super) use iterate;
