//! Sequences and their codes (RFC 8878, section 3.1.1.3.2.1).

use crate::bytes::get;
use crate::fse::{Distribution, SYMBOLS};

/// A number of literals, and then a match: a copy of `length` bytes from `distance` bytes back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) literals: u32,
    pub(crate) length: u32,
    pub(crate) distance: u32,
}

/// The shortest match of the format.
pub(crate) const MIN_MATCH: u32 = 3;

/// The three most recent different distances (`Repeated_Offsets`), the latest one first. A frame starts with 1, 4 and
/// 8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent(pub(crate) [u32; 3]);

impl Default for Recent {
    /// The distances at the start of a frame.
    fn default() -> Self {
        Self([1, 4, 8])
    }
}

impl Recent {
    /// The distances for which the offset values 1 to 3 stand. If no literals follow a match, a second match with the
    /// same distance would only continue the first one. So without literals, the values stand for other distances.
    #[inline]
    pub(crate) fn candidates(self, has_literals: bool) -> [u32; 3] {
        let [first, second, third] = self.0;
        if has_literals { self.0 } else { [second, third, first.wrapping_sub(1)] }
    }

    /// The smallest offset value (`Offset_Value`) that stands for a distance.
    #[inline]
    pub(crate) fn value(self, distance: u32, has_literals: bool) -> u32 {
        let candidates = self.candidates(has_literals);
        candidates
            .iter()
            .zip(1..)
            .find(|(candidate, _)| **candidate == distance)
            .map_or(Self::value_of_new(distance), |found| found.1)
    }

    /// The offset value of a distance that is not one of the recent distances.
    #[inline]
    pub(crate) fn value_of_new(distance: u32) -> u32 {
        distance + 3
    }

    /// The recent distances after a match with this distance.
    #[inline]
    pub(crate) fn after(self, distance: u32, has_literals: bool) -> Self {
        let [first, second, third] = self.0;
        if distance == first && has_literals {
            self
        } else if distance == second {
            Self([distance, first, third])
        } else {
            Self([distance, first, second])
        }
    }
}

/// One of the three kinds of numbers in a sequence. A number is written as a code and additional bits, which are its
/// lowest bits.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The codes of the numbers below `limit`.
    codes: [u8; 128],
    limit: u32,
    /// For a number of at least `limit`: its code minus its exponent.
    above: u32,
    /// The number of additional bits of each code.
    bits: [u8; SYMBOLS],
    pub(crate) predefined: Distribution,
    /// The largest `Accuracy_Log`.
    pub(crate) max_log: u32,
}

/// The literals lengths (`Literals_Length`).
pub(crate) static LITERALS: Kind = Kind::new(
    &[(16, 0), (4, 1), (2, 2), (2, 3), (1, 4)],
    9,
    Distribution::predefined(
        6,
        [
            4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
            -1, -1, -1, -1,
        ],
    ),
);

/// The match lengths minus [`MIN_MATCH`].
pub(crate) static LENGTHS: Kind = Kind::new(
    &[(32, 0), (4, 1), (2, 2), (2, 3), (2, 4), (1, 5)],
    9,
    Distribution::predefined(
        6,
        [
            1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
        ],
    ),
);

/// The offset values.
pub(crate) static OFFSETS: Kind = Kind::new(
    &[],
    8,
    Distribution::predefined(
        5,
        [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
    ),
);

impl Kind {
    /// A kind of numbers. `first` lists the first codes as pairs: a count of codes, and the number of additional bits
    /// of each of them. The next code has as many additional bits as the exponent of its smallest number. Each later
    /// code has one bit more than the code before it.
    #[allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "evaluated by the compiler")]
    const fn new(first: &[(u32, u8)], max_log: u32, predefined: Distribution) -> Self {
        let (mut codes, mut bits) = ([0; 128], [0; SYMBOLS]);
        let (mut code, mut limit, mut row) = (0_u32, 0_u32, 0);
        while row < first.len() {
            let mut left = first[row].0;
            while left > 0 {
                bits[code as usize] = first[row].1;
                let end = limit + (1 << first[row].1);
                while limit < end {
                    codes[limit as usize] = code as u8;
                    limit += 1;
                }
                code += 1;
                left -= 1;
            }
            row += 1;
        }
        let exponent = if limit == 0 { 0 } else { limit.ilog2() };
        let above = code - exponent;
        while (code as usize) < SYMBOLS {
            bits[code as usize] = (code - above) as u8;
            code += 1;
        }
        Self { codes, limit, above, bits, predefined, max_log }
    }

    /// The code of a number.
    #[inline]
    pub(crate) fn code(&self, number: u32) -> u8 {
        if number < self.limit {
            get(&self.codes, number as usize)
        } else {
            // The sum is at most 31 + 36, so it fits one byte.
            (number.max(1).ilog2() + self.above).to_le_bytes()[0]
        }
    }

    /// The number of additional bits of a code.
    #[inline]
    pub(crate) fn bits(&self, code: u8) -> u32 {
        get(&self.bits, code.into()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_that_of_the_table_in_the_format() {
        for (kind, number, code, bits) in [
            (&LITERALS, 0, 0, 0),
            (&LITERALS, 15, 15, 0),
            (&LITERALS, 17, 16, 1),
            (&LITERALS, 24, 20, 2),
            (&LITERALS, 47, 23, 3),
            (&LITERALS, 63, 24, 4),
            (&LITERALS, 64, 25, 6),
            (&LITERALS, 65_536, 35, 16),
            (&LENGTHS, 0, 0, 0),
            (&LENGTHS, 31, 31, 0),
            (&LENGTHS, 32, 32, 1),
            (&LENGTHS, 80, 41, 4),
            (&LENGTHS, 96, 42, 5),
            (&LENGTHS, 128, 43, 7),
            (&LENGTHS, 131_071, 52, 16),
            (&OFFSETS, 1, 0, 0),
            (&OFFSETS, 7, 2, 2),
            (&OFFSETS, 1 << 22, 22, 22),
        ] {
            assert_eq!((kind.code(number), kind.bits(kind.code(number))), (code, bits), "{number}");
        }
    }

    #[test]
    fn value_and_after_depend_on_the_literals() {
        let recent = Recent([10, 20, 30]);
        for (distance, has_literals, value, after) in [
            (10, true, 1, [10, 20, 30]),
            (20, true, 2, [20, 10, 30]),
            (30, true, 3, [30, 10, 20]),
            (9, true, 12, [9, 10, 20]),
            // A new match at the distance of the match before it.
            (10, false, 13, [10, 10, 20]),
            (20, false, 1, [20, 10, 30]),
            (30, false, 2, [30, 10, 20]),
            (9, false, 3, [9, 10, 20]),
        ] {
            assert_eq!(recent.value(distance, has_literals), value, "{distance}, {has_literals}");
            assert_eq!(recent.after(distance, has_literals).0, after, "{distance}, {has_literals}");
        }
    }
}
