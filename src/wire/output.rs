//! Writes the values of a metalayer into a buffer.

use core::marker::PhantomData;

use super::buffer::Buffer;
use super::integer::FixedInt;
use super::text::STR32_HEADER;
use crate::error::{Detail, Error};
use crate::layout::{Layout, vector_marker};
use crate::marker::STR32;

/// A buffer with a write position.
///
/// Bytes after the end of the buffer are counted and dropped, so an empty buffer measures a length.
#[derive(Debug)]
pub(crate) struct Output<B> {
    buffer: B,
    position: usize,
}

impl<B: Buffer> Output<B> {
    #[inline]
    pub(crate) fn new(buffer: B) -> Self {
        Self { buffer, position: 0 }
    }

    /// The number of bytes written so far, including those after the end of the buffer.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Ends the metalayer. An error if the buffer must hold all bytes and is too short.
    #[inline]
    pub(crate) fn finish(mut self) -> Result<B::Filled, Error> {
        let (needed, given) = (self.position, self.buffer.bytes().len());
        if B::MUST_FIT && needed > given {
            return Err(too_small(needed, given));
        }
        Ok(self.buffer.filled(needed))
    }

    /// The unused part of the buffer.
    #[inline]
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        self.buffer.bytes().get_mut(self.position..).unwrap_or_default()
    }

    /// Advances over bytes that were written into [`rest`](Self::rest).
    #[inline]
    pub(crate) fn skip(&mut self, length: usize) {
        self.position += length;
    }

    /// Advances by `length`, and returns these bytes of the buffer if it has them.
    #[inline]
    fn advance(&mut self, length: usize) -> Option<&mut [u8]> {
        let start = self.position;
        self.position += length;
        self.buffer.bytes().get_mut(start..self.position)
    }

    /// Writes the bytes before the shape: the marker of the layout, `version` and `ndim`.
    #[inline]
    pub(crate) fn start(&mut self, layout: Layout, version: u8, ndim: u8) {
        self.buffer.prepare(ndim);
        if let Some(slots) = self.advance(3) {
            slots.copy_from_slice(&[layout.marker(), version, ndim]);
        }
    }

    /// Writes `dtype_format`.
    #[inline]
    pub(crate) fn fixint(&mut self, value: u8) {
        if let Some([slot]) = self.advance(1) {
            *slot = value;
        }
    }

    /// Writes the marker of a dimension vector, and returns slots for its integers; no slots if they do not fit.
    // One bounds check per vector, not one per integer.
    #[inline]
    pub(crate) fn vector<T: FixedInt>(&mut self, ndim: u8) -> Slots<'_, T> {
        let length = 1 + usize::from(ndim) * T::WIDTH;
        let left = match self.advance(length).and_then(<[u8]>::split_first_mut) {
            Some((marker, left)) => {
                *marker = vector_marker(ndim);
                left
            }
            None => &mut [],
        };
        Slots { left, int: PhantomData }
    }

    /// Writes `dtype`, which has been checked.
    #[inline]
    pub(crate) fn text(&mut self, text: &str) {
        let room = self.advance(STR32_HEADER + text.len());
        if let Some((header, slot)) = room.and_then(<[u8]>::split_first_chunk_mut) {
            *header = str32_header(text.len());
            slot.copy_from_slice(text.as_bytes());
        }
    }

    /// Writes the marker and a length, which `close_text` can correct later.
    #[inline]
    pub(crate) fn text_header(&mut self, length: usize) {
        if let Some(header) = self.advance(STR32_HEADER) {
            header.copy_from_slice(&str32_header(length));
        }
    }

    #[inline]
    pub(crate) fn text_part(&mut self, part: &str) {
        if let Some(slot) = self.advance(part.len()) {
            slot.copy_from_slice(part.as_bytes());
        }
    }

    /// The number of bytes of the text so far. The output must begin with the header of the text.
    pub(crate) fn text_length(&self) -> usize {
        self.position - STR32_HEADER
    }

    /// Writes the header at the start of the output again, with the length of the text after it.
    pub(crate) fn close_text(&mut self) {
        let end = core::mem::take(&mut self.position);
        self.text_header(end - STR32_HEADER);
        self.position = end;
    }
}

#[cold]
fn too_small(needed: usize, given: usize) -> Error {
    Error::new(Detail::BufferTooSmall { needed, given })
}

/// The marker of a text and its length.
#[inline]
fn str32_header(length: usize) -> [u8; STR32_HEADER] {
    // A dtype has been checked to fit `i32`, so the fallback is never used. It only avoids a panic.
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    [STR32, a, b, c, d]
}

/// The room for the integers of a dimension vector.
#[derive(Debug)]
pub(crate) struct Slots<'a, T> {
    left: &'a mut [u8],
    int: PhantomData<T>,
}

impl<T: FixedInt> Slots<'_, T> {
    /// Writes the next integer, if there is room for it.
    #[inline]
    pub(crate) fn put(&mut self, value: T) {
        if let Some((item, left)) = core::mem::take(&mut self.left).split_at_mut_checked(T::WIDTH) {
            value.encode(item);
            self.left = left;
        }
    }
}
