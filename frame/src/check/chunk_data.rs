//! The check of a chunk's data by decompression.

use core::ops::Range;

use b2nd_chunk::internals::{INT32, PAGE_LEN, block_starts, zero_run};
use b2nd_chunk::{CheckedHeader, ChunkHeader};
#[cfg(feature = "decompress")]
use b2nd_chunk::{Chunk, Decompressor};

use crate::chunk::expansion::NotDecompressed;
#[cfg(feature = "decompress")]
use crate::chunk::expansion::{buffer, max_data};
use crate::spans::{gaps, overlaps};

/// Checks the data of a chunk by decompressing it, block by block if possible. The table of blocks must be valid.
/// `after` has the bytes after the chunk, if there are any, and `at` is the offset of the chunk in its file. If the
/// data can be decompressed, but a page of zeros has probably replaced compressed bytes, returns a text about this
/// page. The text completes the sentence "the chunk …".
pub(crate) fn check(
    header: &CheckedHeader,
    chunk: &[u8],
    after: &[u8],
    at: u64,
) -> Result<Option<String>, NotDecompressed> {
    // Without the feature `decompress`, this function is never called, because `check_support` returns no header.
    #[cfg(feature = "decompress")]
    if header.needs_other_blocks() { whole(header, chunk) } else { blocks(header, chunk) }?;
    // The search for gaps and overlaps follows the decompression, so a damaged block is reported as damaged, and not as
    // a gap.
    let may_be_cut = are_zeros(after);
    check_layout(header, chunk, may_be_cut, at)?;
    let lost_page = each_block(header, chunk).find_map(|block| {
        let place = |byte: usize| at.saturating_add((block.start + byte) as u64);
        let bytes = chunk.get(block.start..block.end)?;
        let page = header.lost_page(bytes, block.length).map(|page| {
            let page = place(page);
            format!(
                "has 4096 zeros in its compressed bytes, at byte {page} of the file: a page that was probably lost"
            )
        });
        page.or_else(|| {
            let ends_file = may_be_cut && block.end == chunk.len();
            let end = if ends_file { header.lost_end(bytes, block.length)? } else { return None };
            let (count, end) = (bytes.len() - end, place(end));
            Some(format!(
                "ends with {count} zeros in its compressed bytes, from byte {end} of the file on: a page that was probably \
                 lost"
            ))
        })
    });
    Ok(lost_page)
}

/// A block of a chunk.
struct BlockSpan {
    number: usize,
    /// The byte range of the block in the chunk. If the last stream of the block reaches beyond the chunk, the range
    /// ends with the chunk.
    start: usize,
    end: usize,
    /// The length of the decompressed block; 0 if the blocks have different sizes, because then only the block itself
    /// records its length.
    length: usize,
}

/// The blocks of a chunk, by their numbers.
fn each_block<'c>(header: &'c ChunkHeader, chunk: &'c [u8]) -> impl Iterator<Item = BlockSpan> + 'c {
    let table = || {
        let table = block_starts(chunk.get(header.header_len()..).unwrap_or_default());
        table
            .map(|start| usize::try_from(start).unwrap_or(usize::MAX))
            .take(header.nblocks().unwrap_or_default())
    };
    // If blocks have different sizes, each block ends where the next one begins.
    let ends = table().skip(1).chain([chunk.len()]);
    table().zip(ends).enumerate().map(|(number, (start, next))| {
        let length = header.block_len(number).unwrap_or_default();
        let stored = chunk.get(start..).unwrap_or_default();
        let end = if header.has_variable_blocks() {
            next
        } else {
            start.saturating_add(header.block_bytes(stored, length).unwrap_or(stored).len())
        };
        BlockSpan { number, start, end, length }
    })
}

/// Checks that the blocks share no bytes, and that no page was lost between them or, if the chunk may be cut, after them.
fn check_layout(
    header: &ChunkHeader,
    chunk: &[u8],
    may_be_cut: bool,
    at: u64,
) -> Result<(), NotDecompressed> {
    if header.has_variable_blocks() {
        return Ok(());
    }
    let mut spans: Vec<BlockSpan> = each_block(header, chunk).collect();
    spans.sort_unstable_by_key(|block| (block.start, block.end));
    let ranges = || spans.iter().map(|block| (block.start..block.end, block.number));
    if let Some((before, number)) = overlaps(ranges()).next() {
        return Err(NotDecompressed::Damaged(format!(
            "cannot be decompressed: blocks {before} and {number} share bytes"
        )));
    }
    // If the block size is not a multiple of the type size, C-Blosc2 can write more blocks than the header says, and
    // the bytes of the additional blocks look like a gap. A block of zeros is stored as 4 zeros, so 1024 such blocks
    // look like a lost page. The gaps of such a chunk are therefore not checked.
    if !header.blocksize().is_multiple_of(header.typesize().into()) {
        return Ok(());
    }
    let gaps = gaps(ranges().map(|(range, _)| range), header.blocks_start(chunk)..chunk.len());
    check_gaps(chunk, gaps, may_be_cut, at)
}

/// Refuses a gap between blocks if a page of zeros overlaps the gap. Such a gap shows that the page was lost. If the
/// page contained the length of a stream, this length now reads as 0, which stands for a stream of zeros. So the bytes
/// of the stream belong to no block. If the chunk may be cut, a gap of at least 32 zeros at its end is refused too.
// A hostile chunk can have a gap after each block, so the zeros around a gap are not searched again for the next gap.
fn check_gaps(
    chunk: &[u8],
    gaps: impl Iterator<Item = Range<usize>>,
    may_be_cut: bool,
    at: u64,
) -> Result<(), NotDecompressed> {
    let mut zeros = 0..0;
    for gap in gaps {
        while zeros.end <= gap.start {
            zeros = next_page(chunk, zeros.end);
        }
        let is_cut = || gap.end == chunk.len() && chunk.get(gap.clone()).is_some_and(is_lost_end);
        let (page, count) = if zeros.start < gap.end {
            (zeros.start, PAGE_LEN)
        } else if may_be_cut && is_cut() {
            (gap.start, gap.len())
        } else {
            continue;
        };
        let page = at.saturating_add(page as u64);
        return Err(NotDecompressed::Damaged(format!(
            "has {count} zeros at byte {page} of the file, and its bytes {} to {} belong to no block: a page was lost",
            gap.start,
            gap.end - 1
        )));
    }
    Ok(())
}

/// The next run of at least [`PAGE_LEN`] zeros, searched from the offset `from` on. If there is none, the result begins
/// at the end of the chunk.
fn next_page(chunk: &[u8], from: usize) -> Range<usize> {
    let run = zero_run(chunk.get(from..).unwrap_or_default(), PAGE_LEN);
    run.map_or(chunk.len()..usize::MAX, |run| from + run.start..from + run.end)
}

/// Whether a page of the file begins within a chunk, covers its end, and is all zeros. `at` is the offset of the chunk
/// in its file, and `after` has the bytes after the chunk, if there are any. In an undamaged file, `after` is the start
/// of the next chunk, of the chunk index or of the trailer, and none of these begins with zeros.
pub(crate) fn ends_in_zeros(chunk: &[u8], after: &[u8], at: u64) -> bool {
    let tail = in_last_page(chunk, at);
    !tail.is_empty() && !after.is_empty() && are_zeros(tail) && are_zeros(after)
}

/// Whether a page of the file begins within a compressed chunk, covers its end, and has probably been lost. `at` is the
/// offset of the chunk in its file. Use it for a chunk at the end of a file, where no later bytes can show whether the
/// page was lost.
// Only a salvage uses this function. A check does not, because uncompressed bytes at the end of a chunk can rightly be
// zeros.
pub(crate) fn may_end_in_lost_page(header: &ChunkHeader, chunk: &[u8], at: u64) -> bool {
    let tail = in_last_page(chunk, at);
    let page = chunk.len() - tail.len();
    // A stream of zeros is itself stored as zeros, so zeros at the end of the chunk alone prove nothing. The page was
    // probably lost if a stream begins before the page, and has only zeros in the page. If the page contained the
    // length of a stream, the bytes of this stream are now a gap, which `check_layout` finds.
    let is_cut = |block: BlockSpan| {
        let mut streams = header.streams(chunk.get(block.start..block.end).unwrap_or_default(), block.length);
        streams.any(|(_, stream)| {
            let (start, end) = (block.start + stream.start - INT32, block.start.saturating_add(stream.end));
            let [start, end] =
                [start..page, page..end.min(block.end)].map(|range| chunk.get(range).unwrap_or_default());
            !are_zeros(start) && is_lost_end(end)
        })
    };
    are_zeros(tail) && each_block(header, chunk).any(is_cut)
}

/// Whether `end`, the last bytes of a chunk, is a run of at least 32 zeros. A shorter run proves nothing, because a
/// stream can end with some zeros.
fn is_lost_end(end: &[u8]) -> bool {
    end.len() >= ChunkHeader::MAX_LEN && are_zeros(end)
}

/// The bytes of a chunk that are in the same page of the file as its last byte. Empty if this page does not begin
/// within the chunk.
fn in_last_page(chunk: &[u8], at: u64) -> &[u8] {
    let end = at.saturating_add(chunk.len() as u64);
    let tail = page_start(end.saturating_sub(1)).checked_sub(at).filter(|&tail| tail > 0);
    let tail = tail.and_then(|tail| usize::try_from(tail).ok());
    tail.and_then(|tail| chunk.get(tail..)).unwrap_or_default()
}

/// The fault of a chunk that [`ends_in_zeros`]. The text completes the sentence "the chunk …".
pub(crate) const ENDS_IN_ZEROS: &str =
    "ends with zeros, as do the bytes after it, so its end was lost, or never written";

/// The offset of the page that contains the byte `byte` of a file.
fn page_start(byte: u64) -> u64 {
    byte - byte % PAGE_LEN as u64
}

pub(crate) fn are_zeros(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// Refuses a decompressed size beyond the expansion limit.
#[cfg(feature = "decompress")]
fn check_limit(what: &str, length: usize, from: usize) -> Result<(), NotDecompressed> {
    let most = max_data(from);
    if length <= most {
        return Ok(());
    }
    Err(NotDecompressed::TooLarge(format!(
        "has {what} of {length} bytes in {from} stored bytes, but at most {most} are decompressed"
    )))
}

#[cfg(feature = "decompress")]
fn whole(header: &CheckedHeader, chunk: &[u8]) -> Result<(), NotDecompressed> {
    check_limit("data", header.nbytes(), chunk.len())?;
    let chunk = Chunk::with_header(*header, chunk).map_err(NotDecompressed::new)?;
    let mut data = buffer(header.nbytes())?;
    Decompressor::new().decompress_into(&chunk, &mut data).map(drop).map_err(NotDecompressed::new)
}

#[cfg(feature = "decompress")]
fn blocks(header: &CheckedHeader, chunk: &[u8]) -> Result<(), NotDecompressed> {
    let (mut decompressor, mut data) = (Decompressor::new(), Vec::new());
    // The number of stored bytes that no block has used yet. If a block has more bytes than this, some blocks share
    // bytes, and the loop ends. Without this limit, a million entries of the table could make us decompress the same
    // block a million times.
    let mut room = chunk.len();
    for BlockSpan { number, start, end, length } in each_block(header, chunk) {
        // If the block reaches beyond the chunk, the decompressor gets all bytes up to the end of the chunk, and
        // refuses them.
        let block = chunk.get(start..end).unwrap_or_default();
        let Some(rest) = room.checked_sub(block.len()) else { break };
        room = rest;
        // If every stream of a block has the length 0, the block is all zeros. There is nothing to decompress, so the
        // expansion limit does not apply.
        if block.len() == header.nstreams(length) * INT32 && are_zeros(block) {
            continue;
        }
        check_limit("a block", length, block.len())?;
        if data.len() < length {
            data = buffer(length)?;
        }
        let result = decompressor.decompress_block_bytes(header, number, block, &mut data);
        result.map_err(NotDecompressed::new)?;
    }
    Ok(())
}

#[cfg(all(test, feature = "decompress"))]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::chunk::expansion::check_support;

    #[test]
    fn check_accepts_more_blocks_of_zeros_than_the_header_says_only_if_c_blosc2_can_write_them() {
        // One block of 32 zeros is stored as the length 0. The 4096 zeros after it can be 1024 more blocks of zeros, or
        // a lost page.
        let nbytes = u32::try_from(40 + PAGE_LEN).unwrap().to_le_bytes();
        let mut chunk =
            [&b"\x05\x01\x35\x00\x20\0\0\0\x20\0\0\0"[..], &nbytes, &[0; 16], b"\x24\0\0\0"].concat();
        chunk.resize(chunk.len() + 4 + PAGE_LEN, 0);
        let mut check = |typesize| {
            chunk[3] = typesize;
            let header = check_support(&ChunkHeader::parse(&chunk)?).ok()?;
            Some(check(&header, &chunk, b"next", 0).is_ok())
        };
        assert_eq!([3, 4].map(&mut check), [Some(true), Some(false)]);
    }

    #[test]
    fn the_time_for_gaps_does_not_depend_on_the_zeros_around_them() {
        const COUNT: usize = 20_000;
        // Blocks of zeros, with a byte after each. `period` is the number of zeros in a row.
        let time = |period: usize| {
            let blocks = 32 + 4 * COUNT;
            let offset = |block| u32::try_from(blocks + 5 * block).unwrap();
            let table: Vec<u8> = (0..COUNT).flat_map(|block| offset(block).to_le_bytes()).collect();
            let gap = |block| u8::from(block % (period / 5 + 1) == 0);
            let blocks: Vec<u8> = (0..COUNT).flat_map(|block| [0, 0, 0, 0, gap(block)]).collect();
            let [nbytes, cbytes] = [u32::try_from(32 * COUNT).unwrap(), offset(COUNT)].map(u32::to_le_bytes);
            let sizes = [nbytes, 32_u32.to_le_bytes(), cbytes].concat();
            let chunk = [b"\x05\x01\x35\x01", &sizes[..], &[0; 16], &table, &blocks].concat();
            let header = check_support(&ChunkHeader::parse(&chunk).unwrap()).ok().unwrap();
            let once = || {
                let start = Instant::now();
                assert!(check(&header, &chunk, b"next", 0).is_ok());
                start.elapsed()
            };
            (0..3).map(|_| once()).min().unwrap()
        };
        let (short, long) = (time(1), time(4_000));
        assert!(long < 20 * short, "{short:?} {long:?}");
    }
}
