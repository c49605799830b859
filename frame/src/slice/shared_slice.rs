//! The buffer for the items of a slice, which several threads fill.
//!
//! The buffer is divided into regions, each with a lock, because most tasks write to different parts of the slice. With
//! one lock for the whole buffer, threads would often wait for each other. A thread would hold this lock for long: the
//! first write to new memory takes as long as decompressing, because the system must provide the memory.

use core::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The size of a region in bytes. A task holds the lock of only one region at a time. Regions are small, so two threads
/// seldom need the same region at the same time.
const REGION_LEN: usize = 1 << 18;

/// The buffer for the items of a slice.
pub(super) struct SharedSlice<'s> {
    regions: Vec<Mutex<&'s mut [u8]>>,
    /// The size of each region but the last. It is a multiple of the typesize, so that each item is in a single region.
    region_len: usize,
    pub(super) nbytes: usize,
    pub(super) typesize: usize,
    /// Whether all bytes are zero before anything is written.
    pub(super) is_zeroed: bool,
    /// Whether several threads write.
    pub(super) is_shared: bool,
}

impl<'s> SharedSlice<'s> {
    /// Divides the buffer into regions. If only one thread writes, it is a single region.
    pub(super) fn new(items: &'s mut [u8], typesize: usize, is_zeroed: bool, threads: usize) -> Self {
        let nbytes = items.len();
        let region_len = match threads {
            1 => nbytes.max(1),
            _ => REGION_LEN.next_multiple_of(typesize.max(1)),
        };
        let regions = items.chunks_mut(region_len).map(Mutex::new).collect();
        Self { regions, region_len, nbytes, typesize, is_zeroed, is_shared: threads > 1 }
    }
}

/// Writes items of one task to the slice. It holds the lock of at most one region at a time.
pub(super) struct SliceWriter<'w, 's> {
    slice: &'w SharedSlice<'s>,
    locked: Option<(usize, MutexGuard<'w, &'s mut [u8]>)>,
}

impl<'w, 's> SliceWriter<'w, 's> {
    pub(super) fn new(slice: &'w SharedSlice<'s>) -> Self {
        Self { slice, locked: None }
    }

    /// The bytes from an offset to the end of its region, at least one byte; `None` if the slice ends at or before the
    /// offset.
    pub(super) fn at(&mut self, offset: usize) -> Option<&mut [u8]> {
        let number = offset / self.slice.region_len;
        if self.locked.as_ref().is_none_or(|&(locked, _)| locked != number) {
            // Unlock the previous region first, so no thread holds a lock while it waits for another one.
            self.locked = None;
            let region = self.slice.regions.get(number)?;
            // A lock is poisoned if a thread panicked while it held the lock. The region has only bytes, and any bytes
            // are valid, so the lock is still usable.
            self.locked = Some((number, region.lock().unwrap_or_else(PoisonError::into_inner)));
        }
        let (_, region) = self.locked.as_mut()?;
        region.get_mut(offset % self.slice.region_len..).filter(|bytes| !bytes.is_empty())
    }

    /// Copies data into the slice from an offset on; `None` if the slice is too short for all of the data.
    pub(super) fn copy(&mut self, mut offset: usize, mut data: &[u8]) -> Option<()> {
        while !data.is_empty() {
            let region = self.at(offset)?;
            let (now, rest) = data.split_at(data.len().min(region.len()));
            region.get_mut(..now.len())?.copy_from_slice(now);
            offset += now.len();
            data = rest;
        }
        Some(())
    }

    /// Fills a byte range with a value that is repeated. The range begins with byte `phase` of the value.
    pub(super) fn fill(&mut self, mut range: Range<usize>, value: &[u8], mut phase: usize) -> Option<()> {
        if phase >= value.len() {
            return None;
        }
        while !range.is_empty() {
            let region = self.at(range.start)?;
            let length = range.len().min(region.len());
            let items = region.get_mut(..length)?;
            if let [byte] = value {
                items.fill(*byte);
            } else {
                let (first, rest) = items.split_at_mut(length.min(value.len() - phase));
                first.copy_from_slice(value.get(phase..phase + first.len())?);
                for item in rest.chunks_mut(value.len()) {
                    item.copy_from_slice(value.get(..item.len())?);
                }
                phase = (phase + length) % value.len();
            }
            range.start += length;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const NBYTES: usize = 3 * REGION_LEN + 10;

    #[test]
    fn items_go_across_the_borders_of_regions() {
        let expected: Vec<u8> = (0..NBYTES).map(|offset| offset.to_le_bytes()[0]).collect();
        let mut items = vec![0; NBYTES];
        let shared = SharedSlice::new(&mut items, 3, false, 2);
        let (first, second) = expected.split_at(REGION_LEN + 1);
        thread::scope(|scope| {
            scope.spawn(|| SliceWriter::new(&shared).copy(0, first).unwrap());
            SliceWriter::new(&shared).copy(first.len(), second).unwrap();
        });
        drop(shared);
        assert!(items == expected);

        let mut items = vec![0; NBYTES / 3 * 3];
        SliceWriter::new(&SharedSlice::new(&mut items, 3, false, 2))
            .fill(3..NBYTES / 3 * 3, b"abc", 0)
            .unwrap();
        assert_eq!(items[..3], [0; 3]);
        assert!(items[3..].chunks(3).all(|item| item == b"abc"));
    }

    /// If `is_shared` were false for two threads, a thread would hold the lock of a region while it decompresses.
    #[test]
    fn a_short_slice_is_shared_if_several_threads_write() {
        for (threads, is_shared) in [(1, false), (2, true)] {
            assert_eq!(SharedSlice::new(&mut [0; 8], 1, false, threads).is_shared, is_shared);
        }
    }

    #[test]
    fn nothing_is_written_past_the_end() {
        for threads in [1, 2] {
            let mut items = vec![0; NBYTES];
            let shared = SharedSlice::new(&mut items, 1, false, threads);
            for (offset, length) in [(NBYTES - 1, 2), (NBYTES, 1), (2 * NBYTES, 1)] {
                assert_eq!(SliceWriter::new(&shared).copy(offset, &vec![0; length]), None, "{offset}");
                assert_eq!(
                    SliceWriter::new(&shared).fill(offset..offset + length, &[1], 0),
                    None,
                    "{offset}"
                );
            }
        }
    }
}
