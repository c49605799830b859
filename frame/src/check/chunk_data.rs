//! The data of a chunk: whether it can be decompressed.

use std::io::{Read, Seek};

use crate::Error;
use crate::chunks::{ChunkEntry, Chunks};
use crate::format::chunk::{ChunkHeader, INT32, decompress, max_data, needs_other_blocks, single_block};

/// The last filter that is no plugin, `trunc_prec`.
const LAST_FILTER: u8 = 4;

/// Why a chunk was not decompressed.
pub(super) enum Fault {
    Damaged(String),
    /// This crate cannot do it, but C-Blosc2 may.
    NotTried(String),
}

/// Decompresses a chunk whose header and table of blocks are good, block by block where that is possible.
pub(super) fn check<R: Read + Seek>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    header: &ChunkHeader,
) -> Result<Result<(), Fault>, Error> {
    if header.is_uncompressed || header.special.is_some() {
        return Ok(Ok(()));
    }
    if let Some(why) = unsupported(header) {
        return Ok(Err(Fault::NotTried(why)));
    }
    let Ok((chunk, _)) = chunks.bytes(entry, 0, header.cbytes as u64)? else { return Ok(Ok(())) };
    Ok(if needs_other_blocks(header) { whole(header, &chunk) } else { blocks(header, &chunk) })
}

/// Why a chunk cannot be decompressed here, though it may be well-formed.
fn unsupported(header: &ChunkHeader) -> Option<String> {
    if cfg!(not(feature = "decompress")) {
        return Some("is compressed; build with the feature `decompress`".into());
    }
    if !header.has_common_codec() {
        return Some(match header.codec {
            Some(codec) => format!("has the codec {codec}, which this crate cannot decompress"),
            None => "leaves its codec to the frame".into(),
        });
    }
    let plugin = header.filters.iter().find(|filter| filter.id > LAST_FILTER)?;
    Some(format!("has the filter {plugin}, which this crate cannot undo"))
}

/// Why this number of bytes is not made of a few.
fn unbearable(what: &str, length: usize, from: usize) -> Option<Fault> {
    let most = max_data(from);
    (length > most).then(|| {
        Fault::NotTried(format!(
            "has {what} of {length} bytes in {from}, of which at most {most} are decompressed"
        ))
    })
}

fn whole(header: &ChunkHeader, chunk: &[u8]) -> Result<(), Fault> {
    if let Some(fault) = unbearable("data", header.nbytes, chunk.len()) {
        return Err(fault);
    }
    decompress(chunk).map(drop).map_err(Fault::Damaged)
}

fn blocks(header: &ChunkHeader, chunk: &[u8]) -> Result<(), Fault> {
    let damaged = |why: String| Err(Fault::Damaged(why));
    let table = chunk.get(header.header_len..).unwrap_or_default().chunks_exact(INT32);
    let starts = table.filter_map(<[u8]>::first_chunk).map(|&start| i32::from_le_bytes(start));
    let mut left = header.nbytes;
    // Blocks that have more share bytes, and each of a million could be the same.
    let mut room = chunk.len();
    let mut spans = Vec::new();
    for (number, start) in starts.take(header.nblocks().unwrap_or_default()).enumerate() {
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
        // Zeros have nothing to decompress, however many they are.
        if block.len() == header.nstreams(length) * INT32 {
            continue;
        }
        if let Some(fault) = unbearable("a block", length, block.len()) {
            return Err(fault);
        }
        let single = single_block(chunk, block, length).ok_or_else(|| "it is too long".into());
        if let Err(why) = single.and_then(|single| decompress(&single)) {
            return damaged(format!("block {number}: {why}"));
        }
    }
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
