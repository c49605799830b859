//! Checks the header of a stored chunk, and restores its sizes if they are damaged.

use b2nd_chunk::internals::{HeaderSize, clear_lazy};
use b2nd_chunk::{ChunkHeader, SpecialValue};

use crate::chunk::chunk_rules::ChunkRules;
use crate::chunk::entry::ChunkEntry;
use crate::read::blocks::{check_stored_table, streams_end};
use crate::read::chunk_file_bytes::ChunkBytes;
use crate::read::chunks::Chunks;
use crate::source::ReadAt;

/// Returns the header of a chunk with `nbytes` decompressed bytes, or `None` if the header breaks one of the rules. The
/// flag of a lazily loaded chunk is cleared first, so it breaks no rule.
pub(super) fn valid_header(
    first: &ChunkBytes,
    nbytes: Option<u64>,
    rules: &ChunkRules,
) -> Option<ChunkHeader> {
    let mut bytes = first.bytes.clone();
    clear_lazy(&mut bytes);
    ChunkHeader::parse(&bytes).filter(|header| rules.check(header, nbytes, first.room).is_ok())
}

/// Replaces the sizes in a chunk header with the sizes that the array determines. The stored size is computed from the
/// table of blocks. If the chunk has no table, the stored size is computed from the size of the data. Exception: if the
/// type size is 1, the item size is unknown, so the length of a constant chunk's value is taken from the damaged
/// header. Returns `None` if the flags or the table of blocks are damaged, or cannot be read. Each table that is read
/// reduces `left` by the length of the chunk header and the table. If `left` is too small, the result is `None`.
pub(super) fn with_restored_sizes<R: ReadAt>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    first: &ChunkBytes,
    rules: &ChunkRules,
    left: &mut u64,
) -> Option<ChunkHeader> {
    let mut bytes = first.bytes.clone();
    clear_lazy(&mut bytes);
    // The array determines all sizes except the stored size, which is not known yet. Until it is known, the header gets
    // the length of the longest chunk header as the stored size, because `ChunkHeader::parse` accepts this size.
    let sizes = [
        (HeaderSize::Typesize, rules.typesize.map(usize::from)),
        (HeaderSize::Nbytes, entry.nbytes.and_then(|nbytes| usize::try_from(nbytes).ok())),
        (HeaderSize::Blocksize, rules.blocksize),
        (HeaderSize::Cbytes, Some(ChunkHeader::MAX_LEN)),
    ];
    for (size, right) in sizes {
        size.replace(&mut bytes, right?)?;
    }
    let header = ChunkHeader::parse(&bytes)?;
    let size = if header.has_table() {
        let table = header.table_len().map(|len| (header.header_len() + len) as u64);
        *left = left.checked_sub(table.filter(|&table| table <= first.room)?)?;
        streams_end(chunks, entry, &header, &bytes).ok()??
    } else {
        let body = match header.special() {
            Some(SpecialValue::Value) => rules.itemsize.or_else(|| value_len(first))?,
            Some(_) => 0,
            None => header.nbytes(),
        };
        header.header_len().checked_add(body)? as u64
    };
    HeaderSize::Cbytes.replace(&mut bytes, usize::try_from(size).ok()?)?;
    let header = ChunkHeader::parse(&bytes)?;
    rules.check(&header, entry.nbytes, first.room).ok()?;
    check_stored_table(chunks, entry, &header, &bytes).ok()?.ok()?;
    Some(header)
}

/// The length of the value of a constant chunk according to its header; `None` if this length is impossible in a frame
/// with the type size 1. The type size 1 also stands for items of more than 255 bytes.
fn value_len(first: &ChunkBytes) -> Option<usize> {
    let header = ChunkHeader::parse(&first.bytes)?;
    let len = header.cbytes().checked_sub(header.header_len())?;
    (len == 1 || len > usize::from(u8::MAX)).then_some(len)
}
