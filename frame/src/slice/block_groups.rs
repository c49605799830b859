//! The byte ranges of a stored chunk that a slice needs: its first bytes, then its blocks.

use core::ops::Range;

use b2nd_chunk::internals::block_starts;
use b2nd_chunk::{CheckedHeader, ChunkHeader};

use crate::chunk::chunk_rules::damaged;
use crate::chunk::entry::ChunkEntry;
use crate::error::Error;
use crate::slice::copy_task::StoredBlock;
use crate::slice::selected_chunk::SelectedChunk;
use crate::spans::{first_repeated, next_start};

/// The largest gap in bytes between two blocks of the same task. A read of both blocks also reads the bytes of the gap.
/// If the gap is longer, the second block is in another task, and another read covers it.
// The value is a compromise: a larger value reads more needless bytes, and a smaller value causes more reads.
const MAX_GAP: usize = 1 << 14;

/// The maximum size in bytes of a task of several blocks. It applies to the stored bytes, and also to the decompressed
/// bytes. The limit divides a large chunk into tasks for several threads.
// The limit is high enough that decompressing a large task takes much longer than passing it to a thread.
const TASK_LEN: usize = 1 << 20;

/// The number of bytes at the start of a chunk that must be read before its blocks. For an uncompressed chunk, this is
/// the header; for a compressed chunk, the header and the table of blocks. Constant chunks, and chunks whose blocks
/// cannot be decompressed one by one, must be read whole.
pub(super) fn start_len(header: &CheckedHeader) -> usize {
    if header.special().is_some() || needs_whole(header) {
        return header.cbytes();
    }
    header.header_len() + header.table_len().unwrap_or_default()
}

/// Whether the blocks of a compressed chunk cannot be decompressed one by one.
pub(super) fn needs_whole(header: &CheckedHeader) -> bool {
    header.has_table() && header.needs_other_blocks()
}

/// The needed blocks of a chunk, in the order of the file, in groups. One read covers all blocks of a group. `start`
/// has the first bytes of the chunk, up to the end of the table of blocks. The table must be checked already.
pub(super) fn groups(
    entry: &ChunkEntry,
    header: &ChunkHeader,
    start: &[u8],
    chunk: &SelectedChunk<'_>,
) -> Result<Vec<Vec<StoredBlock>>, Error> {
    if header.is_uncompressed() {
        // An uncompressed chunk has no table of blocks: its blocks follow the header one after another.
        let blocks = chunk.blocks(header).map(|(selected_index, block_number)| {
            let start = header.header_len() + block_number * header.blocksize();
            let length = header.block_len(block_number).unwrap_or_default();
            StoredBlock { selected_index, block_number, range: start..start + length }
        });
        return Ok(joined_if_near(header, blocks));
    }
    let blocks = located(header, start, chunk).map_err(|why| Error::malformed(damaged(entry, &why)))?;
    Ok(joined_if_near(header, blocks.into_iter()))
}

/// The byte range of a group, from its first block to its last one.
pub(super) fn extent(group: &[StoredBlock]) -> Range<usize> {
    match (group.first(), group.last()) {
        (Some(first), Some(last)) => first.range.start..last.range.end,
        _ => 0..0,
    }
}

/// The needed blocks with their byte ranges, in the order of the file. The range of a block ends where the next block
/// in the file begins, or where the chunk ends. If this range would be longer than the largest stored size of a block,
/// the range is cut to this size.
fn located(
    header: &ChunkHeader,
    table: &[u8],
    chunk: &SelectedChunk<'_>,
) -> Result<Vec<StoredBlock>, String> {
    let table = table.get(header.header_len()..).unwrap_or_default();
    let starts: Vec<_> =
        block_starts(table).map(|start| usize::try_from(start).unwrap_or_default()).collect();
    let mut sorted = starts.clone();
    sorted.sort_unstable();
    if let Some(start) = first_repeated(&sorted) {
        return Err(format!("cannot be decompressed: two blocks begin at byte {start} of it"));
    }
    let longest = header.longest_block(header.blocksize());
    let mut blocks: Vec<_> = chunk
        .blocks(header)
        .filter_map(|(selected_index, block_number)| {
            let start = *starts.get(block_number)?;
            let next = next_start(&sorted, start).unwrap_or(header.cbytes());
            let end = start.saturating_add(longest).min(next);
            Some(StoredBlock { selected_index, block_number, range: start..end })
        })
        .collect();
    blocks.sort_unstable_by_key(|block| block.range.start);
    Ok(blocks)
}

/// Groups neighbouring blocks. The blocks must come in the order of the file.
fn joined_if_near(header: &ChunkHeader, blocks: impl Iterator<Item = StoredBlock>) -> Vec<Vec<StoredBlock>> {
    let mut groups: Vec<Vec<StoredBlock>> = Vec::new();
    for block in blocks {
        match groups.last_mut() {
            Some(group) if is_one_read(header, group, &block) => group.push(block),
            _ => groups.push(vec![block]),
        }
    }
    groups
}

/// Whether one read should cover a group and the next block.
fn is_one_read(header: &ChunkHeader, group: &[StoredBlock], block: &StoredBlock) -> bool {
    let Range { start, end } = extent(group);
    let stored = block.range.end.saturating_sub(start);
    let data = (group.len() + 1).saturating_mul(header.blocksize());
    block.range.start.saturating_sub(end) <= MAX_GAP && stored.max(data) <= TASK_LEN
}
