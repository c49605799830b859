//! The literals section of a block (RFC 8878, section 3.1.1.3.1).

use alloc::vec::Vec;

use crate::bytes::part;
use crate::huffman::{Codes, count};

/// `Literals_Block_Type`
const RAW: u32 = 0;
const RLE: u32 = 1;
const COMPRESSED: u32 = 2;
const TREELESS: u32 = 3;

/// The minimum number of literals for four streams.
const MIN_OF_FOUR_STREAMS: usize = 256;
/// The minimum number of literals for new Huffman codes. Fewer literals never get shorter, because the description of
/// the codes also takes bytes.
const MIN_OF_NEW_CODES: usize = 32;
const MIN_OF_OLD_CODES: usize = 8;
/// The length of the jump table of four streams.
const JUMP_TABLE: usize = 6;

/// Writes literals. `codes` are the Huffman codes that the decoder has from earlier blocks. This function replaces them
/// by the codes that the decoder has after this block.
pub(crate) fn write(literals: &[u8], codes: &mut Option<Codes>, output: &mut Vec<u8>) {
    if let [first, others @ ..] = literals
        && !others.is_empty()
        && literals.starts_with(others)
    {
        write_plain_header(RLE, literals.len(), output);
        output.push(*first);
    } else if write_coded(literals, codes, output).is_none() {
        write_plain_header(RAW, literals.len(), output);
        output.extend_from_slice(literals);
    }
}

fn write_plain_header(kind: u32, length: usize, output: &mut Vec<u8>) {
    // A block has at most 2¹⁷ literals.
    let length = u32::try_from(length).unwrap_or_default();
    let (format, size) = match length {
        0..32 => (0, 1),
        32..4096 => (1, 2),
        _ => (3, 3),
    };
    let shift = if format == 0 { 3 } else { 4 };
    let header = kind | format << 2 | length << shift;
    output.extend_from_slice(part(&header.to_le_bytes(), 0..size));
}

/// Writes literals with Huffman codes. If the literals would not get shorter, returns `None` and changes nothing.
fn write_coded(literals: &[u8], codes: &mut Option<Codes>, output: &mut Vec<u8>) -> Option<()> {
    if literals.len() < MIN_OF_OLD_CODES {
        return None;
    }
    let counts = count(literals);
    let old_length = codes.as_ref().and_then(|codes| codes.length(&counts));
    let mut description = Vec::new();
    let new = (literals.len() >= MIN_OF_NEW_CODES).then(|| Codes::new(&counts));
    let new = new.filter(|codes| codes.write(&mut description).is_some());
    let new_length = new.as_ref().and_then(|codes| Some(codes.length(&counts)? + description.len()));
    let is_old = old_length.is_some_and(|old| new_length.is_none_or(|new| old <= new));
    let length = if is_old { old_length } else { new_length }?;
    if length + JUMP_TABLE + least_gain(literals.len()) >= literals.len() {
        return None;
    }
    if is_old {
        write_streams(TREELESS, &[], literals, codes.as_ref()?, output);
    } else {
        write_streams(COMPRESSED, &description, literals, codes.insert(new?), output);
    }
    Some(())
}

/// The number of bytes that Huffman codes must save. If they save less, the literals stay plain, because plain literals
/// are read faster.
fn least_gain(length: usize) -> usize {
    length / 64 + 2
}

/// Writes the header, the description of the codes, and one or four streams.
fn write_streams(kind: u32, description: &[u8], literals: &[u8], codes: &Codes, output: &mut Vec<u8>) {
    // The format of the header, the number of bits of each of its two lengths, and its size in bytes.
    let (format, width, size) = match literals.len() {
        0..MIN_OF_FOUR_STREAMS => (0, 10, 3),
        MIN_OF_FOUR_STREAMS..1024 => (1, 10, 3),
        1024..16_384 => (2, 14, 4),
        _ => (3, 18, 5),
    };
    let start = output.len();
    output.resize(start + size, 0);
    output.extend_from_slice(description);
    if format == 0 {
        codes.encode(literals, output);
    } else {
        write_four_streams(literals, codes, output);
    }
    let length = output.len() - start - size;
    let header =
        u64::from(kind | format << 2) | (literals.len() as u64) << 4 | (length as u64) << (4 + width);
    let place = output.iter_mut().skip(start).take(size);
    place.zip(header.to_le_bytes()).for_each(|(place, byte)| *place = byte);
}

fn write_four_streams(literals: &[u8], codes: &Codes, output: &mut Vec<u8>) {
    let table = output.len();
    output.resize(table + JUMP_TABLE, 0);
    for (number, quarter) in literals.chunks(literals.len().div_ceil(4)).enumerate() {
        let start = output.len();
        codes.encode(quarter, output);
        let length = u16::try_from(output.len() - start).unwrap_or_default();
        // The jump table records the lengths of the first three streams.
        if let Some(entry) =
            output.get_mut(table + 2 * number..).filter(|_| number < 3).and_then(<[u8]>::first_chunk_mut)
        {
            *entry = length.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes literals for a decoder that has these codes. Returns the first byte and the length of the output.
    fn written(literals: &[u8], codes: &mut Option<Codes>) -> (u8, usize) {
        let mut output = Vec::new();
        write(literals, codes, &mut output);
        (output[0], output.len())
    }

    #[test]
    fn write_repeats_one_byte_and_keeps_what_gets_no_shorter() {
        let noise: Vec<u8> =
            (0..5000_u32).map(|number| number.wrapping_mul(0x9e37_79b9).to_le_bytes()[3]).collect();
        for (literals, first, length) in [
            (&[][..], 0, 1),
            (&[5], 1 << 3, 2),
            (&noise[..31], 31 << 3, 32),
            (&noise[..32], 0b0100, 34),
            (&noise[..4095], 0xf4, 4097),
            (&noise[..4096], 0b1100, 4099),
            (&[5; 31], 31 << 3 | 1, 2),
            (&[5; 32], 0b0101, 3),
            (&[5; 5000], 0x8d, 4),
        ] {
            assert_eq!(written(literals, &mut None), (first, length), "{} literals", literals.len());
        }
    }

    #[test]
    fn write_uses_the_codes_of_the_block_before_if_that_is_shorter() {
        let literals: Vec<u8> = (0..2000_u32).map(|number| (number * number % 7).to_le_bytes()[0]).collect();
        let mut codes = None;
        for (length, kind, format) in
            [(2000, 2, 2), (1024, 3, 2), (1023, 3, 1), (256, 3, 1), (255, 3, 0), (20, 3, 0), (8, 0, 0)]
        {
            let (first, _) = written(&literals[..length], &mut codes);
            assert_eq!((first & 3, first >> 2 & 3), (kind, format), "{length} literals");
        }
        // The literals contain a byte that has no code yet.
        let others: Vec<u8> = literals.iter().map(|byte| byte + 1).collect();
        assert_eq!(written(&others, &mut codes).0 & 3, 2);
    }
}
