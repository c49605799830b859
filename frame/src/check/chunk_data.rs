//! The check of a chunk's data by decompression.

use core::ops::Range;

#[cfg(feature = "decompress")]
use b2nd_chunk::internals::INT32;
use b2nd_chunk::internals::block_starts;
use b2nd_chunk::{CheckedHeader, ChunkHeader};
#[cfg(feature = "decompress")]
use b2nd_chunk::{Chunk, Decompressor};

use crate::chunk::expansion::NotDecompressed;
#[cfg(feature = "decompress")]
use crate::chunk::expansion::{buffer, max_data};
use crate::spans::{gaps, overlaps};

/// A page of this number of bytes can be lost by a disk, a file system or a killed writer. It then reads as zeros.
const PAGE_LEN: usize = 4096;

/// Checks the data of a chunk by decompressing it, block by block if possible. The table of blocks must be valid. `at` is
/// the offset of the chunk in its file. If the data can be decompressed, but a page of zeros is in the place of compressed
/// bytes, returns the offset of this page in the file.
pub(crate) fn check(header: &CheckedHeader, chunk: &[u8], at: u64) -> Result<Option<u64>, NotDecompressed> {
    // Without the feature `decompress`, `check_support` accepts no header that could be passed here.
    #[cfg(feature = "decompress")]
    if header.needs_other_blocks() { whole(header, chunk) } else { blocks(header, chunk) }?;
    // The search for gaps and overlaps comes last, so a damaged block is reported as damaged, and not as a gap.
    check_layout(header, chunk, at)?;
    let lost_page = each_block(header, chunk).find_map(|block| {
        let start = at.saturating_add(block.start as u64);
        header
            .lost_page(chunk.get(block.start..block.end)?, block.length, start)
            .map(|page| start + page as u64)
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
    /// The length of the decompressed data; 0 if only the block itself records it.
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

/// Checks that the blocks share no bytes, and that no page was lost between them.
fn check_layout(header: &ChunkHeader, chunk: &[u8], at: u64) -> Result<(), NotDecompressed> {
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
    let mut gaps = gaps(ranges().map(|(range, _)| range), header.blocks_start(chunk)..chunk.len());
    gaps.try_for_each(|gap| check_gap(chunk, at, gap))
}

/// Refuses bytes that belong to no block, if a page of zeros is there. If zeros are in the place of the length of a
/// stream, the stream counts as zeros, and its bytes then belong to no block.
// Without such a page, a gap is not refused: if the block size is not a multiple of the type size, C-Blosc2 can write
// more blocks than the header says, and their bytes are then a gap.
fn check_gap(chunk: &[u8], at: u64, gap: Range<usize>) -> Result<(), NotDecompressed> {
    let place = |byte: usize| at.saturating_add(byte as u64);
    let first = page_start(place(gap.start));
    let is_zero = |&page: &u64| {
        let start = page.checked_sub(at).and_then(|start| usize::try_from(start).ok());
        let bytes = start.and_then(|start| chunk.get(start..)?.first_chunk::<PAGE_LEN>());
        bytes.is_some_and(|bytes| are_zeros(bytes))
    };
    let pages = (first..place(gap.end)).step_by(PAGE_LEN);
    match pages.into_iter().find(is_zero) {
        Some(page) => Err(NotDecompressed::Damaged(format!(
            "has 4096 zeros at byte {page} of the file, and its bytes {} to {} belong to no block: a page was lost",
            gap.start,
            gap.end - 1
        ))),
        None => Ok(()),
    }
}

/// Whether a page of zeros begins within a chunk and covers its end. `at` is the offset of the chunk in its file, and
/// `after` has the bytes after the chunk, if there are any. The next chunk, the chunk index or the trailer would begin
/// there, and none of them begins with zeros.
pub(crate) fn ends_in_zeros(chunk: &[u8], after: &[u8], at: u64) -> bool {
    let tail = in_last_page(chunk, at);
    !tail.is_empty() && !after.is_empty() && are_zeros(tail) && are_zeros(after)
}

/// Whether a page of zeros begins within a compressed chunk, and covers its end. `at` is the offset of the chunk in its
/// file. If nothing follows in the file, the rest of the page can be lost. Shorter ends are not searched, because a
/// stream can end with some zeros.
pub(crate) fn may_end_in_lost_page(chunk: &[u8], at: u64) -> bool {
    let tail = in_last_page(chunk, at);
    tail.len() >= ChunkHeader::MAX_LEN && are_zeros(tail)
}

/// The bytes of a chunk that are in the last page of the chunk. Empty if this page does not begin within the chunk.
fn in_last_page(chunk: &[u8], at: u64) -> &[u8] {
    let end = at.saturating_add(chunk.len() as u64);
    let tail = page_start(end.saturating_sub(1)).checked_sub(at).filter(|&tail| tail > 0);
    let tail = tail.and_then(|tail| usize::try_from(tail).ok());
    tail.and_then(|tail| chunk.get(tail..)).unwrap_or_default()
}

/// The fault of a chunk that [`ends_in_zeros`]. The text completes the sentence "the chunk …".
pub(crate) const ENDS_IN_ZEROS: &str =
    "ends with zeros, as do the bytes after it, so its end was lost, or never written";

/// The start of the page with this byte of a file.
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
    // The number of stored bytes that no block has used yet. If this number is too small for the next block, blocks
    // share bytes, and the loop ends. Without this limit, a million entries of the table could make us decompress the
    // same block a million times.
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
