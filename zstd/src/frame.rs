//! Frames (RFC 8878, section 3.1.1).

use core::fmt;

use alloc::vec::Vec;

use crate::block::{BlockWriter, HEADER, MAX_BLOCK, max_attempt};
use crate::bytes::part;
use crate::levels::{LEVELS, strategy};
use crate::parse::{Parsers, Source, WINDOW};
use crate::sequence::Sequence;

const MAGIC_NUMBER: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// The bits of `Frame_Header_Descriptor`.
const SINGLE_SEGMENT: u8 = 1 << 5;
const CONTENT_SIZE_SHIFT: u32 = 6;
/// The exponent of the window size is the number in `Window_Descriptor` plus `MIN_WINDOW_LOG`.
const MIN_WINDOW_LOG: u32 = 10;
const WINDOW_LOG_SHIFT: u32 = 3;

/// The longest header of a frame.
const MAX_HEADER: usize = 14;

/// After this number of bytes, positions start at 0 again, so that they fit 32 bits. A match after such a new start
/// cannot copy bytes from before it.
const SEGMENT: usize = 1 << 30;

/// Compresses data, and appends the frame to `output`. Use an [`Encoder`] for many short slices.
///
/// ```
/// let mut frame = b"before".to_vec();
/// zstd_encode::compress(&[7; 1000], 1, &mut frame);
/// assert_eq!(zrip::decompress(&frame[6..]).unwrap(), [7; 1000]);
/// ```
pub fn compress(data: &[u8], level: u8, output: &mut Vec<u8>) {
    Encoder::new(level).compress(data, output);
}

/// The spare capacity that the output needs for data of this length. With this capacity, [`compress`] never reallocates
/// the output.
///
/// This is more than the longest frame, because an attempt to compress a block can be longer than the block. Such an
/// attempt is removed again.
///
/// ```
/// let data: Vec<u8> = (0..1000_u32).map(|number| (number * number % 251) as u8).collect();
/// let mut frame = Vec::new();
/// frame.try_reserve(zstd_encode::max_output_len(data.len()))?;
/// // If the system had no memory for the frame, an error would have been returned.
/// zstd_encode::compress(&data, 1, &mut frame);
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
#[must_use]
pub const fn max_output_len(length: usize) -> usize {
    let block = if length < MAX_BLOCK { length } else { MAX_BLOCK };
    let headers = MAX_HEADER + HEADER * length.div_ceil(MAX_BLOCK);
    (length - block).saturating_add(headers + max_attempt(block))
}

/// An encoder that keeps its memory for the next call.
///
/// ```
/// use zstd_encode::Encoder;
///
/// let mut encoder = Encoder::new(19);
/// let mut frame = Vec::new();
/// for number in 0..3 {
///     let data: Vec<u8> = (0..1000_u32).flat_map(|n| (n * number).to_le_bytes()).collect();
///     frame.clear();
///     encoder.compress(&data, &mut frame);
///     assert!(frame.len() < data.len() / 2);
///     assert_eq!(zrip::decompress(&frame).unwrap(), data);
/// }
/// ```
pub struct Encoder {
    level: u8,
    parsers: Parsers,
    blocks: BlockWriter,
    sequences: Vec<Sequence>,
}

impl Encoder {
    /// An encoder for a level, from 1 to 22. Another number counts as the nearest level.
    #[must_use]
    pub fn new(level: u8) -> Self {
        let level = level.clamp(*LEVELS.start(), *LEVELS.end());
        Self { level, parsers: Parsers::default(), blocks: BlockWriter::default(), sequences: Vec::new() }
    }

    /// Compresses data, and appends the frame to `output`.
    pub fn compress(&mut self, data: &[u8], output: &mut Vec<u8>) {
        self.compress_segments(data, SEGMENT, output);
    }

    fn compress_segments(&mut self, data: &[u8], segment: usize, output: &mut Vec<u8>) {
        let Self { level, parsers, blocks, sequences } = self;
        write_header(data.len(), output);
        blocks.start();
        if data.is_empty() {
            blocks.write(&[], &[], true, output);
        }
        let mut left = data.len();
        for input in data.chunks(segment) {
            let strategy = strategy(*level, input.len());
            parsers.start(strategy, input.len());
            for start in (0..input.len()).step_by(MAX_BLOCK) {
                let block = start..input.len().min(start + MAX_BLOCK);
                let bytes = part(input, block.clone());
                left -= bytes.len();
                let source = Source { input, block, recent: blocks.recent };
                parsers.parse(strategy, &source, sequences);
                blocks.write(bytes, sequences, left == 0, output);
            }
        }
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("level", &self.level).finish_non_exhaustive()
    }
}

/// Writes the header of a frame: the length of the data and the window, but no checksum and no dictionary.
fn write_header(length: usize, output: &mut Vec<u8>) {
    output.extend_from_slice(&MAGIC_NUMBER);
    // In a frame with a single segment, the window is the whole data, so the header does not describe the window.
    let is_single_segment = length <= WINDOW;
    // `Frame_Content_Size_Flag`, the number of bytes of the length, and the number that is subtracted from the length.
    let (flag, width, minus): (u8, usize, u64) = match length {
        0..256 => (0, 1, 0),
        256..0x1_0100 => (1, 2, 256),
        _ if u32::try_from(length).is_ok() => (2, 4, 0),
        _ => (3, 8, 0),
    };
    output.push(flag << CONTENT_SIZE_SHIFT | if is_single_segment { SINGLE_SEGMENT } else { 0 });
    if !is_single_segment {
        let descriptor = (WINDOW.ilog2() - MIN_WINDOW_LOG) << WINDOW_LOG_SHIFT;
        output.push(descriptor.to_le_bytes()[0]);
    }
    output.extend_from_slice(part(&(length as u64 - minus).to_le_bytes(), 0..width));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compress_starts_anew_after_each_segment() {
        let data: Vec<u8> = (0..200_000_u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
        for level in [1, 6, 22] {
            for segment in [1, 1000, 131_072, 131_073, 400_000] {
                let data = &data[..data.len().min(100 * segment)];
                let mut frame = Vec::new();
                Encoder::new(level).compress_segments(data, segment, &mut frame);
                assert!(zrip::decompress(&frame).unwrap() == data, "level {level}, segments of {segment}");
            }
        }
    }

    #[test]
    fn write_header_has_the_length_in_the_smallest_width() {
        for (length, expected) in [
            (0, &[0x20, 0][..]),
            (255, &[0x20, 255]),
            (256, &[0x60, 0, 0]),
            (0x1_00ff, &[0x60, 0xff, 0xff]),
            (0x1_0100, &[0xa0, 0, 1, 1, 0]),
            (WINDOW, &[0xa0, 0, 0, 0x40, 0]),
            (WINDOW + 1, &[0x80, 12 << 3, 1, 0, 0x40, 0]),
        ] {
            let mut header = Vec::new();
            write_header(length, &mut header);
            assert_eq!(header, [&MAGIC_NUMBER, expected].concat(), "{length}");
        }
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn write_header_has_eight_bytes_for_a_length_above_32_bits() {
        let mut header = Vec::new();
        write_header(1 << 32, &mut header);
        assert_eq!(header[4..], [0xc0, 12 << 3, 0, 0, 0, 0, 1, 0, 0, 0]);
    }
}
