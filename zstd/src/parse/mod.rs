//! Parsers divide a block into sequences: literals, and matches with earlier bytes.

use alloc::vec::Vec;
use core::ops::Range;

use crate::sequence::{Recent, Sequence};

mod found;

mod rows;
mod tree;

mod costs;

mod fast;
mod lazy;
mod optimal;

pub(crate) use optimal::Effort;

/// How to search for matches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Strategy {
    /// Takes each match that it finds with one hash table. The table has at most 2^`max_log` entries.
    Fast { max_log: u32, hashed: Hashed },
    /// Takes a match if none of the next `lookahead` positions has a better one.
    Lazy { lookahead: u32, hashed: Hashed },
    /// Finds the cheapest sequences.
    Optimal(Effort),
}

/// The number of bytes from which a hash is computed.
pub(crate) type Hashed = u32;

/// The parsers, with their memory. A parser that is not used allocates no memory.
#[derive(Debug, Default)]
pub(crate) struct Parsers {
    fast: fast::FastParser,
    lazy: lazy::LazyParser,
    optimal: optimal::OptimalParser,
}

impl Parsers {
    /// Forgets all earlier bytes, and prepares for an input of this length.
    pub(crate) fn start(&mut self, strategy: Strategy, length: usize) {
        match strategy {
            Strategy::Fast { max_log, hashed } => self.fast.start(length, max_log, hashed),
            Strategy::Lazy { hashed, .. } => self.lazy.start(length, hashed),
            Strategy::Optimal(_) => self.optimal.start(length),
        }
    }

    /// Replaces `sequences` with the sequences of a block.
    pub(crate) fn parse(&mut self, strategy: Strategy, source: &Source<'_>, sequences: &mut Vec<Sequence>) {
        sequences.clear();
        match strategy {
            Strategy::Fast { .. } => self.fast.parse(source, sequences),
            Strategy::Lazy { lookahead, .. } => self.lazy.parse(source, lookahead, sequences),
            Strategy::Optimal(effort) => self.optimal.parse(source, effort, sequences),
        }
    }
}

/// The input of a parser.
#[derive(Clone, Debug)]
pub(crate) struct Source<'i> {
    /// The bytes before, in and after the block.
    pub(crate) input: &'i [u8],
    pub(crate) block: Range<usize>,
    /// The distances of the latest matches before the block.
    pub(crate) recent: Recent,
}

/// The largest distance of a match. It limits the memory of an encoder and of its decoders.
pub(crate) const WINDOW: usize = 1 << 22;

/// The parsers read eight bytes at each position. So they do not look for matches in the last bytes of a block.
const MARGIN: usize = 8;
/// The exponent of the smallest number of entries of a hash table.
const MIN_LOG: u32 = 8;

/// The exponent of the smallest power of two that is not below a length.
fn log_of(length: usize) -> u32 {
    length.next_power_of_two().ilog2()
}
