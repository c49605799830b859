//! The changed chunks of an `ArrayUpdate`, in bounded memory.

use std::collections::{BTreeMap, VecDeque};

use b2nd_chunk::{CParams, Compressor, Decompressor};

use crate::chunk::expansion::zeroed;
use crate::error::Error;

/// The decompressed chunks that are kept have at most this number of bytes together, or are a single longer one.
const MAX_OPEN: usize = 1 << 26;

/// The changed chunks, by their numbers in the new shape.
///
/// They are compressed, except those that were written last and are not complete: the next write often goes on in them.
#[derive(Default)]
pub(super) struct PendingChunks {
    chunks: BTreeMap<u64, PendingChunk>,
    /// The numbers of the decompressed chunks, the last one written at the end. A chunk that was written again is here
    /// more than once.
    open: VecDeque<u64>,
    /// The bytes of the decompressed chunks.
    open_nbytes: usize,
}

enum PendingChunk {
    Items(Vec<u8>),
    Compressed(Vec<u8>),
}

impl PendingChunks {
    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.chunks.contains_key(&number)
    }

    /// Whether a chunk is changed, and decompressed.
    pub(super) fn is_open(&self, number: u64) -> bool {
        matches!(self.chunks.get(&number), Some(PendingChunk::Items(_)))
    }

    /// The items of a changed chunk, if they are decompressed.
    pub(super) fn open_mut(&mut self, number: u64) -> Option<&mut [u8]> {
        match self.chunks.get_mut(&number)? {
            PendingChunk::Items(items) => Some(items),
            PendingChunk::Compressed(_) => None,
        }
    }

    /// Decompresses a changed chunk of `nbytes` bytes; `None` if the chunk has not been changed.
    pub(super) fn decompressed(&self, number: u64, nbytes: usize) -> Result<Option<Vec<u8>>, Error> {
        match self.chunks.get(&number) {
            None => Ok(None),
            Some(PendingChunk::Items(items)) => Ok(Some(items.clone())),
            Some(PendingChunk::Compressed(chunk)) => {
                let mut items = zeroed(nbytes)?;
                let decompressed = Decompressor::new().decompress_into(chunk, &mut items);
                decompressed.map_err(Error::unsupported)?;
                Ok(Some(items))
            }
        }
    }

    /// Adds a chunk. If all its items are known to be final, it is compressed at once.
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
        self.close(items.len(), compressor)?;
        self.put(number, PendingChunk::Items(items));
        Ok(())
    }

    /// Adds the bytes of a compressed chunk.
    pub(super) fn insert_compressed(&mut self, number: u64, chunk: Vec<u8>) {
        self.put(number, PendingChunk::Compressed(chunk));
    }

    /// Compresses open chunks until there is room for those of `other`, as long as there are any. No item changes.
    pub(super) fn make_room(&mut self, other: &Self, compressor: &mut LazyCompressor) -> Result<(), Error> {
        self.close(other.open_nbytes, compressor)
    }

    /// Adds other changed chunks, which replace those with the same numbers.
    pub(super) fn extend(&mut self, other: Self) {
        other.chunks.into_iter().for_each(|(number, chunk)| self.put(number, chunk));
    }

    /// Gives the chunks new numbers. A chunk without a new number is dropped.
    pub(super) fn renumbered(self, numbers: impl Fn(u64) -> Option<u64>) -> Self {
        let mut new = Self::default();
        for (number, chunk) in self.chunks {
            if let Some(number) = numbers(number) {
                new.put(number, chunk);
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
                PendingChunk::Items(items) => receive(number, &compressed(items, compressor)?)?,
                PendingChunk::Compressed(chunk) => receive(number, chunk)?,
            }
        }
        Ok(())
    }

    fn put(&mut self, number: u64, chunk: PendingChunk) {
        if let PendingChunk::Items(items) = &chunk {
            self.open_nbytes += items.len();
            self.open.push_back(number);
        }
        if let Some(PendingChunk::Items(items)) = self.chunks.insert(number, chunk) {
            self.open_nbytes -= items.len();
        }
    }

    /// Compresses the chunks that were written first, until there is room for more decompressed bytes.
    fn close(&mut self, more: usize, compressor: &mut LazyCompressor) -> Result<(), Error> {
        while !self.open.is_empty() && self.open_nbytes.saturating_add(more) > MAX_OPEN {
            let Some(&number) = self.open.front() else { break };
            if let Some(chunk) = self.chunks.get_mut(&number)
                && let PendingChunk::Items(items) = chunk
            {
                let compressed = compressed(items, compressor)?;
                self.open_nbytes -= items.len();
                *chunk = PendingChunk::Compressed(compressed);
            }
            self.open.pop_front();
        }
        Ok(())
    }
}

/// A compressor that is made when items are changed. The codec or filters of the array may be unsupported, which matters
/// only to them: a vlmetalayer has its own codec.
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
