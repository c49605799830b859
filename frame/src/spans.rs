//! Ranges, mostly of bytes: their gaps, overlaps and unions.

use core::ops::Range;

/// The byte range of a chunk in the frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChunkSpan {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) number: u64,
}

impl ChunkSpan {
    pub(crate) fn range(&self) -> Range<u64> {
        self.start..self.end
    }
}

/// The parts of `within` that are in none of the ranges. The ranges must be sorted by their starts.
pub(crate) fn gaps<T: Copy + Ord>(
    ranges: impl IntoIterator<Item = Range<T>>,
    within: Range<T>,
) -> impl Iterator<Item = Range<T>> {
    let Range { start: mut free, end } = within;
    ranges.into_iter().chain([end..end]).filter_map(move |range| {
        let gap = free..range.start.min(end);
        free = free.max(range.end);
        (!gap.is_empty()).then_some(gap)
    })
}

/// Finds the ranges that overlap an earlier range. For each of them, returns two names: the name of the earlier range
/// that ends last, and the name of the range itself. The ranges must be sorted by their starts.
pub(crate) fn overlaps<T: Copy + Ord, N: Copy>(
    ranges: impl IntoIterator<Item = (Range<T>, N)>,
) -> impl Iterator<Item = (N, N)> {
    let mut furthest: Option<(T, N)> = None;
    ranges.into_iter().filter_map(move |(range, name)| {
        let before = furthest.filter(|&(end, _)| range.start < end);
        if furthest.is_none_or(|(end, _)| range.end > end) {
            furthest = Some((range.end, name));
        }
        before.map(|(_, before)| (before, name))
    })
}

/// The ranges in ascending order. Ranges that touch or overlap are joined.
pub(crate) fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|range, before| {
        let touches = range.start <= before.end;
        if touches {
            before.end = before.end.max(range.end);
        }
        touches
    });
    ranges
}

/// The smallest number that occurs twice. The numbers must be sorted.
pub(crate) fn first_repeated<T: Copy + Eq>(sorted: &[T]) -> Option<T> {
    sorted.windows(2).find_map(|pair| match pair {
        [a, b] if a == b => Some(*a),
        _ => None,
    })
}

/// The smallest number that is greater than `start`. The numbers are the starts of ranges, so the result is the start
/// of the next range. The numbers must be sorted.
pub(crate) fn next_start<T: Copy + Ord>(sorted: &[T], start: T) -> Option<T> {
    sorted.get(sorted.partition_point(|&other| other <= start)).copied()
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges")]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_parts_before_between_and_after_ranges() {
        let gaps = |ranges: &[Range<u64>]| gaps(ranges.iter().cloned(), 10..100).collect::<Vec<_>>();
        assert_eq!(gaps(&[]), [10..100]);
        assert_eq!(gaps(&[10..50, 50..100]), []);
        assert_eq!(gaps(&[0..20, 20..50, 51..90]), [50..51, 90..100]);
        // A range within another one, and ranges that end or begin after the last byte.
        assert_eq!(gaps(&[10..80, 20..30, 90..200, 150..160]), [80..90]);
        assert_eq!(gaps(&[200..300]), [10..100]);
    }

    #[test]
    fn overlaps_compares_each_range_with_the_earlier_one_that_ends_last() {
        let overlaps = |ranges: &[Range<u64>]| overlaps(ranges.iter().cloned().zip(0..)).collect::<Vec<_>>();
        assert_eq!(overlaps(&[0..10, 10..20, 30..40]), []);
        assert_eq!(overlaps(&[0..10, 5..20, 15..40]), [(0, 1), (1, 2)]);
        assert_eq!(overlaps(&[0..100, 5..20, 30..40, 100..110]), [(0, 1), (0, 2)]);
    }

    #[test]
    fn merged_sorts_ranges_and_joins_those_that_touch() {
        assert_eq!(merged(vec![8..9, 0..2, 5..7, 2..4, 3..6, 0..1]), [0..7, 8..9]);
        assert_eq!(merged(Vec::new()), []);
    }

    #[test]
    fn first_repeated_and_next_start_search_sorted_numbers() {
        let sorted = [1, 3, 3, 5, 5, 7];
        assert_eq!([&sorted[..], &sorted[..2], &[]].map(first_repeated), [Some(3), None, None]);
        assert_eq!(
            [0, 1, 3, 6, 7].map(|start| next_start(&sorted, start)),
            [Some(1), Some(3), Some(5), Some(7), None]
        );
    }
}
