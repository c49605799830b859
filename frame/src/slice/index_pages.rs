//! The pages of the chunk index with the entries of the next chunks of a slice.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chunk::entry::{ENTRY_LEN, index_start};
use crate::error::Error;
use crate::index::index_reader::Index;
use crate::slice::shared_array::{CACHE_LEN, SharedArray};
use crate::slice::window::Window;
use crate::spans::next_start;

/// The loaded pages of the index, and the bytes that were read for them.
#[derive(Default)]
pub(super) struct IndexPages {
    /// The bytes that were read for the next pages, by their offset in the frame.
    bytes: BTreeMap<u64, Window>,
    pages: BTreeMap<u64, Arc<Vec<u8>>>,
    /// The offsets of the chunks whose entries are in `pages`, in ascending order. If `pages` has the whole index, the
    /// list also has the offset of the index, where the last chunk ends.
    chunk_starts: Vec<u64>,
}

/// The reason why a page of the index is not in memory.
enum NotRead {
    Needs(Range<u64>),
    Failed(Error),
}

impl From<Error> for NotRead {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl IndexPages {
    /// Keeps bytes of the index for the next [`load`](Self::load). `start` is their offset in the frame. The array
    /// keeps the bytes at the start of the index.
    pub(super) fn take(&mut self, array: &SharedArray, start: u64, bytes: Window) -> Result<(), Error> {
        // If the array already has the start of the index, these bytes are for a page. A page can begin there if the
        // table of blocks in the index is damaged.
        if start == index_start(&array.header) && array.index().is_none() {
            return array.set_index(bytes);
        }
        self.bytes.insert(start, bytes);
        Ok(())
    }

    /// The bytes of a page; `None` if the page is not loaded.
    pub(super) fn get(&self, number: u64) -> Option<&[u8]> {
        self.pages.get(&number).map(|page| page.as_slice())
    }

    /// The offset of the next chunk after an offset in the frame, or of the index after the last chunk; `None` if the
    /// next offset is not known.
    pub(super) fn next_start(&self, place: u64) -> Option<u64> {
        next_start(&self.chunk_starts, place)
    }

    /// Loads the pages with the entries of `chunks`, until the pages have `CACHE_LEN` bytes together. Returns the byte
    /// ranges that the caller must read before it calls `load` again. If `load` returns no range, all the pages are
    /// loaded. `first` holds the start of the index.
    pub(super) fn load(
        &mut self,
        array: &SharedArray,
        (index, first): &(Index, Window),
        chunks: impl Iterator<Item = u64>,
    ) -> Result<Vec<Range<u64>>, Error> {
        self.pages.clear();
        let (mut length, mut last, mut missing) = (0, None, Vec::new());
        for chunk in chunks {
            let number = chunk / index.page_len();
            if last == Some(number) {
                continue;
            }
            if length >= CACHE_LEN || chunk >= index.len() {
                break;
            }
            last = Some(number);
            if let Some(page) = array.page(number) {
                length += page.len();
                self.pages.insert(number, page);
                continue;
            }
            let known = &self.bytes;
            let at_hand = index.page(number, |start, length| {
                let end = start.saturating_add(length);
                let within = |from: u64, window: &Window| {
                    let within = |byte: u64| usize::try_from(byte.checked_sub(from)?).ok();
                    window.rest().get(within(start)?..within(end)?).map(<[u8]>::to_vec)
                };
                // After the caller has read a returned range, `take` inserts the bytes with the start of the range as
                // the key. If two returned ranges begin at the same byte, one request covers both, so the inserted
                // bytes cover both too. So `load` does not return the same range twice in a row.
                let read = known.range(..=start).next_back().and_then(|(&from, read)| within(from, read));
                read.or_else(|| within(index.start(), first)).ok_or(NotRead::Needs(start..end))
            });
            match at_hand {
                Ok(page) => {
                    let page = Arc::new(page);
                    array.keep_page(number, &page);
                    length += page.len();
                    self.pages.insert(number, page);
                }
                Err(NotRead::Needs(range)) => {
                    length += usize::try_from(index.page_len()).unwrap_or(CACHE_LEN) * ENTRY_LEN;
                    missing.push(range);
                }
                Err(NotRead::Failed(error)) => return Err(error),
            }
        }
        if missing.is_empty() {
            self.bytes.clear();
        }
        Ok(missing)
    }

    /// Lists the starts of the chunks in the loaded pages, for [`next_start`](Self::next_start).
    pub(super) fn list_chunk_starts(&mut self, array: &SharedArray, index: &Index) {
        let values = self.pages.values().flat_map(|page| page.chunks_exact(ENTRY_LEN));
        let value = |value: &[u8]| u64::try_from(i64::from_le_bytes(value.try_into().ok()?)).ok();
        let offsets = values.filter_map(value);
        let header_len = array.header.header_len as u64;
        self.chunk_starts = offsets.map(|offset| offset.saturating_add(header_len)).collect();
        let nentries = self.pages.values().map(|page| page.len()).sum::<usize>() / ENTRY_LEN;
        self.chunk_starts.extend((nentries as u64 == index.len()).then(|| index.start()));
        self.chunk_starts.sort_unstable();
    }
}
