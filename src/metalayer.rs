//! A metalayer whose bytes have been checked, and the places of its values.

use crate::error::{Detail, Error, TextFault};
use crate::layout::{BEFORE_TEXT, Entry, Layout, with_entries};
use crate::marker::{FIXARRAY_MAX, FIXINT_MAX, STR32};
use crate::wire::{Integers, ReadError, Reader, Text};

// The first bytes of the layouts, named after the number of entries that they state. They are constants, because a
// pattern cannot call a function.
const MARKED_7: u8 = Layout::B2nd.marker();
const MARKED_6: u8 = Layout::B2ndSix.marker();
const MARKED_5: u8 = Layout::Caterva.marker();

/// The entries of a metalayer. Every byte of the metalayer has been checked.
#[derive(Debug)]
pub(crate) struct Metalayer<'de> {
    /// The offset of the metalayer in the input.
    pub(crate) start: usize,
    pub(crate) layout: Layout,
    pub(crate) version: u8,
    pub(crate) ndim: u8,
    pub(crate) shape: Integers<'de, i64>,
    pub(crate) chunkshape: Integers<'de, i32>,
    pub(crate) blockshape: Integers<'de, i32>,
    /// 0 if the layout does not have this entry.
    pub(crate) dtype_format: u8,
    /// Empty if the layout does not have this entry.
    pub(crate) dtype: Text<'de>,
    /// Whether a dimension is negative.
    pub(crate) has_negative: bool,
    /// The bytes after the metalayer.
    pub(crate) after: Reader<'de>,
}

impl<'de> Metalayer<'de> {
    /// The layout of the metalayer at the front of the reader.
    ///
    /// The first byte determines the layout, except that two layouts begin with `96`. For `96`, the byte after the
    /// block shape determines the layout, and the bytes before it are checked.
    // So a metalayer that begins with `96` is read twice. This is acceptable, because files with such metalayers were
    // written only during a few days of 2023.
    pub(crate) fn find_layout(reader: Reader<'de>) -> Result<Layout, Error> {
        let error = match reader.rest() {
            [MARKED_7, ..] => return Ok(Layout::B2nd),
            [MARKED_5, ..] => return Ok(Layout::Caterva),
            // Two layouts have this marker. The first five entries of both are the entries of `Caterva`.
            [MARKED_6, ..] => match Self::read_as::<Error>(Layout::Caterva, reader) {
                Ok(Self { after, .. }) => match after.rest().first().copied() {
                    Some(STR32) => return Ok(Layout::B2ndSix),
                    Some(..=FIXINT_MAX) => return Ok(Layout::B2ndMismarked),
                    found => after.error(Detail::SixthEntry { found }),
                },
                Err(error) => error,
            },
            [found, rest @ ..] => reader.error(Detail::no_layout(*found, rest)),
            [] => reader.truncated(1),
        };
        Err(of_version(error, reader))
    }

    /// Reads the metalayer at the front of the reader, in any layout.
    #[cold]
    #[inline(never)]
    pub(crate) fn read(reader: Reader<'de>) -> Result<Self, Error> {
        Self::read_as(Self::find_layout(reader)?, reader).map_err(|error| of_version(error, reader))
    }

    /// Reads the metalayer at the front of the reader, and its dtype as text. If `must_end` is true, bytes after the
    /// metalayer are an error.
    pub(crate) fn read_with_text(reader: Reader<'de>, must_end: bool) -> Result<(Self, &'de str), Error> {
        let metalayer = Self::read(reader)?;
        let text = metalayer.dtype.map_err(|bytes| {
            let error = metalayer.place(Entry::Dtype).add_to(TextFault::not_utf8(bytes).error());
            error.of_version(metalayer.version)
        })?;
        if must_end {
            metalayer.check_end()?;
        }
        Ok((metalayer, text))
    }

    /// The metalayer at the front of the reader, if it is *ordinary*: valid, of layout `B2nd`, without a negative
    /// dimension, and with a dtype that is UTF-8. Nearly every real metalayer is ordinary.
    #[inline(always)]
    pub(crate) fn ordinary(reader: Reader<'de>) -> Option<Self> {
        let [MARKED_7, ..] = reader.rest() else { return None };
        let metalayer = Self::read_as::<()>(Layout::B2nd, reader).ok()?;
        (!metalayer.has_negative && metalayer.dtype.is_ok()).then_some(metalayer)
    }

    /// Reads a metalayer of this layout at the front of the reader.
    // Inlined with everything it calls. If the layout is a constant, the compiler knows the entries, and the values
    // stay in registers.
    #[inline(always)]
    pub(crate) fn read_as<E: ReadError>(layout: Layout, mut reader: Reader<'de>) -> Result<Self, E> {
        let mut metalayer = Self {
            start: reader.position(),
            layout,
            version: 0,
            ndim: 0,
            shape: Integers::NONE,
            chunkshape: Integers::NONE,
            blockshape: Integers::NONE,
            dtype_format: 0,
            dtype: Ok(""),
            has_negative: false,
            after: reader,
        };
        // Skips the outer marker. `layout` is already known.
        reader.skip(1);
        macro_rules! read_entries {
            ($($(#[$doc:meta])* $entry:ident $name:ident $others:tt $encoding:ident)*) => { $(
                if layout.has(Entry::$entry) {
                    match read_entries!(@$encoding) {
                        Ok(value) => metalayer.$name = value,
                        Err(error) => return Err(E::in_entry(error, Entry::$entry)),
                    }
                }
            )* };
            (@Fixint) => { reader.fixint() };
            (@Ndim) => { reader.ndim() };
            (@Int64s) => { read_entries!(@vector i64) };
            (@Int32s) => { read_entries!(@vector i32) };
            (@vector $integer:ty) => {
                reader.vector::<$integer, E>(metalayer.ndim).map(|(integers, has_negative)| {
                    metalayer.has_negative |= has_negative;
                    integers
                })
            };
            (@Str32) => { reader.text() };
        }
        with_entries!(read_entries);
        metalayer.after = reader;
        Ok(metalayer)
    }

    /// The length of the metalayer at the front of some bytes. If the end of the metalayer cannot be found, the result
    /// is the length of `bytes`.
    // In layout `B2nd`, the metalayer ends after the dtype, and `ndim` determines the offset of the dtype's length. So
    // only `ndim` and this length are read, and the metalayer is not checked. In the other layouts, the whole metalayer
    // is read to find its end.
    #[inline]
    pub(crate) fn length(bytes: &[u8]) -> usize {
        if let [MARKED_7, _, ndim, ..] = *bytes {
            let before = BEFORE_TEXT.of(ndim);
            let length = bytes.get(..before).and_then(<[u8]>::last_chunk).copied().map(u32::from_be_bytes);
            return match length.map(|length| before.saturating_add(length as usize)) {
                Some(length) if length <= bytes.len() => length,
                _ => bytes.len(),
            };
        }
        Metalayer::read(Reader::new(bytes)).map_or(bytes.len(), |metalayer| metalayer.after.position())
    }

    #[inline(always)]
    pub(crate) fn place(&self, entry: Entry) -> Place {
        Place::new(self.start, self.layout, self.ndim, entry)
    }

    /// Whether bytes follow the metalayer.
    #[inline(always)]
    pub(crate) fn has_rest(&self) -> bool {
        !self.after.rest().is_empty()
    }

    /// Fails if bytes follow the metalayer.
    pub(crate) fn check_end(&self) -> Result<(), Error> {
        // The bytes after the metalayer may be entries of a later version, so the version is added to the error.
        self.after.check_end().map_err(|error| error.of_version(self.version))
    }
}

/// Adds the version of the metalayer at the front of the reader to an error. The metalayer may be malformed.
#[cold]
pub(crate) fn of_version(error: Error, reader: Reader<'_>) -> Error {
    match *reader.rest() {
        // The first byte states the number of entries. It may state more entries than the known layouts have, because a
        // later version may have more. But it must not state fewer than five: a metalayer of Caterva 0.1 states three
        // entries, and its second byte is not a version.
        [MARKED_5..=FIXARRAY_MAX, version @ ..=FIXINT_MAX, ..] => error.of_version(version),
        _ => error,
    }
}

/// The place of a value in a metalayer.
// A place has 8 bytes and no padding, so it is passed in a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The offset of the metalayer in the input, but at most `u32::MAX`. An error cannot have a larger offset either.
    start: u32,
    pub(crate) layout: Layout,
    pub(crate) ndim: u8,
    pub(crate) entry: Entry,
    /// The number of the dimension, counted from 1; 0 for the whole entry.
    dimension_number: u8,
}

impl Place {
    #[inline(always)]
    fn new(start: usize, layout: Layout, ndim: u8, entry: Entry) -> Self {
        Self { start: u32::try_from(start).unwrap_or(u32::MAX), layout, ndim, entry, dimension_number: 0 }
    }

    /// The place of a dimension of the vector at this place. `left` is the number of dimensions after this dimension.
    #[inline(always)]
    pub(crate) fn of_dimension(self, left: usize) -> Self {
        Self { dimension_number: self.ndim - u8::try_from(left).unwrap_or_default(), ..self }
    }

    /// Adds this place to an error, unless the error has a place already.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_to(self, error: Error) -> Error {
        let Self { start, layout, ndim, entry, dimension_number } = self;
        let offset = start as usize + layout.bytes_before(entry).of(ndim);
        if let Some(dimension) = dimension_number.checked_sub(1) {
            // The size of the marker of the vector and of the dimensions before this one.
            let before = entry.encoding().size().of(dimension);
            error.in_dimension(entry, dimension.into()).at(offset + before)
        } else {
            let before = error.text_fault().map_or(0, TextFault::offset);
            error.in_entry(entry).at(offset + before)
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn find_layout_finds_each_layout_by_its_marker() {
        for &layout in Layout::ALL {
            let found = Metalayer::find_layout(Reader::new(&[layout.marker()]));
            match Layout::ALL.iter().filter(|other| other.marker() == layout.marker()).count() {
                1 => assert!(
                    found.is_ok_and(|found| found == layout),
                    "{layout}: `find_layout` needs its marker"
                ),
                _ => assert!(found.is_err(), "{layout}: a later byte decides"),
            }
        }
    }

    #[test]
    fn length_ends_at_the_end_of_the_metalayer_in_every_layout() {
        let (shape, vector) = ([0x91, 0xd3, 0, 0, 0, 0, 0, 0, 0, 6], [0x91, 0xd2, 0, 0, 0, 4]);
        let start = [&[0, 1][..], &shape, &vector, &vector].concat();
        let text: &[u8] = b"\xdb\0\0\0\x03<i4";
        for (marker, end) in [
            (0x97, [&[0], text].concat()),
            (0x96, [&[0], text].concat()),
            (0x96, text.to_vec()),
            (0x95, vec![]),
        ] {
            let whole = [&[marker], &start[..], &end].concat();
            assert_eq!(Metalayer::length(&[&whole[..], b"\x97\0"].concat()), whole.len(), "{marker:#x}");
            for cut in 0..whole.len() {
                assert_eq!(Metalayer::length(&whole[..cut]), cut, "{marker:#x}, {cut} bytes");
            }
        }
    }

    #[test]
    fn place_adds_the_offset_of_its_entry_or_dimension() {
        let custom = || Error::new(Detail::IgnoredError);
        let place = Place::new(100, Layout::B2nd, 2, Entry::Chunkshape);
        let of_entry = place.add_to(custom());
        assert_eq!((of_entry.offset(), of_entry.dimension()), (Some(122), None));
        let of_dimension = place.of_dimension(0).add_to(custom());
        assert_eq!((of_dimension.offset(), of_dimension.dimension()), (Some(128), Some(1)));
        // An error keeps its own place.
        assert_eq!(Place::new(0, Layout::B2nd, 2, Entry::Shape).add_to(of_dimension).offset(), Some(128));
    }
}
