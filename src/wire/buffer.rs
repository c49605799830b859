//! Where the bytes of a metalayer go.

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec};

#[cfg(any(feature = "alloc", test))]
use super::integer::FixedInt;
#[cfg(any(feature = "alloc", test))]
use super::text::STR32_HEADER;

/// Room for one metalayer. Bytes that do not fit are counted.
pub trait Buffer {
    /// Bytes that do not fit are an error.
    const MUST_FIT: bool;

    /// What is left after the metalayer.
    type Filled;

    /// Called once, before the first byte is written.
    #[inline]
    fn prepare(&mut self, _ndim: u8) {}

    fn bytes(&mut self) -> &mut [u8];

    /// Called after the last byte, with the length of the metalayer.
    fn filled(self, length: usize) -> Self::Filled;
}

/// A slice: the length of the metalayer is left.
impl Buffer for &mut [u8] {
    const MUST_FIT: bool = true;

    type Filled = usize;

    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    #[inline]
    fn filled(self, length: usize) -> usize {
        length
    }
}

/// The rest of a slice after a position, which is moved.
#[derive(Debug)]
pub struct After<'s> {
    pub(crate) bytes: &'s mut [u8],
    pub(crate) position: &'s mut usize,
}

impl Buffer for After<'_> {
    const MUST_FIT: bool = true;

    type Filled = ();

    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    #[inline]
    fn filled(self, length: usize) {
        *self.position += length;
    }
}

/// No room, to learn the length.
#[derive(Debug)]
pub(crate) struct NoRoom;

impl Buffer for NoRoom {
    const MUST_FIT: bool = false;

    type Filled = usize;

    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        &mut []
    }

    #[inline]
    fn filled(self, length: usize) -> usize {
        length
    }
}

/// A new allocation, made when the number of dimensions is known, so that the metalayer is written where it stays.
///
/// The length of the metalayer is left, which can be less or more than that of the allocation.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub(crate) struct NewBytes<'s> {
    owner: Option<&'s mut Box<[u8]>>,
    bytes: &'s mut [u8],
    dtype_room: usize,
}

#[cfg(feature = "alloc")]
impl<'s> NewBytes<'s> {
    /// An allocation for a metalayer whose dtype has at most this number of bytes.
    #[inline]
    pub(crate) fn new(owner: &'s mut Box<[u8]>, dtype_room: usize) -> Self {
        Self { owner: Some(owner), bytes: &mut [], dtype_room }
    }
}

#[cfg(feature = "alloc")]
impl Buffer for NewBytes<'_> {
    const MUST_FIT: bool = false;

    type Filled = usize;

    #[inline]
    fn prepare(&mut self, ndim: u8) {
        if let Some(owner) = self.owner.take() {
            // Not 0: the compiler would ask for zeroed memory, which takes longer than to fill so few bytes.
            *owner = vec![u8::MAX; most_before_dtype(ndim) + self.dtype_room].into_boxed_slice();
            self.bytes = owner;
        }
    }

    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    #[inline]
    fn filled(self, length: usize) -> usize {
        length
    }
}

/// The largest number of bytes before the text of the dtype: the outer marker, `version` and `ndim`, the markers of three
/// vectors and their dimensions, `dtype_format`, and the header of the dtype.
#[cfg(any(feature = "alloc", test))]
#[inline]
fn most_before_dtype(ndim: u8) -> usize {
    3 + 3 + usize::from(ndim) * (i64::WIDTH + 2 * i32::WIDTH) + 1 + STR32_HEADER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, MAX_NDIM};
    use crate::layout::Layout;
    use crate::wire::bytes_before;

    #[test]
    fn there_is_room_for_every_layout() {
        for ndim in 0..=MAX_NDIM {
            let before =
                Layout::ALL.iter().map(|&layout| STR32_HEADER + bytes_before(Entry::Dtype, layout, ndim));
            assert_eq!(before.max(), Some(most_before_dtype(ndim)), "{ndim} dimensions");
        }
    }
}
