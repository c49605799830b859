//! A cursor that reads a metalayer value by value, and explains the first invalid one.

use super::integer::{FixedInt, Items};
use super::text::{STR32_HEADER, dtype};
use crate::entry::{Entry, MAX_DTYPE_LEN, MAX_NDIM};
use crate::error::{Detail, Error, TextFault};
use crate::layout::{Layout, vector_marker};
use crate::marker::{FIXARRAY_MAX, FIXINT_MAX, STR32, is_fixint};

// Constants, because a pattern cannot call a function.
const SEVEN_ENTRIES: u8 = Layout::B2nd.marker();
const SIX_ENTRIES: u8 = Layout::B2ndSix.marker();
const FIVE_ENTRIES: u8 = Layout::Caterva.marker();

/// The first value of a Blosc2 frame, after the marker of an array: a string of 8 bytes.
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

    /// The layout of the metalayer at the position, which does not change.
    ///
    /// After `96` the byte after the block shape decides. The bytes before it are checked on the way.
    // Such a metalayer is therefore read twice. This is acceptable: these files were written during a few days of 2023.
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
        // A likely mistake: the bytes of a whole file instead of its metalayer.
        let is_frame = self.rest().get(1..).is_some_and(|rest| rest.starts_with(FRAME_MAGIC));
        let detail = if is_frame { Detail::WholeFrame } else { Detail::Layout { found } };
        Error::new(detail).at(self.position).of_version(self.version(self.position))
    }

    /// The version of the metalayer at an offset; 0 if it cannot be read. The metalayer may be malformed.
    #[cold]
    pub(crate) fn version(&self, start: usize) -> u8 {
        match self.bytes.get(start..) {
            // A later version may have more entries. Three entries are Caterva 0.1, which has no version.
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

    /// Takes the outer marker, which [`layout`](Self::layout) has checked.
    #[inline]
    pub(crate) fn skip_outer_marker(&mut self) {
        self.position += 1;
    }

    /// Takes `version` or `dtype_format`.
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
    pub(crate) fn ndim(&mut self) -> Result<u8, Error> {
        let offset = self.position;
        let ndim = self.fixint(Entry::Ndim)?;
        if ndim > MAX_NDIM {
            return Err(Error::new(Detail::Rank { found: ndim.into() }).in_entry(Entry::Ndim).at(offset));
        }
        Ok(ndim)
    }

    /// Takes a whole dimension vector, after a check of its length and of every marker.
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
            // The marker first: a wrong type in the last item is a better answer than a missing byte.
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
        // Every item is whole and marked, so some are missing at the end.
        let whole = self.rest().len().saturating_sub(1) / T::WIDTH;
        let end = Input { bytes: self.bytes, position: self.bytes.len() };
        end.truncated(T::WIDTH, 0).in_dimension(entry, whole)
    }

    /// Takes `dtype`.
    pub(crate) fn text(&mut self) -> Result<&'de str, Error> {
        let Some((header, rest)) = self.rest().split_first_chunk::<STR32_HEADER>() else {
            return Err(self.bad_text_header().in_entry(Entry::Dtype));
        };
        let [STR32, length @ ..] = *header else {
            return Err(self.bad_text_header().in_entry(Entry::Dtype));
        };
        let length = u32::from_be_bytes(length) as usize;
        // Before the comparison with the input: a length beyond the limit is wrong however much input there is.
        if length > MAX_DTYPE_LEN {
            return Err(TextFault::TooLong { length }.error().in_entry(Entry::Dtype).at(self.position + 1));
        }
        let start = self.position + STR32_HEADER;
        let Some(bytes) = rest.get(..length) else {
            let error = Error::new(Detail::Truncated { needed: length, left: rest.len() });
            return Err(error.in_entry(Entry::Dtype).at(start));
        };
        let Some(text) = dtype(bytes) else {
            let fault = TextFault::of(bytes);
            return Err(fault.error().in_entry(Entry::Dtype).at(start + fault.at()));
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

/// Whether each integer of a dimension vector has its marker.
fn are_marked<T: FixedInt>(items: &[u8]) -> bool {
    items.chunks(T::WIDTH).all(|item| item.first() == Some(&T::MARKER))
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
                1 => assert!(
                    found.is_ok_and(|found| found == layout),
                    "{layout}: `Input::layout` needs its marker"
                ),
                _ => assert!(found.is_err(), "{layout}: a later byte decides"),
            }
        }
    }
}
