//! The sequences section of a block (RFC 8878, section 3.1.1.3.2).

use alloc::vec::Vec;

use crate::bits::BitWriter;
use crate::bytes::{increment, set};
use crate::cost::BIT;
use crate::fse::{Counts, Distribution, SYMBOLS, State, Table};
use crate::sequence::{Kind, LENGTHS, LITERALS, MIN_MATCH, OFFSETS, Recent, Sequence};

/// `Compression_Modes`: how a table is described
const PREDEFINED: u8 = 0;
const RLE: u8 = 1;
const COMPRESSED: u8 = 2;
const REPEAT: u8 = 3;

/// A table that the decoder knows, with its distribution.
#[derive(Debug)]
struct KnownTable {
    distribution: Distribution,
    table: Table,
}

impl KnownTable {
    fn new(distribution: Distribution) -> Self {
        Self { table: Table::new(&distribution), distribution }
    }
}

/// The codes of a sequence, and the numbers whose lowest bits are written after the codes.
#[derive(Clone, Copy, Debug)]
struct CodedSequence {
    literals: Coded,
    offset: Coded,
    length: Coded,
}

#[derive(Clone, Copy, Debug)]
struct Coded {
    code: u8,
    number: u32,
}

impl Coded {
    /// Codes a number, and counts the code.
    #[inline]
    fn new(kind: &Kind, number: u32, counts: &mut Counts) -> Self {
        let code = kind.code(number);
        increment(counts, code.into());
        Self { code, number }
    }
}

/// Writes sequences, and keeps the tables for the next block.
#[derive(Debug, Default)]
pub(crate) struct SequencesWriter {
    /// The tables that the decoder has from earlier blocks.
    literals: Option<KnownTable>,
    offsets: Option<KnownTable>,
    lengths: Option<KnownTable>,
    coded: Vec<CodedSequence>,
}

impl SequencesWriter {
    /// Forgets the tables.
    pub(crate) fn forget(&mut self) {
        (self.literals, self.offsets, self.lengths) = (None, None, None);
    }

    /// Writes the sequences of a block. `recent` holds the recent distances at the start of the block. Returns the
    /// recent distances at the end of the block.
    pub(crate) fn write(
        &mut self,
        sequences: &[Sequence],
        mut recent: Recent,
        output: &mut Vec<u8>,
    ) -> Recent {
        write_count(sequences.len(), output);
        if sequences.is_empty() {
            return recent;
        }
        self.coded.clear();
        let [mut literals, mut offsets, mut lengths] = [[0; SYMBOLS]; 3];
        self.coded.extend(sequences.iter().map(|sequence| {
            let (distance, has_literals) = (sequence.distance, sequence.literals > 0);
            let value = recent.value(distance, has_literals);
            recent = recent.after(distance, has_literals);
            CodedSequence {
                literals: Coded::new(&LITERALS, sequence.literals, &mut literals),
                offset: Coded::new(&OFFSETS, value, &mut offsets),
                length: Coded::new(&LENGTHS, sequence.length - MIN_MATCH, &mut lengths),
            }
        }));
        let modes = output.len();
        output.push(0);
        let literals_mode = describe(&LITERALS, &mut self.literals, &literals, output);
        let offsets_mode = describe(&OFFSETS, &mut self.offsets, &offsets, output);
        let lengths_mode = describe(&LENGTHS, &mut self.lengths, &lengths, output);
        set(output, modes, literals_mode << 6 | offsets_mode << 4 | lengths_mode << 2);
        self.write_stream(output);
        recent
    }

    /// Writes the codes and their additional bits. A decoder reads this stream from its end, so the last sequence is
    /// written first.
    fn write_stream(&self, output: &mut Vec<u8>) {
        // There are sequences, and `describe` has set all tables, so the function never returns here.
        let Self { literals: Some(literals), offsets: Some(offsets), lengths: Some(lengths), coded } = self
        else {
            return;
        };
        let Some((last, others)) = coded.split_last() else { return };
        let mut literals = State::new(&literals.table, last.literals.code);
        let mut offset = State::new(&offsets.table, last.offset.code);
        let mut length = State::new(&lengths.table, last.length.code);
        let mut bits = BitWriter::new(output);
        last.add_numbers(&mut bits);
        for one in others.iter().rev() {
            offset.add(one.offset.code, &mut bits);
            length.add(one.length.code, &mut bits);
            literals.add(one.literals.code, &mut bits);
            one.add_numbers(&mut bits);
        }
        length.finish(&mut bits);
        offset.finish(&mut bits);
        literals.finish(&mut bits);
        bits.finish_with_mark();
    }
}

/// Writes the number of sequences.
fn write_count(count: usize, output: &mut Vec<u8>) {
    // A match has at least 3 bytes, and a block has at most 2¹⁷, so a block has fewer than 2¹⁶ matches.
    let [low, high, ..] = count.to_le_bytes();
    match count {
        0..128 => output.push(low),
        128..0x7f00 => output.extend_from_slice(&[high + 0x80, low]),
        _ => {
            output.push(0xff);
            let rest = u16::from_le_bytes([low, high]).wrapping_sub(0x7f00);
            output.extend_from_slice(&rest.to_le_bytes());
        }
    }
}

/// Chooses the table with the lowest cost for these codes, writes its description, and returns the mode. Afterwards,
/// `known` is this table.
fn describe(kind: &Kind, known: &mut Option<KnownTable>, counts: &Counts, output: &mut Vec<u8>) -> u8 {
    let mut description = Vec::new();
    let mut used = counts.iter().zip(0_u8..).filter(|(count, _)| **count > 0).map(|(_, code)| code);
    let (new, mode) = if let (Some(code), None) = (used.next(), used.next()) {
        description.push(code);
        (Distribution::of_one(code), RLE)
    } else {
        let new = Distribution::fit(counts, kind.max_log);
        new.write(&mut description);
        (new, COMPRESSED)
    };
    let cost_of_new = new.cost(counts).map(|cost| cost + description.len() as u64 * u64::from(8 * BIT));
    let candidates = [
        (known.as_ref().and_then(|known| known.distribution.cost(counts)), REPEAT),
        (kind.predefined.cost(counts), PREDEFINED),
        (cost_of_new, mode),
    ];
    let best =
        candidates.into_iter().filter_map(|(cost, mode)| Some((cost?, mode))).min_by_key(|&(cost, _)| cost);
    let mode = best.map_or(mode, |(_, mode)| mode);
    match mode {
        REPEAT => {}
        PREDEFINED => *known = Some(KnownTable::new(kind.predefined)),
        _ => {
            output.extend_from_slice(&description);
            *known = Some(KnownTable::new(new));
        }
    }
    mode
}

impl CodedSequence {
    /// Writes the additional bits of the three codes.
    #[inline]
    fn add_numbers(&self, bits: &mut BitWriter<'_>) {
        let Self { literals, offset, length } = self;
        bits.add_lowest(literals.number, LITERALS.bits(literals.code));
        // So far, at most 26 bits of states and 16 bits of a literals length were added. The next two numbers have up
        // to 38 bits, which would be too many without a flush.
        bits.flush();
        bits.add_lowest(length.number, LENGTHS.bits(length.code));
        bits.add_lowest(offset.number, OFFSETS.bits(offset.code));
        bits.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_count_has_one_to_three_bytes() {
        for (count, expected) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 128]),
            (0x7eff, &[0xfe, 0xff]),
            (0x7f00, &[0xff, 0, 0]),
            (43_690, &[0xff, 0xaa, 0x2b]),
        ] {
            let mut output = Vec::new();
            write_count(count, &mut output);
            assert_eq!(output, expected, "{count}");
        }
    }

    #[test]
    fn describe_chooses_the_cheapest_table() {
        let mut known = None;
        let mut mode = |pairs: &[(usize, u32)]| {
            let mut counts = [0; SYMBOLS];
            for &(code, count) in pairs {
                counts[code] = count;
            }
            let mut output = Vec::new();
            (describe(&OFFSETS, &mut known, &counts, &mut output), output.len())
        };
        assert_eq!(mode(&[(7, 1000)]), (RLE, 1));
        // The same table again needs no description.
        assert_eq!(mode(&[(7, 10)]), (REPEAT, 0));
        let several: [(usize, u32); 20] = core::array::from_fn(|code| (code, 2));
        assert_eq!(mode(&several), (PREDEFINED, 0));
        let (mode_of_two, length) = mode(&[(3, 900), (9, 100)]);
        assert_eq!(mode_of_two, COMPRESSED);
        assert!((2..8).contains(&length), "{length} bytes");
        assert_eq!(mode(&[(3, 9), (9, 1)]), (REPEAT, 0));
    }
}
