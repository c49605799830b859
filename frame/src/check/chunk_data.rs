//! The check of a chunk's data by decompression.

use b2nd_chunk::ChunkHeader;
#[cfg(feature = "decompress")]
use b2nd_chunk::Decompressor;
#[cfg(feature = "decompress")]
use b2nd_chunk::blocks::block_starts;
#[cfg(feature = "decompress")]
use b2nd_chunk::header::INT32;

use crate::chunk::chunk_rules::{check_known_methods, check_support};
use crate::chunk::expansion::NotDecompressed;
#[cfg(feature = "decompress")]
use crate::chunk::expansion::{max_data, zeroed};

/// Refuses a codec or a filter that is unknown, or that this crate does not support.
pub(crate) fn check_methods(header: &ChunkHeader) -> Result<(), NotDecompressed> {
    check_known_methods(header)
        .map_err(|why| NotDecompressed::Damaged(format!("cannot be decompressed: {why}")))?;
    check_support(header).map_err(NotDecompressed::NotTried)
}

/// Checks the data of a chunk by decompressing it, block by block if possible. The header and the table of blocks must
/// be valid.
#[cfg(feature = "decompress")]
pub(crate) fn check(header: &ChunkHeader, chunk: &[u8]) -> Result<(), NotDecompressed> {
    if header.needs_other_blocks() { whole(header, chunk) } else { blocks(header, chunk) }
}

/// Without the feature `decompress`, no codec is supported, so this refuses each compressed chunk.
#[cfg(not(feature = "decompress"))]
pub(crate) fn check(header: &ChunkHeader, _: &[u8]) -> Result<(), NotDecompressed> {
    check_methods(header)
}

/// Refuses a decompressed size beyond the expansion limit.
#[cfg(feature = "decompress")]
fn check_limit(what: &str, length: usize, from: usize) -> Result<(), NotDecompressed> {
    let most = max_data(from);
    if length <= most {
        return Ok(());
    }
    Err(NotDecompressed::NotTried(format!(
        "has {what} of {length} bytes in {from} stored bytes, but at most {most} are decompressed"
    )))
}

/// `length` zero bytes, for decompressed data.
#[cfg(feature = "decompress")]
fn buffer(length: usize) -> Result<Vec<u8>, NotDecompressed> {
    zeroed(length).map_err(|_| {
        NotDecompressed::NotTried(format!("needs {length} bytes of memory, which the system does not have"))
    })
}

#[cfg(feature = "decompress")]
fn whole(header: &ChunkHeader, chunk: &[u8]) -> Result<(), NotDecompressed> {
    check_limit("data", header.nbytes, chunk.len())?;
    let mut data = buffer(header.nbytes)?;
    let decompressed = Decompressor::new().decompress_into(chunk, &mut data);
    decompressed.map(drop).map_err(|error| NotDecompressed::new(error, error.message().to_string()))
}

#[cfg(feature = "decompress")]
fn blocks(header: &ChunkHeader, chunk: &[u8]) -> Result<(), NotDecompressed> {
    let table = block_starts(chunk.get(header.header_len..).unwrap_or_default());
    let (mut decompressor, mut data) = (Decompressor::new(), Vec::new());
    // The number of stored bytes that no block has used yet. If this number is too small for the next block, blocks
    // share bytes, and the loop ends. Without this limit, a million entries of the table could make us decompress the
    // same block a million times.
    let mut room = chunk.len();
    let mut spans = Vec::new();
    for (number, start) in table.take(header.nblocks().unwrap_or_default()).enumerate() {
        let length = header.block_len(number).unwrap_or_default();
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let stored = chunk.get(start..).unwrap_or_default();
        // If the block reaches beyond the chunk, the decompressor gets all bytes up to the end of the chunk, and
        // refuses them.
        let block = header.block_bytes(stored, length).unwrap_or(stored);
        spans.push((start, start + block.len(), number));
        let Some(rest) = room.checked_sub(block.len()) else { break };
        room = rest;
        // If every stream of a block has the length 0, the block is all zeros. There is nothing to decompress, so the
        // expansion limit does not apply.
        if block.len() == header.nstreams(length) * INT32 && block.iter().all(|&byte| byte == 0) {
            continue;
        }
        check_limit("a block", length, block.len())?;
        if data.len() < length {
            data = buffer(length)?;
        }
        let result = decompressor.decompress_block_bytes(header, number, block, &mut data);
        result.map_err(|error| NotDecompressed::new(error, error.message().to_string()))?;
    }
    // The search for overlaps comes last, so a damaged block is reported as damaged, and not as an overlap.
    spans.sort_unstable();
    let shared = spans.windows(2).find_map(|pair| match pair {
        [(_, end, a), (start, _, b)] if start < end => Some((a, b)),
        _ => None,
    });
    match shared {
        Some((a, b)) => {
            let why = format!("cannot be decompressed: blocks {a} and {b} share bytes");
            Err(NotDecompressed::Damaged(why))
        }
        None => Ok(()),
    }
}
