//! Finds bytes and chunk files that no entry of the chunk index refers to.

use core::ops::Range;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::chunk::hole::{outside_holes, recorded_holes};
use crate::chunk_file::name;
use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::spans::{ChunkSpan, gaps};

/// The finding for bytes of the frame between `start` and `end` that belong to no chunk. `spans` has the byte ranges of
/// the chunks, sorted by their starts. Recorded holes are not reported. `read` reads bytes of the frame. Its arguments
/// are an offset, counted from `start`, and a length.
pub(super) fn bytes(
    spans: &[ChunkSpan],
    start: u64,
    end: u64,
    read: impl FnMut(u64, u64) -> Result<Vec<u8>, Error>,
) -> Result<Option<Finding>, Error> {
    let gaps = gaps(spans.iter().map(ChunkSpan::range), start..end);
    let gaps: Vec<_> = gaps.map(|gap| gap.start - start..gap.end - start).collect();
    // The newest record of holes nearly always ends where the last gap ends, so try this offset first.
    let holes = recorded_holes(gaps.iter().rev().map(|gap| gap.end), read)?;
    let unowned = gaps.into_iter().flat_map(|gap| outside_holes(gap, &holes));
    Ok(of_ranges(unowned.map(|gap| start + gap.start..start + gap.end)))
}

/// The finding for byte ranges of the frame that no entry refers to, in ascending order.
pub(crate) fn of_ranges(unowned: impl Iterator<Item = Range<u64>>) -> Option<Finding> {
    let mut unowned = unowned.peekable();
    let first = unowned.peek().map(|range| range.start);
    let count: u64 = unowned.map(|range| range.end - range.start).sum();
    let text = match count {
        1 => "1 byte belongs to no entry of the chunk index".into(),
        _ => format!("{count} bytes belong to no entry of the chunk index, the first ones here"),
    };
    let finding =
        |first| Finding::new(FindingCode::UnownedBytes, Place::Chunk).at(first).numbers(0, count).text(text);
    first.map(finding)
}

/// The finding for chunk files that no entry refers to. `listed` has the numbers of the chunk files in the directory,
/// in ascending order, and `owned` has the numbers of the chunk files that an entry refers to. Empty files are not
/// reported: C-Blosc2 leaves an empty file when a chunk becomes special.
pub(crate) fn files(directory: &Path, listed: &[u64], owned: &BTreeSet<u64>) -> Option<Finding> {
    let is_not_empty = |number: &&u64| {
        let metadata = fs::symlink_metadata(directory.join(name(**number)));
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
    };
    let mut unowned = listed.iter().filter(|number| !owned.contains(number)).filter(is_not_empty);
    let first = name(*unowned.next()?);
    let text = match unowned.count() {
        0 => format!("{first} belongs to no entry of the chunk index"),
        more => format!("{first} and {more} more chunk files belong to no entry of the chunk index"),
    };
    Some(Finding::new(FindingCode::UnownedBytes, Place::Chunk).text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_before_between_and_after_chunks_are_counted() {
        let found = |ranges: &[(u64, u64)]| {
            let spans: Vec<_> =
                ranges.iter().map(|&(start, end)| ChunkSpan { start, end, number: 0 }).collect();
            let no_record = |_, _| Ok(Vec::new());
            let finding = bytes(&spans, 10, 100, no_record).unwrap()?;
            finding.offset().zip(finding.found())
        };
        assert_eq!(found(&[(10, 50), (50, 100)]), None);
        assert_eq!(found(&[]), Some((10, 90)));
        assert_eq!(found(&[(20, 50), (50, 100)]), Some((10, 10)));
        assert_eq!(found(&[(10, 50), (51, 90)]), Some((50, 11)));
        // Bytes that two chunks share are not reported here.
        assert_eq!(found(&[(10, 80), (20, 30), (80, 100)]), None);
    }
}
