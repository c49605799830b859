//! The chunk index of a new frame.

use core::iter;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry::Vacant;
use std::io::{self, ErrorKind, Write};

use b2nd_chunk::internals::stored_header;
use b2nd_chunk::{ChunkHeader, SpecialValue};

use crate::chunk::entry::{ENTRY_LEN, EntryValue, MISSING};
use crate::error::Error;
use crate::progress::ENTRIES_BETWEEN_STOPS;

/// The largest number of chunks of a frame. It is limited because the index is itself a chunk, and a chunk has at most
/// 2 GiB.
const MAX_CHUNKS: u64 = ((i32::MAX as usize - ChunkHeader::MAX_LEN) / ENTRY_LEN) as u64;

/// The size of a block of a new index, as in C-Blosc2.
const BLOCK_LEN: usize = 1 << 14;

/// The number of entries of a page of 16 KiB.
const PAGE_LEN: u16 = 2048;

/// A function that is called while an index is written. If it returns an error, the writing stops.
pub(crate) type Stop<'s> = dyn FnMut() -> Result<(), Error> + 's;

/// The chunk index of a new frame, in pages. A page is allocated just before the first of its entries is set.
// An array can have millions of chunks, but only a few stored ones, written in any order. So only pages with set
// entries are in memory.
#[derive(Debug)]
pub(crate) struct NewIndex {
    /// Pages by their numbers. An entry that is not set is `MISSING`.
    pages: BTreeMap<u64, Box<[i64]>>,
    /// The number of chunks.
    len: u64,
    /// The number of entries that are set, and the number of the first entry that is not set. An entry that is set
    /// stays set, so both numbers only grow.
    nset: u64,
    first: u64,
    /// The special value of all entries that are not set. `None` if no such value was chosen: each entry that is not
    /// set is then missing.
    others: Option<SpecialValue>,
}

impl NewIndex {
    /// Makes an index for `len` chunks, without set entries. The error is [`TooLarge`](crate::ErrorKind::TooLarge) if
    /// `len` is above [`MAX_CHUNKS`].
    pub(crate) fn new(len: u64) -> Result<Self, Error> {
        if len > MAX_CHUNKS {
            return Err(Error::too_large(format_args!(
                "the array has {len} chunks, but a frame can have at most {MAX_CHUNKS}"
            )));
        }
        Ok(Self { pages: BTreeMap::new(), len, nset: 0, first: 0, others: None })
    }

    /// Allocates the page of an entry. After that, [`set`](Self::set) cannot fail.
    pub(crate) fn reserve(&mut self, number: u64) -> io::Result<()> {
        let (page, _) = place(number);
        if let Vacant(place) = self.pages.entry(page) {
            let mut page = Vec::new();
            page.try_reserve_exact(PAGE_LEN.into()).map_err(|_| ErrorKind::OutOfMemory)?;
            page.resize(PAGE_LEN.into(), MISSING);
            place.insert(page.into());
        }
        Ok(())
    }

    /// Sets an entry whose page is allocated.
    pub(crate) fn set(&mut self, number: u64, entry: EntryValue) {
        let (page, at) = place(number);
        if let Some(slot) = self.pages.get_mut(&page).and_then(|page| page.get_mut(at)) {
            self.nset += u64::from(*slot == MISSING);
            *slot = entry.value();
        }
        while self.entry(self.first).is_some() {
            self.first += 1;
        }
    }

    /// Chooses the special value of all entries that are not set. Only the first call has an effect.
    pub(crate) fn set_others(&mut self, special: SpecialValue) {
        self.others = self.others.or(Some(special));
    }

    fn entry(&self, number: u64) -> Option<i64> {
        let (page, at) = place(number);
        self.pages.get(&page)?.get(at).copied().filter(|&entry| entry != MISSING)
    }

    /// Whether an entry has this value.
    pub(crate) fn has(&self, number: u64, entry: EntryValue) -> bool {
        self.entry(number) == Some(entry.value())
    }

    pub(crate) fn is_set(&self, number: u64) -> bool {
        self.others.is_some() || self.entry(number).is_some()
    }

    /// The int64s of all entries that are set.
    fn set_entries(&self) -> impl Iterator<Item = i64> {
        self.pages.values().flatten().copied().filter(|&entry| entry != MISSING)
    }

    /// The number of entries that are not set.
    fn unset(&self) -> u64 {
        self.len.saturating_sub(self.nset)
    }

    /// The number of missing entries, and the number of the first missing entry; `None` if no entry is missing.
    pub(crate) fn missing(&self) -> Option<(u64, u64)> {
        (self.others.is_none() && self.unset() > 0).then(|| (self.unset(), self.first))
    }

    /// The value of all entries, if they are equal and special.
    fn repeated(&self) -> Option<i64> {
        let mut entries = self.set_entries().chain((self.unset() > 0).then(|| self.other()));
        // The entries of stored chunks differ from each other, because two chunks never have the same place. So only
        // special entries can be equal, and these are negative.
        let first = entries.next().filter(|&first| first < 0)?;
        entries.all(|entry| entry == first).then_some(first)
    }

    fn other(&self) -> i64 {
        self.others.map_or(MISSING, |special| EntryValue::Special(special).value())
    }

    fn entries(&self) -> impl Iterator<Item = i64> {
        let (other, mut next) = (self.other(), 0);
        let set = self.pages.iter().flat_map(move |(&number, page)| {
            let gap = (number - next) * u64::from(PAGE_LEN);
            next = number + 1;
            let page = page.iter().map(move |&entry| if entry == MISSING { other } else { entry });
            iter::repeat_n(other, usize::try_from(gap).unwrap_or(usize::MAX)).chain(page)
        });
        set.chain(iter::repeat(other)).take(usize::try_from(self.len).unwrap_or(usize::MAX))
    }

    /// The size in bytes that the index will have in the file.
    pub(crate) fn written_len(&self) -> u64 {
        let entries = match (self.len, self.repeated()) {
            (0, _) => return 0,
            (_, Some(_)) => 1,
            (len, None) => len,
        };
        (ChunkHeader::MAX_LEN as u64).saturating_add(entries.saturating_mul(ENTRY_LEN as u64))
    }

    /// Writes the index as a chunk. A frame without chunks has no index.
    // If all entries are equal, the chunk stores their value only once. C-Blosc2 does the same, for example for an
    // array of zeros. Otherwise, the chunk has all entries, uncompressed. The length of the index must be known before
    // the index is written, because the length of the frame in the header includes it.
    pub(crate) fn write(&self, to: &mut dyn Write, stop: &mut Stop<'_>) -> Result<(), Error> {
        if self.len == 0 {
            return Ok(());
        }
        let nbytes = usize::try_from(self.len).map_err(Error::too_large)?.saturating_mul(ENTRY_LEN);
        let repeats = self.repeated().is_some();
        let body = if repeats { ENTRY_LEN } else { nbytes };
        let header = stored_header(repeats, ENTRY_LEN, nbytes, nbytes.min(BLOCK_LEN), body);
        let header =
            header.ok_or_else(|| Error::too_large("the chunk index is longer than the format allows"))?;
        to.write_all(&header).map_err(Error::writing)?;
        for (number, entry) in (0..).zip(self.entries().take(body / ENTRY_LEN)) {
            if number % ENTRIES_BETWEEN_STOPS == ENTRIES_BETWEEN_STOPS - 1 {
                stop()?;
            }
            to.write_all(&entry.to_le_bytes()).map_err(Error::writing)?;
        }
        Ok(())
    }
}

/// The number of the page of an entry, and the index of the entry in this page.
fn place(number: u64) -> (u64, usize) {
    let len = u64::from(PAGE_LEN);
    (number / len, usize::try_from(number % len).unwrap_or_default())
}
