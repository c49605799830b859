//! Finds the holes that commits have recorded. The bytes of a hole belong to an older state of the frame. They can be a
//! whole chunk or a whole chunk index, but must not be taken for a part of the frame.

use core::ops::Range;

use crate::chunk::hole::{HoleRecord, MAGIC, MAX_READ};
use crate::error::Error;
use crate::salvage::damaged_file::{DamagedFile, Search};
use crate::source::ReadAt;

/// The holes in all records that end at or before the offset `end`, and the byte ranges of these records, in ascending
/// order. The header has `header_len` bytes.
pub(super) fn find<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header_len: u64,
    end: u64,
) -> Result<Vec<Range<u64>>, Error> {
    find_at_most(file, header_len, end, MAX_READ)
}

/// Like [`find`], but reads no further record after `most` holes were found.
fn find_at_most<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header_len: u64,
    end: u64,
    most: usize,
) -> Result<Vec<Range<u64>>, Error> {
    let (mut search, mut at, mut holes) = (Search::new(MAGIC), header_len, Vec::new());
    // A hostile file can be full of bytes that look like records, so `left` limits the number of bytes that are read.
    // Undamaged records share no bytes, so together they are no longer than the file. Each of them is read at most
    // twice, so the limit is twice the length of the file.
    let mut left = file.len.saturating_mul(2);
    while holes.len() < most
        && let Some(found) = search.next(file, at)?
    {
        at = found + MAGIC.len() as u64;
        if at > end {
            break;
        }
        let within = |offset: u64| header_len.saturating_add(offset);
        let mut nread = 0;
        let record = HoleRecord::read_before(at - header_len, |start, len| {
            nread += len;
            file.read(within(start), len)
        })?;
        let Some(rest) = left.checked_sub(nread) else { break };
        left = rest;
        if let Some(record) = record {
            holes.push(at - record.len()..at);
            holes.extend(record.holes.into_iter().map(|hole| within(hole.start)..within(hole.end)));
        }
    }
    holes.sort_unstable_by_key(|hole| (hole.start, hole.end));
    Ok(holes)
}

/// The end of the hole that contains the byte at an offset; `None` if the byte is in no hole.
pub(super) fn end_of_hole(holes: &[Range<u64>], at: u64) -> Option<u64> {
    let before = holes.partition_point(|hole| hole.start <= at);
    // Holes do not overlap, unless a record is wrong. So only the last hole that begins at or before the offset can
    // contain the byte.
    let last = before.checked_sub(1).and_then(|last| holes.get(last))?;
    (at < last.end).then_some(last.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_at_most_ends_after_the_record_that_reaches_the_limit() {
        let record = HoleRecord { previous: None, nbytes: 0, holes: vec![1..2, 3..4] }.to_bytes();
        let bytes = record.repeat(5);
        let mut file = DamagedFile::new(&bytes[..], 0).unwrap();
        // Each record adds its two holes and itself.
        let found = [1, 3, 4, 15, 100].map(|most| find_at_most(&mut file, 0, u64::MAX, most).unwrap().len());
        assert_eq!(found, [3, 3, 6, 15, 15]);
    }
}
