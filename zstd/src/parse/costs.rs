//! The costs of the parts of sequences. They are estimated from the number of times that each part occurs in known
//! sequences.

use super::Source;
use crate::bytes::{get, increment, part};
use crate::cost::{BIT, log2};
use crate::fse::{Counts, SYMBOLS};
use crate::huffman::count;
use crate::sequence::{Kind, LENGTHS, LITERALS, MIN_MATCH, OFFSETS, Sequence};

/// From this number of literals on, `count` is faster than counting in one table, because it uses several tables.
const MANY: usize = 2048;
/// The costs of numbers below this limit are in a table.
const SMALL: usize = 64;

/// The costs of all parts of sequences.
#[derive(Debug)]
pub(crate) struct Costs {
    bytes: [u32; 256],
    literals: NumberCosts,
    offsets: NumberCosts,
    lengths: NumberCosts,
    /// The cost of the sequences from which the costs were estimated.
    pub(crate) total: u64,
}

/// The costs of the codes of numbers and their additional bits.
#[derive(Debug)]
struct NumberCosts {
    kind: &'static Kind,
    codes: [u32; SYMBOLS],
    small: [u32; SMALL],
}

impl Costs {
    /// The costs that follow from the sequences of a block.
    pub(crate) fn of(source: &Source<'_>, sequences: &[Sequence]) -> Self {
        let mut bytes = [0; 256];
        let mut add_bytes = |from: usize, to: usize| {
            let literals = part(source.input, from..to);
            if literals.len() >= MANY {
                bytes.iter_mut().zip(count(literals)).for_each(|(sum, count)| *sum += count);
                return;
            }
            for &byte in literals {
                increment(&mut bytes, byte.into());
            }
        };
        let [mut literals, mut offsets, mut lengths] = [[0; SYMBOLS]; 3];
        let (mut at, mut recent) = (source.block.start, source.recent);
        for sequence in sequences {
            let (distance, has_literals) = (sequence.distance, sequence.literals > 0);
            let end = at + sequence.literals as usize;
            add_bytes(at, end);
            at = end + sequence.length as usize;
            increment(&mut literals, LITERALS.code(sequence.literals).into());
            increment(&mut offsets, OFFSETS.code(recent.value(distance, has_literals)).into());
            increment(&mut lengths, LENGTHS.code(sequence.length - MIN_MATCH).into());
            recent = recent.after(distance, has_literals);
        }
        add_bytes(at, source.block.end);
        let (bytes, mut total) = costs(&bytes);
        let mut of_kind = |kind: &'static Kind, counts: &Counts| {
            // Without sequences, all counts are 0. So the counts of the predefined tables are used instead.
            let predefined = kind.predefined.counts();
            let (costs, sum) =
                NumberCosts::new(kind, if sequences.is_empty() { &predefined } else { counts });
            total += if sequences.is_empty() { 0 } else { sum };
            costs
        };
        let literals = of_kind(&LITERALS, &literals);
        let offsets = of_kind(&OFFSETS, &offsets);
        let lengths = of_kind(&LENGTHS, &lengths);
        Self { bytes, literals, offsets, lengths, total }
    }

    #[inline]
    pub(crate) fn byte(&self, byte: u8) -> u32 {
        get(&self.bytes, byte.into())
    }

    /// The cost of the literals length, without the literals themselves.
    #[inline]
    pub(crate) fn literals(&self, count: u32) -> u32 {
        self.literals.of(count)
    }

    #[inline]
    pub(crate) fn offset(&self, value: u32) -> u32 {
        self.offsets.of(value)
    }

    #[inline]
    pub(crate) fn length(&self, length: u32) -> u32 {
        self.lengths.of(length - MIN_MATCH)
    }
}

impl NumberCosts {
    /// The costs for these counts, and the cost of all that was counted.
    fn new(kind: &'static Kind, counts: &Counts) -> (Self, u64) {
        let (mut codes, mut total) = costs(counts);
        for ((cost, &count), code) in codes.iter_mut().zip(counts).zip(0..) {
            let additional = kind.bits(code) * BIT;
            *cost += additional;
            total += u64::from(count) * u64::from(additional);
        }
        let mut small = [0; SMALL];
        small.iter_mut().zip(0..).for_each(|(cost, number)| *cost = get(&codes, kind.code(number).into()));
        (Self { kind, codes, small }, total)
    }

    #[inline]
    fn of(&self, number: u32) -> u32 {
        match self.small.get(number as usize) {
            Some(&cost) => cost,
            None => get(&self.codes, self.kind.code(number).into()),
        }
    }
}

/// The cost of each symbol, and of all that was counted. Each count is increased by one half, so that a symbol that did
/// not occur has a cost, too.
fn costs<const N: usize>(counts: &[u32; N]) -> ([u32; N], u64) {
    let all = log2(counts.iter().map(|count| 2 * count + 1).sum());
    let costs = counts.map(|count| all - log2(2 * count + 1));
    let total = counts.iter().zip(&costs).map(|(&count, &cost)| u64::from(count) * u64::from(cost)).sum();
    (costs, total)
}
