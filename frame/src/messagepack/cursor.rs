//! A cursor over fixed-width MessagePack. Its findings have the offset of the wrong byte.

use core::fmt;

use crate::code::FindingCode;
use crate::finding::{Finding, Place};
use crate::messagepack::marker::{Marker, Named};

/// Bytes of a frame with a read position.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
    part: Part,
}

/// The part of a frame that a cursor reads, and the finding code for faults in this part.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) place: Place,
    /// The offset of the cursor's first byte, from the start of the frame.
    pub(crate) start: u64,
    /// The finding code for an invalid value.
    pub(crate) code: FindingCode,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8], part: Part) -> Self {
        Self { bytes, offset: 0, part }
    }

    /// A cursor over the same bytes, at another offset.
    pub(crate) const fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// A cursor that ends at `end`: it has only the bytes before that offset.
    pub(crate) fn until(self, end: usize) -> Self {
        Self { bytes: self.bytes.get(..end).unwrap_or(self.bytes), ..self }
    }

    /// The offset of the next byte.
    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    /// All bytes, including those before the offset.
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes from the offset on.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Finding> {
        let Some(taken) = self.rest().get(..len) else { return Err(self.ends_early(len)) };
        self.offset += len;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Finding> {
        let Some(array) = self.rest().first_chunk() else { return Err(self.ends_early(N)) };
        self.offset += N;
        Ok(*array)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Finding> {
        self.array().map(|[byte]| byte)
    }

    /// Takes the marker of the next value. `of` is the name of the value in a message.
    #[inline]
    pub(crate) fn marker(&mut self, expected: impl Into<u8>, of: impl fmt::Display) -> Result<(), Finding> {
        let expected = expected.into();
        match self.byte()? {
            found if found == expected => Ok(()),
            found => Err(self.wrong_marker(&Named(Marker::from_u8(expected)), &of, found)),
        }
    }

    /// Takes the next value: its marker, and its bytes.
    #[inline]
    pub(crate) fn value<const N: usize>(
        &mut self,
        marker: impl Into<u8>,
        of: impl fmt::Display,
    ) -> Result<[u8; N], Finding> {
        self.marker(marker, of)?;
        self.array()
    }

    // Not inlined, so that the code of each caller stays small.
    #[cold]
    #[inline(never)]
    fn ends_early(&self, len: usize) -> Finding {
        let left = self.rest().len();
        let text = format!("expected {len} more bytes of {}, found {left}", self.part.place);
        self.finding(self.offset).numbers(len, left).text(text)
    }

    /// The finding for a wrong marker in the byte before the offset.
    #[cold]
    #[inline(never)]
    pub(crate) fn wrong_marker(
        &self,
        expected: &dyn fmt::Display,
        of: &dyn fmt::Display,
        found: u8,
    ) -> Finding {
        let text = format!("expected {expected} for {of}, found {}", Named(Marker::from_u8(found)));
        self.finding(self.offset.saturating_sub(1)).text(text)
    }

    /// A finding about the byte at an offset.
    pub(crate) fn finding(&self, offset: usize) -> Finding {
        Finding::new(self.part.code, self.part.place).at(self.part.start.saturating_add(offset as u64))
    }
}
