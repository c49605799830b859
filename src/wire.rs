//! Fixed-width MessagePack: how each value is read from bytes and written to bytes.
//!
//! Integers are big-endian, and each has a marker of its own before it.

use core::marker::PhantomData;

use crate::entry::{Entry, MAX_DTYPE_LEN, MAX_NDIM};
use crate::error::{Detail, Error, TextFault};
use crate::layout::{Layout, vector_marker};
use crate::marker::{FIXARRAY_MAX, FIXINT_MAX, INT32, INT64, STR32, is_fixint};

const SEVEN_ENTRIES: u8 = Layout::B2nd.marker();
const SIX_ENTRIES: u8 = Layout::B2ndSix.marker();
const FIVE_ENTRIES: u8 = Layout::Caterva.marker();

/// A Blosc2 frame begins with the marker of an array. Its first value is this text of 8 bytes.
const FRAME_MAGIC: &[u8] = b"\xa8b2frame\0";

/// The largest number of bytes before the text of the dtype.
#[cfg(any(feature = "alloc", test))]
pub(crate) const LONGEST_BEFORE_DTYPE: usize =
    3 + 3 + MAX_NDIM as usize * (i64::WIDTH + 2 * i32::WIDTH) + 1 + STR32_HEADER;

const STR32_HEADER: usize = 5;

/// A signed integer that always takes the same number of bytes.
pub(crate) trait FixedInt: Copy + Into<i64> {
    const MARKER: u8;
    /// Bytes with the marker.
    const WIDTH: usize;

    /// Writes marker and value into a slice of [`WIDTH`](Self::WIDTH) bytes.
    fn encode(self, item: &mut [u8]);

    /// Reads a slice of [`WIDTH`](Self::WIDTH) bytes, whose marker has been checked; `None` for another length.
    fn decode(item: &[u8]) -> Option<Self>;
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
        }
    };
}

fixed_int!(i64, INT64);
fixed_int!(i32, INT32);

/// Bytes, and how far they have been read.
#[derive(Clone, Debug)]
pub(crate) struct Input<'de> {
    bytes: &'de [u8],
    position: usize,
}

impl<'de> Input<'de> {
    #[inline]
    pub(crate) fn new(bytes: &'de [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'de [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// The layout of the metalayer that begins here. Does not change the position.
    ///
    /// After `96` the byte after the block shape decides. The bytes before it are checked on the way.
    #[inline]
    pub(crate) fn layout(&self) -> Result<Layout, Error> {
        let rest = self.rest();
        match rest.first() {
            Some(&SEVEN_ENTRIES) => Ok(Layout::B2nd),
            Some(&FIVE_ENTRIES) => Ok(Layout::Caterva),
            Some(&SIX_ENTRIES) => self.six_marked_layout(),
            Some(&found) => Err(self.no_layout(found)),
            None => Err(self.truncated(1, 0)),
        }
    }

    #[cold]
    fn no_layout(&self, found: u8) -> Error {
        let is_frame = self.rest().get(1..).is_some_and(|rest| rest.starts_with(FRAME_MAGIC));
        let detail = if is_frame { Detail::WholeFrame } else { Detail::Layout { found } };
        Error::new(detail).at(self.position).of_version(self.version(self.position))
    }

    /// The version of the metalayer that begins at an offset and may be malformed; 0 if it cannot be told.
    #[cold]
    pub(crate) fn version(&self, start: usize) -> u8 {
        match self.bytes.get(start..) {
            // Later versions may have more entries; with fewer, there is no version.
            Some(&[FIVE_ENTRIES..=FIXARRAY_MAX, version @ ..=FIXINT_MAX, ..]) => version,
            _ => 0,
        }
    }

    /// The layout after `96`, by the byte after the block shape.
    #[cold]
    fn six_marked_layout(&self) -> Result<Layout, Error> {
        self.walk_to_sixth_entry().map_err(|error| error.of_version(self.version(self.position)))
    }

    fn walk_to_sixth_entry(&self) -> Result<Layout, Error> {
        let mut walk = self.clone();
        walk.position += 1;
        walk.fixint(Entry::Version)?;
        let ndim = walk.ndim()?;
        walk.vector::<i64>(Entry::Shape, ndim)?;
        walk.vector::<i32>(Entry::Chunkshape, ndim)?;
        walk.vector::<i32>(Entry::Blockshape, ndim)?;
        match walk.rest().first() {
            Some(&STR32) => Ok(Layout::B2ndSix),
            Some(&byte) if is_fixint(byte) => Ok(Layout::B2ndMismarked),
            Some(&found) => Err(Error::new(Detail::SixthEntry { found }).at(walk.position)),
            None => Err(walk.truncated(1, 0).in_entry(Entry::Dtype)),
        }
    }

    /// Takes the outer marker of a layout, which [`layout`](Self::layout) found there.
    #[inline]
    pub(crate) fn skip_outer_marker(&mut self) {
        self.position += 1;
    }

    /// Takes `version` or `dtype_format`.
    #[inline]
    pub(crate) fn fixint(&mut self, entry: Entry) -> Result<u8, Error> {
        match self.rest().first() {
            Some(&value) if is_fixint(value) => {
                self.position += 1;
                Ok(value)
            }
            Some(&found) => Err(self.marker(found, 0).in_entry(entry)),
            None => Err(self.truncated(1, 0).in_entry(entry)),
        }
    }

    /// Takes `ndim`.
    #[inline]
    pub(crate) fn ndim(&mut self) -> Result<u8, Error> {
        let offset = self.position;
        let ndim = self.fixint(Entry::Ndim)?;
        if ndim > MAX_NDIM {
            return Err(Error::new(Detail::Rank { found: ndim.into() }).in_entry(Entry::Ndim).at(offset));
        }
        Ok(ndim)
    }

    /// Takes a whole dimension vector. Checks the length of the input once, and every marker.
    #[inline]
    pub(crate) fn vector<T: FixedInt>(&mut self, entry: Entry, ndim: u8) -> Result<Items<'de, T>, Error> {
        let length = 1 + usize::from(ndim) * T::WIDTH;
        match self.rest().get(..length).and_then(<[u8]>::split_first) {
            Some((&marker, items)) if marker == vector_marker(ndim) && are_marked::<T>(items) => {
                self.position += length;
                Ok(Items { left: items, int: PhantomData })
            }
            _ => Err(self.bad_vector::<T>(entry, ndim)),
        }
    }

    /// The first thing that is wrong with the dimension vector here.
    #[cold]
    fn bad_vector<T: FixedInt>(&self, entry: Entry, ndim: u8) -> Error {
        let Some((&marker, items)) = self.rest().split_first() else {
            return self.truncated(1, 0).in_entry(entry);
        };
        if marker != vector_marker(ndim) {
            return self.marker(marker, ndim).in_entry(entry);
        }
        let items = items.chunks(T::WIDTH);
        for (index, item) in items.enumerate() {
            let here = Input { bytes: self.bytes, position: self.position + 1 + index * T::WIDTH };
            match item.first() {
                Some(&found) if found != T::MARKER => {
                    return here.marker(found, 0).in_dimension(entry, index);
                }
                _ if item.len() < T::WIDTH => {
                    return here.truncated(T::WIDTH, item.len()).in_dimension(entry, index);
                }
                _ => {}
            }
        }
        let whole = self.rest().len().saturating_sub(1) / T::WIDTH;
        let end = Input { bytes: self.bytes, position: self.bytes.len() };
        end.truncated(T::WIDTH, 0).in_dimension(entry, whole)
    }

    /// Takes `dtype`.
    #[inline]
    pub(crate) fn text(&mut self, entry: Entry) -> Result<&'de str, Error> {
        let Some((header, rest)) = self.rest().split_first_chunk::<STR32_HEADER>() else {
            return Err(self.bad_text_header().in_entry(entry));
        };
        let [STR32, length @ ..] = *header else {
            return Err(self.bad_text_header().in_entry(entry));
        };
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_DTYPE_LEN {
            return Err(TextFault::TooLong { length }.error().in_entry(entry).at(self.position + 1));
        }
        let start = self.position + STR32_HEADER;
        let Some(bytes) = rest.get(..length) else {
            let error = Error::new(Detail::Truncated { needed: length, left: rest.len() });
            return Err(error.in_entry(entry).at(start));
        };
        let Some(text) = dtype(bytes) else {
            let fault = TextFault::of(bytes);
            return Err(fault.error().in_entry(entry).at(start + fault.at()));
        };
        self.position = start + length;
        Ok(text)
    }

    #[cold]
    fn bad_text_header(&self) -> Error {
        match self.rest().first() {
            Some(&found) if found != STR32 => self.marker(found, 0),
            _ => self.truncated(STR32_HEADER, self.rest().len()),
        }
    }

    /// An error unless every byte is taken.
    #[inline]
    pub(crate) fn end(&self) -> Result<(), Error> {
        match self.rest().len() {
            0 => Ok(()),
            left => Err(Error::new(Detail::Trailing { count: left }).at(self.position)),
        }
    }

    #[cold]
    fn marker(&self, found: u8, ndim: u8) -> Error {
        Error::new(Detail::Marker { found, ndim }).at(self.position)
    }

    #[cold]
    fn truncated(&self, needed: usize, left: usize) -> Error {
        Error::new(Detail::Truncated { needed, left }).at(self.position)
    }
}

/// Whether each integer of a dimension vector has its marker.
#[inline]
fn are_marked<T: FixedInt>(items: &[u8]) -> bool {
    items.chunks_exact(T::WIDTH).all(|item| item.first() == Some(&T::MARKER))
}

/// The integers of a dimension vector: complete, each with its marker checked.
#[derive(Debug)]
pub(crate) struct Items<'de, T> {
    left: &'de [u8],
    int: PhantomData<T>,
}

impl<T: FixedInt> Items<'_, T> {
    /// Whether exactly `count` are left. After this check the compiler knows the length of their bytes if it knows
    /// `count`.
    #[inline]
    pub(crate) fn has_exactly(&self, count: usize) -> bool {
        count.checked_mul(T::WIDTH) == Some(self.left.len())
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

/// Bytes as a dtype, which must be UTF-8 without NUL, of at most [`MAX_DTYPE_LEN`] bytes.
#[inline]
pub(crate) fn dtype(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes).ok().filter(|text| is_dtype(text))
}

/// The part of [`dtype`] that is not already true for every `str`.
#[inline]
pub(crate) fn is_dtype(text: &str) -> bool {
    text.len() <= MAX_DTYPE_LEN && !text.as_bytes().contains(&0)
}

/// The error for bytes that are not a dtype.
#[cold]
pub(crate) fn not_dtype(bytes: &[u8]) -> Error {
    TextFault::of(bytes).error()
}

/// A buffer, and how far it has been written.
///
/// Bytes after the end of the buffer are counted, but not kept. So an empty buffer measures a length.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    bytes: &'a mut [u8],
    position: usize,
}

impl<'a> Output<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Bytes put so far, also those after the end of the buffer.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Bytes of the buffer.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.bytes.len()
    }

    /// The unused part of the buffer.
    #[inline]
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.position..).unwrap_or_default()
    }

    /// Passes over bytes that have been put into the [`rest`](Self::rest).
    #[inline]
    pub(crate) fn skip(&mut self, length: usize) {
        self.position += length;
    }

    /// The next bytes of the buffer, if it still has them.
    #[inline]
    fn advance(&mut self, length: usize) -> Option<&mut [u8]> {
        let start = self.position;
        self.position += length;
        self.bytes.get_mut(start..self.position)
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if let Some([slot]) = self.advance(1) {
            *slot = byte;
        }
    }

    #[inline]
    pub(crate) fn layout(&mut self, layout: Layout) {
        self.byte(layout.marker());
    }

    /// Puts `version`, `ndim` or `dtype_format`.
    #[inline]
    pub(crate) fn fixint(&mut self, value: u8) {
        self.byte(value);
    }

    /// Puts the marker of a dimension vector, and lends the room for its integers. If they do not fit, there is no
    /// room.
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

    /// Puts `dtype`, which has been checked.
    #[inline]
    pub(crate) fn text(&mut self, text: &str) {
        let room = self.advance(STR32_HEADER + text.len());
        if let Some((header, slot)) = room.and_then(<[u8]>::split_first_chunk_mut) {
            *header = str32_header(text.len());
            slot.copy_from_slice(text.as_bytes());
        }
    }

    /// Puts the marker and a length, which `close_text` can correct later.
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

    /// Bytes of the text so far. The output must begin with its header.
    pub(crate) fn text_length(&self) -> usize {
        self.position - STR32_HEADER
    }

    /// Writes the header at the start of the output again, with the length of the text that now follows it.
    pub(crate) fn close_text(&mut self) {
        let end = core::mem::take(&mut self.position);
        self.text_header(end - STR32_HEADER);
        self.position = end;
    }
}

/// The marker of a text and its length.
#[inline]
fn str32_header(length: usize) -> [u8; STR32_HEADER] {
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    [STR32, a, b, c, d]
}

/// Room for the integers of a dimension vector.
#[derive(Debug)]
pub(crate) struct Slots<'a, T> {
    left: &'a mut [u8],
    int: PhantomData<T>,
}

impl<T: FixedInt> Slots<'_, T> {
    /// Puts the next integer, if there is room for it.
    #[inline]
    pub(crate) fn put(&mut self, value: T) {
        if let Some((item, left)) = core::mem::take(&mut self.left).split_at_mut_checked(T::WIDTH) {
            value.encode(item);
            self.left = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_found_by_its_marker() {
        for &layout in Layout::ALL {
            let shares = |other: &&Layout| other.marker() == layout.marker();
            let found = Input::new(&[layout.marker()]).layout();
            match Layout::ALL.iter().filter(shares).count() {
                1 => assert!(found.is_ok_and(|found| found == layout), "{layout}"),
                _ => assert!(found.is_err(), "{layout}: a later byte decides"),
            }
        }
    }

    #[test]
    fn a_vector_knows_how_many_integers_are_left() {
        let mut items = Items::<i32> { left: &[0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2], int: PhantomData };
        for left in [2, 1, 0] {
            assert_eq!((items.len(), items.size_hint()), (left, (left, Some(left))));
            assert_eq!(items.next().is_some(), left > 0);
        }
    }

    #[test]
    fn the_longest_metalayer_before_the_dtype_is_that_of_16_dimensions() {
        let mut output = Output::new(&mut []);
        output.layout(Layout::B2nd);
        output.fixint(0);
        output.fixint(MAX_NDIM);
        output.vector::<i64>(MAX_NDIM);
        output.vector::<i32>(MAX_NDIM);
        output.vector::<i32>(MAX_NDIM);
        output.fixint(0);
        output.text("");
        assert_eq!(output.position(), LONGEST_BEFORE_DTYPE);
        assert_eq!(LONGEST_BEFORE_DTYPE, 316);
    }
}
