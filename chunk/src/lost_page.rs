//! Finds zeros that have replaced compressed bytes.
//!
//! If a disk, a file system or a transfer loses data, the data is often replaced by zeros, in pages of 4096 bytes. Many
//! decoders decompress these zeros without an error. A page can begin at any byte of a frame, because the frame can be
//! a part of a larger file, or a range of a download. A compressor shortens each long run of equal bytes. So a
//! compressed stream never contains 4096 zeros in a row, with three exceptions. A stream of zstd can hold uncompressed
//! data. In a stream of zlib, a match of 258 bytes can be encoded as two bits that are 0, so 4096 zeros can stand for
//! more than 4 MiB of equal bytes. An encoder of LZ4 skips more and more bytes while it finds no match. So after a
//! megabyte of random bytes, it can copy some thousand zeros to the stream without compressing them.

use core::iter;
use core::ops::Range;

use crate::codec::Codec;
use crate::header::ChunkHeader;

/// The number of bytes that are lost at once.
pub const PAGE_LEN: usize = 4096;

/// The most zeros in a row that an encoder of this codec writes to a stream for `length` bytes of data.
fn most_zeros(codec: Codec, length: usize) -> usize {
    // The limit for zeros that are literals, at the end of the stream or between two matches. BloscLZ writes at most 32
    // literals in a row.
    const LITERALS: usize = 64;
    let more = match codec {
        // A match of 258 bytes can be encoded as two bits, so one byte of the stream can encode four matches.
        Codec::ZLIB => length / (4 * 258),
        // Of all encoders of LZ4, the one for LZ4HC at the levels 1 and 2 (LZ4 1.10) skips the most bytes. After each
        // 512 bytes without a match, it skips 1 byte more at each step. Within zeros, it finds a match at its second
        // step, so it can copy as many zeros as two steps skip.
        Codec::LZ4 | Codec::LZ4HC => 2 * (length / 512),
        _ => 0,
    };
    LITERALS + more
}

impl ChunkHeader {
    /// The offset in a block of the first zeros that have probably replaced lost bytes. The zeros are a run of at least
    /// 4096 in the compressed bytes of a stream, and the run is longer than any that an encoder writes there. `block`
    /// holds the stored bytes of the block, and decompresses to `length` bytes.
    ///
    /// Bytes that are stored without compression are not searched, because data can have any number of zeros. Streams
    /// of a codec that this crate [cannot decompress](crate#what-is-decompressed) are not searched either. In long
    /// streams of zlib (from 4 MiB of data on) and of LZ4 (from 1 MiB of data on), an encoder can write more than 4096
    /// zeros in a row. In these streams, only runs are found that are longer than an encoder can write.
    ///
    /// ```
    /// use b2nd_chunk::ChunkHeader;
    ///
    /// // The header of a chunk of LZ4, with one block of 20,000 bytes. It is one stream of 9,000 bytes.
    /// let header = b"\x05\x01\x35\x01\x20\x4e\0\0\x20\x4e\0\0\x50\x23\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0";
    /// let header = ChunkHeader::parse(header).expect("a header");
    /// let mut block = vec![0x2a; 4 + 9_000];
    /// block[..4].copy_from_slice(&9_000_i32.to_le_bytes());
    /// block[3_000..3_000 + 4_095].fill(0);
    /// assert_eq!(header.lost_page(&block, 20_000), None);
    /// block[3_000 + 4_095] = 0;
    /// assert_eq!(header.lost_page(&block, 20_000), Some(3_000));
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn lost_page(&self, block: &[u8], length: usize) -> Option<usize> {
        self.find_compressed(block, length, |range, most_zeros| {
            let run = zero_run(block.get(range.clone())?, PAGE_LEN.max(most_zeros + 1))?;
            Some(range.start + run.start)
        })
    }

    /// The offset of the zeros at the end of a block, if no encoder writes as many zeros there. `None` if an encoder
    /// can have written them. The arguments, and the bytes that are not searched, are the same as for
    /// [`lost_page`](Self::lost_page). If only zeros follow the block in its file, the zeros at the end of the block
    /// have probably replaced lost bytes.
    #[doc(hidden)]
    #[must_use]
    pub fn lost_end(&self, block: &[u8], length: usize) -> Option<usize> {
        self.find_compressed(block, length, |range, most_zeros| {
            let nzeros = zeros_at_end(block.get(range.clone())?);
            (range.end == block.len() && nzeros > most_zeros).then(|| range.end - nzeros)
        })
    }

    /// The first result of `find` for a compressed range of a block. The arguments of `find` are the range, and the
    /// most zeros in a row that an encoder writes to such a range.
    fn find_compressed(
        &self,
        block: &[u8],
        length: usize,
        find: impl Fn(Range<usize>, usize) -> Option<usize>,
    ) -> Option<usize> {
        let codec = self.codec.filter(|codec| codec.is_built_in())?;
        self.streams(block, length).find_map(|(stored, stream)| {
            let data_len = if self.has_variable_blocks {
                usize::try_from(stored).unwrap_or_default()
            } else {
                length / self.nstreams(length)
            };
            let is_compressed = stored > 0 && stream.len() != data_len;
            if !is_compressed {
                return None;
            }
            let most_zeros = most_zeros(codec, data_len);
            if codec == Codec::ZSTD {
                let bytes = block.get(stream.clone()).unwrap_or_default();
                let mut ranges =
                    zstd_compressed(bytes).map(|range| stream.start + range.start..stream.start + range.end);
                return ranges.find_map(|range| find(range, most_zeros));
            }
            find(stream, most_zeros)
        })
    }
}

/// The range of the first run of at least `length` zeros. `length` must not be 0.
// The search probes every `length`th byte, because each run of `length` zeros contains one of these bytes. It reads
// further bytes only as long as they are zeros. So most bytes are never read.
#[must_use]
pub fn zero_run(bytes: &[u8], length: usize) -> Option<Range<usize>> {
    let mut probes = (length.saturating_sub(1)..bytes.len()).step_by(length.max(1));
    probes.find_map(|probe| {
        let start = probe - zeros_at_end(bytes.get(..probe)?);
        let run = bytes.get(start..)?.iter().take_while(|&&byte| byte == 0).count();
        (run >= length).then_some(start..start + run)
    })
}

/// The number of zeros at the end of these bytes.
fn zeros_at_end(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|&&byte| byte == 0).count()
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

/// The length of the uncompressed literals at the start of a compressed block of zstd, including their header. 0 if the
/// literals are compressed.
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
