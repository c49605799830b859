//! A match finder with rows of candidates. A hash selects a row, and one byte of the hash, the tag, selects candidates
//! in the row. Most candidates that do not match have a different tag, so their bytes are never compared.

use alloc::vec::Vec;

use super::found::Match;
use super::{Hashed, WINDOW, log_of};
use crate::bytes::{common_length, get, hash, load32, load64, narrow, set};

/// Each match is longer than this number of bytes.
const TOO_SHORT: u32 = 3;
const TAG_BITS: u32 = 8;
/// The number of candidates in a row.
const ROW: usize = 16;
/// The largest number of rows. Each row takes 84 bytes of memory.
const MAX_ROWS: usize = 1 << 16;

/// All tags of a row are compared at once, as the bytes of one `u128`.
const LOW_BITS: u128 = u128::from_le_bytes([0x01; ROW]);
const HIGH_BITS: u128 = u128::from_le_bytes([0x80; ROW]);

/// After a long match, its positions are not in the rows yet. If this gap has more than `LONG_GAP` positions, only the
/// positions at the start and at the end of the gap are added.
const LONG_GAP: usize = 384;
const GAP_START: usize = 96;
const GAP_END: usize = 32;

/// A hash table of rows, which hold the latest positions.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    table: Vec<Row>,
    hashed: Hashed,
    /// The exponent of the number of rows.
    log: u32,
    /// The first position that is not in the rows.
    next: usize,
}

/// The latest `ROW` positions of the hashes that select this row. A free slot holds 0, so position 0 becomes a
/// candidate. This is harmless, because the bytes of each candidate are compared.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    tags: [u8; ROW],
    positions: [u32; ROW],
    /// The index of the oldest position.
    oldest: u8,
}

impl Rows {
    /// Forgets all positions, and prepares for an input of this length.
    pub(crate) fn start(&mut self, length: usize, hashed: Hashed) {
        self.log = log_of((length / (2 * ROW)).clamp(ROW, MAX_ROWS));
        self.hashed = hashed;
        self.table.clear();
        self.table.resize(1 << self.log, Row::default());
        self.next = 0;
    }

    /// The row for a position, and the tag of the position.
    #[inline]
    fn row_of(&mut self, input: &[u8], at: usize) -> Option<(&mut Row, u8)> {
        let hash = hash(load64(input, at), self.hashed, self.log + TAG_BITS);
        Some((self.table.get_mut(hash >> TAG_BITS)?, hash.to_le_bytes()[0]))
    }

    /// Adds the positions before `at` that are not in the rows yet. If they are more than `LONG_GAP`, only the first
    /// and the last ones are added.
    #[inline]
    fn add_until(&mut self, input: &[u8], at: usize) {
        if at > self.next + LONG_GAP {
            self.add(input, self.next, self.next + GAP_START);
            self.next = at - GAP_END;
        }
        self.add(input, self.next, at);
        self.next = at + 1;
    }

    fn add(&mut self, input: &[u8], start: usize, end: usize) {
        for at in start..end {
            if let Some((row, tag)) = self.row_of(input, at) {
                row.add(at, tag);
            }
        }
    }

    /// Skips the positions before `at` that are not in the rows yet.
    pub(crate) fn skip_to(&mut self, at: usize) {
        self.next = at;
    }

    /// The longest match at a position; among equally long matches, the nearest one. The match does not go beyond
    /// `end`. Its length is 0 if no match has four bytes. The method also adds the position to its row. At least eight
    /// bytes must be left from the position on.
    #[inline]
    pub(crate) fn find(&mut self, input: &[u8], at: usize, end: usize) -> Match {
        self.add_until(input, at);
        let Some((row, tag)) = self.row_of(input, at) else { return Match::default() };
        let mut best = Match { length: TOO_SHORT, distance: 0 };
        // Where a tag is equal, the byte of `difference` is zero. `equal` marks these bytes. It can also mark a byte
        // above a zero byte by mistake, which only costs a comparison.
        let difference = u128::from_le_bytes(row.tags) ^ (LOW_BITS * u128::from(tag));
        let mut equal = difference.wrapping_sub(LOW_BITS) & !difference & HIGH_BITS;
        while equal != 0 {
            let candidate = get(&row.positions, equal.trailing_zeros() as usize / 8) as usize;
            equal &= equal - 1;
            best = better(input, at, end, candidate, best);
        }
        row.add(at, tag);
        if best.distance == 0 { Match::default() } else { best }
    }
}

impl Row {
    /// Replaces the oldest position by a new one.
    #[inline]
    fn add(&mut self, at: usize, tag: u8) {
        let oldest = usize::from(self.oldest) % ROW;
        set(&mut self.positions, oldest, narrow(at));
        set(&mut self.tags, oldest, tag);
        self.oldest = self.oldest.wrapping_add(1);
    }
}

/// The better match: `best`, or the match with a candidate.
#[inline]
fn better(input: &[u8], at: usize, end: usize, candidate: usize, best: Match) -> Match {
    if candidate >= at || at - candidate > WINDOW {
        return best;
    }
    // A match that is longer than `best` also covers the last three bytes of `best` and the byte after them. So these
    // four bytes are compared first.
    let tail = (best.length - TOO_SHORT) as usize;
    if load32(input, candidate + tail) != load32(input, at + tail) {
        return best;
    }
    let length = narrow(common_length(input, candidate, at, end));
    let distance = narrow(at - candidate);
    let is_better = length > best.length || length == best.length && distance < best.distance;
    if is_better { Match { length, distance } } else { best }
}
