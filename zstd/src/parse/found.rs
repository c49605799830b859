//! Matches, and the sequences that they become.

use alloc::vec::Vec;

use super::Source;
use crate::bytes::{common_length, common_length_before, load32, narrow};
use crate::sequence::{Recent, Sequence};

/// A match with earlier bytes. A length of 0 means that there is no match.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Match {
    pub(crate) length: u32,
    pub(crate) distance: u32,
}

impl Match {
    /// The match at a distance, if it has at least four bytes. At least four bytes must be left from the position on.
    #[inline]
    pub(crate) fn at_distance(source: &Source<'_>, at: usize, distance: u32) -> Self {
        let Source { input, block, .. } = source;
        match at.checked_sub(distance as usize) {
            Some(from) if load32(input, from) == load32(input, at) && distance > 0 => {
                Self { length: narrow(common_length(input, from, at, block.end)), distance }
            }
            _ => Self::default(),
        }
    }
}

/// The sequences of a block, as far as the block is parsed.
#[derive(Debug)]
pub(crate) struct Parsed<'s> {
    sequences: &'s mut Vec<Sequence>,
    /// The end of the last match, where the next literals start.
    pub(crate) end: usize,
    pub(crate) recent: Recent,
}

impl<'s> Parsed<'s> {
    /// The state at the start of a block.
    pub(crate) fn new(source: &Source<'_>, sequences: &'s mut Vec<Sequence>) -> Self {
        Self { sequences, end: source.block.start, recent: source.recent }
    }

    /// Appends the sequence of a match, after extending the match backwards over equal bytes.
    #[inline]
    pub(crate) fn take(&mut self, input: &[u8], start: usize, found: Match) {
        let Match { length, distance } = found;
        let before = common_length_before(input, start - distance as usize, start, start - self.end);
        let literals = narrow(start - self.end - before);
        self.sequences.push(Sequence { literals, length: length + narrow(before), distance });
        self.recent = self.recent.after(distance, literals > 0);
        self.end = start + length as usize;
    }
}
