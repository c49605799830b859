//! The fastest parser. It has one hash table with the latest position of each hash.

use alloc::vec::Vec;
use core::mem;

use super::found::{Match, Parsed};
use super::{Hashed, MARGIN, MIN_LOG, Source, WINDOW, log_of};
use crate::bytes::{hash, load32, load64, low32, narrow};
use crate::sequence::Sequence;

/// The parser looks for matches at every second position only. It still finds most matches that begin at the other
/// positions, because it extends each match backwards.
const STEP: usize = 2;
/// After each 2^`PATIENCE_LOG` bytes without a match, the steps of the parser get one position longer.
const PATIENCE_LOG: u32 = 6;

/// A parser that takes each match that it finds, without looking for a better one.
#[derive(Debug, Default)]
pub(crate) struct FastParser {
    hashed: Hashed,
    /// The exponent of the number of entries of the table.
    log: u32,
    /// The latest position of each hash. A free entry holds 0, so position 0 becomes a candidate. This is harmless,
    /// because the bytes of each candidate are compared.
    table: Vec<u32>,
}

impl FastParser {
    /// Forgets all positions, and prepares for an input of this length.
    pub(crate) fn start(&mut self, length: usize, max_log: u32, hashed: Hashed) {
        self.hashed = hashed;
        self.log = log_of(length).clamp(MIN_LOG, max_log);
        self.table.clear();
        self.table.resize(1 << self.log, 0);
    }

    /// Appends the sequences of a block.
    pub(crate) fn parse(&mut self, source: &Source<'_>, sequences: &mut Vec<Sequence>) {
        let Source { input, ref block, .. } = *source;
        let limit = block.end.saturating_sub(MARGIN);
        let mut parsed = Parsed::new(source, sequences);
        let mut at = block.start.max(1);
        while at < limit {
            let word = load64(input, at);
            let candidate = self.exchange(word, at);
            let [last, ..] = parsed.recent.0;
            // Most positions have no match, so the parser first compares only four bytes.
            let looks_repeated = load32(input, (at + 1).wrapping_sub(last as usize)) == low32(word >> 8);
            let found =
                if looks_repeated { Match::at_distance(source, at + 1, last) } else { Match::default() };
            if found.length > 0 {
                parsed.take(input, at + 1, found);
            } else if load32(input, candidate) == low32(word) && candidate < at && at - candidate <= WINDOW {
                parsed.take(input, at, Match::at_distance(source, at, narrow(at - candidate)));
            } else {
                // Adds the skipped position to the table, so that a later match can copy from it.
                self.exchange(load64(input, at + 1), at + 1);
                at += STEP + ((at - parsed.end) >> PATIENCE_LOG);
                continue;
            }
            // Adds only two positions within the match. They are enough candidates for later matches.
            for inner in [at + 2, parsed.end - 2] {
                self.exchange(load64(input, inner), inner);
            }
            at = parsed.end;
            while at < limit {
                let [_, second, _] = parsed.recent.0;
                let found = Match::at_distance(source, at, second);
                if found.length == 0 {
                    break;
                }
                self.exchange(load64(input, at), at);
                parsed.take(input, at, found);
                at = parsed.end;
            }
        }
    }

    /// Replaces the latest position with the same hash by `at`, and returns the replaced position.
    #[inline]
    fn exchange(&mut self, word: u64, at: usize) -> usize {
        let slot = hash(word, self.hashed, self.log);
        self.table.get_mut(slot).map_or(0, |last| mem::replace(last, narrow(at)) as usize)
    }
}
