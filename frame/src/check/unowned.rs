//! Bytes of chunks that no entry of the chunk index refers to.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::code::FindingCode;
use crate::finding::{Finding, Place};
use crate::format::chunk_file::name;
use crate::rules::index::{ChunkSpan, gaps};

/// The finding for bytes of the frame between `start` and `end` outside of these spans, which are sorted by their
/// starts.
pub(super) fn bytes(spans: &[ChunkSpan], start: u64, end: u64) -> Option<Finding> {
    let (mut first, mut count) = (None, 0);
    for (start, len) in gaps(spans, start, end) {
        first = first.or(Some(start));
        count += len;
    }
    let text = match count {
        1 => "1 byte belongs to no entry of the chunk index".into(),
        _ => format!("{count} bytes belong to no entry of the chunk index, the first ones here"),
    };
    Some(Finding::new(FindingCode::UnownedBytes, Place::Chunk).at(first?).numbers(0, count).text(text))
}

/// The finding for chunk files that no entry refers to, among those `listed` in ascending order. C-Blosc2 leaves an
/// empty file after a chunk became special, which is not a finding.
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
            let finding = bytes(&spans, 10, 100)?;
            finding.offset().zip(finding.found())
        };
        assert_eq!(found(&[(10, 50), (50, 100)]), None);
        assert_eq!(found(&[]), Some((10, 90)));
        assert_eq!(found(&[(20, 50), (50, 100)]), Some((10, 10)));
        assert_eq!(found(&[(10, 50), (51, 90)]), Some((50, 11)));
        // Chunks that share bytes have a finding of their own.
        assert_eq!(found(&[(10, 80), (20, 30), (80, 100)]), None);
    }
}
