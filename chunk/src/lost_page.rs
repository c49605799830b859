//! Finds pages of zeros that stand in the place of compressed bytes.
//!
//! A disk or a file system that loses data leaves zeros, in pages of 4096 bytes. Many decoders accept them. But a
//! compressor shortens each long run of bytes, so its stream has no 4096 zeros in a row, with three exceptions. A
//! stream of zstd can hold uncompressed data. In a stream of zlib, each match of 258 bytes can be two bits that are 0,
//! so the zeros can stand for more than 4 MiB of equal bytes. An encoder of LZ4 skips more and more bytes while it
//! finds no match, so after a megabyte of noise it can miss some thousand zeros.

use core::iter;
use core::ops::Range;

use crate::blocks::stream_len;
use crate::codec::Codec;
use crate::header::{ChunkHeader, INT32};

const PAGE_LEN: usize = 4096;

/// The least number of bytes that a page of zeros stands for if a zlib encoder has written the page.
const ZLIB_PAGE_DATA: usize = PAGE_LEN * 8 / 2 * 258;

/// In a stream of LZ4 for less data than this, no encoder misses a page of zeros. The encoder that skips fastest, LZ4HC
/// at levels 1 and 2 (LZ4 1.10), skips 1 byte more after each 512 bytes without a match, so at most 1024 bytes here.
const LZ4_NOISE: usize = 1 << 19;

impl ChunkHeader {
    /// The offset in a block of the first page that was probably lost: 4096 zeros in the compressed bytes of a stream,
    /// where no encoder writes them. `block` has the stored bytes of the block, and decompresses to `length` bytes.
    /// `at` is the offset of `block` in its file: a page begins at a multiple of 4096 bytes there.
    ///
    /// Bytes that are stored without compression are not searched, because data can have any number of zeros. Long
    /// streams are not searched either, from 4 MiB of data on for zlib and from 512 KiB on for LZ4, nor streams of a
    /// codec that [`Decompressor`](crate#what-is-decompressed) does not support.
    ///
    /// ```
    /// use b2nd_chunk::ChunkHeader;
    ///
    /// // The header of a chunk of LZ4, with one block of 20,000 bytes. It is one stream of 9,000 bytes.
    /// let header = b"\x05\x01\x35\x01\x20\x4e\0\0\x20\x4e\0\0\x50\x23\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0";
    /// let header = ChunkHeader::parse(header).expect("a header");
    /// let mut block = vec![0x2a; 4 + 9_000];
    /// block[..4].copy_from_slice(&9_000_i32.to_le_bytes());
    /// assert_eq!(header.lost_page(&block, 20_000, 1_000), None);
    /// // The second page of the file begins at byte 3096 of the block.
    /// block[3_096..3_096 + 4_096].fill(0);
    /// assert_eq!(header.lost_page(&block, 20_000, 1_000), Some(3_096));
    /// // In a file in which the block begins elsewhere, the zeros are not a page.
    /// assert_eq!(header.lost_page(&block, 20_000, 1_001), None);
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn lost_page(&self, block: &[u8], length: usize, at: u64) -> Option<usize> {
        let codec = self.codec.filter(|codec| codec.is_built_in())?;
        let most = match codec {
            Codec::ZLIB => ZLIB_PAGE_DATA,
            Codec::LZ4 | Codec::LZ4HC => LZ4_NOISE,
            _ => usize::MAX,
        };
        let nstreams = if self.has_variable_blocks { 1 } else { self.nstreams(length) };
        let mut start = 0;
        (0..nstreams).find_map(|_| {
            let stated = block.get(start..)?.first_chunk().map(|&stated| i32::from_le_bytes(stated))?;
            start += INT32;
            let stream =
                start..if self.has_variable_blocks { block.len() } else { start + stream_len(stated) };
            start = stream.end;
            let data_len = if self.has_variable_blocks {
                usize::try_from(stated).unwrap_or_default()
            } else {
                length / nstreams
            };
            let is_compressed = stated > 0 && stream.len() != data_len;
            if !is_compressed || data_len >= most {
                return None;
            }
            if codec == Codec::ZSTD {
                let bytes = block.get(stream.clone()).unwrap_or_default();
                let ranges =
                    zstd_compressed(bytes).map(|range| stream.start + range.start..stream.start + range.end);
                return ranges.into_iter().find_map(|range| zero_page(block, range, at));
            }
            zero_page(block, stream, at)
        })
    }
}

/// The offset of the first page within a range of a block that is all zeros.
fn zero_page(block: &[u8], range: Range<usize>, at: u64) -> Option<usize> {
    let page_len = PAGE_LEN as u64;
    let before = usize::try_from(at.wrapping_add(range.start as u64) % page_len).unwrap_or_default();
    let first = range.start + (PAGE_LEN - before) % PAGE_LEN;
    let is_zero = |&start: &usize| {
        block.get(start..start + PAGE_LEN).is_some_and(|page| page.iter().all(|&byte| byte == 0))
    };
    (first..(range.end + 1).saturating_sub(PAGE_LEN)).step_by(PAGE_LEN).find(is_zero)
}

/// The byte ranges of a frame of zstd that are compressed. The other bytes are headers and uncompressed data.
///
/// ```text
/// frame  28 b5 2f fd | descriptor | window, dictionary, content size | blocks
/// block  3 bytes: bit 0 is set in the last block, bits 1 and 2 are the type, the other bits the size
///        type 0  uncompressed data
///        type 1  one byte, which is repeated
///        type 2  literals, whose header has the bits 0 and 1 clear if they are uncompressed; sequences
/// ```
fn zstd_compressed(stream: &[u8]) -> impl Iterator<Item = Range<usize>> {
    const MAGIC_LEN: usize = 4;
    const RAW: usize = 0;
    const RUN: usize = 1;
    const COMPRESSED: usize = 2;
    let descriptor = stream.get(MAGIC_LEN).copied().map_or(0, usize::from);
    let has_window = descriptor & 0x20 == 0;
    let dictionary_len = [0, 1, 2, 4].get(descriptor & 3).copied().unwrap_or_default();
    let size_len = match descriptor >> 6 {
        0 => usize::from(!has_window),
        code => 1 << code,
    };
    let mut at = MAGIC_LEN + 1 + usize::from(has_window) + dictionary_len + size_len;
    let mut is_last = false;
    iter::from_fn(move || {
        while !is_last {
            let &[a, b, c] = stream.get(at..)?.first_chunk()?;
            let [a, b, c] = [a, b, c].map(usize::from);
            let header = a | b << 8 | c << 16;
            is_last = header & 1 != 0;
            let (kind, size) = (header >> 1 & 3, header >> 3);
            at += 3;
            let start = at;
            at += if kind == RUN { 1 } else { size };
            match kind {
                RAW | RUN => {}
                COMPRESSED => return Some(start + raw_literals(stream.get(start..)?)..at),
                _ => return None,
            }
        }
        None
    })
}

/// The number of bytes at the start of a compressed block of zstd that are the header of the literals and uncompressed
/// literals. 0 if the literals are compressed.
fn raw_literals(block: &[u8]) -> usize {
    let &[a, b, c] = block.first_chunk().unwrap_or(&[1; 3]);
    let [a, b, c] = [a, b, c].map(usize::from);
    match (a & 3, a >> 2 & 3) {
        (0, 0 | 2) => 1 + (a >> 3),
        (0, 1) => 2 + (a >> 4 | b << 4),
        (0, _) => 3 + (a >> 4 | b << 4 | c << 12),
        _ => 0,
    }
}
