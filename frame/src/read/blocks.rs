//! Reads the table of blocks of a chunk.

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::internals::INT32;
use b2nd_chunk::internals::{BlockTable, block_starts, stream_len};

use crate::chunk::chunk_rules::rule;
use crate::chunk::entry::ChunkEntry;
use crate::error::Error;
use crate::read::chunks::Chunks;
use crate::source::ReadAt;

/// The number of bytes at the start of a chunk that are read to check the chunk. They are enough for its header and a
/// table of up to 56 blocks.
pub(crate) const CHUNK_START_LEN: u64 = 256;

/// The number of bytes read at a time from a table of blocks that is too long for the first read.
pub(crate) const PIECE: usize = 1 << 16;

/// Reads the table of blocks of a stored chunk in pieces, and checks it. If the table cannot be read, the result is
/// `Err`. If the table has a fault, the result is `Ok(Err)` with the fault. `first` are the first bytes of the chunk.
pub(crate) fn check_stored_table<R: ReadAt>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    header: &ChunkHeader,
    first: &[u8],
) -> Result<Result<(), String>, Error> {
    let after = (header.header_len() + header.table_len().unwrap_or_default()) as u64;
    let dictionary = if header.has_dictionary() { chunks.bytes(entry, after, INT32 as u64)? } else { None };
    let mut table = BlockTable::new(header, &dictionary.map(|read| read.bytes).unwrap_or_default());
    if header.has_table() {
        each_piece(chunks, entry, header, first, |piece| table.extend(piece))?;
    }
    Ok(rule(table.finish()))
}

/// The offset in a compressed chunk at which its last stored block ends; `None` if this offset cannot be determined.
/// `first` are the first bytes of the chunk. `header` and `first` may differ from the bytes in the file, for example
/// after a repair in memory.
pub(crate) fn streams_end<R: ReadAt>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    header: &ChunkHeader,
    first: &[u8],
) -> Result<Option<u64>, Error> {
    if !header.has_table() || header.has_variable_blocks() || header.nbytes() == 0 {
        return Ok(None);
    }
    let (mut last, mut number) = ((0, 0), 0);
    each_piece(chunks, entry, header, first, |piece| {
        for start in block_starts(piece) {
            last = last.max((start, number));
            number += 1;
        }
    })?;
    let (start, number) = last;
    // `number` is the block that is stored last in the chunk. It need not be the last block of the data, because
    // writers can store the blocks in any order. Only the last block of the data can be shorter than `blocksize`.
    let before = header.blocksize().saturating_mul(number);
    let length = header.nbytes().saturating_sub(before).min(header.blocksize());
    let Ok(mut end) = u64::try_from(start) else { return Ok(None) };
    for _ in 0..header.nstreams(length) {
        let known = usize::try_from(end).ok().and_then(|end| first.get(end..)?.first_chunk().copied());
        let length = match known {
            Some(length) => Some(length),
            None => {
                chunks.bytes(entry, end, INT32 as u64)?.and_then(|read| read.bytes.first_chunk().copied())
            }
        };
        let Some(length) = length else { return Ok(None) };
        end = end.saturating_add((INT32 + stream_len(i32::from_le_bytes(length))) as u64);
    }
    Ok(Some(end))
}

/// Passes the table of blocks to a function in pieces, up to the end of the table or of the file.
fn each_piece<R: ReadAt>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    header: &ChunkHeader,
    first: &[u8],
    mut receive: impl FnMut(&[u8]),
) -> Result<(), Error> {
    let length = header.table_len().unwrap_or_default() as u64;
    let start = header.header_len() as u64;
    let at_hand =
        usize::try_from(length).ok().and_then(|length| first.get(header.header_len()..)?.get(..length));
    if let Some(table) = at_hand {
        receive(table);
        return Ok(());
    }
    // A damaged header can claim a table of gigabytes. So the table is read in pieces, and not beyond the end of the
    // file.
    for done in (0..length).step_by(PIECE) {
        let piece = (PIECE as u64).min(length - done);
        match chunks.bytes(entry, start + done, piece)? {
            Some(piece) if !piece.bytes.is_empty() => receive(&piece.bytes),
            _ => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::io;

    use super::*;
    use crate::chunk::entry::ChunkPlace;
    use crate::read::open::read_frame_at;

    /// A file that counts its reads.
    struct Counting<'f> {
        file: &'f [u8],
        count: Cell<usize>,
    }

    impl ReadAt for Counting<'_> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.count.set(self.count.get() + 1);
            self.file.read_at(buffer, offset)
        }

        fn size(&self) -> io::Result<u64> {
            self.file.size()
        }
    }

    #[test]
    fn a_table_of_blocks_is_read_to_the_end_of_the_file_and_no_further() {
        let file = fs::read("tests/data/int32_3x5.b2nd").unwrap();
        let entry = ChunkEntry { number: 0, nbytes: None, place: ChunkPlace::Frame(165) };
        let (nbytes, blocksize, cbytes) = (1_u32 << 28, 1_u32, 1_u32 << 30);
        let sizes = [nbytes, blocksize, cbytes].map(u32::to_le_bytes).concat();
        let bytes = [&[5, 1, 5, 1], &sizes[..], &[0; 16]].concat();
        let header = ChunkHeader::parse(&bytes).unwrap();
        assert_eq!(header.table_len(), Some(1 << 30));
        let frame = read_frame_at(Counting { file: &file, count: Cell::new(0) }, 0).unwrap();
        each_piece(&mut Chunks::open_or_changing(&frame).unwrap(), &entry, &header, &bytes, |_| {}).unwrap();
        let count = frame.reader.count.get();
        assert!(count < 20, "{count}");
    }
}
