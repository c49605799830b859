//! Reads the headers of all chunks before any chunk is copied. Together, the headers show which chunks share bytes,
//! which filters are usual, and whether bytes belong to no chunk.

use core::mem;
use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use b2nd_chunk::{ChunkHeader, Filter};

use crate::check::{chunk_files, unowned};
use crate::chunk::chunk_rules::ChunkRules;
use crate::chunk::entry::{ChunkEntry, ChunkPlace, chunks_len, index_start};
use crate::chunk::hole::{outside_holes, recorded_holes};
use crate::error::Error;
use crate::finding::Finding;
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::index::index_rules::MAX_COMPARED;
use crate::progress::{ENTRIES_BETWEEN_STOPS, Progress};
use crate::read::blocks::CHUNK_START_LEN;
use crate::read::chunks::Chunks;
use crate::salvage::chunk_header::{valid_header, with_restored_sizes};
use crate::salvage::chunk_runs::each;
use crate::salvage::inferred_places::{InferredPlaces, Method, StatedPlaces, is_repeated};
use crate::salvage::survey::Survey;
use crate::source::ReadAt;
use crate::spans::{ChunkSpan, gaps, next_start, overlaps};

/// The maximum number of distinct filter pipelines that are counted. This limits the work for each chunk.
const MAX_PIPELINES: usize = 16;

/// The results of reading the headers of all chunks.
pub(super) struct HeaderScan {
    /// The numbers of chunks that share bytes with another chunk. The entry of one of the two chunks is wrong, but it
    /// is not known which.
    sharing: BTreeSet<u64>,
    /// The numbers of chunks that share bytes with another chunk because the length in their own header is wrong. The
    /// last block of such a chunk does not end where the chunk ends according to this length.
    pub(super) wrong_lengths: BTreeSet<u64>,
    /// The first unowned byte range that is long enough for a chunk. It may hold a chunk whose entry in the chunk index
    /// is damaged and now has a special value.
    pub(super) unowned: Option<Range<u64>>,
    /// The finding for bytes or chunk files that no entry of the chunk index refers to.
    pub(super) unowned_finding: Option<Finding>,
    /// The places of the chunks whose entries in the chunk index are wrong, if they can be inferred.
    pub(super) inferred: Option<InferredPlaces>,
    /// The places that were inferred from the order of the file, although the caller did not assume this order. Only
    /// `needs_order` uses them.
    without_order: Option<InferredPlaces>,
    /// Why the places of all stored chunks may be wrong; `None` if there is no reason.
    place_doubt: Option<String>,
    /// The offsets or, in a sparse frame, the file numbers of the first [`MAX_COMPARED`] stored chunks, sorted.
    places: Vec<u64>,
    /// The number of the first stored chunk that is not compared with the other chunks, because there are too many
    /// chunks.
    first_uncompared: Option<u64>,
    /// The limit for the total size of the chunks that are not compared, minus the sizes of such chunks so far.
    left: u64,
    /// In a sparse frame, the file number of the latest chunk that is not compared. The file number of the next chunk
    /// must be higher.
    last_file: Option<u64>,
    /// The offset where the chunks end, and the chunk index begins.
    end: u64,
    pub(super) rules: ChunkRules,
    /// The numbers of the filters in the header of the frame, and of the filters that several chunks have.
    pub(super) shared_filters: BTreeSet<u8>,
}

/// The places and headers of the chunks, before they are compared.
#[derive(Default)]
struct ReadHeaders {
    /// The byte ranges of the first [`MAX_COMPARED`] chunks with valid headers, according to these headers.
    spans: Vec<ChunkSpan>,
    /// The chunks of a contiguous frame whose headers are damaged, or do not agree with their tables of blocks, sorted by
    /// their numbers.
    disagreements: Vec<Disagreement>,
    places: Vec<u64>,
    first_uncompared: Option<u64>,
    /// The number of entries that do not have a special value.
    nstored: u64,
    /// The filter pipelines of the compressed chunks, and how many chunks have each of them.
    pipelines: Vec<(Vec<Filter>, u64)>,
}

/// A chunk whose header does not show reliably where the chunk ends.
struct Disagreement {
    number: u64,
    start: u64,
    /// The offset where the chunk ends according to its blocks; `None` if this offset is not known.
    end: Option<u64>,
}

impl ReadHeaders {
    fn read<R: ReadAt>(
        frame: &Frame<&R>,
        survey: &Survey,
        rules: &ChunkRules,
        progress: &mut Progress<'_>,
    ) -> Result<Self, Error> {
        let mut read = Self::default();
        let mut seen = 0_u64;
        // Limits the total length of the tables of blocks that are read. Undamaged chunks share no bytes, so the total
        // length of their tables is at most the total length of all chunks.
        let mut left = chunks_len(frame.header());
        progress.advance(0)?;
        each(frame, survey, &mut |chunks, run| {
            let Some(entry) = run.entry.ok().filter(|_| run.count == 1) else { return Ok(()) };
            seen += 1;
            if seen.is_multiple_of(ENTRIES_BETWEEN_STOPS) {
                progress.advance(0)?;
            }
            read.nstored += u64::from(!chunks.is_special(&entry));
            let (ChunkPlace::Frame(place) | ChunkPlace::File(place)) = entry.place else { return Ok(()) };
            if read.places.len() < MAX_COMPARED {
                read.places.push(place);
            } else {
                read.first_uncompared.get_or_insert(entry.number);
            }
            // A chunk that cannot be read is skipped, so that a damaged disk sector costs only the chunks in this
            // sector.
            let Ok(first) = chunks.stored_bytes(&entry, CHUNK_START_LEN) else { return Ok(()) };
            let header = valid_header(&first, entry.nbytes, rules);
            if let Some(header) = &header {
                read.spans.extend(span(&entry, header).filter(|_| read.spans.len() < MAX_COMPARED));
                count(&mut read.pipelines, header);
            }
            if survey.header.is_sparse || read.first_uncompared.is_some() {
                return Ok(());
            }
            let restored = with_restored_sizes(chunks, &entry, &first, rules, &mut left);
            let size = restored.map(|header| header.cbytes() as u64);
            if size.is_none() || size != header.map(|header| header.cbytes() as u64) {
                let end = size.map(|size| place.saturating_add(size));
                read.disagreements.push(Disagreement { number: entry.number, start: place, end });
            }
            Ok(())
        })?;
        read.spans.sort_unstable();
        read.places.sort_unstable();
        Ok(read)
    }

    /// The filters that most chunks have. They are used instead of the filters in the header of the frame, because that
    /// header may be damaged. In a tie, the filters in the header are preferred.
    fn usual_filters(&self, header: &Header) -> Option<Vec<Filter>> {
        let is_stated = |filters: &[Filter]| header.pipeline().eq(filters.iter().copied());
        let usual = self.pipelines.iter().max_by_key(|(filters, count)| (*count, is_stated(filters)));
        usual.map(|(filters, _)| filters.clone())
    }

    /// The numbers of the filters that the header of the frame or several chunks have. Such a filter does not count as
    /// damaged.
    fn shared_filters(&self, header: &Header) -> BTreeSet<u8> {
        let mut counts = BTreeMap::<u8, u64>::new();
        for (filters, count) in &self.pipelines {
            for id in filters.iter().map(|filter| filter.id).collect::<BTreeSet<u8>>() {
                *counts.entry(id).or_default() += count;
            }
        }
        let of_chunks = counts.into_iter().filter_map(|(id, count)| (count > 1).then_some(id));
        header.pipeline().map(|filter| filter.id).chain(of_chunks).collect()
    }

    /// Returns the byte ranges of the chunks whose ends are known, sorted by their starts. Empties `spans`, to free its
    /// memory.
    fn owned<R: ReadAt>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        nbytes: u64,
        rules: &ChunkRules,
    ) -> Vec<Range<u64>> {
        let spans = mem::take(&mut self.spans);
        let agrees = |number| self.disagreements.binary_search_by_key(&number, |chunk| chunk.number).is_err();
        let agreeing = spans.iter().filter(|span| agrees(span.number));
        let mut owned: Vec<Range<u64>> = agreeing.map(ChunkSpan::range).collect();
        drop(spans);
        let mut is_known = |chunk: &Disagreement, end: u64| {
            // The header is damaged, so the end according to the blocks may be wrong too. The end counts as known only
            // if another chunk or the chunk index begins there.
            let next = next_start(&self.places, chunk.start).unwrap_or(chunks.end());
            let entry = ChunkEntry { number: 0, nbytes: Some(nbytes), place: ChunkPlace::Frame(end) };
            let mut begins_chunk = || {
                let first = chunks.stored_bytes(&entry, ChunkHeader::MAX_LEN as u64).ok()?;
                valid_header(&first, Some(nbytes), rules)
            };
            end == next || end < next && begins_chunk().is_some()
        };
        for chunk in &self.disagreements {
            owned.extend(chunk.end.filter(|&end| is_known(chunk, end)).map(|end| chunk.start..end));
        }
        owned.sort_unstable_by_key(|range| range.start);
        owned
    }
}

impl HeaderScan {
    pub(super) fn new<R: ReadAt>(
        frame: &Frame<&R>,
        survey: &Survey,
        progress: &mut Progress<'_>,
    ) -> Result<Self, Error> {
        let mut rules = ChunkRules { filters: None, ..ChunkRules::new(frame.header(), true) };
        let mut read = ReadHeaders::read(frame, survey, &rules, progress)?;
        let mut sharing = overlapping(&read.spans);
        let has_wrong_length = |chunk: &&Disagreement| chunk.end.is_some() && sharing.contains(&chunk.number);
        let wrong_lengths: BTreeSet<u64> =
            read.disagreements.iter().filter(has_wrong_length).map(|chunk| chunk.number).collect();
        if !wrong_lengths.is_empty() {
            // A chunk whose length is right can share bytes with a chunk whose length is wrong. The place of the chunk
            // with the right length is not in doubt. So the chunks that share bytes are determined again, without the
            // chunks whose length is wrong.
            read.spans.retain(|span| !wrong_lengths.contains(&span.number));
            sharing = overlapping(&read.spans);
        }
        rules.filters = read.usual_filters(frame.header());
        let shared_filters = read.shared_filters(frame.header());
        let (mut unowned, mut unowned_finding, mut inferred) = (None, None, None);
        if survey.header.is_sparse && read.first_uncompared.is_none() {
            unowned_finding = unowned_files(frame, survey, &read.places);
        } else if read.places.len() < MAX_COMPARED && !survey.header.is_sparse {
            let nbytes = survey.parts.sizes.chunksize.into();
            // If two chunks overlap but do not begin at the same offset, one of their lengths is wrong. The list of
            // unowned bytes may then be wrong too, so no places are inferred from it.
            let is_partly_shared = read
                .spans
                .iter()
                .any(|span| sharing.contains(&span.number) && !is_repeated(&read.places, span.start));
            let owned = read.owned(&mut frame.open_salvaged_chunks()?, nbytes, &rules);
            let ranges = unowned_ranges(frame, survey, &owned);
            unowned_finding = unowned::of_ranges(without_entries(&ranges, &read.places));
            let stated = StatedPlaces {
                owned: &owned,
                offsets: &read.places,
                unowned: &ranges,
                nstored: read.nstored,
                rules: &rules,
            };
            if !is_partly_shared {
                inferred = stated.infer(frame, survey, progress)?;
            }
            unowned = ranges.into_iter().find(|range| range.end - range.start >= ChunkHeader::MAX_LEN as u64);
        }
        let without_order =
            inferred.take_if(|inferred| inferred.method == Method::FileOrder && !survey.assumes_order);
        let mut places = read.places;
        if let Some(inferred) = &inferred {
            sharing.retain(|number| !inferred.has(*number));
            places.clone_from(&inferred.all);
        }
        let (end, left) = (index_start(frame.header()), chunks_len(frame.header()).saturating_mul(2));
        Ok(Self {
            sharing,
            wrong_lengths,
            unowned,
            unowned_finding,
            inferred,
            place_doubt: survey.parts.place_doubt.clone(),
            without_order,
            places,
            first_uncompared: read.first_uncompared,
            left,
            last_file: None,
            end,
            rules,
            shared_filters,
        })
    }

    /// Whether a chunk shares bytes with another chunk, and nothing shows which of the two chunks has a wrong place.
    /// Call this method only once for each chunk, because it adds up the sizes of the chunks that are not compared.
    pub(super) fn is_sharing<R: ReadAt>(&mut self, chunks: &mut Chunks<'_, R>, entry: &ChunkEntry) -> bool {
        let (ChunkPlace::Frame(place) | ChunkPlace::File(place)) = entry.place else { return false };
        if self.first_uncompared.is_some_and(|first| entry.number >= first) {
            // This chunk and all later chunks are not compared with other chunks; only their total size is limited.
            // Without a limit, many entries of a small file could point to the same large chunk, and this chunk would
            // be copied once for each entry. Undamaged chunks do not overlap, so their sizes add up to at most the
            // number of bytes that the frame has for chunks. The limit is twice this number. With a lower limit, one
            // chunk with a damaged length could use up the limit, and all chunks after it would be lost.
            let header = chunks.header(entry).unwrap_or_default();
            let cbytes = header.map_or(ChunkHeader::MAX_LEN, |header| header.cbytes());
            return match (entry.place, self.left.checked_sub(cbytes as u64)) {
                // Two chunks must not have the same file. To save memory, the file number of a chunk is compared only
                // with the previous file number, and must be higher. The file numbers rise if the chunks were stored in
                // the order of the chunk numbers, because C-Blosc2 gives each new file the next number.
                (ChunkPlace::File(number), _) => {
                    self.last_file.replace(number).is_some_and(|last| last >= number)
                }
                (_, Some(left)) => {
                    self.left = left;
                    false
                }
                _ => true,
            };
        }
        is_repeated(&self.places, place) || self.sharing.contains(&entry.number)
    }

    /// The inferred place of a chunk; `None` if no place was inferred for this chunk.
    pub(super) fn inferred_place(&self, number: u64) -> Option<ChunkPlace> {
        let offset = self.inferred.as_ref()?.offsets.get(&number)?;
        Some(ChunkPlace::Frame(*offset))
    }

    /// The reasons why the place of a stored chunk may be wrong.
    pub(super) fn doubts_of_place(&self, number: u64) -> impl Iterator<Item = String> {
        let inferred = self.inferred.as_ref().filter(|inferred| inferred.has(number));
        let inferred = inferred.map(|inferred| inferred.method.doubt().to_owned());
        self.place_doubt.clone().into_iter().chain(inferred)
    }

    /// Whether the place of a chunk would be inferred if the caller assumed the order of the file.
    pub(super) fn needs_order(&self, number: u64) -> bool {
        self.without_order.as_ref().is_some_and(|inferred| inferred.has(number))
    }

    /// The number of bytes from the start of a chunk to the next chunk or to the end of all chunks; 0 if the next chunk
    /// is not known. In a sparse frame there is no limit, because each chunk is in a separate file.
    pub(super) fn room(&self, entry: &ChunkEntry) -> u64 {
        let ChunkPlace::Frame(start) = entry.place else { return u64::MAX };
        if self.first_uncompared.is_some() {
            return 0;
        }
        next_start(&self.places, start).unwrap_or(self.end).saturating_sub(start)
    }
}

/// The byte range of a stored chunk. In a sparse frame, the number of the chunk file is used as the offset, and 1 as
/// the length. So two chunks overlap only if they have the same file.
fn span(entry: &ChunkEntry, header: &ChunkHeader) -> Option<ChunkSpan> {
    let (start, len) = match entry.place {
        ChunkPlace::Frame(start) => (start, header.cbytes() as u64),
        ChunkPlace::File(number) => (number, 1),
        ChunkPlace::Special(_) | ChunkPlace::Invalid(_) => return None,
    };
    Some(ChunkSpan { start, end: start.saturating_add(len), number: entry.number })
}

/// The numbers of chunks that share bytes with another chunk. The spans must be sorted.
fn overlapping(spans: &[ChunkSpan]) -> BTreeSet<u64> {
    let pairs = overlaps(spans.iter().map(|span| (span.range(), span.number)));
    pairs.flat_map(|(before, after)| [before, after]).collect()
}

/// The byte ranges between the header and the chunk index that belong to no chunk in `owned`, and to no recorded
/// hole. `owned` must be sorted.
fn unowned_ranges<R: ReadAt>(frame: &Frame<&R>, survey: &Survey, owned: &[Range<u64>]) -> Vec<Range<u64>> {
    let Some(index) = &survey.parts.index else { return Vec::new() };
    let start = survey.parts.header_len;
    let gaps = gaps(owned.iter().cloned(), start..index.start);
    let gaps: Vec<_> = gaps.map(|gap| gap.start - start..gap.end - start).collect();
    // If the record of the holes cannot be read, their bytes count as unowned.
    let ends = gaps.iter().rev().map(|gap| gap.end);
    let holes =
        recorded_holes(ends, |at, len| frame.read_range(start.saturating_add(at), len)).unwrap_or_default();
    let unowned = gaps.into_iter().flat_map(|gap| outside_holes(gap, &holes));
    unowned.map(|range| start + range.start..start + range.end).collect()
}

/// For each range, the part before the first of the `places` in the range. A damaged chunk may begin at this place and
/// own all bytes after it. `places` must be sorted.
fn without_entries(ranges: &[Range<u64>], places: &[u64]) -> impl Iterator<Item = Range<u64>> {
    let before_entry = |range: &Range<u64>| {
        let next = places.get(places.partition_point(|&place| place < range.start));
        range.start..next.map_or(range.end, |&next| next.min(range.end))
    };
    ranges.iter().map(before_entry).filter(|range| !range.is_empty())
}

/// The finding for chunk files of a sparse frame that no entry of the chunk index refers to.
fn unowned_files<R: ReadAt>(frame: &Frame<&R>, survey: &Survey, places: &[u64]) -> Option<Finding> {
    // Without an index, any chunk file may belong to the frame.
    let directory = frame.directory().filter(|_| survey.parts.index.is_some())?;
    let listed = chunk_files::list(directory).ok()?;
    unowned::files(directory, &listed, &places.iter().copied().collect())
}

/// Counts the filter pipeline of a compressed chunk.
fn count(pipelines: &mut Vec<(Vec<Filter>, u64)>, header: &ChunkHeader) {
    // Some chunks do not show the filters of the frame. These are chunks without compressed blocks, with a header of
    // Blosc 1, or with damaged filters.
    let is_blosc1 = header.header_len() < ChunkHeader::MAX_LEN;
    if !header.has_table() || is_blosc1 || header.unknown_filter().is_some() {
        return;
    }
    let filters: Vec<Filter> = header.filters().iter().filter(|filter| filter.id != 0).copied().collect();
    if let Some((_, count)) = pipelines.iter_mut().find(|(known, _)| *known == filters) {
        *count += 1;
    } else if pipelines.len() < MAX_PIPELINES {
        pipelines.push((filters, 1));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn chunks_that_are_not_compared_have_no_more_bytes_than_the_file() {
        let file = fs::read("tests/data/int32_3x5.b2nd").unwrap();
        let frame = Frame::read_at(file, 0).unwrap();
        let (rules, left) = (ChunkRules::new(frame.header(), true), chunks_len(frame.header()));
        let mut scan = HeaderScan {
            sharing: BTreeSet::new(),
            wrong_lengths: BTreeSet::new(),
            unowned: None,
            unowned_finding: None,
            inferred: None,
            without_order: None,
            place_doubt: None,
            places: Vec::new(),
            first_uncompared: Some(2),
            left,
            last_file: None,
            end: index_start(frame.header()),
            rules,
            shared_filters: BTreeSet::new(),
        };
        let mut chunks = frame.open_chunks().unwrap();
        let entry = chunks.get(0).unwrap().unwrap();
        let mut shares = |number, place| scan.is_sharing(&mut chunks, &ChunkEntry { number, place, ..entry });
        // The first chunk begins at byte 165, and has 64 bytes. All calls of the first assertion are about this chunk,
        // but give it the chunk numbers 1 to 6. Chunk 1 is before `first_uncompared`, so its size does not count. The
        // limit `left` is 256, because the frame has four chunks of 64 bytes. So chunks 2 to 5 are within the limit,
        // and chunk 6 is not.
        let frame = ChunkPlace::Frame(165);
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 1].map(|n| shares(n, frame)),
            [false, false, false, false, false, true, false]
        );
        assert_eq!([7, 8, 8, 9].map(|n| shares(5, ChunkPlace::File(n))), [false, false, true, false]);
    }
}
