//! The changed chunks of an `ArrayUpdate`, in bounded memory.

use std::collections::BTreeMap;

use b2nd_chunk::{CParams, Compressor, ErrorKind, decompress_to_vec};

use crate::chunk::expansion::zeroed;
use crate::error::Error;

/// The maximum total size of the open chunks in bytes. If only one chunk is open, it can be larger.
const MAX_OPEN: usize = 1 << 26;

/// The changed chunks, by their numbers in the new shape.
///
/// They are compressed, except the *open* chunks. An open chunk was written recently and is not complete, so the next
/// write often continues in it.
#[derive(Default)]
pub(super) struct PendingChunks {
    chunks: BTreeMap<u64, PendingChunk>,
    /// The numbers of the open chunks, in the order of their latest writes. The key is the value of the counter `turn`
    /// at that write.
    open: BTreeMap<u64, u64>,
    /// The total size of the open chunks in bytes.
    open_nbytes: usize,
    /// A counter of writes to open chunks.
    turn: u64,
}

enum PendingChunk {
    Open { items: Vec<u8>, turn: u64 },
    Compressed(Vec<u8>),
}

impl PendingChunks {
    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.chunks.contains_key(&number)
    }

    /// Whether this number of chunks can be open at the same time.
    pub(super) fn has_room(count: usize, chunk_nbytes: usize) -> bool {
        count.saturating_mul(chunk_nbytes) <= MAX_OPEN.max(chunk_nbytes)
    }

    /// Whether a chunk is open.
    pub(super) fn is_open(&self, number: u64) -> bool {
        matches!(self.chunks.get(&number), Some(PendingChunk::Open { .. }))
    }

    /// Marks an open chunk as the most recently written one, so [`make_room`](Self::make_room) compresses it last.
    pub(super) fn touch(&mut self, number: u64) {
        if let Some(PendingChunk::Open { turn, .. }) = self.chunks.get_mut(&number) {
            self.open.remove(turn);
            *turn = self.turn;
            self.open.insert(self.turn, number);
            self.turn += 1;
        }
    }

    /// The items of an open chunk.
    pub(super) fn open_mut(&mut self, number: u64) -> Option<&mut [u8]> {
        match self.chunks.get_mut(&number)? {
            PendingChunk::Open { items, .. } => Some(items),
            PendingChunk::Compressed(_) => None,
        }
    }

    /// Decompresses a changed chunk of `nbytes` bytes; `None` if the chunk has not been changed.
    pub(super) fn decompressed(&self, number: u64, nbytes: usize) -> Result<Option<Vec<u8>>, Error> {
        match self.chunks.get(&number) {
            None => Ok(None),
            Some(PendingChunk::Open { items, .. }) => {
                let mut copy = zeroed(items.len())?;
                copy.copy_from_slice(items);
                Ok(Some(copy))
            }
            Some(PendingChunk::Compressed(chunk)) => {
                decompress_to_vec(chunk, nbytes).map(Some).map_err(|error| match error.kind() {
                    ErrorKind::NoMemory => Error::too_large(error),
                    _ => Error::unsupported(error),
                })
            }
        }
    }

    /// Adds a chunk. If a single write has set all its items (`is_complete`), the chunk is compressed at once.
    pub(super) fn insert(
        &mut self,
        number: u64,
        items: Vec<u8>,
        is_complete: bool,
        compressor: &mut LazyCompressor,
    ) -> Result<(), Error> {
        if is_complete {
            self.insert_compressed(number, compressed(&items, compressor)?);
            return Ok(());
        }
        self.make_room(items.len(), compressor)?;
        self.put_open(number, items);
        Ok(())
    }

    /// Adds the bytes of a compressed chunk.
    pub(super) fn insert_compressed(&mut self, number: u64, chunk: Vec<u8>) {
        self.put(number, PendingChunk::Compressed(chunk));
    }

    /// The total size of the open chunks in bytes.
    pub(super) fn open_nbytes(&self) -> usize {
        self.open_nbytes
    }

    /// Compresses open chunks, the least recently written one first, until there is room for `nbytes` more bytes of
    /// open chunks. No item changes.
    pub(super) fn make_room(&mut self, nbytes: usize, compressor: &mut LazyCompressor) -> Result<(), Error> {
        while self.open_nbytes.saturating_add(nbytes) > MAX_OPEN {
            let Some((_, &number)) = self.open.first_key_value() else { break };
            let Some(items) = self.open_mut(number) else { break };
            let compressed = compressed(items, compressor)?;
            self.insert_compressed(number, compressed);
        }
        Ok(())
    }

    /// Adds other changed chunks, which replace chunks with the same numbers.
    pub(super) fn extend(&mut self, other: Self) {
        for (number, chunk) in other.chunks {
            self.put_again(number, chunk);
        }
    }

    /// Drops all chunks with the number `count` or a higher number.
    pub(super) fn truncate(&mut self, count: u64) {
        for (_, chunk) in self.chunks.split_off(&count) {
            self.forget(&chunk);
        }
    }

    /// Gives the chunks new numbers. A chunk without a new number is dropped.
    pub(super) fn renumbered(self, numbers: impl Fn(u64) -> Option<u64>) -> Self {
        let mut new = Self::default();
        for (number, chunk) in self.chunks {
            if let Some(number) = numbers(number) {
                new.put_again(number, chunk);
            }
        }
        new
    }

    /// Passes each chunk to `receive`, compressed, in the order of the numbers.
    pub(super) fn each_compressed(
        &self,
        compressor: &mut LazyCompressor,
        mut receive: impl FnMut(u64, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (&number, chunk) in &self.chunks {
            match chunk {
                PendingChunk::Open { items, .. } => receive(number, &compressed(items, compressor)?)?,
                PendingChunk::Compressed(chunk) => receive(number, chunk)?,
            }
        }
        Ok(())
    }

    /// Adds a chunk that was in another `PendingChunks`.
    fn put_again(&mut self, number: u64, chunk: PendingChunk) {
        match chunk {
            PendingChunk::Open { items, .. } => self.put_open(number, items),
            PendingChunk::Compressed(chunk) => self.insert_compressed(number, chunk),
        }
    }

    fn put_open(&mut self, number: u64, items: Vec<u8>) {
        let turn = self.turn;
        self.turn += 1;
        self.open.insert(turn, number);
        self.open_nbytes += items.len();
        self.put(number, PendingChunk::Open { items, turn });
    }

    fn put(&mut self, number: u64, chunk: PendingChunk) {
        if let Some(old) = self.chunks.insert(number, chunk) {
            self.forget(&old);
        }
    }

    /// Updates the list of open chunks after a chunk was replaced or dropped.
    fn forget(&mut self, chunk: &PendingChunk) {
        if let PendingChunk::Open { items, turn } = chunk {
            self.open.remove(turn);
            self.open_nbytes -= items.len();
        }
    }
}

/// A compressor that is created only when items are changed. So if the codec or a filter of the array is unsupported,
/// the vlmetalayers can still be changed.
pub(super) struct LazyCompressor {
    params: CParams,
    compressor: Option<Compressor>,
}

impl LazyCompressor {
    pub(super) fn new(params: CParams) -> Self {
        Self { params, compressor: None }
    }

    pub(super) fn get(&mut self) -> Result<&mut Compressor, Error> {
        match &mut self.compressor {
            Some(compressor) => Ok(compressor),
            none => Ok(none.insert(Compressor::new(self.params).map_err(Error::unsupported)?)),
        }
    }
}

fn compressed(items: &[u8], compressor: &mut LazyCompressor) -> Result<Vec<u8>, Error> {
    let mut chunk = Vec::new();
    compressor.get()?.compress_into(items, &mut chunk).map_err(Error::too_large)?;
    chunk.shrink_to_fit();
    Ok(chunk)
}
