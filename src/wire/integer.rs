//! Integers of a fixed width, and vectors of them.

use core::marker::PhantomData;

use crate::layout::vector_marker;
use crate::marker::{INT32, INT64};

/// A signed integer of a fixed width.
pub(crate) trait FixedInt: Copy + Into<i64> {
    const MARKER: u8;
    /// The number of bytes, with the marker.
    const WIDTH: usize;

    /// Writes the marker and the value into a slice of [`WIDTH`](Self::WIDTH) bytes.
    fn encode(self, item: &mut [u8]);

    /// Reads the value from a slice of [`WIDTH`](Self::WIDTH) bytes with a checked marker; `None` for another length.
    fn decode(item: &[u8]) -> Option<Self>;

    /// Whether every integer has its marker and is not negative.
    fn are_marked_and_not_negative(items: &[u8]) -> bool;
}

macro_rules! fixed_int {
    ($type:ty, $marker:expr) => {
        impl FixedInt for $type {
            const MARKER: u8 = $marker;
            const WIDTH: usize = 1 + size_of::<$type>();

            #[inline]
            fn encode(self, item: &mut [u8]) {
                if let Some((marker, value)) = item.split_first_mut() {
                    *marker = Self::MARKER;
                    value.copy_from_slice(&self.to_be_bytes());
                }
            }

            #[inline]
            fn decode(item: &[u8]) -> Option<Self> {
                let (_, value) = item.split_first()?;
                Some(Self::from_be_bytes(value.try_into().ok()?))
            }

            // Inlined into `Metalayer::ordinary`, as is `Items::ordinary`, so the vectors stay in registers.
            #[inline(always)]
            fn are_marked_and_not_negative(mut items: &[u8]) -> bool {
                // No branch per integer: a wrong bit in any of them stays set. It checks the marker and the first byte
                // of the big-endian value, which has the sign.
                let mut wrong = 0;
                while let Some((&[marker, first, ..], left)) = items.split_first_chunk::<{ Self::WIDTH }>() {
                    wrong |= u16::from_ne_bytes([marker, first]) ^ u16::from_ne_bytes([Self::MARKER, 0]);
                    items = left;
                }
                // All bits of the marker, and only the sign of the value.
                wrong & u16::from_ne_bytes([0xff, 0x80]) == 0
            }
        }
    };
}

fixed_int!(i64, INT64);
fixed_int!(i32, INT32);

/// The integers of a dimension vector, with all markers checked.
#[derive(Debug)]
pub(crate) struct Items<'de, T> {
    left: &'de [u8],
    int: PhantomData<T>,
}

impl<'de, T: FixedInt> Items<'de, T> {
    /// Integers with checked markers.
    #[inline]
    pub(super) fn new(items: &'de [u8]) -> Self {
        Self { left: items, int: PhantomData }
    }

    /// Takes the vector at the front of some bytes, if it is valid and has no negative dimension.
    #[inline(always)]
    pub(super) fn ordinary(bytes: &'de [u8], ndim: u8) -> Option<(Self, &'de [u8])> {
        let (vector, rest) = bytes.split_at_checked(1 + usize::from(ndim) * T::WIDTH)?;
        let (&marker, items) = vector.split_first()?;
        (marker == vector_marker(ndim) && T::are_marked_and_not_negative(items))
            .then_some((Self::new(items), rest))
    }

    /// Whether exactly `count` integers are left.
    #[inline]
    pub(crate) fn has_exactly(&self, count: usize) -> bool {
        // A multiplication, not a division of the length: a division is slower, and for a constant `count` the compiler
        // then knows the number of bytes.
        count.checked_mul(T::WIDTH) == Some(self.left.len())
    }
}

impl<T> Clone for Items<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        Self { left: self.left, int: PhantomData }
    }
}

impl<T: FixedInt> Iterator for Items<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (item, left) = self.left.split_at_checked(T::WIDTH)?;
        self.left = left;
        T::decode(item)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl<T: FixedInt> ExactSizeIterator for Items<'_, T> {
    #[inline]
    fn len(&self) -> usize {
        self.left.len() / T::WIDTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_knows_how_many_integers_are_left() {
        let mut items = Items::<i32>::new(&[0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2]);
        for left in [2, 1, 0] {
            assert_eq!((items.len(), items.size_hint()), (left, (left, Some(left))));
            assert_eq!(items.next().is_some(), left > 0);
        }
    }
}
