//! The work of a salvage: it copies the chunks into the new frame.

use std::collections::BTreeSet;
use std::io::{Read, Seek, Write};

use crate::error::{Error, ErrorKind};
use crate::format::chunk::{ChunkHeader, SpecialValue, clear_false_dictionary, header_of_stored};
use crate::format::flags::Filter;
use crate::format::index::{ChunkCounts, ChunkEntry, ChunkPlace, EntryValue, index_start};
use crate::format::salvage_note::SALVAGE_NAME;
use crate::format::trailer::Trailer;
use crate::io::blocks::streams_end;
use crate::io::chunks::Chunks;
use crate::io::frame::Frame;
use crate::progress::Progress;
use crate::rules::chunk::ChunkRules;
use crate::rules::index::{ChunkSpan, MAX_COMPARED};
use crate::salvage::damaged_file::DamagedFile;
use crate::salvage::report::{CLEARED, ChunkRange, add};
use crate::salvage::survey::Survey;
use crate::salvage::verify::{self, SavedChunk, Verdict};
use crate::write::index::NewIndex;
use crate::write::plan::Plan;
use crate::write::writer::FrameWriter;

/// The maximum number of distinct filter pipelines that are counted, which bounds the work for each chunk.
const MAX_PIPELINES: usize = 16;

/// The result for the chunks.
#[derive(Default)]
pub(super) struct Saved {
    pub(super) lost: Vec<ChunkRange>,
    pub(super) unverified: Vec<ChunkRange>,
    /// The chunks whose header was restored.
    pub(super) restored: Vec<ChunkRange>,
    pub(super) counts: ChunkCounts,
}

/// The new frame before its chunks are written.
pub(super) fn plan(survey: &Survey) -> Result<Plan, Error> {
    let sizes = survey.parts.sizes;
    let (header, section) = survey.draft().header(&sizes)?;
    let index = NewIndex::new(sizes.nchunks);
    let index = index.ok_or_else(|| Error::refused("the array has more chunks than a frame can have"))?;
    // The trailer lists the lost chunks, so it is set last.
    let (trailer, is_sparse) = (Vec::new(), survey.is_sparse);
    // The fill value has been checked against the dtype, and copied entries may have any special value.
    Ok(Plan { header, section, trailer, index, sizes, is_sparse, can_be_nan: true })
}

/// Writes the saved chunks, the special value for the lost ones, and the trailer.
pub(super) fn save<R: Read + Seek, W: Write + Seek>(
    damaged: &mut DamagedFile<R>,
    survey: &Survey,
    fill: SpecialValue,
    writer: &mut FrameWriter<W>,
    progress: &mut Progress<'_>,
) -> Result<Saved, Error> {
    // The first report comes before the scan, so a caller can stop before this long step.
    progress.advance(0)?;
    let mut frame = survey.frame(damaged)?;
    let scan = HeaderScan::of(&mut frame, survey)?;
    let mut work = Work { writer, progress, saved: Saved::default(), fill };
    each(&mut frame, survey, &mut |chunks, next| work.take(chunks, &scan, next))?;
    let mut saved = work.finish()?;
    let lost: u64 = saved.lost.iter().map(|range| range.count).sum();
    // A frame of fill values alone has nothing of the old one.
    if lost == survey.parts.sizes.nchunks && lost > 0 {
        let why = saved.lost.first().map(|range| range.why.as_str()).unwrap_or_default();
        return Err(Error::refused(format_args!(
            "nothing could be saved; the first chunk is lost because {why}"
        )));
    }
    *saved.counts.of(ChunkPlace::Special(fill)) += lost;
    let trailer = trailer(survey, &saved.lost, fill);
    let trailer =
        trailer.ok_or_else(|| Error::refused("the list of lost chunks is too long for a trailer"))?;
    let (trailer, has_vlmetalayers) = trailer;
    writer.set_trailer(trailer, has_vlmetalayers);
    Ok(saved)
}

/// The trailer with the kept vlmetalayers, and with the note about the losses.
fn trailer(survey: &Survey, lost: &[ChunkRange], fill: SpecialValue) -> Option<(Vec<u8>, bool)> {
    let mut layers = survey.vlmetalayers.clone();
    let mut note = survey.before.clone();
    note.add(lost.iter().map(|range| (range.first, range.count)));
    note.has_assumed_order |= survey.order.is_some();
    // If this salvage lost nothing, the note keeps the fill value of the earlier one.
    if !lost.is_empty() || note.fill.is_empty() {
        note.fill = fill.name().into();
    }
    if !note.lost.is_empty() || note.has_assumed_order {
        let value = note.write()?;
        let header = header_of_stored(false, 1, value.len(), value.len(), value.len())?;
        layers.push((SALVAGE_NAME.into(), [&header[..], &value].concat()));
    }
    let layers: Vec<_> = layers.iter().map(|(name, chunk)| (&name[..], &chunk[..])).collect();
    Some((Trailer::build(&layers, Default::default())?, !layers.is_empty()))
}

/// The next chunk or chunks.
enum Next {
    Entry(ChunkEntry),
    /// All chunks, with the same entry.
    Repeated(ChunkEntry, u64),
    /// Chunks without a known place: the first one, their number, and the reason.
    Unknown(u64, u64, String),
}

/// The receiver of chunks.
type Take<'t, R> = dyn FnMut(&mut Chunks<'_, &mut R>, Next) -> Result<(), Error> + 't;

/// Passes on the chunks with their places, in the order of their numbers.
fn each<R: Read + Seek>(
    frame: &mut Frame<&mut R>,
    survey: &Survey,
    take: &mut Take<'_, R>,
) -> Result<(), Error> {
    let nchunks = survey.parts.sizes.nchunks;
    let nbytes = u64::try_from(survey.parts.sizes.chunksize).ok();
    let mut chunks = frame.chunks()?;
    if let Some(order) = &survey.order {
        let lost = |first: u64, end: u64| Next::Unknown(first, end - first, "it was not found".into());
        let mut next = 0;
        for &(number, place) in order.iter().take_while(|(number, _)| *number < nchunks) {
            take(&mut chunks, lost(next, number))?;
            let place = if survey.is_sparse { ChunkPlace::File(place) } else { ChunkPlace::Frame(place) };
            take(&mut chunks, Next::Entry(ChunkEntry { number, nbytes, place }))?;
            next = number + 1;
        }
        return take(&mut chunks, lost(next, nchunks));
    }
    let (mut number, is_repeated) = (0, chunks.is_repeated() && nchunks > 1);
    while let Some(entry) = chunks.next() {
        match entry {
            // An index of one repeated entry has a few bytes and can claim any number of chunks, so all are handled at
            // once.
            Ok(entry) if is_repeated => return take(&mut chunks, Next::Repeated(entry, nchunks)),
            Ok(entry) => take(&mut chunks, Next::Entry(entry))?,
            // The rest of the index cannot be read. The chunks up to here can.
            Err(error) if error.kind() == ErrorKind::Malformed => {
                return take(&mut chunks, Next::Unknown(number, nchunks - number, error.to_string()));
            }
            Err(error) => return Err(error),
        }
        number += 1;
    }
    Ok(())
}

/// The numbers of chunks that share bytes with others. The spans must be sorted.
fn overlapping(spans: &[ChunkSpan]) -> BTreeSet<u64> {
    let mut sharing = BTreeSet::new();
    let mut furthest: Option<(u64, u64)> = None;
    for &ChunkSpan { start, end, number } in spans {
        if let Some((_, before)) = furthest.filter(|&(last, _)| start < last) {
            sharing.extend([before, number]);
        }
        if furthest.is_none_or(|(last, _)| end > last) {
            furthest = Some((end, number));
        }
    }
    sharing
}

impl Survey {
    /// The longest run of bytes, between the header and the chunk index, that belong to no chunk. The spans and the
    /// places of all chunks must be sorted.
    fn unowned(&self, spans: &[ChunkSpan], places: &[u64]) -> u64 {
        let Some(index) = self.parts.index.filter(|_| !self.is_sparse) else { return 0 };
        let (mut at, mut most) = (self.parts.header_len, 0);
        let after = ChunkSpan { start: index.start, end: index.start, number: 0 };
        for &ChunkSpan { start, end, .. } in spans.iter().chain([&after]) {
            // A chunk with a damaged header is in no span, but its bytes have an entry.
            if places.binary_search(&at).is_err() {
                most = most.max(start.saturating_sub(at));
            }
            at = at.max(end);
        }
        most
    }
}

/// The facts from the headers of all chunks together.
struct HeaderScan {
    /// Chunks that share bytes with others. One of the two entries is wrong, and nothing shows which.
    sharing: BTreeSet<u64>,
    /// Chunks that share bytes with others and do not end with their last block.
    wrong_lengths: BTreeSet<u64>,
    /// Whether there is room for a chunk in bytes that no entry refers to. If so, an entry with a special value may be
    /// damaged, and its chunk may be in those bytes.
    has_unowned: bool,
    /// The places of all stored chunks, sorted: offsets, or the numbers of the files of a sparse frame.
    places: Vec<u64>,
    /// The end of the chunks.
    end: u64,
    rules: ChunkRules,
}

impl HeaderScan {
    fn of<R: Read + Seek>(frame: &mut Frame<&mut R>, survey: &Survey) -> Result<Self, Error> {
        let mut rules = ChunkRules { filters: None, ..ChunkRules::new(frame.header(), true) };
        let mut spans: Vec<ChunkSpan> = Vec::new();
        let mut places = Vec::new();
        let mut pipelines: Vec<(Vec<Filter>, u64)> = Vec::new();
        each(frame, survey, &mut |chunks, next| {
            let Next::Entry(entry) = next else { return Ok(()) };
            if let ChunkPlace::Frame(place) | ChunkPlace::File(place) = entry.place {
                places.extend(Some(place).filter(|_| places.len() < MAX_COMPARED));
            }
            let Ok(header) = chunks.valid_header(&entry, &rules) else { return Ok(()) };
            // In a sparse frame, the numbers of the files stand for bytes.
            let range = match entry.place {
                ChunkPlace::Frame(start) => Some((start, start.saturating_add(header.cbytes as u64))),
                ChunkPlace::File(number) => Some((number, number.saturating_add(1))),
                _ => None,
            };
            if let Some((start, end)) = range.filter(|_| spans.len() < MAX_COMPARED) {
                spans.push(ChunkSpan { start, end, number: entry.number });
            }
            count(&mut pipelines, &header);
            Ok(())
        })?;
        spans.sort_unstable();
        places.sort_unstable();
        let (mut sharing, mut wrong_lengths) = (overlapping(&spans), BTreeSet::new());
        if !survey.is_sparse && !sharing.is_empty() {
            // A chunk that does not end with its last block has a wrong length. The chunk after it is not at fault.
            let is_wrong = |span: &&ChunkSpan| sharing.contains(&span.number);
            let mut chunks = frame.chunks()?;
            for &ChunkSpan { start, end, number } in spans.iter().filter(is_wrong) {
                let entry = ChunkEntry { number, nbytes: None, place: ChunkPlace::Frame(start) };
                // A disk sector that cannot be read costs only the chunks in it.
                let last = streams_end(&mut chunks, &entry).unwrap_or_default();
                if last.is_some_and(|last| last != end - start) {
                    wrong_lengths.insert(number);
                }
            }
            spans.retain(|span| !wrong_lengths.contains(&span.number));
            sharing = overlapping(&spans);
        }
        // The majority of the chunks, because the header with the filters may be damaged.
        rules.filters = pipelines.into_iter().max_by_key(|&(_, count)| count).map(|(filters, _)| filters);
        let has_unowned =
            spans.len() < MAX_COMPARED && survey.unowned(&spans, &places) >= ChunkHeader::MAX_LEN as u64;
        let end = index_start(frame.header());
        Ok(Self { sharing, wrong_lengths, has_unowned, places, end, rules })
    }

    /// Whether a chunk shares bytes with another one, and nothing shows which of the two places is wrong.
    fn is_sharing(&self, entry: &ChunkEntry) -> bool {
        let (ChunkPlace::Frame(place) | ChunkPlace::File(place)) = entry.place else { return false };
        let first = self.places.partition_point(|&other| other < place);
        let is_repeated = self.places.get(first + 1) == Some(&place);
        is_repeated || self.sharing.contains(&entry.number)
    }

    /// The number of bytes up to the next chunk or the end of the chunks; 0 if the next chunk is not known. In a sparse
    /// frame, each chunk has a file.
    fn room(&self, entry: &ChunkEntry) -> u64 {
        let ChunkPlace::Frame(start) = entry.place else { return u64::MAX };
        if self.places.len() >= MAX_COMPARED {
            return 0;
        }
        let next = self.places.partition_point(|&place| place <= start);
        self.places.get(next).unwrap_or(&self.end).saturating_sub(start)
    }
}

/// Counts the filter pipeline of a compressed chunk.
fn count(pipelines: &mut Vec<(Vec<Filter>, u64)>, header: &ChunkHeader) {
    // Chunks without compressed blocks say nothing about the filters, and neither do those with damaged ones.
    if !header.has_table() || header.unknown_filter().is_some() {
        return;
    }
    let filters: Vec<Filter> = header.filters.iter().filter(|filter| filter.id != 0).copied().collect();
    if let Some((_, count)) = pipelines.iter_mut().find(|(known, _)| *known == filters) {
        *count += 1;
    } else if pipelines.len() < MAX_PIPELINES {
        pipelines.push((filters, 1));
    }
}

/// The writer of the new frame, and the result for the chunks.
struct Work<'w, 'p, W: Write> {
    writer: &'w mut FrameWriter<W>,
    progress: &'w mut Progress<'p>,
    saved: Saved,
    fill: SpecialValue,
}

impl<W: Write + Seek> Work<'_, '_, W> {
    fn take<R: Read + Seek>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        scan: &HeaderScan,
        next: Next,
    ) -> Result<(), Error> {
        match next {
            Next::Entry(entry) => self.entry(chunks, scan, &entry),
            Next::Repeated(entry, count) => {
                if let Some(special) = special(chunks, &entry) {
                    *self.saved.counts.of(entry.place) += count;
                    return self.writer.fill_missing(special);
                }
                add(&mut self.saved.lost, 0, count, "all entries of the chunk index are the same".into());
                Ok(())
            }
            Next::Unknown(first, count, why) => {
                add(&mut self.saved.lost, first, count, why);
                Ok(())
            }
        }
    }

    fn entry<R: Read + Seek>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        scan: &HeaderScan,
        entry: &ChunkEntry,
    ) -> Result<(), Error> {
        let number = entry.number;
        let verdict = if !entry.is_stored() {
            if let Some(special) = special(chunks, entry) {
                *self.saved.counts.of(entry.place) += 1;
                if scan.has_unowned {
                    let why = "its entry says that it is a single value, but the file has bytes of a chunk without an entry".into();
                    add(&mut self.saved.unverified, number, 1, why);
                }
                return self.writer.write_special(number, special);
            }
            Verdict::Lost("its entry in the chunk index is neither a place nor a special value".into())
        } else if scan.is_sharing(entry) {
            // Before the verification, which both chunks may pass.
            Verdict::Lost("it shares bytes with another chunk, so one of the two places is wrong".into())
        } else {
            let has_wrong_length = scan.wrong_lengths.contains(&number);
            verify::chunk(chunks, entry, &scan.rules, has_wrong_length, scan.room(entry))?
        };
        let SavedChunk { mut bytes, doubt, restored } = match verdict {
            Verdict::Saved(saved) => saved,
            Verdict::Lost(why) => {
                add(&mut self.saved.lost, number, 1, why);
                return Ok(());
            }
        };
        let is_cleared = clear_false_dictionary(&mut bytes);
        match self.writer.write_chunk(number, &bytes) {
            // The new frame does not take this chunk. The others are not affected.
            Err(error) if error.kind() == ErrorKind::Refused => {
                add(&mut self.saved.lost, number, 1, error.to_string());
                return Ok(());
            }
            written => written?,
        }
        self.saved.counts.stored += 1;
        for why in restored.into_iter().chain(is_cleared.then(|| CLEARED.into())) {
            add(&mut self.saved.restored, number, 1, why);
        }
        if let Some(why) = doubt {
            add(&mut self.saved.unverified, number, 1, why);
        }
        self.progress.advance(bytes.len() as u64)
    }

    /// Fills the lost chunks.
    fn finish(self) -> Result<Saved, Error> {
        if self.writer.first_missing().is_some() {
            self.writer.fill_missing(self.fill)?;
        }
        Ok(self.saved)
    }
}

/// The special value of an entry. No writer sets other bits, so an entry with other bits is damaged.
fn special<R: Read + Seek>(chunks: &Chunks<'_, R>, entry: &ChunkEntry) -> Option<SpecialValue> {
    let ChunkPlace::Special(special) = entry.place else { return None };
    let value = i64::from_le_bytes(chunks.entry_bytes(entry.number));
    // A damaged entry can still have the bits of a special value. Only an exact match counts.
    (EntryValue::Special(special).value() == value).then_some(special)
}
