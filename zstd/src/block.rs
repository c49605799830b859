//! Blocks (RFC 8878, section 3.1.1.2).

use alloc::vec::Vec;

use crate::bytes::narrow;
use crate::huffman::Codes;
use crate::literals;
use crate::sequence::{Recent, Sequence};
use crate::sequences::SequencesWriter;

/// `Block_Type`
const RAW: u32 = 0;
const RLE: u32 = 1;
const COMPRESSED: u32 = 2;

/// The length of the header of a block.
pub(crate) const HEADER: usize = 3;
/// The maximum length of a block (`Block_Maximum_Size`).
pub(crate) const MAX_BLOCK: usize = 1 << 17;

/// The most bytes that [`BlockWriter::write`] appends for a block of this length. This includes an attempt to compress
/// the block, even if `write` removes it again.
///
/// A literal takes at most one byte. A sequence describes at least 3 bytes, and takes at most 6 bytes: 26 bits for its
/// three codes, and 22 bits for the distance. A sequence with long lengths has additional bits, but fewer bits than the
/// number of bytes that it describes. Headers and tables take fewer than 256 bytes.
pub(crate) const fn max_attempt(length: usize) -> usize {
    length.saturating_mul(2).saturating_add(256)
}

/// Writes blocks, and keeps the same state between blocks as a decoder: recent distances, Huffman codes and tables.
#[derive(Debug, Default)]
pub(crate) struct BlockWriter {
    /// The distances of the latest matches.
    pub(crate) recent: Recent,
    codes: Option<Codes>,
    sequences: SequencesWriter,
    literals: Vec<u8>,
}

impl BlockWriter {
    /// Starts a frame.
    pub(crate) fn start(&mut self) {
        self.recent = Recent::default();
        self.forget();
    }

    /// Forgets the codes and tables.
    fn forget(&mut self) {
        self.codes = None;
        self.sequences.forget();
    }

    /// Writes a block of these bytes, which the sequences describe.
    pub(crate) fn write(
        &mut self,
        bytes: &[u8],
        sequences: &[Sequence],
        is_last: bool,
        output: &mut Vec<u8>,
    ) {
        if let [first, others @ ..] = bytes
            && !others.is_empty()
            && bytes.starts_with(others)
        {
            output.extend_from_slice(&header(RLE, bytes.len(), is_last));
            output.push(*first);
            return;
        }
        let start = output.len();
        output.extend_from_slice(&[0; HEADER]);
        collect_literals(bytes, sequences, &mut self.literals);
        literals::write(&self.literals, &mut self.codes, output);
        let recent = self.sequences.write(sequences, self.recent, output);
        let length = output.len() - start - HEADER;
        if length < bytes.len() {
            self.recent = recent;
            if let Some(place) = output.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
                *place = header(COMPRESSED, length, is_last);
            }
            return;
        }
        // The decoder never reads the codes and tables of this attempt, so the encoder must forget them. It forgets the
        // earlier codes and tables too. The decoder still has these, but few blocks after an incompressible one could
        // use them.
        output.truncate(start);
        self.forget();
        output.extend_from_slice(&header(RAW, bytes.len(), is_last));
        output.extend_from_slice(bytes);
    }
}

/// The header of a block. For a repeated byte, `length` is the number of repetitions.
fn header(kind: u32, length: usize, is_last: bool) -> [u8; HEADER] {
    let [first, second, third, _] = (narrow(length) << 3 | kind << 1 | u32::from(is_last)).to_le_bytes();
    [first, second, third]
}

/// Copies the bytes that are in no match.
fn collect_literals(bytes: &[u8], sequences: &[Sequence], literals: &mut Vec<u8>) {
    literals.clear();
    let mut rest = bytes;
    for sequence in sequences {
        let (copied, others) = rest.split_at_checked(sequence.literals as usize).unwrap_or_default();
        literals.extend_from_slice(copied);
        rest = others.get(sequence.length as usize..).unwrap_or_default();
    }
    literals.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::WINDOW;

    /// Numbers from 0 to 2³² - 1, evenly distributed.
    fn noise() -> impl FnMut() -> u32 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            narrow((state >> 32) as usize)
        }
    }

    #[test]
    fn write_appends_at_most_max_attempt() {
        let mut noise = noise();
        let bytes: Vec<u8> = (0..MAX_BLOCK).map(|_| noise().to_le_bytes()[3]).collect();
        for length in [1, 2, 3, 10, 50, 1000, 4000, MAX_BLOCK] {
            // Each pair has two exclusive limits: for the literals of a sequence, and for its match length minus 3.
            for (literals, more) in
                [(1, 1), (2, 1), (1, 2), (4, 4), (64, 1), (1, 64), (100, 100), (70_000, 70_000)]
            {
                let mut sequences = Vec::new();
                let mut left = narrow(length);
                loop {
                    let distance = 1 + noise() % narrow(WINDOW);
                    let next =
                        Sequence { literals: noise() % literals, length: 3 + noise() % more, distance };
                    match left.checked_sub(next.literals + next.length) {
                        Some(rest) => left = rest,
                        None => break,
                    }
                    sequences.push(next);
                }
                let mut output = Vec::with_capacity(max_attempt(length));
                let room = output.capacity();
                BlockWriter::default().write(&bytes[..length], &sequences, true, &mut output);
                assert_eq!(output.capacity(), room, "{length} bytes, {literals} literals, {more} more");
            }
        }
    }
}
