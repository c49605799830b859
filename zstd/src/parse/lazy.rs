//! A parser that looks for a better match at the next positions before it takes a match.

use alloc::vec::Vec;

use super::found::{Match, Parsed};
use super::rows::Rows;
use super::{Hashed, MARGIN, Source};
use crate::sequence::{Recent, Sequence};

/// After each 2^`PATIENCE_LOG` bytes without a match, the steps of the parser get one position longer.
const PATIENCE_LOG: u32 = 8;
/// After this number of bytes without a match, skipped positions are not added to the rows. So later matches cannot
/// copy from them.
const HOPELESS: usize = 8 << PATIENCE_LOG;

/// A parser with a match finder of rows.
#[derive(Debug, Default)]
pub(crate) struct LazyParser {
    rows: Rows,
}

impl LazyParser {
    /// Forgets all positions, and prepares for an input of this length.
    pub(crate) fn start(&mut self, length: usize, hashed: Hashed) {
        self.rows.start(length, hashed);
    }

    /// Appends the sequences of a block.
    pub(crate) fn parse(&mut self, source: &Source<'_>, lookahead: u32, sequences: &mut Vec<Sequence>) {
        let Source { input, ref block, .. } = *source;
        let limit = block.end.saturating_sub(MARGIN);
        let mut parsed = Parsed::new(source, sequences);
        let mut at = block.start.max(1);
        while at < limit {
            let found = self.best(source, parsed.recent, at);
            if found.length > 0 {
                let (start, found) = self.look_ahead(source, lookahead, parsed.recent, at, found);
                parsed.take(input, start, found);
                at = parsed.end;
                continue;
            }
            at += 1 + ((at - parsed.end) >> PATIENCE_LOG);
            if at > parsed.end + HOPELESS {
                self.rows.skip_to(at);
            }
        }
    }

    /// The start of the best match, and this match. The best match is `found`, or a match at one of the next positions.
    fn look_ahead(
        &mut self,
        source: &Source<'_>,
        lookahead: u32,
        recent: Recent,
        start: usize,
        found: Match,
    ) -> (usize, Match) {
        let limit = source.block.end.saturating_sub(MARGIN);
        let (mut best, mut at, mut waited) = ((start, found), start, 0);
        while waited < lookahead && at + 1 < limit {
            at += 1;
            waited += 1;
            let next = self.best(source, recent, at);
            // A later match must be better by more than the cost of the literals before it.
            if next.length > 0 && value(next, recent) > value(best.1, recent) + 1 + 3 * waited {
                (best, waited) = ((at, next), 0);
            }
        }
        best
    }

    /// The best match at a position.
    #[inline]
    fn best(&mut self, source: &Source<'_>, recent: Recent, at: usize) -> Match {
        let mut best = self.rows.find(source.input, at, source.block.end);
        for distance in recent.0 {
            let repeated = Match::at_distance(source, at, distance);
            if repeated.length > 0 && (best.length == 0 || value(repeated, recent) > value(best, recent)) {
                best = repeated;
            }
        }
        best
    }
}

/// The value of a match: 32, plus four for each byte, minus the number of bits of the distance. A recent distance needs
/// no bits.
#[inline]
fn value(Match { length, distance }: Match, recent: Recent) -> u32 {
    let bits = if recent.0.contains(&distance) { 0 } else { distance.max(1).ilog2() };
    (4 * length + 32).saturating_sub(bits)
}
