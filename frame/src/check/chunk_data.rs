//! The check of a chunk's data by decompression.

use crate::format::blocks::single_block;
use crate::format::chunk::{ChunkHeader, INT32};
use crate::format::decompress::{decompress, max_data};
use crate::rules::blocks::starts;
use crate::rules::chunk::{Plugins, unknown_method, unsupported};

/// Why a chunk could not be decompressed.
pub(crate) enum NotDecompressed {
    Damaged(String),
    /// This crate cannot decompress it, but C-Blosc2 may.
    NotTried(String),
}

/// Refuses a codec or a filter that cannot be undone. `metalayer` is that of the array, which some plugins need.
pub(crate) fn check_method(header: &ChunkHeader, metalayer: Option<&[u8]>) -> Result<(), NotDecompressed> {
    if let Some(why) = unknown_method(header) {
        return Err(NotDecompressed::Damaged(why));
    }
    let why = unsupported(header, Plugins::Tried { is_array: metalayer.is_some() });
    why.map_or(Ok(()), |why| Err(NotDecompressed::NotTried(why)))
}

/// Decompresses a chunk with a valid header and table of blocks, block by block if possible. `metalayer` is that of the
/// array, which some plugins need.
pub(crate) fn check(
    header: &ChunkHeader,
    chunk: &[u8],
    metalayer: Option<&[u8]>,
) -> Result<(), NotDecompressed> {
    // Only where needed, because it is copied for each block.
    let metalayer = metalayer.filter(|_| header.has_plugin());
    if header.needs_other_blocks() {
        whole(header, chunk, metalayer)
    } else {
        blocks(header, chunk, metalayer)
    }
}

/// Refuses a decompressed size beyond the expansion limit.
fn check_limit(what: &str, length: usize, from: usize) -> Result<(), NotDecompressed> {
    let most = max_data(from);
    if length <= most {
        return Ok(());
    }
    Err(NotDecompressed::NotTried(format!(
        "has {what} of {length} bytes in {from} stored bytes, but at most {most} are decompressed"
    )))
}

fn whole(header: &ChunkHeader, chunk: &[u8], metalayer: Option<&[u8]>) -> Result<(), NotDecompressed> {
    check_limit("data", header.nbytes, chunk.len())?;
    decompress(chunk, metalayer).map(drop).map_err(NotDecompressed::Damaged)
}

fn blocks(header: &ChunkHeader, chunk: &[u8], metalayer: Option<&[u8]>) -> Result<(), NotDecompressed> {
    let damaged = |why: String| Err(NotDecompressed::Damaged(why));
    let table = starts(chunk.get(header.header_len..).unwrap_or_default());
    let mut left = header.nbytes;
    // The number of stored bytes that no block has used yet. If it runs out, blocks share bytes, and the loop ends.
    // Without this limit, a million entries of the table could make us decompress the same block a million times.
    let mut room = chunk.len();
    let mut spans = Vec::new();
    for (number, start) in table.take(header.nblocks().unwrap_or_default()).enumerate() {
        let length = left.min(header.blocksize);
        left -= length;
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let block = chunk.get(start..).unwrap_or_default();
        let Some(block) = header.streams(block, length) else {
            return damaged(format!("block {number} reaches beyond its end"));
        };
        spans.push((start, start + block.len(), number));
        let Some(rest) = room.checked_sub(block.len()) else { break };
        room = rest;
        // Every stream has the length 0, so the block is all zeros. There is nothing to decompress, so the expansion
        // limit does not apply.
        if block.len() == header.nstreams(length) * INT32 {
            continue;
        }
        check_limit("a block", length, block.len())?;
        let single = single_block(chunk, block, length).ok_or_else(|| "it is too long".into());
        if let Err(why) = single.and_then(|single| decompress(&single, metalayer)) {
            return damaged(format!("block {number}: {why}"));
        }
    }
    // After the blocks, so a damaged block is reported as such, and not as an overlap.
    spans.sort_unstable();
    let shared = spans.windows(2).find_map(|pair| match pair {
        [(_, end, a), (start, _, b)] if start < end => Some((a, b)),
        _ => None,
    });
    match shared {
        Some((a, b)) => damaged(format!("blocks {a} and {b} share bytes")),
        None => Ok(()),
    }
}
