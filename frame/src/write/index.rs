//! The chunk index of a new frame.

use core::iter;
use std::io::{self, ErrorKind, Write};

use crate::format::chunk::{ChunkHeader, SpecialValue, header_of_stored};
use crate::format::index::{ENTRY_LEN, Entry, MISSING};

/// The largest number of chunks whose index fits a chunk.
pub(crate) const MAX_CHUNKS: u64 = ((i32::MAX as usize - ChunkHeader::MAX_LEN) / ENTRY_LEN) as u64;

/// The size of a block of a new index, which C-Blosc2 has too.
const BLOCK_LEN: usize = 1 << 14;

/// The chunk index of a new frame. It takes 8 bytes for each chunk, but none before one is set by its number.
#[derive(Debug)]
pub(crate) struct NewIndex {
    entries: Vec<i64>,
    /// The number of chunks.
    len: u64,
    /// All entries that are not set.
    others: Option<SpecialValue>,
}

impl NewIndex {
    /// An index of this number of chunks; `None` if there are more than an index can have.
    pub(crate) fn new(len: u64) -> Option<Self> {
        (len <= MAX_CHUNKS).then(|| Self { entries: Vec::new(), len, others: None })
    }

    /// Makes room for the entry of a chunk. After that, [`set`](Self::set) cannot fail.
    pub(crate) fn reserve(&mut self, number: u64) -> io::Result<()> {
        let [end, len] = [number.saturating_add(1), self.len].map(usize::try_from);
        let (end, len) = (end.map_err(|_| ErrorKind::OutOfMemory)?, len.map_err(|_| ErrorKind::OutOfMemory)?);
        // All at once, because a vector that grows takes more.
        let more = len.max(end).saturating_sub(self.entries.len());
        self.entries.try_reserve_exact(more).map_err(|_| ErrorKind::OutOfMemory)?;
        self.entries.resize(end.max(self.entries.len()), MISSING);
        Ok(())
    }

    /// Sets an entry, for which there is room.
    pub(crate) fn set(&mut self, number: u64, entry: Entry) {
        if let Some(slot) = usize::try_from(number).ok().and_then(|number| self.entries.get_mut(number)) {
            *slot = entry.value();
        }
    }

    /// Sets all entries that are not set yet.
    pub(crate) fn set_others(&mut self, special: SpecialValue) {
        self.others = self.others.or(Some(special));
    }

    /// Whether an entry is set to this.
    pub(crate) fn has(&self, number: u64, entry: Entry) -> bool {
        let set = usize::try_from(number).ok().and_then(|number| self.entries.get(number));
        set == Some(&entry.value())
    }

    pub(crate) fn is_set(&self, number: u64) -> bool {
        let entry = usize::try_from(number).ok().and_then(|number| self.entries.get(number));
        self.others.is_some() || entry.is_some_and(|&entry| entry != MISSING)
    }

    /// How many entries are not set, and the number of the first one.
    pub(crate) fn missing(&self) -> Option<(u64, u64)> {
        let set = self.entries.iter().filter(|&&entry| entry != MISSING).count() as u64;
        let first = self.entries.iter().position(|&entry| entry == MISSING).unwrap_or(self.entries.len());
        (self.others.is_none() && set < self.len).then(|| (self.len - set, first as u64))
    }

    /// The value of all entries, if it is a special one.
    fn repeated(&self) -> Option<i64> {
        let mut entries = self.entries().take(self.entries.len().saturating_add(1));
        let first = entries.next().filter(|&first| first < 0)?;
        entries.all(|entry| entry == first).then_some(first)
    }

    fn entries(&self) -> impl Iterator<Item = i64> {
        let others = self.others.map_or(MISSING, |special| Entry::Special(special).value());
        let set = self.entries.iter().map(move |&entry| if entry == MISSING { others } else { entry });
        let rest = usize::try_from(self.len).unwrap_or(usize::MAX).saturating_sub(self.entries.len());
        set.chain(iter::repeat_n(others, rest))
    }

    /// The number of bytes that it is written with.
    pub(crate) fn written_len(&self) -> u64 {
        let entries = match (self.len, self.repeated()) {
            (0, _) => return 0,
            (_, Some(_)) => 1,
            (len, None) => len,
        };
        (ChunkHeader::MAX_LEN as u64).saturating_add(entries.saturating_mul(ENTRY_LEN as u64))
    }

    /// Writes it as a chunk that is not compressed. There is none if there are no chunks.
    pub(crate) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        let nbytes = usize::try_from(self.len).ok().and_then(|len| len.checked_mul(ENTRY_LEN));
        let nbytes = nbytes.ok_or(ErrorKind::OutOfMemory)?;
        let repeats = self.repeated().is_some();
        let body = if repeats { ENTRY_LEN } else { nbytes };
        let header = header_of_stored(repeats, ENTRY_LEN, nbytes, nbytes.min(BLOCK_LEN), body);
        to.write_all(&header.ok_or(ErrorKind::InvalidInput)?)?;
        let entries = body / ENTRY_LEN;
        self.entries().take(entries).try_for_each(|entry| to.write_all(&entry.to_le_bytes()))
    }
}
