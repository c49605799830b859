//! A source that has only some byte ranges.

use core::ops::Range;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::source::{BYTES_PER_ROUND_TRIP, ReadAt};
use crate::spans::gaps;

/// A source for programs that fetch bytes in their own way: with async code, from a server, in a browser.
///
/// It holds the byte ranges that the program has [inserted](Self::insert). A call that needs other bytes returns an
/// error of the kind [`Incomplete`](crate::ErrorKind::Incomplete), which lists the missing ranges ([`Error::ranges`]).
/// The program fetches these ranges, inserts them, and makes the same call again. Frames, their trailers and chunks,
/// arrays and slices, zip files and stores can be read in this way. A [`Store`](crate::Store) owns its source, so give
/// it an [`Arc`](std::sync::Arc) of the `KnownRanges`. You can then still insert ranges.
///
/// Each repeated call starts again from the beginning. A slice of more than 64 MiB needs several rounds of requests,
/// and a repeated call after each of them, so a `SlicePlan` is faster.
///
/// ```
/// # #[cfg(feature = "decompress")] {
/// use b2nd_frame::{Array, Error, Frame, KnownRanges};
///
/// /// Asks again and again, until all needed bytes are known.
/// fn ask<T>(known: &KnownRanges, mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
///     loop {
///         match call() {
///             Err(error) if !error.ranges().is_empty() => {
///                 for range in error.ranges() {
///                     // Another program would fetch all ranges at the same time.
///                     known.insert(range.start, fetch(range.start as usize, range.end as usize));
///                 }
///             }
///             result => return result,
///         }
///     }
/// }
/// # let file = std::fs::read("tests/data/vlmetalayers.b2nd").unwrap();
/// # fn fetch(start: usize, end: usize) -> Vec<u8> {
/// #     std::fs::read("tests/data/vlmetalayers.b2nd").unwrap()[start..end].to_vec()
/// # }
///
/// let known = KnownRanges::new(file.len() as u64);
/// let array = ask(&known, || Array::new(Frame::read_at(&known, 0)?))?;
/// let items = ask(&known, || array.slice(&[1..4]).read())?;
/// assert_eq!(items.len(), 3 * 8);
/// let unit: String = ask(&known, || array.attributes())?.vlmetalayer("unit").expect("a unit").decode()?;
/// assert_eq!(unit, "kelvin");
/// # }
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct KnownRanges {
    size: u64,
    /// The known bytes by their offsets. No two ranges share bytes.
    known: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl KnownRanges {
    /// A source of `size` bytes, without any byte range yet.
    ///
    /// ```
    /// use b2nd_frame::{ErrorKind, Frame, KnownRanges};
    ///
    /// let error = Frame::read_at(KnownRanges::new(520), 0).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Incomplete);
    /// assert_eq!(error.ranges(), [0..512]);
    /// ```
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self { size, known: Mutex::default() }
    }

    /// Inserts bytes from an offset on. Bytes that are already known are not replaced.
    ///
    /// ```
    /// use b2nd_frame::{KnownRanges, ReadAt};
    ///
    /// let known = KnownRanges::new(520);
    /// known.insert(100, b"some bytes");
    /// let mut bytes = [0; 5];
    /// known.read_at(&mut bytes, 105)?;
    /// assert_eq!(&bytes, b"bytes");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn insert(&self, start: u64, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        let mut known = self.known();
        let within = |offset: u64| usize::try_from(offset - start).unwrap_or(usize::MAX);
        for gap in unknown(&known, range_of(start, &bytes)) {
            let part = bytes.get(within(gap.start)..within(gap.end)).unwrap_or_default();
            known.insert(gap.start, part.to_vec());
        }
    }

    /// Forgets all bytes, for example after a slice was read. An `Array` still has its own cache for later slices.
    ///
    /// ```
    /// use b2nd_frame::{KnownRanges, ReadAt};
    ///
    /// let known = KnownRanges::new(520);
    /// known.insert(0, std::fs::read("tests/data/int32_3x5.b2nd")?);
    /// known.clear();
    /// assert!(known.read_at(&mut [0; 8], 0).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn clear(&self) {
        self.known().clear();
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<u8>>> {
        // A panic leaves no wrong range in the map, so the lock is still usable.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn range_of(start: u64, bytes: &[u8]) -> Range<u64> {
    start..start.saturating_add(bytes.len() as u64)
}

/// The parts of a range that are not known.
fn unknown(known: &BTreeMap<u64, Vec<u8>>, Range { start, end }: Range<u64>) -> Vec<Range<u64>> {
    let before = known.range(..=start).next_back();
    let ranges = before.into_iter().chain(known.range(start..end));
    gaps(ranges.map(|(&start, bytes)| range_of(start, bytes)), start..end).collect()
}

impl ReadAt for KnownRanges {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset.saturating_add(buffer.len() as u64).min(self.size);
        if offset >= end {
            return Ok(0);
        }
        let known = self.known();
        let last = known.range(..=offset).next_back();
        if let Some((&start, bytes)) =
            last.filter(|(start, bytes)| range_of(**start, bytes).contains(&offset))
        {
            return bytes.as_slice().read_at(buffer, offset - start);
        }
        Err(Error::unknown(unknown(&known, offset..end)).into())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn bytes_per_round_trip(&self) -> u64 {
        BYTES_PER_ROUND_TRIP
    }

    /// Returns an error that lists the unknown parts of the ranges, if there are any.
    fn read_ahead(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        let known = self.known();
        let clamped = ranges.iter().map(|range| range.start.min(self.size)..range.end.min(self.size));
        let clamped = clamped.filter(|range| !range.is_empty());
        let missing: Vec<_> = clamped.flat_map(|range| unknown(&known, range)).collect();
        if missing.is_empty() { Ok(()) } else { Err(Error::unknown(missing).into()) }
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges")]
mod tests {
    use super::*;
    use crate::source::fill;

    #[test]
    fn read_ahead_needs_nothing_behind_the_end() {
        let known = KnownRanges::new(300);
        known.read_ahead(&[301..305, 300..400, 7..7]).unwrap();
        let error = known.read_ahead(&[290..400]).unwrap_err().downcast::<Error>().unwrap();
        assert_eq!(error.ranges(), [290..300]);
    }

    #[test]
    fn read_at_gives_what_was_inserted_and_names_what_is_missing() {
        let file: Vec<u8> = (0..100).collect();
        let known = KnownRanges::new(100);
        let read = |start: u64, end: u64| {
            let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
            let read = fill(&known, start, &mut bytes).map_err(Error::reading);
            read.map(|read| bytes[..read].to_vec()).map_err(|error| error.ranges().to_vec())
        };
        assert_eq!(read(10, 20), Err(vec![10..20]));
        assert_eq!(read(90, 120), Err(vec![90..100]));
        assert_eq!(read(100, 120), Ok(Vec::new()));
        known.insert(10, &file[10..20]);
        known.insert(30, &file[30..40]);
        assert_eq!(read(12, 15).unwrap(), file[12..15]);
        assert_eq!(read(12, 35), Err(vec![20..30]));
        assert_eq!(read(0, 50), Err(vec![0..10, 20..30, 40..50]));
        assert_eq!(read(5, 15), Err(vec![5..10]));
        // Overlapping ranges.
        known.insert(5, &file[5..45]);
        assert_eq!(read(5, 45).unwrap(), file[5..45]);
        known.insert(7, &file[7..9]);
        known.insert(44, &file[44..100]);
        assert_eq!(read(5, 100).unwrap(), file[5..]);
        let total: usize = known.known().values().map(Vec::len).sum();
        assert_eq!(total, 95);
        known.clear();
        assert_eq!(read(12, 15), Err(vec![12..15]));
    }
}
