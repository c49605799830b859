//! Reads and writes fixed-width MessagePack.
//!
//! Integers are big-endian, and each has its own marker before it:
//!
//! ```text
//! 92           d3 00 00 00 00 00 00 00 03   d3 00 00 00 00 00 00 00 05     an int64 vector: 3, 5
//! 92           d2 00 00 00 02               d2 00 00 00 03                 an int32 vector: 2, 3
//! db 00 00 00 03   3c 69 34                                                a dtype: <i4
//! ```

use core::marker::PhantomData;

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec};

use crate::error::{Detail, Error, TextFault, out_of_range};
use crate::layout::{Entry, Layout, MAX_DTYPE_LEN, MAX_NDIM, vector_marker};
use crate::marker::{FIXARRAY_MAX, FIXINT_MAX, INT32, INT64, STR32, is_fixint};

/// A signed integer of a fixed width.
pub(crate) trait FixedInt: Copy + Into<i64> {
    const MARKER: u8;
    /// The number of bytes, with the marker.
    const WIDTH: usize;

    /// Writes the marker and the value into a slice of [`WIDTH`](Self::WIDTH) bytes.
    fn encode(self, item: &mut [u8]);

    /// Reads the value from a slice of [`WIDTH`](Self::WIDTH) bytes, whose marker has been checked. `None` for a slice
    /// of another length.
    fn decode(item: &[u8]) -> Option<Self>;

    /// Whether every integer has the marker of its type, and is not negative.
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

            // This function and its caller `Items::ordinary` are inlined into `Metalayer::ordinary`. So the addresses
            // and lengths of the vectors stay in registers.
            #[inline(always)]
            fn are_marked_and_not_negative(mut items: &[u8]) -> bool {
                // There is no branch for each integer: `wrong` collects the wrong bits of all integers. Two bytes of
                // each integer are compared, the marker and the first byte of the value. Numbers are big-endian, so the
                // first byte has the sign bit.
                let mut wrong = 0;
                while let Some((&[marker, first, ..], left)) = items.split_first_chunk::<{ Self::WIDTH }>() {
                    wrong |= u16::from_ne_bytes([marker, first]) ^ u16::from_ne_bytes([Self::MARKER, 0]);
                    items = left;
                }
                // `wrong` has the bits of two bytes. No bit of the marker is allowed to be wrong. Of the first byte of
                // the value, only the sign bit is checked, so the other bits are masked out.
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
    /// The integers in these bytes. Their markers must have been checked.
    #[inline]
    fn new(items: &'de [u8]) -> Self {
        Self { left: items, int: PhantomData }
    }

    /// Splits off the dimension vector at the front of some bytes. Returns its integers and the bytes after it, or
    /// `None` if the vector is invalid or has a negative dimension.
    #[inline(always)]
    fn ordinary(bytes: &'de [u8], ndim: u8) -> Option<(Self, &'de [u8])> {
        let (vector, rest) = bytes.split_at_checked(1 + usize::from(ndim) * T::WIDTH)?;
        let (&marker, items) = vector.split_first()?;
        (marker == vector_marker(ndim) && T::are_marked_and_not_negative(items))
            .then_some((Self::new(items), rest))
    }

    /// Whether exactly `count` integers are left.
    #[inline]
    pub(crate) fn has_exactly(&self, count: usize) -> bool {
        // Multiplies `count` by the width, because dividing the length by the width is slower. Also, if `count` is a
        // constant, the compiler then knows the number of bytes.
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

/// The number of bytes of entry `dtype` before its text: the marker `db`, and a length of 4 bytes.
const STR32_HEADER: usize = 5;

/// A dtype that was read. Its bytes have no NUL. If they are not UTF-8, a Rust type can still take the bytes.
pub(crate) type Text<'de> = Result<&'de str, &'de [u8]>;

/// The text of a dtype, if the bytes are UTF-8 without NUL and at most [`MAX_DTYPE_LEN`] long.
#[inline]
pub(crate) fn dtype(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes).ok().filter(|text| is_dtype(text.as_bytes()))
}

/// Whether bytes can be a dtype, if they are also UTF-8: they have no NUL, and there are at most [`MAX_DTYPE_LEN`].
// C-Blosc2 reads a dtype as a C string, which would end at the NUL.
#[inline]
pub(crate) fn is_dtype(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_DTYPE_LEN && !bytes.contains(&0)
}

/// The entries of a metalayer.
#[derive(Debug)]
pub(crate) struct Metalayer<'de> {
    pub(crate) layout: Layout,
    pub(crate) version: u8,
    pub(crate) ndim: u8,
    pub(crate) shape: Items<'de, i64>,
    pub(crate) chunkshape: Items<'de, i32>,
    pub(crate) blockshape: Items<'de, i32>,
    /// 0 if the layout does not have this entry.
    pub(crate) dtype_format: u8,
    /// Empty if the layout does not have this entry.
    pub(crate) dtype: Text<'de>,
    /// The bytes after the metalayer.
    pub(crate) rest: &'de [u8],
}

impl<'de> Metalayer<'de> {
    /// The metalayer at the front of some bytes, if it is *ordinary*: valid, of layout `B2nd`, without a negative
    /// dimension.
    ///
    /// Nearly every real metalayer is ordinary. If the result is `None`, the metalayer may still be valid:
    /// [`read`](Self::read) decides.
    // Inlined with everything it calls, so the entries stay in registers.
    #[inline(always)]
    pub(crate) fn ordinary(bytes: &'de [u8]) -> Option<Self> {
        const OUTER: u8 = Layout::B2nd.marker();
        let [OUTER, version @ ..=FIXINT_MAX, ndim @ ..=MAX_NDIM, rest @ ..] = bytes else { return None };
        let (shape, rest) = Items::ordinary(rest, *ndim)?;
        let (chunkshape, rest) = Items::ordinary(rest, *ndim)?;
        let (blockshape, rest) = Items::ordinary(rest, *ndim)?;
        let [dtype_format @ ..=FIXINT_MAX, STR32, a, b, c, d, rest @ ..] = rest else { return None };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let (text, rest) = rest.split_at_checked(length)?;
        Some(Self {
            layout: Layout::B2nd,
            version: *version,
            ndim: *ndim,
            shape,
            chunkshape,
            blockshape,
            dtype_format: *dtype_format,
            dtype: Ok(dtype(text)?),
            rest,
        })
    }

    /// Splits `bytes`, which begin with a metalayer, at the end of this metalayer. If the end cannot be found, the
    /// second slice is empty.
    // In layout `B2nd`, the metalayer ends after the dtype, and `ndim` determines the offset of the dtype's length. So
    // only `ndim` and this length are read, and the metalayer is not checked. In the other layouts, the whole metalayer
    // is read to find its end.
    #[inline]
    pub(crate) fn split(bytes: &'de [u8]) -> (&'de [u8], &'de [u8]) {
        const OUTER: u8 = Layout::B2nd.marker();
        if let [OUTER, _, ndim, ..] = *bytes {
            let text = most_before_dtype(ndim);
            let length = bytes.get(..text).and_then(<[u8]>::last_chunk).copied().map(u32::from_be_bytes);
            let length = length.map_or(usize::MAX, |length| text.saturating_add(length as usize));
            return bytes.split_at_checked(length).unwrap_or((bytes, &[]));
        }
        let rest = Self::read(Input::new(bytes)).map_or(0, |metalayer| metalayer.rest.len());
        bytes.split_at_checked(bytes.len() - rest).unwrap_or((bytes, &[]))
    }

    /// The metalayer at the front of the input, in any layout and with any dimensions. If it is invalid, the error says
    /// why.
    #[cold]
    #[inline(never)]
    pub(crate) fn read(mut input: Input<'de>) -> Result<Self, Error> {
        let start = input.position();
        let layout = input.layout()?;
        let read = Self::entries(&mut input, layout);
        read.map_err(|error| error.of_version(input.version(start)))
    }

    /// The dtype as text. Fails if it is not UTF-8. `start` is the offset of the metalayer in the input.
    pub(crate) fn utf8_dtype(&self, start: usize) -> Result<&'de str, Error> {
        let Self { layout, ndim, version, dtype, .. } = *self;
        dtype.map_err(|bytes| {
            let place = Place { entry: Entry::Dtype, dimension: None, layout, ndim, start };
            place.of_error(TextFault::find(bytes).error()).of_version(version)
        })
    }

    fn entries(input: &mut Input<'de>, layout: Layout) -> Result<Self, Error> {
        input.skip_outer_marker();
        let (version, ndim) = (input.fixint(Entry::Version)?, input.ndim()?);
        Ok(Self {
            layout,
            version,
            ndim,
            shape: input.vector(Entry::Shape, ndim)?,
            chunkshape: input.vector(Entry::Chunkshape, ndim)?,
            blockshape: input.vector(Entry::Blockshape, ndim)?,
            dtype_format: if layout.has(Entry::DtypeFormat) { input.fixint(Entry::DtypeFormat)? } else { 0 },
            dtype: if layout.has(Entry::Dtype) { input.text()? } else { Ok("") },
            rest: input.rest(),
        })
    }
}

/// The place of a value in a metalayer.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) entry: Entry,
    /// The dimension, if the value is one dimension of a vector.
    pub(crate) dimension: Option<usize>,
    pub(crate) layout: Layout,
    pub(crate) ndim: u8,
    /// The offset of the metalayer in the input.
    pub(crate) start: usize,
}

impl Place {
    /// Adds this place to an error, unless the error has a place already.
    #[cold]
    pub(crate) fn of_error(self, error: Error) -> Error {
        let Self { entry, dimension, layout, ndim, start } = self;
        let width = if entry == Entry::Shape { i64::WIDTH } else { i32::WIDTH };
        let within = match (dimension, error.text_fault()) {
            (Some(dimension), _) => 1 + dimension * width,
            (None, Some(fault)) => STR32_HEADER + fault.at(),
            (None, None) => 0,
        };
        let offset = start + bytes_before(entry, layout, ndim) + within;
        match dimension {
            Some(dimension) => error.in_dimension(entry, dimension).at(offset),
            None => error.in_entry(entry).at(offset),
        }
    }
}

/// The offset of an entry in the metalayer.
pub(crate) fn bytes_before(entry: Entry, layout: Layout, ndim: u8) -> usize {
    // The offset is computed only for the place of an error. The widths of all entries before the dtype follow from
    // `ndim`, so no byte of the metalayer is needed.
    let vector = |width| 1 + usize::from(ndim) * width;
    let before = layout.entries().iter().take_while(|&&other| other != entry).map(|entry| match entry {
        Entry::Shape => vector(i64::WIDTH),
        Entry::Chunkshape | Entry::Blockshape => vector(i32::WIDTH),
        Entry::Version | Entry::Ndim | Entry::DtypeFormat => 1,
        Entry::Dtype => STR32_HEADER,
    });
    1 + before.sum::<usize>()
}

// Constants, because a pattern cannot call a function.
const SEVEN_ENTRIES: u8 = Layout::B2nd.marker();
const SIX_ENTRIES: u8 = Layout::B2ndSix.marker();
const FIVE_ENTRIES: u8 = Layout::Caterva.marker();

/// The bytes that follow the first byte of a Blosc2 frame: a string of 8 bytes with its marker. The first byte of a
/// frame is the marker of an array.
const FRAME_MAGIC: &[u8] = b"\xa8b2frame\0";

/// Bytes with a read position.
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

    /// The layout of the metalayer at the position. The position does not change.
    ///
    /// Two layouts begin with `96`. If the first byte is `96`, the byte that follows the block shape decides, and the
    /// bytes before that byte are checked.
    // So a metalayer that begins with `96` is read twice. This is acceptable, because files with such metalayers were
    // written only during a few days of 2023.
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
        // The input may be a whole file, not only its metalayer. Passing a whole file is a likely mistake, so it has
        // its own message.
        let is_frame = self.rest().get(1..).is_some_and(|rest| rest.starts_with(FRAME_MAGIC));
        let detail = if is_frame { Detail::WholeFrame } else { Detail::Layout { found } };
        Error::new(detail).at(self.position).of_version(self.version(self.position))
    }

    /// The version of the metalayer at an offset; 0 if it cannot be read. The metalayer may be malformed.
    #[cold]
    pub(crate) fn version(&self, start: usize) -> u8 {
        match self.bytes.get(start..) {
            // The first byte claims a number of entries. More entries than in the known layouts are accepted, because
            // a later version may have more. Fewer than five entries are not accepted: the metalayers of Caterva 0.1
            // have three, and no version.
            Some(&[FIVE_ENTRIES..=FIXARRAY_MAX, version @ ..=FIXINT_MAX, ..]) => version,
            _ => 0,
        }
    }

    /// The layout of a metalayer that begins with `96`. The byte that follows the block shape decides: the marker of a
    /// str32 means `B2ndSix`, a positive fixint `B2ndMismarked`.
    #[cold]
    fn six_marked_layout(&self) -> Result<Layout, Error> {
        self.walk_to_sixth_entry().map_err(|error| error.of_version(self.version(self.position)))
    }

    fn walk_to_sixth_entry(&self) -> Result<Layout, Error> {
        let mut walk = self.clone();
        walk.skip_outer_marker();
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

    /// Moves the position to the start of `rest`, which must be a suffix of the input.
    #[inline]
    pub(crate) fn skip_to(&mut self, rest: &[u8]) {
        self.position = self.bytes.len() - rest.len();
    }

    /// Advances over the outer marker, which [`layout`](Self::layout) has checked.
    #[inline]
    pub(crate) fn skip_outer_marker(&mut self) {
        self.position += 1;
    }

    /// Reads `version` or `dtype_format`, and advances over it.
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

    /// Reads `ndim`, and advances over it.
    pub(crate) fn ndim(&mut self) -> Result<u8, Error> {
        let offset = self.position;
        let ndim = self.fixint(Entry::Ndim)?;
        if ndim > MAX_NDIM {
            return Err(out_of_range(u128::from(ndim)).in_entry(Entry::Ndim).at(offset));
        }
        Ok(ndim)
    }

    /// Reads a whole dimension vector, and advances over it. Its length and every marker are checked.
    pub(crate) fn vector<T: FixedInt>(&mut self, entry: Entry, ndim: u8) -> Result<Items<'de, T>, Error> {
        let length = 1 + usize::from(ndim) * T::WIDTH;
        match self.rest().get(..length).and_then(<[u8]>::split_first) {
            Some((&marker, items)) if marker == vector_marker(ndim) && are_marked::<T>(items) => {
                self.position += length;
                Ok(Items::new(items))
            }
            _ => Err(self.bad_vector::<T>(entry, ndim)),
        }
    }

    /// The error for the first invalid byte of the dimension vector at the position.
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
            // Checks the marker before the length: if the last integer has a wrong marker and is also cut off, the
            // error about its marker is more useful.
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
        // All integers before the end of the input are whole and have the right marker. So the error is that the input
        // ends before the next integer.
        let whole = self.rest().len().saturating_sub(1) / T::WIDTH;
        let end = Input { bytes: self.bytes, position: self.bytes.len() };
        end.truncated(T::WIDTH, 0).in_dimension(entry, whole)
    }

    /// Reads `dtype`, which must be UTF-8, and advances over it.
    pub(crate) fn utf8(&mut self) -> Result<&'de str, Error> {
        let start = self.position + STR32_HEADER;
        self.text()?.map_err(|bytes| bad_text(bytes, start))
    }

    /// Reads `dtype`, and advances over it.
    pub(crate) fn text(&mut self) -> Result<Text<'de>, Error> {
        let Some((header, rest)) = self.rest().split_first_chunk::<STR32_HEADER>() else {
            return Err(self.bad_text_header().in_entry(Entry::Dtype));
        };
        let [STR32, length @ ..] = *header else {
            return Err(self.bad_text_header().in_entry(Entry::Dtype));
        };
        let length = u32::from_be_bytes(length) as usize;
        // The limit is checked before the length of the input, because a dtype above the limit is wrong in any input.
        if length > MAX_DTYPE_LEN {
            return Err(TextFault::TooLong { length }.error().in_entry(Entry::Dtype).at(self.position + 1));
        }
        let start = self.position + STR32_HEADER;
        let Some(bytes) = rest.get(..length) else {
            let error = Error::new(Detail::Truncated { needed: length, left: rest.len() });
            return Err(error.in_entry(Entry::Dtype).at(start));
        };
        if !is_dtype(bytes) {
            return Err(bad_text(bytes, start));
        }
        self.position = start + length;
        Ok(core::str::from_utf8(bytes).map_err(|_| bytes))
    }

    #[cold]
    fn bad_text_header(&self) -> Error {
        match self.rest().first() {
            Some(&found) if found != STR32 => self.marker(found, 0),
            _ => self.truncated(STR32_HEADER, self.rest().len()),
        }
    }

    /// Checks that no bytes are left.
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

/// The error for bytes at an offset of the input that are not a dtype.
#[cold]
fn bad_text(bytes: &[u8], start: usize) -> Error {
    let fault = TextFault::find(bytes);
    fault.error().in_entry(Entry::Dtype).at(start + fault.at())
}

/// Whether each integer of a dimension vector has the marker of its type.
fn are_marked<T: FixedInt>(items: &[u8]) -> bool {
    items.chunks(T::WIDTH).all(|item| item.first() == Some(&T::MARKER))
}

/// A buffer with a write position.
///
/// Bytes that do not fit the buffer are counted and dropped, so an empty buffer measures a length.
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

    /// The number of bytes written so far, including bytes that did not fit the buffer.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Ends the metalayer. For a buffer with `MUST_FIT`, it is an error if the metalayer is longer than the buffer.
    #[inline]
    pub(crate) fn finish(mut self) -> Result<B::Filled, Error> {
        let (needed, given) = (self.position, self.buffer.bytes().len());
        if B::MUST_FIT && needed > given {
            return Err(Error::new(Detail::BufferTooSmall { needed, given }));
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

    /// Advances by `length`, and returns the bytes of the buffer over which it advanced; `None` if they do not all fit.
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

    /// Writes the marker of a dimension vector, and returns slots for its integers. If the whole vector does not fit
    /// the buffer, nothing is written, and there are no slots.
    // The bounds are checked once for the vector, not for each integer.
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

    /// Writes the marker and the length of a text. `close_text` can correct the length later.
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

    /// The number of bytes of the text written so far. The output must begin with the header of the text.
    pub(crate) fn text_length(&self) -> usize {
        self.position - STR32_HEADER
    }

    /// Writes the header again, at the start of the output, with the length of the text that follows it.
    pub(crate) fn close_text(&mut self) {
        let end = core::mem::take(&mut self.position);
        self.text_header(end - STR32_HEADER);
        self.position = end;
    }
}

/// The marker of a text and its length.
#[inline]
fn str32_header(length: usize) -> [u8; STR32_HEADER] {
    // The fallback only avoids a panic. It is never used, because the length of a dtype has been checked to fit `i32`.
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    [STR32, a, b, c, d]
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
        if let Some((item, left)) = core::mem::take(&mut self.left).split_at_mut_checked(T::WIDTH) {
            value.encode(item);
            self.left = left;
        }
    }
}

/// A destination for one metalayer. Bytes that do not fit are counted and dropped, so the serializer can also measure
/// the length of a metalayer without writing it.
pub trait Buffer {
    /// Whether it is an error if the metalayer does not fit the buffer.
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

/// The part of a slice that begins at a position. A successful write advances the position.
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

/// An empty buffer, to measure the length of a metalayer.
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

/// A new allocation. Its length depends on the number of dimensions, so it is made when this number is known. No byte
/// is written before that, so every byte is written directly to the allocation.
///
/// The result is the length of the metalayer. The allocation can be longer than the metalayer. It can also be shorter;
/// then the last bytes have been dropped.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub(crate) struct NewBytes<'s> {
    // The box of the caller, in which `prepare` puts the allocation. The box cannot be owned by this struct: without
    // `unsafe`, a struct cannot own bytes and also keep a slice of them.
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
            // Fills with a byte other than 0, because `vec![0; n]` asks the allocator for zeroed memory, which is
            // slower for a few bytes.
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

/// The largest number of bytes before the text of the dtype, in any layout.
#[inline]
fn most_before_dtype(ndim: u8) -> usize {
    // In this order: the outer marker, `version` and `ndim`; the markers of three vectors; the integers of these
    // vectors; `dtype_format`; the header of the dtype.
    3 + 3 + usize::from(ndim) * (i64::WIDTH + 2 * i32::WIDTH) + 1 + STR32_HEADER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_know_how_many_integers_are_left() {
        let mut items = Items::<i32>::new(&[0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2]);
        for left in [2, 1, 0] {
            assert_eq!((items.len(), items.size_hint()), (left, (left, Some(left))));
            assert_eq!(items.next().is_some(), left > 0);
        }
    }

    #[test]
    fn layout_is_found_by_its_marker() {
        for &layout in Layout::ALL {
            let shares = |other: &&Layout| other.marker() == layout.marker();
            let found = Input::new(&[layout.marker()]).layout();
            match Layout::ALL.iter().filter(shares).count() {
                1 => assert!(
                    found.is_ok_and(|found| found == layout),
                    "{layout}: `Input::layout` needs its marker"
                ),
                _ => assert!(found.is_err(), "{layout}: a later byte decides"),
            }
        }
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn split_separates_the_bytes_after_a_metalayer_in_every_layout() {
        let (shape, vector) = ([0x91, 0xd3, 0, 0, 0, 0, 0, 0, 0, 6], [0x91, 0xd2, 0, 0, 0, 4]);
        let start = [&[0, 1][..], &shape, &vector, &vector].concat();
        let text: &[u8] = b"\xdb\0\0\0\x03<i4";
        for (marker, end) in [(0x97, [&[0], text].concat()), (0x96, [&[0], text].concat())]
            .into_iter()
            .chain([(0x96, text.to_vec()), (0x95, vec![])])
        {
            let whole = [&[marker], &start[..], &end].concat();
            let longer = [&whole[..], b"\x97\0"].concat();
            assert_eq!(Metalayer::split(&longer), (&whole[..], &b"\x97\0"[..]), "{marker:#x}");
            for cut in 0..whole.len() {
                assert_eq!(
                    Metalayer::split(&whole[..cut]),
                    (&whole[..cut], &[][..]),
                    "{marker:#x}, {cut} bytes"
                );
            }
        }
    }

    #[test]
    fn most_before_dtype_is_the_most_of_all_layouts() {
        for ndim in 0..=MAX_NDIM {
            let before =
                Layout::ALL.iter().map(|&layout| STR32_HEADER + bytes_before(Entry::Dtype, layout, ndim));
            assert_eq!(before.max(), Some(most_before_dtype(ndim)), "{ndim} dimensions");
        }
    }
}
