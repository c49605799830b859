//! The rules of a table of blocks: the offsets of the blocks in a compressed chunk.

use crate::format::chunk::{ChunkHeader, INT32};

/// A check of a table of blocks, one offset after the other.
pub(crate) struct BlockTable {
    /// The end of the table and of a dictionary after it, as an offset in the chunk.
    end: usize,
    cbytes: usize,
    has_variable_blocks: bool,
    /// The smallest valid offset of the next block, if blocks have different sizes: they must be in order.
    after: usize,
    pub(crate) wrong: Option<String>,
}

impl BlockTable {
    /// A check with the bytes after the table, which begin with the length of a dictionary if there is one.
    pub(crate) fn new(header: &ChunkHeader, after: &[u8]) -> Self {
        let ChunkHeader { header_len, cbytes, has_variable_blocks, .. } = *header;
        let end = header_len + header.table_len().unwrap_or_default();
        let mut table = Self { end, cbytes, has_variable_blocks, after: 0, wrong: None };
        if header.has_dictionary && header.has_table() {
            let length = starts(after).next().unwrap_or_default();
            let most = cbytes.saturating_sub(end + INT32);
            match usize::try_from(length) {
                // python-blosc2 writes length 0 if it could make no dictionary of the data.
                Ok(0) => {}
                Ok(length) if length <= most => table.end += INT32 + length,
                _ => {
                    table.wrong = Some(format!(
                        "has a dictionary of {length} bytes, but must have one of at most {most}"
                    ));
                }
            }
        }
        table
    }

    pub(crate) fn take(&mut self, number: usize, start: i32) {
        let (end, cbytes) = (self.end, self.cbytes);
        let least = if self.has_variable_blocks { end.max(self.after) } else { end };
        match usize::try_from(start) {
            Ok(start) if start >= least && start < cbytes => self.after = start + 1,
            _ if self.wrong.is_none() => {
                self.wrong = Some(format!(
                    "has block {number} at byte {start} of it, but must have it at {least} or after, and before {cbytes}"
                ));
            }
            _ => {}
        }
    }
}

/// The offsets of blocks in a part of a table.
pub(crate) fn starts(table: &[u8]) -> impl Iterator<Item = i32> {
    table.chunks_exact(INT32).filter_map(<[u8]>::first_chunk).map(|start| i32::from_le_bytes(*start))
}

/// Why the table of blocks of a whole chunk is invalid.
pub(crate) fn wrong_table(header: &ChunkHeader, chunk: &[u8]) -> Option<String> {
    let bytes = chunk.get(header.header_len..).unwrap_or_default();
    let length = header.table_len().unwrap_or_default();
    let mut table = BlockTable::new(header, bytes.get(length..).unwrap_or_default());
    if header.has_table() {
        starts(bytes.get(..length).unwrap_or_default())
            .zip(0..)
            .for_each(|(start, number)| table.take(number, start));
    }
    table.wrong
}
