//! Reads and writes fixed-width MessagePack.
//!
//! Integers are big-endian, and each has its own marker before it:
//!
//! ```text
//! 92           d3 00 00 00 00 00 00 00 03   d3 00 00 00 00 00 00 00 05     an int64 vector: 3, 5
//! 92           d2 00 00 00 02               d2 00 00 00 03                 an int32 vector: 2, 3
//! db 00 00 00 03   3c 69 34                                                a dtype: <i4
//! ```

use core::fmt::{self, Display, Write};
use core::marker::PhantomData;

use crate::error::{Detail, Error, TextFault, out_of_range};
use crate::layout::{Entry, Layout, MAX_NDIM, vector_marker};
use crate::marker::{FIXINT_MAX, INT32, INT32_SIZE, INT64, INT64_SIZE, STR32, STR32_HEADER};

/// A signed integer of a fixed width.
pub(crate) trait FixedInt: Copy + Into<i64> {
    const MARKER: u8;
    /// The number of bytes, with the marker.
    const SIZE: usize;

    /// Writes the marker and the value into a slice of [`SIZE`](Self::SIZE) bytes.
    fn encode(self, item: &mut [u8]);

    /// Reads the value from a slice of [`SIZE`](Self::SIZE) bytes, whose marker has been checked. `None` for a slice of
    /// another length.
    fn decode(item: &[u8]) -> Option<Self>;

    /// Compares all markers with [`MARKER`](Self::MARKER). Returns the bits that differ in any marker, and whether an
    /// integer is negative.
    fn check(integers: &[u8]) -> (u8, bool);
}

macro_rules! fixed_int {
    ($type:ty, $marker:expr, $size:expr) => {
        impl FixedInt for $type {
            const MARKER: u8 = $marker;
            const SIZE: usize = $size;

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

            // Inlined, so the address and the length of the vector stay in registers.
            #[inline(always)]
            fn check(mut integers: &[u8]) -> (u8, bool) {
                // `differs` collects the differences of all integers, so the loop needs no branch for each integer. In
                // each integer, the marker is compared with the expected marker, and the first byte of the value with
                // 0. Numbers are big-endian, so the highest bit of the first byte is the sign.
                let mut differs = 0;
                while let Some((&[marker, first, ..], left)) = integers.split_first_chunk::<{ Self::SIZE }>()
                {
                    differs |= u16::from_ne_bytes([marker, first]) ^ u16::from_ne_bytes([Self::MARKER, 0]);
                    integers = left;
                }
                let [marker, first] = differs.to_ne_bytes();
                (marker, first >= 0x80)
            }
        }
    };
}

fixed_int!(i64, INT64, INT64_SIZE);
fixed_int!(i32, INT32, INT32_SIZE);

/// The integers of a dimension vector, with all markers checked.
#[derive(Clone, Debug)]
pub(crate) struct Integers<'de, T> {
    left: &'de [u8],
    int: PhantomData<T>,
}

impl<T: FixedInt> Integers<'_, T> {
    pub(crate) const NONE: Self = Self { left: &[], int: PhantomData };

    /// Whether exactly `count` integers are left.
    #[inline]
    pub(crate) fn has_exactly(&self, count: usize) -> bool {
        // Multiplies `count` by the size, because dividing the length by the size is slower. Also, if `count` is a
        // constant, the compiler then knows the number of bytes.
        count.checked_mul(T::SIZE) == Some(self.left.len())
    }
}

impl<T: FixedInt> Iterator for Integers<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (item, left) = self.left.split_at_checked(T::SIZE)?;
        self.left = left;
        T::decode(item)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl<T: FixedInt> ExactSizeIterator for Integers<'_, T> {
    #[inline]
    fn len(&self) -> usize {
        self.left.len() / T::SIZE
    }
}

/// The text of a dtype that was read, without NUL. If the dtype is not UTF-8, the `Err` has its bytes, because a Rust
/// type can still take the bytes.
pub(crate) type Text<'de> = Result<&'de str, &'de [u8]>;

/// The error type of a [`Reader`]. It is [`Error`], or `()` if the caller does not need the cause. With `()`, the
/// function that finds the cause is not called.
pub(crate) trait ReadError: Sized {
    fn new(error: impl FnOnce() -> Error) -> Self;

    /// Adds the entry of the invalid value.
    fn in_entry(self, entry: Entry) -> Self;
}

impl ReadError for Error {
    #[inline]
    fn new(error: impl FnOnce() -> Error) -> Self {
        error()
    }

    #[inline]
    fn in_entry(self, entry: Entry) -> Self {
        Error::in_entry(self, entry)
    }
}

impl ReadError for () {
    #[inline(always)]
    fn new(_: impl FnOnce() -> Error) -> Self {}

    #[inline(always)]
    fn in_entry(self, _: Entry) -> Self {}
}

/// Reads the values of a metalayer one after another, and checks them. After an error, the position is unchanged.
// The methods are inlined, so the reader stays in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'de> {
    rest: &'de [u8],
    /// The length of the whole input. `rest` is the last part of the input.
    input_len: usize,
}

impl<'de> Reader<'de> {
    #[inline]
    pub(crate) fn new(bytes: &'de [u8]) -> Self {
        Self { rest: bytes, input_len: bytes.len() }
    }

    /// A reader of `rest`, the last part of an input, which begins at the offset `position` of the input.
    pub(crate) fn at(position: usize, rest: &'de [u8]) -> Self {
        Self { rest, input_len: position + rest.len() }
    }

    /// The offset of the next byte in the input.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.input_len - self.rest.len()
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'de [u8] {
        self.rest
    }

    /// Advances by `length`, but not over the end of the input.
    #[inline]
    pub(crate) fn skip(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    /// Reads `version` or `dtype_format`.
    #[inline(always)]
    pub(crate) fn fixint<E: ReadError>(&mut self) -> Result<u8, E> {
        let [value @ ..=FIXINT_MAX, rest @ ..] = self.rest else {
            return Err(E::new(|| self.no_value(0, 0, 1)));
        };
        self.rest = rest;
        Ok(*value)
    }

    /// Reads `ndim`.
    #[inline(always)]
    pub(crate) fn ndim<E: ReadError>(&mut self) -> Result<u8, E> {
        match self.rest {
            [ndim, rest @ ..] if usize::from(*ndim) <= MAX_NDIM => {
                self.rest = rest;
                Ok(*ndim)
            }
            [ndim @ ..=FIXINT_MAX, ..] => {
                Err(E::new(|| self.error(Detail::OutOfRange(u128::from(*ndim).into()))))
            }
            _ => Err(E::new(|| self.no_value(0, 0, 1))),
        }
    }

    /// Reads a whole dimension vector. The flag is true if one of its integers is negative.
    #[inline(always)]
    pub(crate) fn vector<T: FixedInt, E: ReadError>(
        &mut self,
        ndim: u8,
    ) -> Result<(Integers<'de, T>, bool), E> {
        match self.rest.split_at_checked(1 + usize::from(ndim) * T::SIZE) {
            Some(([marker, integers @ ..], rest)) if *marker == vector_marker(ndim) => {
                let (differs, has_negative) = T::check(integers);
                if differs == 0 {
                    self.rest = rest;
                    return Ok((Integers { left: integers, int: PhantomData }, has_negative));
                }
            }
            _ => {}
        }
        Err(E::new(|| self.no_vector::<T>(ndim)))
    }

    /// Reads `dtype`.
    #[inline(always)]
    pub(crate) fn text<E: ReadError>(&mut self) -> Result<Text<'de>, E> {
        let [STR32, a, b, c, d, rest @ ..] = self.rest else {
            return Err(E::new(|| self.no_value(STR32, 0, STR32_HEADER)));
        };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        // The limit is checked before the length of the input, because a dtype above the limit is wrong in any input.
        if let Err(fault) = TextFault::check_length(length) {
            return Err(E::new(|| self.text_error(fault)));
        }
        let Some((text, after)) = rest.split_at_checked(length) else {
            return Err(E::new(|| Self::at(self.position() + STR32_HEADER, rest).truncated(length)));
        };
        if let Err(fault) = TextFault::check_piece(0, text) {
            return Err(E::new(|| self.text_error(fault)));
        }
        self.rest = after;
        Ok(core::str::from_utf8(text).map_err(|_| text))
    }

    /// Checks that no bytes are left.
    #[inline]
    pub(crate) fn check_end(&self) -> Result<(), Error> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(self.error(Detail::Trailing { count })),
        }
    }

    /// An error at the current position.
    #[cold]
    pub(crate) fn error(&self, detail: Detail) -> Error {
        Error::new(detail).at(self.position())
    }

    /// The error if the input ends within a value of `needed` bytes.
    #[cold]
    pub(crate) fn truncated(&self, needed: usize) -> Error {
        self.error(Detail::Truncated { needed, left: self.rest.len() })
    }

    /// The error if the expected value is not at the current position. Either another value is there, or the input ends
    /// within the value, which has `needed` bytes. `ndim` is the number of dimensions that the marker of a vector
    /// states, and 0 for any other value. For a fixint, `marker` is 0, which stands for all fixints.
    #[cold]
    fn no_value(&self, marker: u8, ndim: u8, needed: usize) -> Error {
        match *self.rest {
            // Checks the marker before the length: if a value has a wrong marker and is also cut off, the error about
            // its marker is more useful.
            [found, ..] if found != marker => self.error(Detail::Marker { found, ndim }),
            _ => self.truncated(needed),
        }
    }

    /// The error for an invalid dimension vector: for its marker, or for its first invalid integer.
    #[cold]
    fn no_vector<T: FixedInt>(mut self, ndim: u8) -> Error {
        let marker = vector_marker(ndim);
        if self.rest.first() != Some(&marker) {
            return self.no_value(marker, ndim, 1);
        }
        self.skip(1);
        let is_valid = |item: &&[u8]| item.len() == T::SIZE && item.first() == Some(&T::MARKER);
        let dimension = self.rest.chunks(T::SIZE).take_while(is_valid).count();
        self.skip(dimension * T::SIZE);
        self.no_value(T::MARKER, 0, T::SIZE).at_dimension(dimension)
    }

    /// The error for an invalid dtype at the current position.
    #[cold]
    pub(crate) fn text_error(&self, fault: TextFault) -> Error {
        fault.error().at(self.position() + fault.offset())
    }
}

/// Checks that a number can be `version` or `dtype_format`.
#[inline]
pub(crate) fn check_fixint(value: u8) -> Result<u8, Error> {
    if value <= FIXINT_MAX { Ok(value) } else { Err(out_of_range(u128::from(value))) }
}

/// Checks that a number can be `ndim`.
#[inline]
pub(crate) fn check_ndim(count: usize) -> Result<u8, Error> {
    match u8::try_from(count) {
        Ok(ndim) if count <= MAX_NDIM => Ok(ndim),
        _ => Err(out_of_range(count as u128)),
    }
}

/// Checks that a vector to be written has `ndim` dimensions.
#[inline]
pub(crate) fn check_dimensions(found: usize, ndim: u8) -> Result<(), Error> {
    if found == usize::from(ndim) { Ok(()) } else { Err(wrong_dimensions(found, ndim)) }
}

#[cold]
fn wrong_dimensions(found: usize, ndim: u8) -> Error {
    Error::new(Detail::Dimensions { found, ndim })
}

/// Checks that bytes can be `dtype`. UTF-8 is not checked here.
#[inline]
pub(crate) fn check_dtype(text: &[u8]) -> Result<(), Error> {
    TextFault::check_piece(0, text).map_err(TextFault::error)
}

/// Writes the values of a metalayer one after another, and checks them. Bytes that do not fit the buffer are counted and
/// dropped, so an empty buffer measures the length of a metalayer.
#[derive(Debug)]
pub(crate) struct Writer<'s> {
    buffer: &'s mut [u8],
    position: usize,
}

impl<'s> Writer<'s> {
    #[inline]
    pub(crate) fn new(buffer: &'s mut [u8]) -> Self {
        Self { buffer, position: 0 }
    }

    /// The number of bytes written so far, including bytes that did not fit the buffer.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Fails if some bytes did not fit the buffer.
    #[inline]
    pub(crate) fn check_room(&self) -> Result<(), Error> {
        let (needed, given) = (self.position, self.buffer.len());
        if needed > given { Err(Error::new(Detail::BufferTooSmall { needed, given })) } else { Ok(()) }
    }

    /// The unused part of the buffer.
    #[inline]
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.position..).unwrap_or_default()
    }

    /// Advances over bytes that were written into [`rest`](Self::rest).
    #[inline]
    pub(crate) fn skip(&mut self, length: usize) {
        self.position += length;
    }

    /// Advances by `length` bytes, and returns these bytes of the buffer; `None` if the buffer has fewer bytes left.
    #[inline]
    fn advance(&mut self, length: usize) -> Option<&mut [u8]> {
        let start = self.position;
        self.position += length;
        self.buffer.get_mut(start..self.position)
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if let Some([slot]) = self.advance(1) {
            *slot = byte;
        }
    }

    /// Writes the marker of a layout.
    #[inline]
    pub(crate) fn marker(&mut self, layout: Layout) {
        self.byte(layout.marker());
    }

    /// Writes `version` or `dtype_format`.
    #[inline]
    pub(crate) fn fixint(&mut self, value: u8) -> Result<(), Error> {
        self.byte(check_fixint(value)?);
        Ok(())
    }

    /// Writes `ndim`.
    #[inline]
    pub(crate) fn ndim(&mut self, value: u8) -> Result<(), Error> {
        self.byte(check_ndim(value.into())?);
        Ok(())
    }

    /// Writes the marker of a dimension vector, and returns slots for its integers. If the whole vector does not fit
    /// the buffer, nothing is written, and there are no slots.
    // The bounds are checked once for the vector, not for each integer.
    #[inline]
    pub(crate) fn vector<T: FixedInt>(&mut self, ndim: u8) -> Slots<'_, T> {
        let length = 1 + usize::from(ndim) * T::SIZE;
        let left = match self.advance(length).and_then(<[u8]>::split_first_mut) {
            Some((marker, left)) => {
                *marker = vector_marker(ndim);
                left
            }
            None => &mut [],
        };
        Slots { left, int: PhantomData }
    }

    /// Writes `dtype`. Fails if the text cannot be a dtype.
    #[inline]
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Error> {
        check_dtype(text.as_bytes())?;
        let room = self.advance(STR32_HEADER + text.len());
        if let Some((header, slot)) = room.and_then(<[u8]>::split_first_chunk_mut) {
            *header = str32_header(text.len());
            slot.copy_from_slice(text.as_bytes());
        }
        Ok(())
    }

    /// Writes the text of a value as `dtype`.
    // The text is formatted directly into the buffer, so it needs no heap. The header before the text is written last,
    // because it contains the length of the text.
    pub(crate) fn display<T: Display + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let start = self.position;
        self.position += STR32_HEADER;
        let mut pieces = TextPieces { start: self.position, writer: self, fault: None };
        let written = write!(pieces, "{value}");
        // If a piece of the text was rejected, the fault of the first rejected piece is returned. The result of the
        // `Display` does not matter in this case, because a `Display` may ignore the error and continue, or return
        // another error.
        match (written, pieces.fault) {
            (_, Some(fault)) => Err(fault.error()),
            (Err(error), None) => Err(serde::ser::Error::custom(error)),
            (Ok(()), None) => {
                let header = str32_header(self.position - start - STR32_HEADER);
                if let Some(slot) = self.buffer.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
                    *slot = header;
                }
                Ok(())
            }
        }
    }
}

/// The marker of a text and its length.
#[inline]
fn str32_header(length: usize) -> [u8; STR32_HEADER] {
    // The fallback only avoids a panic. It is never used, because the length of a dtype has been checked to fit `i32`.
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    [STR32, a, b, c, d]
}

/// A text that is written in pieces.
struct TextPieces<'w, 's> {
    writer: &'w mut Writer<'s>,
    /// The position at which the text begins.
    start: usize,
    /// Why the first rejected piece was rejected; `None` if no piece was. [`fmt::Error`] cannot carry a reason.
    fault: Option<TextFault>,
}

impl Write for TextPieces<'_, '_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        // Each piece is checked before it is written. The whole text cannot be checked at the end, because pieces that
        // do not fit the buffer are dropped.
        if let Err(fault) = TextFault::check_piece(self.writer.position - self.start, piece.as_bytes()) {
            self.fault.get_or_insert(fault);
            return Err(fmt::Error);
        }
        if let Some(slot) = self.writer.advance(piece.len()) {
            slot.copy_from_slice(piece.as_bytes());
        }
        Ok(())
    }
}

/// The bytes of the buffer for the integers of a dimension vector. There are none if the vector does not fit the
/// buffer.
#[derive(Debug)]
pub(crate) struct Slots<'a, T> {
    left: &'a mut [u8],
    int: PhantomData<T>,
}

impl<T: FixedInt> Slots<'_, T> {
    /// Writes the next integer, if any bytes of the buffer are left for it.
    #[inline]
    pub(crate) fn put(&mut self, value: T) {
        if let Some((item, left)) = core::mem::take(&mut self.left).split_at_mut_checked(T::SIZE) {
            value.encode(item);
            self.left = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_know_how_many_are_left() {
        let mut reader = Reader::new(&[0x92, 0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2]);
        let (mut integers, has_negative) = reader.vector::<i32, Error>(2).unwrap();
        assert!(!has_negative);
        for left in [2, 1, 0] {
            assert_eq!((integers.len(), integers.size_hint()), (left, (left, Some(left))));
            assert!(integers.has_exactly(left));
            assert_eq!(integers.next().is_some(), left > 0);
        }
    }

    #[test]
    fn reader_does_not_move_after_an_error() {
        for byte in [0x80, 0x91, 0xd2, 0xdb, 0xff] {
            // The vector and the text are cut off.
            let bytes = [byte, 0xd2, 0, 0, 0];
            let mut reader = Reader::new(&bytes);
            assert!(reader.fixint::<Error>().is_err());
            assert!(reader.ndim::<Error>().is_err());
            assert!(reader.vector::<i32, Error>(1).is_err());
            assert!(reader.vector::<i64, Error>(0).is_err());
            assert!(reader.text::<Error>().is_err());
            assert_eq!((reader.position(), reader.rest()), (0, &bytes[..]));
        }
    }

    #[test]
    fn a_writer_counts_bytes_that_do_not_fit() {
        fn write(buffer: &mut [u8]) -> (usize, bool) {
            let mut writer = Writer::new(buffer);
            writer.marker(Layout::B2nd);
            writer.fixint(0).unwrap();
            writer.ndim(1).unwrap();
            writer.vector(1).put(6_i64);
            writer.vector(1).put(4_i32);
            writer.vector(1).put(2_i32);
            writer.fixint(0).unwrap();
            writer.text("|u1").unwrap();
            (writer.position(), writer.check_room().is_ok())
        }
        let mut buffer = [0xee; 40];
        let length = Layout::B2nd.bytes_before(Entry::Dtype).of(1) + STR32_HEADER + 3;
        for room in 0..=buffer.len() {
            assert_eq!(write(&mut buffer[..room]), (length, room >= length), "{room}");
        }
        assert_eq!(buffer[length..], [0xee; 40][length..]);
    }

    #[test]
    fn a_writer_rejects_numbers_that_a_reader_rejects() {
        for value in 0..=u8::MAX {
            let read = Reader::new(&[value]).fixint::<Error>().is_ok();
            assert_eq!(Writer::new(&mut []).fixint(value).is_ok(), read, "{value}");
            let read = Reader::new(&[value]).ndim::<Error>().is_ok();
            assert_eq!(Writer::new(&mut []).ndim(value).is_ok(), read, "{value}");
        }
    }
}
