//! Infers the places of chunks whose entries in the chunk index are wrong, from the chunks without an entry.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use crate::chunk::chunk_rules::ChunkRules;
use crate::chunk::entry::{ChunkEntry, ChunkPlace};
use crate::error::Error;
use crate::header::frame::Frame;
use crate::read::chunks::Chunks;
use crate::salvage::chunk_runs::each;
use crate::salvage::survey::Survey;
use crate::source::ReadAt;
use crate::spans::ChunkSpan;

/// The places of the chunks whose entries in the chunk index are wrong.
pub(super) struct InferredPlaces {
    /// The offset of each of these chunks, by its number.
    pub(super) offsets: BTreeMap<u64, u64>,
    /// Why the offsets may be wrong.
    pub(super) doubt: &'static str,
    /// The offsets of all stored chunks, sorted.
    pub(super) all: Vec<u64>,
}

/// The places of the chunks according to the chunk index.
pub(super) struct StatedPlaces<'s> {
    /// The byte ranges of the chunks with valid headers, sorted.
    pub(super) spans: &'s [ChunkSpan],
    /// The offsets of all stored chunks, sorted.
    pub(super) offsets: &'s [u64],
    /// The numbers of the chunks that share bytes with another chunk.
    pub(super) sharing: &'s BTreeSet<u64>,
    /// The byte ranges that belong to no chunk and no recorded hole, sorted.
    pub(super) unowned: &'s [Range<u64>],
    pub(super) rules: &'s ChunkRules,
}

impl StatedPlaces<'_> {
    /// Infers the places of the chunks whose entries are wrong. An entry is wrong if it is neither a place nor a special
    /// value, or if it leads into the middle of a chunk. If entries lead to the same chunk, each of them may be wrong.
    ///
    /// Places are inferred only if all unowned bytes are those of whole chunks, and only one assignment is possible:
    ///
    /// - There is one chunk without an entry, and one wrong entry.
    /// - The number of chunks in the file is the number of entries that are not special. At least one of these entries is
    ///   right, and all right ones lead to the chunks in the order of the file. So this order is taken for the wrong
    ///   entries too.
    ///
    /// Otherwise, the result is `None`. This is also the result if a place is wrong in another way.
    pub(super) fn infer<R: ReadAt>(
        &self,
        frame: &Frame<&R>,
        survey: &Survey,
    ) -> Result<Option<InferredPlaces>, Error> {
        let is_partly_shared =
            |span: &ChunkSpan| self.sharing.contains(&span.number) && !self.is_repeated(span.start);
        if self.unowned.is_empty() || self.spans.iter().any(is_partly_shared) {
            return Ok(None);
        }
        let nbytes = survey.parts.sizes.chunksize.into();
        let found = self.without_entry(&mut frame.open_chunks()?, nbytes);
        let Some(found) = found.filter(|found| !found.is_empty()) else { return Ok(None) };
        let mut ranges: Vec<_> =
            self.spans.iter().map(ChunkSpan::range).chain(found.iter().cloned()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let is_inside = |offset: u64| {
            let next = ranges.partition_point(|range| range.start < offset);
            let before = next.checked_sub(1).and_then(|before| ranges.get(before));
            before.is_some_and(|before| offset < before.end)
        };
        // A chunk begins at each other offset, even if its header is damaged.
        let stated = self.offsets.iter().copied().filter(|&offset| !is_inside(offset));
        let mut all: Vec<u64> = stated.chain(found.iter().map(|range| range.start)).collect();
        all.sort_unstable();
        all.dedup();
        let (mut is_readable, mut is_in_order, mut nstored, mut uncertain) = (true, true, 0, Vec::new());
        each(frame, survey, &mut |chunks, run| {
            // An entry of several chunks is that of a repeated value, or of a part of the index that cannot be read.
            let Some(entry) = run.entry.ok().filter(|_| run.count == 1) else {
                is_readable = false;
                return Ok(());
            };
            if matches!(entry.place, ChunkPlace::Special(_)) && chunks.other_bits(&entry).is_none() {
                return Ok(());
            }
            let in_order = all.get(nstored).copied();
            nstored += 1;
            match entry.place {
                ChunkPlace::Frame(offset) if !is_inside(offset) && !self.is_repeated(offset) => {
                    is_in_order &= in_order == Some(offset);
                }
                _ => uncertain.push((entry.number, in_order)),
            }
            Ok(())
        })?;
        let (uncertain, doubt) = match (&found[..], &uncertain[..]) {
            _ if !is_readable => return Ok(None),
            ([found], [(number, _)]) => (vec![(*number, Some(found.start))], ONLY_ONE),
            _ if is_in_order && nstored == all.len() && uncertain.len() < nstored => (uncertain, IN_ORDER),
            _ => return Ok(None),
        };
        let offsets = uncertain.into_iter().filter_map(|(number, offset)| Some((number, offset?))).collect();
        Ok(Some(InferredPlaces { offsets, doubt, all }))
    }

    /// Whether several entries lead to this offset.
    fn is_repeated(&self, offset: u64) -> bool {
        let first = self.offsets.partition_point(|&other| other < offset);
        self.offsets.get(first..first + 2) == Some(&[offset, offset])
    }

    /// The byte ranges of the chunks without an entry. The result is `None` if some of the unowned bytes are not those
    /// of a whole chunk with a valid header. If an entry leads to the first of these bytes, they are those of a damaged
    /// chunk, which has an entry.
    fn without_entry<R: ReadAt>(&self, chunks: &mut Chunks<'_, &R>, nbytes: u64) -> Option<Vec<Range<u64>>> {
        let mut found = Vec::new();
        for unowned in self.unowned.iter().filter(|range| self.offsets.binary_search(&range.start).is_err()) {
            let mut start = unowned.start;
            while start < unowned.end {
                let entry = ChunkEntry { number: 0, nbytes: Some(nbytes), place: ChunkPlace::Frame(start) };
                let header = chunks.valid_header(&entry, self.rules).ok()?;
                let end = start.saturating_add(header.cbytes() as u64);
                found.push((end <= unowned.end).then_some(start..end)?);
                start = end;
            }
        }
        Some(found)
    }
}

/// The doubt about the place of the only chunk with a wrong entry.
const ONLY_ONE: &str = "its entry in the chunk index is wrong, so it was taken to be the only chunk in the file without an entry";

/// The doubt about places in the order of the file.
const IN_ORDER: &str = "its entry in the chunk index is wrong or occurs twice, so its place was inferred from the \
                        order of the chunks in the file";
