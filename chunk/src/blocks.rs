//! The table of blocks of a compressed chunk, and the lengths of blocks.

use core::ops::Range;

use crate::error::{Error, Fault};
use crate::header::{ChunkHeader, INT32};

/// The longest dictionary that C-Blosc2 reads (`BLOSC2_MAXDICTSIZE`).
const MAX_DICTIONARY_LEN: usize = 1 << 15;

impl ChunkHeader {
    /// The largest stored size of a block that decompresses to `length` bytes. Each stream of the block is stored as a
    /// length of 4 bytes, followed by at most as many bytes as the decompressed stream has.
    #[doc(hidden)]
    #[must_use]
    pub fn longest_block(&self, length: usize) -> usize {
        length.saturating_add(INT32 * self.nstreams(length))
    }

    /// The stored bytes of a block that decompresses to `length` bytes. `bytes` must begin with the block, and may
    /// continue after it. `None` if `bytes` ends within a stream of the block.
    ///
    /// The result has no meaning if blocks have different sizes, because only the table records where such a block
    /// ends.
    #[doc(hidden)]
    #[must_use]
    pub fn block_bytes<'b>(&self, bytes: &'b [u8], length: usize) -> Option<&'b [u8]> {
        let mut rest = bytes;
        for _ in 0..self.nstreams(length) {
            let (&length, data) = rest.split_first_chunk()?;
            rest = data.get(stream_len(i32::from_le_bytes(length))..)?;
        }
        bytes.get(..bytes.len() - rest.len())
    }

    /// The streams of a block that decompresses to `length` bytes. For each stream, the iterator yields the stored
    /// length, and the range of the bytes after this length. The iterator ends early if `block` ends before the length
    /// of a stream. A range can end beyond the end of `block`.
    #[doc(hidden)]
    pub fn streams<'b>(
        &self,
        block: &'b [u8],
        length: usize,
    ) -> impl Iterator<Item = (i32, Range<usize>)> + use<'b> {
        // If blocks have different sizes, each block is a single stream, and this stream ends at the end of the block.
        let (is_single, mut start) = (self.has_variable_blocks, 0_usize);
        let nstreams = if is_single { 1 } else { self.nstreams(length) };
        (0..nstreams).map_while(move |_| {
            let stored = block.get(start..)?.first_chunk().map(|&stored| i32::from_le_bytes(stored))?;
            start += INT32;
            let range = start..if is_single { block.len() } else { start.saturating_add(stream_len(stored)) };
            start = range.end;
            Some((stored, range))
        })
    }

    /// The offset in a chunk where its blocks begin: after the table, and after the dictionary if there is one. The
    /// table must be [valid](Self::check_table).
    #[doc(hidden)]
    #[must_use]
    pub fn blocks_start(&self, chunk: &[u8]) -> usize {
        let end = self.header_len.saturating_add(self.table_len().unwrap_or_default());
        let length = chunk.get(end..).and_then(|after| block_starts(after).next());
        let length = length.and_then(|length| usize::try_from(length).ok()).filter(|_| self.has_dictionary);
        end.saturating_add(length.map_or(0, |length| INT32.saturating_add(length)))
    }

    /// Checks the table of blocks of a whole chunk.
    ///
    /// # Errors
    ///
    /// [`Table`](crate::ErrorKind::Table) if the offset of a block lies within the header, the table or the dictionary,
    /// or outside of the chunk. Also if blocks of different sizes are not in order, or if the length of the dictionary
    /// is negative or too large.
    pub fn check_table(&self, chunk: &[u8]) -> Result<(), Error> {
        let bytes = chunk.get(self.header_len..).unwrap_or_default();
        let length = self.table_len().unwrap_or_default();
        let mut table = BlockTable::new(self, bytes.get(length..).unwrap_or_default());
        if self.has_table() {
            table.extend(bytes.get(..length).unwrap_or_default());
        }
        table.finish()
    }
}

/// A check of a table of blocks. The table can be passed to the check in pieces.
///
/// ```
/// use b2nd_chunk::{ChunkHeader, ErrorKind};
/// use b2nd_chunk::internals::BlockTable;
///
/// // A chunk of 8 bytes in two blocks. The second one begins beyond the chunk.
/// let chunk = b"\x05\x01\x15\x01\x08\0\0\0\x04\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
///     \x28\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0";
/// let header = ChunkHeader::parse(chunk).expect("a header");
/// let mut table = BlockTable::new(&header, &[]);
/// table.extend(&chunk[32..36]);
/// table.extend(&chunk[36..40]);
/// assert_eq!(table.finish().unwrap_err().kind(), ErrorKind::Table);
/// ```
#[derive(Debug)]
pub struct BlockTable {
    /// The offset in the chunk of the end of the table, or of the end of the dictionary if there is one. No block may
    /// begin before this offset.
    end: usize,
    cbytes: usize,
    has_variable_blocks: bool,
    /// The smallest valid offset of the next block, if blocks have different sizes. Such blocks must be in the order of
    /// their numbers.
    after: usize,
    /// The number of the next block.
    number: usize,
    first_fault: Option<Error>,
}

impl BlockTable {
    /// Starts a check. `after` holds the bytes after the table. They are needed only if the chunk has a dictionary, and
    /// then only the first 4 of them: the length of the dictionary.
    #[must_use]
    pub fn new(header: &ChunkHeader, after: &[u8]) -> Self {
        let ChunkHeader { header_len, cbytes, has_variable_blocks, .. } = *header;
        let end = header_len.saturating_add(header.table_len().unwrap_or_default());
        let mut table = Self { end, cbytes, has_variable_blocks, after: 0, number: 0, first_fault: None };
        if header.has_dictionary && header.has_table() {
            let length = block_starts(after).next().unwrap_or_default();
            let most = cbytes.saturating_sub(end.saturating_add(INT32)).min(MAX_DICTIONARY_LEN);
            match usize::try_from(length) {
                // A dictionary of length 0 is accepted here. C-Blosc2 rejects it, but the blocks after it can be read.
                Ok(length) if length <= most => table.end += INT32 + length,
                _ => table.first_fault = Some(Fault::DictionaryLength { length, most }.into()),
            }
        }
        table
    }

    /// Checks the next piece of the table. A piece consists of whole offsets.
    pub fn extend(&mut self, piece: &[u8]) {
        for start in block_starts(piece) {
            let (end, cbytes, number) = (self.end, self.cbytes, self.number);
            self.number += 1;
            let least = if self.has_variable_blocks { end.max(self.after) } else { end };
            match usize::try_from(start) {
                Ok(start) if start >= least && start < cbytes => self.after = start + 1,
                _ => {
                    let fault = Fault::BlockStart { number, start, least, cbytes };
                    self.first_fault.get_or_insert(fault.into());
                }
            }
        }
    }

    /// Ends the check.
    ///
    /// # Errors
    ///
    /// The first fault of the table.
    pub fn finish(self) -> Result<(), Error> {
        self.first_fault.map_or(Ok(()), Err)
    }
}

/// The offsets of blocks in a piece of a table.
pub fn block_starts(table: &[u8]) -> impl Iterator<Item = i32> {
    table.chunks_exact(INT32).filter_map(<[u8]>::first_chunk).map(|start| i32::from_le_bytes(*start))
}

/// The number of stored bytes that follow the length of a stream: the length itself, or 1 if the length is negative.
/// Only for chunks whose blocks all have the same size.
#[must_use]
pub fn stream_len(length: i32) -> usize {
    usize::try_from(length).unwrap_or(1)
}
