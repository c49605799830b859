//! Huffman codes for literals (RFC 8878, section 4.2).

use alloc::vec::Vec;

use crate::bits::BitWriter;
use crate::bytes::{get, increment, part, set};
use crate::fse::{Counts, Distribution, SYMBOLS, State, Table};

/// The number of different bytes.
const BYTES: usize = 256;
/// The longest code (`Max_Number_of_Bits`).
const MAX_BITS: u8 = 11;
/// The largest `Accuracy_Log` of the distribution of weights.
const MAX_WEIGHT_LOG: u32 = 6;
/// The most weights that can be written as four bits each.
const MAX_DIRECT_WEIGHTS: usize = 128;

/// How often each byte occurs.
pub(crate) type ByteCounts = [u32; BYTES];

/// Counts bytes.
pub(crate) fn count(bytes: &[u8]) -> ByteCounts {
    // Four tables take turns, because the processor cannot increase the same count twice without a wait.
    let mut tables = [[0_u32; BYTES]; 4];
    let (quads, rest) = bytes.as_chunks::<4>();
    for quad in quads {
        for (table, &byte) in tables.iter_mut().zip(quad) {
            increment(table, byte.into());
        }
    }
    let [mut counts, others @ ..] = tables;
    for &byte in rest {
        increment(&mut counts, byte.into());
    }
    for (at, count) in counts.iter_mut().enumerate() {
        *count += others.iter().map(|table| get(table, at)).sum::<u32>();
    }
    counts
}

/// A code for each byte that occurs.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    codes: [Code; BYTES],
    longest: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Code {
    bits: u32,
    /// 0 if the byte has no code.
    length: u8,
}

impl Codes {
    /// The best codes of at most `MAX_BITS` bits for these counts. At least two counts must be positive.
    pub(crate) fn new(counts: &ByteCounts) -> Self {
        let (bytes, lengths) = lengths(counts);
        let mut numbers = [0_u32; MAX_BITS as usize + 1];
        let mut codes = [Code::default(); BYTES];
        let mut longest = 0;
        for (&byte, &length) in bytes.iter().zip(&lengths) {
            set(&mut codes, byte.into(), Code { bits: 0, length });
            increment(&mut numbers, length.into());
            longest = longest.max(length);
        }
        // The codes of a length are consecutive, in the order of the bytes. The longest codes begin at 0.
        let mut next = [0_u32; MAX_BITS as usize + 1];
        let mut first = 0;
        for (next, number) in next.iter_mut().zip(numbers).skip(1).rev() {
            *next = first;
            first = (first + number) >> 1;
        }
        for code in codes.iter_mut().filter(|code| code.length > 0) {
            let length = code.length.into();
            code.bits = get(&next, length);
            increment(&mut next, length);
        }
        Self { codes, longest }
    }

    /// The length, in bytes, of the stream that encodes bytes with these counts. `None` if one of the bytes has no
    /// code.
    pub(crate) fn length(&self, counts: &ByteCounts) -> Option<usize> {
        let mut bits = 0;
        for (code, &count) in self.codes.iter().zip(counts).filter(|(_, count)| **count > 0) {
            if code.length == 0 {
                return None;
            }
            bits += usize::from(code.length) * count as usize;
        }
        Some(bits.div_ceil(8))
    }

    /// Writes the description of the codes: the weight of each byte. `None` if the format cannot describe them.
    pub(crate) fn write(&self, output: &mut Vec<u8>) -> Option<()> {
        // A shorter code has a larger weight. The weight of the last byte that has a code is not written, because it
        // follows from the other weights.
        let last = self.codes.iter().rposition(|code| code.length > 0)?;
        let weights =
            self.codes.map(|code| if code.length == 0 { 0 } else { self.longest + 1 - code.length });
        let weights = part(&weights, 0..last);
        let start = output.len();
        output.push(0);
        write_weights(weights, output);
        let length = output.len() - start - 1;
        if length > 0 && length < MAX_DIRECT_WEIGHTS.min(weights.len().div_ceil(2)) {
            set(output, start, u8::try_from(length).ok()?);
            return Some(());
        }
        output.truncate(start);
        if weights.len() > MAX_DIRECT_WEIGHTS {
            return None;
        }
        output.push(u8::try_from(MAX_DIRECT_WEIGHTS - 1 + weights.len()).ok()?);
        output.extend(weights.chunks(2).map(|pair| get(pair, 0) << 4 | get(pair, 1)));
        Some(())
    }

    /// Writes bytes as one stream. A decoder reads it from its end, so the last byte is written first.
    pub(crate) fn encode(&self, bytes: &[u8], output: &mut Vec<u8>) {
        let mut bits = BitWriter::new(output);
        let (rest, quads) = bytes.as_rchunks::<4>();
        for quad in quads.iter().rev() {
            for &byte in quad.iter().rev() {
                self.add(byte, &mut bits);
            }
            bits.flush();
        }
        for &byte in rest.iter().rev() {
            self.add(byte, &mut bits);
        }
        bits.finish_with_mark();
    }

    #[inline]
    fn add(&self, byte: u8, bits: &mut BitWriter<'_>) {
        let code = get(&self.codes, byte.into());
        bits.add(code.bits, code.length.into());
    }
}

/// Writes weights with Finite State Entropy (`fse.rs`), in two states that take turns. Writes nothing if there are
/// fewer than two different weights.
fn write_weights(weights: &[u8], output: &mut Vec<u8>) {
    let mut counts: Counts = [0; SYMBOLS];
    for &weight in weights {
        increment(&mut counts, weight.into());
    }
    let (&[ref others @ .., before_last, last], true) =
        (weights, counts.iter().filter(|&&count| count > 0).count() > 1)
    else {
        return;
    };
    let distribution = Distribution::fit(&counts, MAX_WEIGHT_LOG);
    distribution.write(output);
    let table = Table::new(&distribution);
    let mut bits = BitWriter::new(output);
    let (mut current, mut other) = (State::new(&table, before_last), State::new(&table, last));
    for &weight in others.iter().rev() {
        core::mem::swap(&mut current, &mut other);
        current.add(weight, &mut bits);
        bits.flush();
    }
    // A decoder starts with the state of the first weight, which was written last.
    other.finish(&mut bits);
    current.finish(&mut bits);
    bits.finish_with_mark();
}

/// The bytes that occur, the most frequent first, and the lengths of their codes.
fn lengths(counts: &ByteCounts) -> (Vec<u8>, Vec<u8>) {
    // Each leaf is a count and a byte. A block has fewer than 2²⁴ bytes, so the count and the byte fit one `u32`. Such
    // numbers are sorted faster than pairs.
    let leaves = counts.iter().zip(0..).filter(|(count, _)| **count > 0);
    let mut leaves: Vec<u32> = leaves.map(|(count, byte)| count << 8 | byte).collect();
    leaves.sort_unstable();
    let lengths = limited(&unlimited(&leaves));
    (leaves.iter().rev().map(|leaf| leaf.to_le_bytes()[0]).collect(), lengths)
}

/// The number of codes of each length in a Huffman tree for leaves with rising counts.
fn unlimited(leaves: &[u32]) -> [u32; BYTES] {
    // Leaves and inner nodes both come in the order of rising counts. So the node with the smallest count is always the
    // next leaf or the next inner node.
    let mut parents = [0_u8; 2 * BYTES];
    let mut inner = [0_u32; BYTES];
    let mut next_leaf = leaves.iter().map(|leaf| leaf >> 8).enumerate().peekable();
    let (mut next_inner, joins) = (0, leaves.len().saturating_sub(1));
    for join in 0..joins {
        let mut sum = 0;
        for _ in 0..2 {
            let inner_count = if next_inner < join { get(&inner, next_inner) } else { u32::MAX };
            let parent = u8::try_from(join).unwrap_or_default();
            if let Some((leaf, count)) = next_leaf.next_if(|leaf| leaf.1 <= inner_count) {
                set(&mut parents, leaf, parent);
                sum += count;
            } else {
                set(&mut parents, BYTES + next_inner, parent);
                sum += inner_count;
                next_inner += 1;
            }
        }
        set(&mut inner, join, sum);
    }
    // The last inner node is the root. Each other node is one step deeper than its parent.
    let mut depths = [0_u8; BYTES];
    for join in (0..joins.saturating_sub(1)).rev() {
        let depth = get(&depths, get(&parents, BYTES + join).into()) + 1;
        set(&mut depths, join, depth);
    }
    let mut numbers = [0; BYTES];
    for leaf in 0..leaves.len() {
        let length = usize::from(get(&depths, get(&parents, leaf).into())) + 1;
        increment(&mut numbers, length);
    }
    numbers
}

/// The code lengths in rising order. Codes longer than [`MAX_BITS`] become shorter, and some shorter codes become
/// longer.
fn limited(numbers: &[u32; BYTES]) -> Vec<u8> {
    let most = usize::from(MAX_BITS);
    let (short, long) = numbers.split_at(most);
    let mut numbers = [0; MAX_BITS as usize + 1];
    numbers.iter_mut().zip(short).for_each(|(number, short)| *number = *short);
    set(&mut numbers, most, long.iter().sum());
    // A code of the length `n` uses up the share 2⁻ⁿ of all possible codes. `used` counts shares in units of a code of
    // `MAX_BITS` bits.
    let used: u32 = numbers.iter().zip((0..=most).rev()).skip(1).map(|(number, above)| number << above).sum();
    for _ in 1 << most..used {
        // One of the longest codes becomes the sibling of a shorter code, which gets one bit longer. This frees one
        // unit. At the end, the shares of all codes add up to exactly 1.
        let Some(length) = (1..most).rev().find(|&length| get(&numbers, length) > 0) else { break };
        for (length, change) in [(length, -1), (length + 1, 2), (most, -1)] {
            let number = get(&numbers, length).saturating_add_signed(change);
            set(&mut numbers, length, number);
        }
    }
    numbers
        .iter()
        .zip(0..)
        .flat_map(|(&number, length)| core::iter::repeat_n(length, number as usize))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_counts_each_byte() {
        for length in [0, 1, 3, 4, 5, 1000, 1003] {
            let bytes: Vec<u8> = (0..length).map(|at: u32| (at % 251).to_le_bytes()[0]).collect();
            let mut expected = [0; BYTES];
            for &byte in &bytes {
                expected[usize::from(byte)] += 1;
            }
            assert_eq!(count(&bytes), expected);
        }
    }

    #[test]
    fn new_gives_frequent_bytes_short_codes_and_uses_all_codes() {
        let mut fibonacci = [0; BYTES];
        let (mut one, mut other) = (1, 1);
        for count in fibonacci.iter_mut().skip(100).take(24) {
            *count = one;
            (one, other) = (other, one + other);
        }
        let mut even = [0; BYTES];
        even.iter_mut().take(255).for_each(|count| *count = 9);
        for (counts, longest) in [(fibonacci, 11), (even, 8)] {
            let codes = Codes::new(&counts);
            assert_eq!(codes.longest, longest);
            let used = codes.codes.iter().filter(|code| code.length > 0);
            assert_eq!(used.map(|code| 1 << (MAX_BITS - code.length)).sum::<u32>(), 1 << MAX_BITS);
            for (code, count) in codes.codes.iter().zip(counts) {
                assert_eq!(code.length > 0, count > 0);
                for (other, other_count) in codes.codes.iter().zip(counts) {
                    assert!(count <= other_count || other_count == 0 || code.length <= other.length);
                }
            }
        }
    }

    #[test]
    fn write_has_four_bits_for_each_of_few_weights() {
        let mut counts = [0; BYTES];
        (counts[0], counts[1], counts[2]) = (2, 1, 1);
        let mut output = Vec::new();
        assert!(Codes::new(&counts).write(&mut output).is_some());
        // 129 means that two weights follow, of four bits each. The code of byte 0 has one bit, and the codes of the
        // bytes 1 and 2 have two bits.
        assert_eq!(output, [129, 0x21]);
        // Finite State Entropy cannot describe many equal weights, and these are too many for four bits each.
        let codes = Codes::new(&[1; BYTES]);
        assert!(codes.write(&mut output).is_none());
    }
}
