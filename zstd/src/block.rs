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

/// The length of a header.
const HEADER: usize = 3;
/// The largest block (`Block_Maximum_Size`).
pub(crate) const MAX_BLOCK: usize = 1 << 17;

/// Writes blocks, and keeps what a decoder has from earlier blocks: distances, Huffman codes and tables.
#[derive(Debug, Default)]
pub(crate) struct BlockWriter {
    /// The distances of the last matches.
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
        // The decoder never gets this attempt, so the encoder must forget its new codes and tables. It forgets the
        // earlier ones too: the decoder still has them, but few blocks after an incompressible one could use them.
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
