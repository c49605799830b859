//! The destinations of a metalayer: a slice, nothing, or a new allocation.

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec};

use super::integer::FixedInt;
use super::text::STR32_HEADER;

/// A destination for one metalayer. Bytes that do not fit are counted, so the same serializer also measures.
pub trait Buffer {
    /// Whether bytes that do not fit are an error.
    const MUST_FIT: bool;

    /// The result of a successful write.
    type Filled;

    /// Called once, before the first byte is written.
    #[inline]
    fn prepare(&mut self, _ndim: u8) {}

    fn bytes(&mut self) -> &mut [u8];

    /// Called after the last byte, with the length of the metalayer.
    fn filled(self, length: usize) -> Self::Filled;
}

/// A slice. The result is the length of the metalayer.
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

/// The rest of a slice after a position. A successful write advances the position.
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

/// A buffer without room, to measure the length.
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

/// A new allocation, made when the number of dimensions is known, so the metalayer is written to its final place.
///
/// The result is the length of the metalayer, which can be less or more than that of the allocation.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub(crate) struct NewBytes<'s> {
    // The caller's box, taken at `prepare`. A struct cannot own bytes and also keep a slice of them without `unsafe`.
    owner: Option<&'s mut Box<[u8]>>,
    bytes: &'s mut [u8],
    dtype_room: usize,
}

#[cfg(feature = "alloc")]
impl<'s> NewBytes<'s> {
    /// An allocation for a metalayer with a dtype of at most `dtype_room` bytes.
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
            // Any byte but 0: `vec![0; n]` asks the allocator for zeroed memory, which is slower for a few bytes.
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

/// The largest number of bytes before the text of the dtype.
#[inline]
pub(super) fn most_before_dtype(ndim: u8) -> usize {
    // The outer marker, `version` and `ndim`; the markers of three vectors; their integers; `dtype_format`; the header
    // of the dtype.
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
