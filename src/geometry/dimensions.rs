//! One number per dimension.

use core::fmt;
use core::ops::Deref;

use crate::layout::MAX_NDIM;

pub(super) const CAPACITY: usize = MAX_NDIM;

/// One number per dimension, such as a shape, a grid or a coordinate. It derefs to a slice of at most 16 numbers, and
/// needs no heap.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
/// let grid = geometry.grid_of_chunks();
/// assert_eq!(grid, [2, 2]);
/// assert_eq!(grid.first(), Some(&2));
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimensions {
    /// The numbers after the last dimension are 0. So the results of the derived comparisons depend only on the
    /// dimensions in use.
    numbers: [u64; CAPACITY],
    ndim: u8,
}

impl Dimensions {
    /// Collects at most 16 numbers.
    pub(crate) fn collect(numbers: impl Iterator<Item = u64>) -> Self {
        let mut dimensions = Self { numbers: [0; CAPACITY], ndim: 0 };
        for (place, number) in dimensions.numbers.iter_mut().zip(numbers) {
            *place = number;
            dimensions.ndim += 1;
        }
        dimensions
    }

    /// Combines the numbers of two vectors, dimension by dimension.
    pub(super) fn combine(a: &[u64], b: &[u64], combine: impl Fn(u64, u64) -> u64) -> Self {
        Self::collect(zip(a, b).map(|(a, b)| combine(a, b)))
    }

    /// A vector with the same number of dimensions, in which every number is 0.
    pub(super) fn zeros(&self) -> Self {
        Self::collect(self.iter().map(|_| 0))
    }

    /// A vector with the same number of dimensions, in which every number is 1.
    pub(super) fn ones(&self) -> Self {
        Self::collect(self.iter().map(|_| 1))
    }

    /// The product of the numbers; 1 if there are no numbers.
    ///
    /// If one number is 0, the product is 0, even if the product of the other numbers would overflow. If no number is
    /// 0, the caller guarantees that the product fits u64.
    pub(super) fn product(&self) -> u64 {
        if self.contains(&0) { 0 } else { self.iter().product() }
    }

    /// The number of the item at this coordinate, in C order, in an array of the given shape.
    pub(super) fn linear(&self, shape: &[u64]) -> u64 {
        zip(self, shape).fold(0, |number, (x, items)| number * items + x)
    }

    /// The coordinate of the item with this number, in C order, in an array of this shape; `None` if the array has
    /// fewer items.
    pub(super) fn coordinate(&self, number: u64) -> Option<Self> {
        // If a dimension is 0, the product is 0 too, and the function returns here. So the divisions below never divide
        // by 0.
        if number >= self.product() {
            return None;
        }
        let mut rest = number;
        let mut coordinate = *self;
        for x in coordinate.numbers_mut().rev() {
            let items = *x;
            *x = rest % items;
            rest /= items;
        }
        Some(coordinate)
    }

    /// Moves this coordinate forward by `steps` items, in C order, in the box from `start` to `stop`. After the last
    /// item of the box, the first item follows again. No dimension of the box may be empty, and the box must have more
    /// items than `steps`.
    pub(super) fn advance(&mut self, mut steps: u64, start: &[u64], stop: &[u64]) {
        for (x, (start, stop)) in self.numbers_mut().zip(zip(start, stop)).rev() {
            // `*x - start` and `steps` are below the number of items of the box, which fits int64, so their sum fits
            // u64.
            let (moved, items) = (*x - start + steps, stop - start);
            if moved < items {
                *x = start + moved;
                return;
            }
            *x = start + moved % items;
            steps = moved / items;
        }
    }

    /// The distance between neighbours along each dimension, in items, in an array of this shape in C order. No
    /// dimension of the shape may be 0.
    // A shape with a 0 can be valid although the product of its other dimensions does not fit u64. For such a shape,
    // the multiplication below would overflow.
    pub(super) fn strides(&self) -> Self {
        let mut strides = *self;
        let mut stride = 1;
        for items in strides.numbers_mut().rev() {
            (*items, stride) = (stride, stride * *items);
        }
        strides
    }

    pub(super) fn numbers_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut u64> + ExactSizeIterator {
        self.numbers.iter_mut().take(self.ndim.into())
    }
}

/// The numbers of two vectors, in pairs.
pub(super) fn zip(a: &[u64], b: &[u64]) -> impl DoubleEndedIterator<Item = (u64, u64)> + ExactSizeIterator {
    a.iter().copied().zip(b.iter().copied())
}

/// Whether an array of this shape has an item at the coordinate.
pub(super) fn is_within(coordinate: &[u64], shape: &[u64]) -> bool {
    coordinate.len() == shape.len() && zip(coordinate, shape).all(|(x, items)| x < items)
}

/// `x / d`, rounded up; 0 if `d` is 0.
pub(super) fn ceildiv(x: u64, d: u64) -> u64 {
    if d == 0 { 0 } else { x.div_ceil(d) }
}

impl Deref for Dimensions {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.numbers.get(..self.ndim.into()).unwrap_or_default()
    }
}

impl AsRef<[u64]> for Dimensions {
    fn as_ref(&self) -> &[u64] {
        self
    }
}

impl PartialEq<[u64]> for Dimensions {
    fn eq(&self, other: &[u64]) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<[u64; N]> for Dimensions {
    fn eq(&self, other: &[u64; N]) -> bool {
        **self == *other
    }
}

impl fmt::Debug for Dimensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
