//! Infers the places of chunks whose entries in the chunk index are wrong, from the chunks without an entry.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::chunk::chunk_rules::ChunkRules;
use crate::chunk::entry::{ChunkEntry, ChunkPlace};
use crate::error::Error;
use crate::header::frame::Frame;
use crate::progress::{ENTRIES_BETWEEN_STOPS, Progress};
use crate::read::blocks::CHUNK_START_LEN;
use crate::read::chunks::Chunks;
use crate::salvage::chunk_header::{valid_header, with_restored_sizes};
use crate::salvage::chunk_runs::each;
use crate::salvage::survey::Survey;
use crate::source::ReadAt;

/// The places of the chunks whose entries in the chunk index are wrong.
pub(super) struct InferredPlaces {
    /// The offset of each chunk with a wrong entry, by the number of the chunk.
    pub(super) offsets: BTreeMap<u64, u64>,
    pub(super) method: Method,
    /// The offsets of all stored chunks, sorted.
    pub(super) all: Vec<u64>,
}

impl InferredPlaces {
    /// Whether the place of a chunk was inferred.
    pub(super) fn has(&self, number: u64) -> bool {
        self.offsets.contains_key(&number)
    }
}

/// The method by which places were inferred.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// One entry is wrong, and one chunk has no entry.
    OnlyOne,
    /// The n-th chunk of the file belongs to the n-th entry without a special value.
    FileOrder,
}

impl Method {
    /// Why an inferred place may be wrong.
    pub(super) fn doubt(self) -> &'static str {
        match self {
            Self::OnlyOne => {
                "its entry in the chunk index is wrong, so the only chunk in the file without an entry was used"
            }
            Self::FileOrder => {
                "its entry in the chunk index is wrong or occurs twice, so its place follows from the assumed order of \
                 the chunks"
            }
        }
    }
}

/// The places of the chunks according to the chunk index.
pub(super) struct StatedPlaces<'s> {
    /// The byte ranges of the chunks whose ends are known, sorted by their starts.
    pub(super) owned: &'s [Range<u64>],
    /// The offsets in the entries of stored chunks, sorted. An offset can be wrong: it can be the offset of another
    /// chunk, or an offset where no chunk begins.
    pub(super) offsets: &'s [u64],
    /// The byte ranges that belong to no chunk in `owned`, and to no recorded hole, sorted.
    pub(super) unowned: &'s [Range<u64>],
    /// The number of entries that do not have a special value.
    pub(super) nstored: u64,
    pub(super) rules: &'s ChunkRules,
}

impl StatedPlaces<'_> {
    /// Infers the places of the chunks whose entries are wrong. An entry is wrong if it is neither a place nor a
    /// special value, or if it points into the middle of a chunk. If several entries point to the same chunk, all of
    /// them count as wrong.
    ///
    /// Places are inferred only if all unowned bytes belong to whole chunks, and only with one of two methods:
    ///
    /// - [`Method::OnlyOne`], if one chunk has no entry, and one entry is wrong.
    /// - [`Method::FileOrder`], if the file has as many chunks as the index has entries without a special value, and
    ///   all right entries point to the chunks in the order of the file. The inferred places are only assumptions,
    ///   because the new version of a replaced chunk is at the end of the file.
    ///
    /// Otherwise, the result is `None`.
    pub(super) fn infer<R: ReadAt>(
        &self,
        frame: &Frame<&R>,
        survey: &Survey,
        progress: &mut Progress<'_>,
    ) -> Result<Option<InferredPlaces>, Error> {
        if self.unowned.is_empty() {
            return Ok(None);
        }
        let nbytes = survey.parts.sizes.chunksize.into();
        let orphans = self.orphans(&mut frame.open_salvaged_chunks()?, nbytes, progress)?;
        let Some(orphans) = orphans else { return Ok(None) };
        let mut ranges: Vec<_> = self.owned.iter().chain(&orphans).cloned().collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let is_inside = |offset: u64| {
            let next = ranges.partition_point(|range| range.start < offset);
            let before = next.checked_sub(1).and_then(|before| ranges.get(before));
            before.is_some_and(|before| offset < before.end)
        };
        let stated = self.offsets.iter().copied().filter(|&offset| !is_inside(offset));
        let mut all: Vec<u64> = stated.chain(orphans.iter().map(|range| range.start)).collect();
        all.sort_unstable();
        all.dedup();
        let (mut is_readable, mut is_in_order, mut nstored, mut wrong) = (true, true, 0, Vec::new());
        let mut seen = 0_u64;
        each(frame, survey, &mut |chunks, run| {
            seen += 1;
            if seen.is_multiple_of(ENTRIES_BETWEEN_STOPS) {
                progress.advance(0)?;
            }
            // If a run has several chunks, they have one repeated entry, or their part of the index cannot be read.
            let Some(entry) = run.entry.ok().filter(|_| run.count == 1) else {
                is_readable = false;
                return Ok(());
            };
            if chunks.is_special(&entry) {
                return Ok(());
            }
            let in_order = all.get(nstored).copied();
            nstored += 1;
            match entry.place {
                ChunkPlace::Frame(offset) if !is_inside(offset) && !is_repeated(self.offsets, offset) => {
                    is_in_order &= in_order == Some(offset);
                }
                _ => wrong.push((entry.number, in_order)),
            }
            Ok(())
        })?;
        let (wrong, method) = match (&orphans[..], &wrong[..]) {
            _ if !is_readable => return Ok(None),
            ([orphan], [(number, _)]) => (vec![(*number, Some(orphan.start))], Method::OnlyOne),
            _ if is_in_order && nstored == all.len() => (wrong, Method::FileOrder),
            _ => return Ok(None),
        };
        let offsets = wrong.into_iter().filter_map(|(number, offset)| Some((number, offset?))).collect();
        Ok(Some(InferredPlaces { offsets, method, all }))
    }

    /// The byte ranges of the chunks without an entry. The result is `None` if there are no such chunks, or more such
    /// chunks than entries without a special value. It is also `None` if some of the unowned bytes do not belong to a
    /// whole chunk.
    fn orphans<R: ReadAt>(
        &self,
        chunks: &mut Chunks<'_, &R>,
        nbytes: u64,
        progress: &mut Progress<'_>,
    ) -> Result<Option<Vec<Range<u64>>>, Error> {
        let mut orphans = Vec::new();
        // Limits the total length of the tables of blocks that are read. Chunks share no bytes, so their tables
        // together have no more bytes than the chunks.
        let mut left = chunks.end();
        for unowned in self.unowned {
            let mut start = unowned.start;
            while start < unowned.end {
                let entry = ChunkEntry { number: 0, nbytes: Some(nbytes), place: ChunkPlace::Frame(start) };
                let end = whole_chunk_end(chunks, &entry, self.rules, &mut left);
                // If an entry points to `start`, the chunk there is damaged, because the range of an undamaged chunk
                // would be in `owned`. It is not known where a damaged chunk ends, or how many chunks follow it.
                let has_entry = self.offsets.binary_search(&start).is_ok();
                let Some(end) = end.filter(|&end| end <= unowned.end && !has_entry) else { return Ok(None) };
                orphans.push(start..end);
                start = end;
                let found = orphans.len() as u64;
                if found > self.nstored {
                    return Ok(None);
                }
                if found.is_multiple_of(ENTRIES_BETWEEN_STOPS) {
                    progress.advance(0)?;
                }
            }
        }
        Ok(Some(orphans).filter(|orphans| !orphans.is_empty()))
    }
}

/// The offset where a chunk ends, if its header is valid and agrees with its table of blocks.
fn whole_chunk_end<R: ReadAt>(
    chunks: &mut Chunks<'_, &R>,
    entry: &ChunkEntry,
    rules: &ChunkRules,
    left: &mut u64,
) -> Option<u64> {
    let ChunkPlace::Frame(start) = entry.place else { return None };
    let first = chunks.stored_bytes(entry, CHUNK_START_LEN).ok()?;
    let size = valid_header(&first, entry.nbytes, rules)?.cbytes();
    let is_whole = with_restored_sizes(chunks, entry, &first, rules, left)?.cbytes() == size;
    is_whole.then(|| start.saturating_add(size as u64))
}

/// Whether an offset occurs more than once in the sorted `offsets`.
pub(super) fn is_repeated(offsets: &[u64], offset: u64) -> bool {
    let first = offsets.partition_point(|&other| other < offset);
    offsets.get(first..first + 2) == Some(&[offset, offset])
}
