//! Finds bytes and chunk files that no entry of the chunk index refers to.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::chunk_file::name;
use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::index::index_rules::{ChunkSpan, gaps};

/// The finding for bytes of the frame between `start` and `end` that are in no span. The spans must be sorted by start.
/// Marked holes are not reported. `hole` returns the length of the marked hole at an offset, if there is one.
pub(super) fn bytes(
    spans: &[ChunkSpan],
    start: u64,
    end: u64,
    mut hole: impl FnMut(u64) -> Result<Option<u64>, Error>,
) -> Result<Option<Finding>, Error> {
    let (mut first, mut count) = (None, 0);
    for (mut start, mut len) in gaps(spans, start, end) {
        while len > 0 {
            let Some(hole) = hole(start)?.filter(|&hole| hole <= len) else { break };
            start += hole;
            len -= hole;
        }
        first = first.or((len > 0).then_some(start));
        count += len;
    }
    let text = match count {
        1 => "1 byte belongs to no entry of the chunk index".into(),
        _ => format!("{count} bytes belong to no entry of the chunk index, the first ones here"),
    };
    let finding =
        |first| Finding::new(FindingCode::UnownedBytes, Place::Chunk).at(first).numbers(0, count).text(text);
    Ok(first.map(finding))
}

/// The finding for chunk files that no entry refers to. `listed` has the numbers of the chunk files in the directory,
/// in ascending order, and `owned` has the numbers of the chunk files that an entry refers to. Empty files are not
/// reported: C-Blosc2 leaves an empty file when a chunk becomes special.
pub(super) fn files(directory: &Path, listed: &[u64], owned: &BTreeSet<u64>) -> Option<Finding> {
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
            // In this test, a marked hole of 5 bytes begins at offset 10. The mark at offset 50 claims a hole of 100
            // bytes. No gap between chunks is so long, so this mark is ignored.
            let hole = |start| {
                Ok(match start {
                    10 => Some(5),
                    50 => Some(100),
                    _ => None,
                })
            };
            let finding = bytes(&spans, 10, 100, hole).unwrap()?;
            finding.offset().zip(finding.found())
        };
        assert_eq!(found(&[(10, 50), (50, 100)]), None);
        assert_eq!(found(&[]), Some((15, 85)));
        assert_eq!(found(&[(20, 50), (50, 100)]), Some((15, 5)));
        assert_eq!(found(&[(10, 50), (51, 90)]), Some((50, 11)));
        // Bytes that two chunks share are not reported here.
        assert_eq!(found(&[(10, 80), (20, 30), (80, 100)]), None);
    }
}
