//! The strategy of each level.

use core::ops::RangeInclusive;

use crate::parse::{Effort, Strategy};

/// The levels of zstd, without the negative ones.
pub(crate) const LEVELS: RangeInclusive<u8> = 1..=22;

/// In an input longer than this, short matches at long distances save little. So hashes cover more bytes, and fewer
/// short matches are found.
const SHORT: usize = 1 << 17;
/// In an input longer than this, the C library searches less thoroughly at the levels 13 to 15. So does this crate.
const MEDIUM: usize = 1 << 18;

/// The strategy for a level and a length of input. The strategies are chosen so that a level takes at most twice as
/// long as in the C library, and gives about the same size or a smaller one. This was measured with 32 KiB to 4 MiB of
/// counters, labels, texts, images and floats. It was also measured after a shuffle of these data (byte 0 of all items,
/// then byte 1, and so on).
pub(crate) fn strategy(level: u8, length: usize) -> Strategy {
    let (is_short, is_medium) = (length <= SHORT, length <= MEDIUM);
    let fast = |max_log, hashed| Strategy::Fast { max_log, hashed };
    let lazy = |lookahead, hashed| Strategy::Lazy { lookahead, hashed };
    let optimal = |depth, enough, is_thorough| Strategy::Optimal(Effort { depth, enough, is_thorough });
    match level {
        ..=1 => fast(12, if is_short { 5 } else { 8 }),
        2 => fast(14, if is_short { 5 } else { 8 }),
        3 => fast(15, if is_short { 4 } else { 8 }),
        4 | 5 => lazy(0, if is_short { 4 } else { 5 }),
        6 => lazy(1, if is_short { 4 } else { 5 }),
        7..=10 => lazy(2, if is_short { 4 } else { 5 }),
        11 | 12 => lazy(2, 4),
        13..=15 if !is_medium => lazy(2, 4),
        13 => optimal(8, 32, false),
        14 => optimal(16, 32, false),
        15 | 16 => optimal(16, 64, true),
        17 | 18 => optimal(32, 128, true),
        19 | 20 => optimal(48, 256, true),
        21.. => optimal(64, 512, true),
    }
}
