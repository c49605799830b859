//! Holes: byte ranges of a frame that are no longer in use, because a commit replaced the chunks, the index or the trailer
//! in them.
//!
//! A commit does not change the bytes of a hole, so a program that opened the frame before the commit can still read
//! the old chunks. The commit writes a *record* that lists the holes. All bytes of a commit follow the old frame:
//!
//! ```text
//! START               marks a commit; it was killed if the frame still ends before these bytes
//! the new chunks
//! MAGIC               the record, directly before the new index
//!   previous          where the previous record ends, or u64::MAX
//!   nbytes            the bytes of all holes, also those of earlier commits
//!   start, length, …  the holes of this commit, in ascending order
//!   checksum, length  of the record
//! MAGIC
//! the new index, the new trailer
//! ```
//!
//! All numbers are little-endian uint64. Offsets count from the end of the header, like those of the chunk index, so they
//! stay right if a rewrite changes the length of the header.

use core::ops::Range;

use crate::spans::gaps;

/// The first and the last bytes of a record. No chunk begins with them: the first byte of a chunk is its version, which
/// is never 0.
pub(crate) const MAGIC: &[u8; 8] = b"\0b2holes";

/// The first bytes of a commit.
pub(crate) const START: &[u8; 16] = b"\0b2hole commit\0\0";

/// The largest number of holes in a record. If a commit would leave more holes, it writes a new file without holes
/// instead.
pub(crate) const MAX_HOLES: usize = 1 << 16;

/// After this number of holes, no further hole record of a frame is read.
pub(crate) const MAX_READ: usize = 1 << 23;

const NUMBER: usize = size_of::<u64>();

/// The length of a record without holes: twice the magic, and four numbers.
const EMPTY_LEN: usize = 2 * MAGIC.len() + 4 * NUMBER;

/// The end of a record: its length, and the magic.
const END_LEN: usize = NUMBER + MAGIC.len();

/// The value of `previous` in the first record of a frame.
const NO_RECORD: u64 = u64::MAX;

/// A record of the holes that a commit left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HoleRecord {
    /// The offset at which the previous record ends.
    pub(crate) previous: Option<u64>,
    /// The total number of bytes of the holes in this record and in all records before it.
    pub(crate) nbytes: u64,
    /// The holes, in ascending order.
    pub(crate) holes: Vec<Range<u64>>,
}

impl HoleRecord {
    /// Parses a whole record; `None` if these bytes are not a valid record.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let content = bytes.strip_prefix(MAGIC)?.strip_suffix(MAGIC)?;
        let (content, end) = content.split_at_checked(content.len().checked_sub(2 * NUMBER)?)?;
        let is_valid = numbers(end).eq([checksum(content), bytes.len() as u64]);
        let mut numbers = numbers(content);
        let (previous, nbytes) = (numbers.next()?, numbers.next()?);
        let mut holes: Vec<Range<u64>> = Vec::new();
        while let Some(start) = numbers.next() {
            let end = start.checked_add(numbers.next()?)?;
            let is_after_others = holes.last().is_none_or(|last| last.end <= start);
            holes.push(is_after_others.then_some(start..end)?);
        }
        let previous = Some(previous).filter(|&previous| previous != NO_RECORD);
        is_valid.then_some(Self { previous, nbytes, holes })
    }

    /// The bytes of the record.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let holes = self.holes.iter().flat_map(|hole| [hole.start, hole.end - hole.start]);
        let numbers = [self.previous.unwrap_or(NO_RECORD), self.nbytes].into_iter().chain(holes);
        let content: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        let end = [checksum(&content), self.len()].map(u64::to_le_bytes);
        [MAGIC, &content[..], end.as_flattened(), MAGIC].concat()
    }

    /// The number of bytes of the record.
    pub(crate) fn len(&self) -> u64 {
        (EMPTY_LEN + 2 * NUMBER * self.holes.len()) as u64
    }

    /// Reads the record that ends at an offset, if there is one. `read` gets an offset and a length.
    pub(crate) fn read_before<E>(
        end: u64,
        mut read: impl FnMut(u64, u64) -> Result<Vec<u8>, E>,
    ) -> Result<Option<Self>, E> {
        let Some(start) = end.checked_sub(END_LEN as u64) else { return Ok(None) };
        let last = read(start, END_LEN as u64)?;
        let len = last.strip_suffix(MAGIC).and_then(|len| numbers(len).next());
        let longest = (EMPTY_LEN + 2 * NUMBER * MAX_HOLES) as u64;
        let start = len.filter(|&len| len <= longest).and_then(|len| Some((end.checked_sub(len)?, len)));
        let Some((start, len)) = start else { return Ok(None) };
        read(start, len).map(|bytes| Self::parse(&bytes))
    }
}

/// All recorded holes of a frame, in ascending order, with the records themselves. `ends` are the offsets at which a
/// record may end, the most likely one first. Each record contains the offset at which the previous record ends, so the
/// previous record is read next.
pub(crate) fn recorded_holes<E>(
    ends: impl Iterator<Item = u64>,
    mut read: impl FnMut(u64, u64) -> Result<Vec<u8>, E>,
) -> Result<Vec<Range<u64>>, E> {
    let mut holes = Vec::new();
    for mut end in ends {
        while let Some(record) = HoleRecord::read_before(end, &mut read)? {
            holes.push(end - record.len()..end);
            let previous = record.previous.filter(|&previous| previous < end);
            holes.extend(record.holes);
            end = match previous {
                Some(previous) if holes.len() < MAX_READ => previous,
                _ => break,
            };
        }
        if !holes.is_empty() {
            break;
        }
    }
    holes.sort_unstable_by_key(|hole| (hole.start, hole.end));
    Ok(holes)
}

/// The parts of a gap that are in no hole. The holes must be in ascending order.
pub(crate) fn outside_holes(gap: Range<u64>, holes: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> {
    let begin = holes.partition_point(|hole| hole.end <= gap.start);
    let end = gap.end;
    gaps(holes.iter().skip(begin).take_while(move |hole| hole.start < end).cloned(), gap)
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(NUMBER).filter_map(<[u8]>::first_chunk).map(|number| u64::from_le_bytes(*number))
}

/// FNV-1a, which is enough to recognize a damaged record.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of holes")]
mod tests {
    use super::*;

    fn record(previous: Option<u64>, holes: &[Range<u64>]) -> HoleRecord {
        HoleRecord { previous, nbytes: 7, holes: holes.into() }
    }

    #[test]
    fn parse_reads_what_to_bytes_writes_and_rejects_a_changed_byte() {
        for record in [record(None, &[]), record(Some(100), &[3..5, 5..9, 1 << 40..1 << 41])] {
            let bytes = record.to_bytes();
            assert_eq!(bytes.len() as u64, record.len());
            assert_eq!(HoleRecord::parse(&bytes), Some(record));
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                assert_eq!(HoleRecord::parse(&changed), None, "byte {at}");
                assert_eq!(HoleRecord::parse(&bytes[..at]), None, "{at} bytes");
            }
        }
        assert_eq!(
            HoleRecord::parse(&record(None, &[5..9, 3..4]).to_bytes()),
            None,
            "not in ascending order"
        );
    }

    #[test]
    fn recorded_holes_follows_the_records_and_ends_where_one_is_damaged() {
        let mut file = vec![1; 20];
        let first = record(None, &[2..5]);
        file.extend(first.to_bytes());
        let middle = file.len() as u64;
        file.extend([1; 10]);
        file.extend(record(Some(middle), &[7..8, 12..20]).to_bytes());
        let end = file.len() as u64;
        let found = |file: &[u8], ends: &[u64]| {
            let read = |start: u64, len: u64| {
                let [start, len] = [start, len].map(|number| usize::try_from(number).unwrap());
                Ok::<_, ()>(file.get(start..).unwrap_or_default().get(..len).unwrap_or_default().to_vec())
            };
            recorded_holes(ends.iter().copied(), read).unwrap()
        };
        let last = end - record(None, &[0..0, 0..0]).len()..end;
        let all = [2..5, 7..8, 12..20, 20..middle, last.clone()];
        assert_eq!(found(&file, &[end]), all);
        assert_eq!(found(&file, &[5, 30, end]), all);
        assert_eq!(found(&file, &[middle]), [2..5, 20..middle]);
        assert_eq!(found(&file, &[0, 5, end - 1]), []);
        file[25] ^= 1;
        assert_eq!(found(&file, &[end]), [7..8, 12..20, last]);
        // A record that names its own end as the end of the previous record.
        let len = record(None, &[]).len();
        assert_eq!(found(&record(Some(len), &[]).to_bytes(), &[len]), [0..len]);
    }

    #[test]
    fn outside_holes_are_the_parts_of_a_gap_that_are_in_no_hole() {
        let outside = |gap, holes: &[Range<u64>]| outside_holes(gap, holes).collect::<Vec<_>>();
        let holes = [5..10, 8..12, 20..30];
        assert_eq!(outside(0..5, &holes), [0..5]);
        assert_eq!(outside(5..12, &holes), []);
        assert_eq!(outside(5..13, &holes), [12..13]);
        assert_eq!(outside(0..40, &holes), [0..5, 12..20, 30..40]);
        assert_eq!(outside(22..25, &holes), []);
        assert_eq!(outside(12..20, &[]), [12..20]);
    }
}
