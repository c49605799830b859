//! Functions that read and write items of slices, and cannot panic.
//!
//! The encoder derives each index from an invariant, such as "a position in a table is before the current one". If a
//! mistake broke an invariant, a read outside of a slice would give the default value, and a write would be ignored. So
//! the worst effect of a mistake is a wrong stream, never a panic. The tests check the streams.

use core::ops::Range;

/// The item at an index; the default value if the slice has no such index.
#[inline]
pub(crate) fn get<T: Copy + Default>(slice: &[T], index: usize) -> T {
    slice.get(index).copied().unwrap_or_default()
}

/// Overwrites the item at an index.
#[inline]
pub(crate) fn set<T>(slice: &mut [T], index: usize, value: T) {
    if let Some(item) = slice.get_mut(index) {
        *item = value;
    }
}

/// Increases the count at an index.
#[inline]
pub(crate) fn increment(counts: &mut [u32], index: usize) {
    if let Some(count) = counts.get_mut(index) {
        *count += 1;
    }
}

/// The items of a range; empty if the range is not within the slice.
#[inline]
pub(crate) fn part<T>(slice: &[T], range: Range<usize>) -> &[T] {
    slice.get(range).unwrap_or_default()
}

/// Converts a position or a length to `u32`, the type of the tables. Each position fits 32 bits, because positions
/// start at 0 again after each 2³⁰ bytes.
#[inline]
pub(crate) fn narrow(at: usize) -> u32 {
    low32(at as u64)
}

/// The four bytes at a position, as a little-endian number. The number is 0 if fewer than four bytes are left.
#[inline]
pub(crate) fn load32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

/// The lower half of a number.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the purpose of the function")]
pub(crate) fn low32(word: u64) -> u32 {
    word as u32
}

/// The eight bytes at a position, as a little-endian number. The number is 0 if fewer than eight bytes are left.
#[inline]
pub(crate) fn load64(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// The number of bytes from `first` on that are equal to the bytes from `second` on. The bytes from `second` on end at
/// `end`.
#[inline]
pub(crate) fn common_length(bytes: &[u8], first: usize, second: usize, end: usize) -> usize {
    let (Some(first), Some(second)) = (bytes.get(first..), bytes.get(second..end)) else { return 0 };
    let (first_words, _) = first.as_chunks::<8>();
    let (second_words, _) = second.as_chunks::<8>();
    let mut length = 0;
    for (one, other) in first_words.iter().zip(second_words) {
        let difference = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if difference != 0 {
            return length + difference.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = part(first, length..first.len()).iter().zip(part(second, length..second.len()));
    length + rest.take_while(|(one, other)| one == other).count()
}

/// The number of bytes directly before `first` that are equal to the bytes directly before `second`, at most `limit`.
#[inline]
pub(crate) fn common_length_before(bytes: &[u8], first: usize, second: usize, limit: usize) -> usize {
    let before = |at| bytes.get(..at).unwrap_or_default().iter().rev();
    before(first).zip(before(second)).take(limit).take_while(|(one, other)| one == other).count()
}

/// A hash of the first `length` bytes of a little-endian number. The hash has `log` bits. `length` is 3 to 8, and `log`
/// is at most 32.
#[inline]
pub(crate) fn hash(word: u64, length: u32, log: u32) -> usize {
    // 2⁶⁴ divided by the golden ratio. With this factor, neighbouring numbers get hashes that are far apart.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    low32((word << (64 - 8 * length)).wrapping_mul(FACTOR) >> (64 - log)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_length_ends_at_the_first_difference_or_at_the_end() {
        for length in 0..40 {
            for different in 0..length {
                let mut bytes = [7; 80];
                bytes[40 + different] = 8;
                assert_eq!(common_length(&bytes, 0, 40, 40 + length), different);
            }
            assert_eq!(common_length(&[7; 80], 0, 40, 40 + length), length);
            assert_eq!(common_length(&[7; 80], 39, 40, 40 + length), length);
        }
    }

    #[test]
    fn common_length_before_ends_at_the_limit_and_at_the_start() {
        let bytes = *b"abcdabcd";
        assert_eq!(common_length_before(&bytes, 4, 8, 9), 4);
        assert_eq!(common_length_before(&bytes, 4, 8, 3), 3);
        assert_eq!(common_length_before(&bytes, 3, 8, 9), 0);
        assert_eq!(common_length_before(&bytes, 0, 4, 9), 0);
    }

    #[test]
    fn access_outside_of_a_slice_does_nothing() {
        let mut counts = [1, 2];
        set(&mut counts, 2, 9);
        increment(&mut counts, 2);
        assert_eq!((get(&counts, 1), get(&counts, 2), counts), (2, 0, [1, 2]));
        assert_eq!((load32(&[1; 4], 0), load32(&[1; 4], 1), load64(&[1; 8], 1)), (0x0101_0101, 0, 0));
        assert_eq!((load32(&[1; 4], usize::MAX), load64(&[1; 8], usize::MAX)), (0, 0));
    }

    #[test]
    fn hash_has_the_bits_of_the_first_bytes_only() {
        for length in 3..=8 {
            for log in [8, 17, 26] {
                let word = 0x0102_0304_0506_0708;
                assert!(hash(word, length, log) < 1 << log);
                let others = u64::MAX.checked_shl(8 * length).unwrap_or_default();
                assert_eq!(hash(word, length, log), hash(word ^ others, length, log));
                assert_ne!(hash(word, length, log), hash(word ^ (1 << (8 * length - 1)), length, log));
            }
        }
    }
}
