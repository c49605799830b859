//! The survey of a damaged frame, before its chunks are read: the places of its parts, and its vlmetalayers.

use core::ops::Range;
use std::collections::BTreeSet;

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::internals::{clear_false_dictionary, clear_lazy, typesize_byte};

use crate::chunk::chunk_rules::{ChunkRules, check_in_trailer};
use crate::chunk::entry::{ChunkPlace, ENTRY_LEN};
use crate::chunk::expansion::{self, NotDecompressed};
use crate::chunk::hole::START;
use crate::error::Error;
use crate::finding::{Escaped, counted};
use crate::header::fields::{Generation, HeaderField};
use crate::header::frame::Frame;
use crate::header::section::{SectionRules, SharedBytes};
use crate::messagepack::marker::Marker;
use crate::messagepack::value_rules::check_value;
use crate::progress::Progress;
use crate::read::blocks::CHUNK_START_LEN;
use crate::salvage::chunk_header::with_restored_sizes;
use crate::salvage::damaged_file::{DamagedFile, Search};
use crate::salvage::header_length::{self, InferredLength};
use crate::salvage::header_repair::{
    ArrayEntries, DamagedHeader, Layers, TRAILER_START, begins_chunk, is_trailer,
};
use crate::salvage::order::{self, NumberedChunks, Order, TYPESIZE};
use crate::salvage::recorded_holes::{self, end_of_hole};
use crate::salvage::salvage_report::{
    AssumedOrder, CLEARED_DICTIONARY, CLEARED_LAZY, MetalayerNote, Notes, Restored,
};
use crate::source::ReadAt;
use crate::trailer::frame_trailer::{END_LEN, HEAD_LEN, MAX_TRAILER_LEN, Trailer};
use crate::trailer::salvage_note::{SALVAGE_NAME, SalvageNote};
use crate::write::frame_plan::Sizes;

/// The maximum number of places where a chunk index is searched for, besides the place according to the header. If more
/// places are possible, the last places in the file are tried, because the index follows the chunks.
const MAX_PLACES: usize = 16;

/// The maximum number of entries of a possible chunk index that are compared with the chunks. This limits the time that
/// each possible index takes.
const MAX_TRIED: usize = 1 << 12;

/// The parts of a frame.
pub(super) struct FrameParts {
    pub(super) header_len: u64,
    pub(super) sizes: Sizes,
    /// The byte range of the chunk index; `None` if it was not found, or if there are no chunks.
    pub(super) index: Option<Range<u64>>,
    /// Why all stored chunks may have wrong places. There are three possible reasons. Another `header_len` is possible,
    /// and with it, the entries of the chunk index would point to other chunks. Or a later commit has replaced the
    /// index. Or there is no index, and the order of the file is assumed.
    pub(super) place_doubt: Option<String>,
}

/// The doubt about all chunks of a frame, if a later commit may have replaced the chunk index that was found.
const OLD_INDEX: &str =
    "the chunk index that was found is from before the last commit, so the chunk may be an older one";

/// The doubt about all chunks of a frame without a chunk index, unless the order of the file is
/// [complete](Order::is_complete).
const ASSUMED_PLACE: &str = "the chunk index is lost, and the file does not have exactly the chunks of the array, so its \
                             place follows only from the assumed order of the chunks";

/// A possible place of the chunk index.
struct IndexPlace {
    start: u64,
    header_len: u64,
    len_doubt: Option<String>,
}

/// Finds the parts of a frame. If the chunk index may be at several places, chooses the place where the most entries
/// agree with the chunks. If `needs_header` is true, at least one entry must point to a chunk header with the right
/// sizes, unless all chunks are special. If `needs_header` is false, no entry may be invalid, and at least one entry
/// must point to a chunk header whose sizes can be restored.
fn find_parts<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
    needs_header: bool,
) -> Result<Option<FrameParts>, Error> {
    let cbytes = header.values.length(HeaderField::Cbytes);
    let mut best: Option<(usize, FrameParts)> = None;
    // The first place to try is the place according to the header, which is nearly always right. Then come the places
    // in the file where the bytes look like an index of the right length, from the last place to the first.
    for is_stated in [true, false] {
        let places = if is_stated {
            let start = |len: u64| if header.is_sparse { len } else { len.saturating_add(cbytes) };
            let lens = header.header_lens.iter().filter(|_| !header.is_len_lost);
            lens.map(|&header_len| IndexPlace { start: start(header_len), header_len, len_doubt: None })
                .collect()
        } else {
            let found = searched_places(file, header)?;
            not_replaced(file, header, found)?
        };
        for IndexPlace { start, header_len, len_doubt } in places {
            for &sizes in &header.sizes {
                if header_len > start || start >= file.len {
                    continue;
                }
                let (frame, progress) = file.frame(header.head(&sizes, header_len, start, file.len)?);
                progress.advance(0)?;
                let Some(IndexAgreement { agreeing, nwrong, end, leads_to_header }) = compare_index(&frame)
                else {
                    continue;
                };
                let is_possible =
                    if needs_header { leads_to_header } else { leads_to_damaged_header(&frame) };
                if !is_possible {
                    continue;
                }
                let place_doubt = len_doubt.clone();
                let index = Some(start..end);
                let parts = FrameParts { header_len, sizes, index, place_doubt };
                // The data of a chunk can look like an index, but no trailer follows such data. So an index is accepted
                // only if a trailer follows it. There is one exception: the trailer may be missing if the index is
                // where the header says, and no entry is wrong.
                let is_index = is_trailer(&file.read(end, TRAILER_START.len() as u64)?);
                if nwrong == 0 && (is_index || is_stated) {
                    return with_doubt_of_age(file, header, parts).map(Some);
                }
                let is_best =
                    best.as_ref().map_or(agreeing > 0 || !needs_header, |&(most, _)| agreeing > most);
                if is_index && is_best {
                    best = Some((agreeing, parts));
                }
            }
        }
    }
    best.map(|(_, parts)| with_doubt_of_age(file, header, parts)).transpose()
}

/// If a commit begins between the index and the end of the frame (according to the header), adds the doubt that this
/// index was replaced.
// If a file ends within its last commit, the index of this commit is lost. The record that lists the old index as a
// hole can be lost too. Then only the first bytes of the commit show that the old index was replaced.
fn with_doubt_of_age<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
    mut parts: FrameParts,
) -> Result<FrameParts, Error> {
    let end = parts.index.as_ref().map_or(file.len, |index| index.end);
    let commit = Search::new(START).next(file, end)?;
    if commit.is_some_and(|commit| commit < header.frame_len(file.len)) {
        parts.place_doubt.get_or_insert_with(|| OLD_INDEX.into());
    }
    Ok(parts)
}

/// The places in the file where the bytes look like a chunk index of the right length, from the last to the first.
fn searched_places<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
) -> Result<Vec<IndexPlace>, Error> {
    let starts = places(file, header.nchunks)?.into_iter().rev();
    if header.is_sparse {
        return Ok(starts.map(|start| IndexPlace { start, header_len: start, len_doubt: None }).collect());
    }
    if !header.is_len_lost {
        let of_start = |start| {
            let place = move |&header_len| IndexPlace { start, header_len, len_doubt: None };
            header.header_lens.iter().map(place)
        };
        return Ok(starts.flat_map(of_start).collect());
    }
    let (starts, mut found) = (starts.collect::<Vec<_>>(), Vec::new());
    for sizes in &header.sizes {
        let order =
            in_order_from(file, header, header.header_lens.first().copied().unwrap_or_default(), sizes)?;
        for &start in &starts {
            let inferred = header_length::infer(file, header, sizes, start, &order)?;
            found.extend(inferred.map(|InferredLength { header_len, doubt }| IndexPlace {
                start,
                header_len,
                len_doubt: doubt,
            }));
        }
    }
    Ok(found)
}

/// The possible places of an index, without the places of old indexes that a commit has replaced.
fn not_replaced<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
    mut places: Vec<IndexPlace>,
) -> Result<Vec<IndexPlace>, Error> {
    let frame_len = header.frame_len(file.len);
    let header_lens: BTreeSet<u64> = places.iter().map(|place| place.header_len).collect();
    for header_len in header_lens {
        let holes = recorded_holes::find(file, header_len, frame_len)?;
        places.retain(|place| place.header_len != header_len || end_of_hole(&holes, place.start).is_none());
    }
    Ok(places)
}

/// The agreement of a possible chunk index with the chunks.
struct IndexAgreement {
    /// The number of right entries. An entry of a special chunk is right if its special value is possible for the item
    /// size, and no other bits of the entry are set. An entry of a stored chunk is right if it points to a chunk header
    /// with the right sizes, and no earlier entry points to the same header.
    agreeing: usize,
    nwrong: usize,
    /// The offset where the index ends.
    end: u64,
    /// Whether an entry of a stored chunk is right, or all chunks are special. Otherwise, either the bytes are not a chunk
    /// index, or the sizes in the headers of all chunks are damaged.
    leads_to_header: bool,
}

/// Compares the first entries of a chunk index with the chunks. Returns `None` if the bytes are not a chunk index, or
/// if the index cannot be read.
fn compare_index<R: ReadAt>(frame: &Frame<&R>) -> Option<IndexAgreement> {
    // Only the sizes are checked. If they are right, the entry points to a chunk, even if the flags or filters of the
    // chunk are damaged.
    let rules = ChunkRules::new(frame.header(), true);
    let mut chunks = frame.open_salvaged_chunks().ok()?;
    let end = chunks.index()?.start().saturating_add(chunks.index()?.header().cbytes() as u64);
    let (mut agreeing, mut nwrong, mut nstored, mut nrepeated) = (0, 0, 0_usize, 0_usize);
    let mut places = BTreeSet::new();
    // If all entries are equal, only the first two are compared with the chunks. If they are entries of a stored chunk,
    // the second entry counts as wrong, because it points to the same chunk as the first.
    let most = if chunks.is_repeated() { 2 } else { MAX_TRIED };
    while let Some(entry) = chunks.next().filter(|_| agreeing + nwrong < most) {
        let entry = entry.ok()?;
        let value = i64::from_le_bytes(chunks.entry_bytes(entry.number));
        let is_right = match entry.place {
            ChunkPlace::Special(_) => chunks.is_special(&entry),
            ChunkPlace::Frame(_) | ChunkPlace::File(_) => {
                nstored += 1;
                let header = chunks.unchecked_header(&entry);
                let has_sizes =
                    header.is_ok_and(|(header, room)| rules.check_sizes(&header, entry.nbytes, room).is_ok());
                let is_new = has_sizes && places.insert(value);
                nrepeated += usize::from(has_sizes && !is_new);
                is_new
            }
            ChunkPlace::Invalid(_) => false,
        };
        *if is_right { &mut agreeing } else { &mut nwrong } += 1;
    }
    // If several entries point to the same chunk, and no other entry is right, they may point to this chunk by chance,
    // as all entries in an index of zeros do.
    let is_chance = agreeing == 1 && nrepeated > 0;
    let leads_to_header = nstored == 0 || !places.is_empty() && !is_chance;
    Some(IndexAgreement { agreeing, nwrong, end, leads_to_header })
}

/// Whether an entry of a chunk index points to a chunk header that is valid if its sizes are restored. The result is
/// `false` if one of the entries is neither a place nor a special value.
fn leads_to_damaged_header<R: ReadAt>(frame: &Frame<&R>) -> bool {
    let rules = ChunkRules::new(frame.header(), true);
    let Ok(mut chunks) = frame.open_salvaged_chunks() else { return false };
    let (mut left, mut leads_to_header) = (frame.header().frame_len, false);
    for _ in 0..MAX_TRIED {
        let entry = match chunks.next() {
            Some(Ok(entry)) => entry,
            Some(Err(_)) => return false,
            None => break,
        };
        if matches!(entry.place, ChunkPlace::Invalid(_)) {
            return false;
        }
        if entry.is_stored() && !leads_to_header {
            let first = chunks.stored_bytes(&entry, CHUNK_START_LEN);
            leads_to_header = first.is_ok_and(|first| {
                with_restored_sizes(&mut chunks, &entry, &first, &rules, &mut left).is_some()
            });
        }
    }
    leads_to_header
}

/// The offsets in a file where a chunk index for `nchunks` chunks may begin. The chunk header of such an index has a
/// known type size and decompressed size, and the file is searched for these two numbers. If there are more than
/// [`MAX_PLACES`] offsets, returns the last ones in the file.
fn places<R: ReadAt>(file: &mut DamagedFile<'_, R>, nchunks: u64) -> Result<Vec<u64>, Error> {
    let nbytes = nchunks.checked_mul(ENTRY_LEN as u64).and_then(|nbytes| i32::try_from(nbytes).ok());
    let Some(nbytes) = nbytes.filter(|&nbytes| nbytes > 0) else { return Ok(Vec::new()) };
    let [a, b, c, d] = nbytes.to_le_bytes();
    // In the chunk header of an index, the type size comes directly before the decompressed size.
    let bytes = [typesize_byte(ENTRY_LEN), a, b, c, d];
    let (mut search, mut start, mut found) = (Search::new(&bytes), TYPESIZE, Vec::new());
    while let Some(at) = search.next(file, start)? {
        start = at + 1;
        found.push(at - TYPESIZE);
        found.drain(..found.len().saturating_sub(MAX_PLACES));
    }
    Ok(found)
}

/// The type sizes of the chunks of vlmetalayers: python-blosc2 writes 1 for a frame in a file, and C-Blosc2 writes 8
/// for a frame in memory.
const TYPESIZES: [u8; 2] = [1, 8];

/// Finds the trailer and returns its bytes. If the length of the trailer is not known, the bytes after the trailer are
/// returned too. Returns `None` if no trailer is found. The last bytes of a trailer hold its length, so the trailer can
/// be found from the end of the frame or the end of the file. If the end of the trailer is damaged, the trailer is
/// found where the chunk index ends.
fn find_trailer<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    index_end: Option<u64>,
    frame_len: u64,
    restored: &mut Vec<Restored>,
) -> Result<Option<SharedBytes>, Error> {
    let least = index_end.unwrap_or(Generation::Present.head_len() as u64);
    // The end of the frame is tried first, because other bytes may follow the frame in the file.
    let len = file.len;
    for end in [frame_len, len].into_iter().filter(|&end| end <= len) {
        let suffix = file.read(end.saturating_sub(END_LEN as u64), END_LEN as u64)?;
        let [marker, a, b, c, d, ..] = *suffix else { continue };
        let trailer_len = u64::from(u32::from_be_bytes([a, b, c, d]));
        let is_length = marker == Marker::U32.to_u8() && trailer_len <= MAX_TRAILER_LEN as u64;
        let start = end.checked_sub(trailer_len).filter(|&start| is_length && start >= least);
        let Some(start) = start else { continue };
        let bytes = file.read(start, trailer_len)?;
        if bytes.starts_with(&TRAILER_START) {
            if frame_len != end {
                restored.push(restored_number(HeaderField::FrameLen, frame_len, end));
            }
            return Ok(Some(bytes.into()));
        }
    }
    let Some(start) = index_end else { return Ok(None) };
    if !is_trailer(&file.read(start, HEAD_LEN as u64 + 1)?) {
        return Ok(None);
    }
    restored.push(Restored::TrailerMarkers);
    file.read(start, MAX_TRAILER_LEN as u64).map(|bytes| Some(bytes.into()))
}

/// Reads the vlmetalayers of the trailer at the start of `bytes`. Vlmetalayers that cannot be read are noted as lost.
fn vlmetalayers(bytes: &[u8], notes: &mut Notes) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut kept = Vec::new();
    // `left` limits how many bytes of contents are checked in total. Undamaged contents share no bytes, so together
    // they are no longer than the trailer. The limit is twice the length of the trailer, because a damaged metalayer
    // has several possible byte ranges for its content, and more than one of them may be checked.
    let mut left = bytes.len().saturating_mul(2);
    for layer in Layers::read(bytes, HEAD_LEN, SectionRules::TRAILER.max_count.into()).layers {
        let contents = layer.contents.iter().filter_map(|range| bytes.get(range.clone()));
        let is_named = core::str::from_utf8(&layer.name).is_ok_and(|name| !name.is_empty());
        let chunk = intact(contents, &mut left);
        let chunk = if is_named { chunk } else { chunk.and(Err("its name is damaged".into())) };
        let name = Escaped(&String::from_utf8_lossy(&layer.name)).to_string();
        match chunk {
            Ok(IntactChunk { bytes, is_first, cleared, doubt }) => {
                if !is_first {
                    notes.restore_trailer_markers();
                }
                if let Some(why) = doubt {
                    notes.unverified_metalayers.push(MetalayerNote { name: name.clone(), why });
                }
                notes.restored.extend(
                    cleared.into_iter().map(|why| {
                        Restored::Vlmetalayer(MetalayerNote { name: name.clone(), why: why.into() })
                    }),
                );
                kept.push((layer.name, bytes));
            }
            Err(why) => notes.lose_metalayer(name, why),
        }
    }
    kept
}

/// The intact chunk of a vlmetalayer.
struct IntactChunk {
    bytes: Vec<u8>,
    /// Whether this is the first possible content. The index of vlmetalayers usually refers to the first one.
    is_first: bool,
    /// The reason for each cleared flag in the header of the chunk.
    cleared: Vec<&'static str>,
    /// Why the value of the chunk could not be verified.
    doubt: Option<String>,
}

/// Returns the first of the `contents` that is an intact chunk. If none of them is intact, the error is about the first
/// content, because the index of vlmetalayers usually refers to that content. Each content that is checked reduces
/// `left` by its length. If `left` is too small for a content, the content counts as damaged.
fn intact<'b>(contents: impl Iterator<Item = &'b [u8]>, left: &mut usize) -> Result<IntactChunk, String> {
    let mut first = None;
    for content in contents {
        let chunk = ChunkHeader::parse(content).filter(|header| header.cbytes() == content.len());
        let why = match left.checked_sub(content.len()) {
            _ if chunk.is_none() => "its chunk has another length than its header says".into(),
            None => "it shares bytes with other vlmetalayers".into(),
            Some(rest) => {
                *left = rest;
                let mut bytes = content.to_vec();
                let flags = [
                    (clear_lazy(&mut bytes), CLEARED_LAZY),
                    (clear_false_dictionary(&mut bytes), CLEARED_DICTIONARY),
                ];
                let cleared = flags.into_iter().filter_map(|(is_cleared, why)| is_cleared.then_some(why));
                match check_chunk(&bytes) {
                    Ok(doubt) => {
                        let (is_first, cleared) = (first.is_none(), cleared.collect());
                        return Ok(IntactChunk { bytes, is_first, cleared, doubt });
                    }
                    Err(wrong) => format!("its chunk {wrong}"),
                }
            }
        };
        first.get_or_insert(why);
    }
    Err(first.unwrap_or_else(|| "its chunk cannot be found in the trailer".into()))
}

/// Checks that the chunk of a vlmetalayer can be read. If the value cannot be decompressed, but nothing shows that the
/// chunk is damaged, returns the reason. The bytes of such a chunk are kept.
fn check_chunk(chunk: &[u8]) -> Result<Option<String>, String> {
    let header = ChunkHeader::parse(chunk).ok_or("has no header")?;
    check_in_trailer(&header, chunk)?;
    // The shuffle filter orders bytes by the type size. If the type size is damaged, the decompressed bytes are in
    // another order, and can be valid MessagePack too. So only the type sizes that writers use are accepted.
    let is_usual = header.is_uncompressed() || TYPESIZES.contains(&header.typesize());
    if !is_usual {
        return Err("has a type size that no writer uses for a vlmetalayer".into());
    }
    if header.has_unknown_flags() {
        return Err("has flags that no writer stores".into());
    }
    if header.filters().iter().any(|filter| filter.is_unknown() || filter.is_plugin()) {
        return Err("has filters that no writer uses for a vlmetalayer".into());
    }
    match expansion::value(header, chunk) {
        Ok(value) => {
            check_value(&value).map(|()| None).map_err(|why| format!("does not hold MessagePack: {why}"))
        }
        Err(NotDecompressed::Unsupported(why) | NotDecompressed::TooLarge(why)) => {
            Ok(Some(format!("its chunk {why}")))
        }
        Err(NotDecompressed::Damaged(why)) => Err(why),
    }
}

/// What was found in a damaged frame: the array, the places of its chunks, and the vlmetalayers.
pub(super) struct Survey {
    pub(super) header: DamagedHeader,
    pub(super) parts: FrameParts,
    pub(super) vlmetalayers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The note of an earlier salvage about its losses; empty if there is none.
    pub(super) before: SalvageNote,
    /// The numbers and places of the chunks, if there is no chunk index. Chunks that are not in this list are lost.
    pub(super) order: Option<NumberedChunks>,
    /// Whether the caller assumes that the chunks are in the order of the file.
    pub(super) assumes_order: bool,
}

impl Survey {
    /// Finds the parts of a frame. The error is `OrderUnknown` if the numbers of the chunks are not known, and
    /// `assumes_order` is false.
    pub(super) fn new<R: ReadAt>(
        file: &mut DamagedFile<'_, R>,
        given: &ArrayEntries,
        assumes_order: bool,
        notes: &mut Notes,
    ) -> Result<Self, Error> {
        let header = DamagedHeader::read(file, given, notes)?;
        let (parts, order) = place(file, &header, given, assumes_order)?;
        match &order {
            Some(order) if (header.nchunks, order.len()) == (1, 1) => {
                notes.restored.push(Restored::ChunkIndex);
            }
            Some(order) => notes.assumed_order = Some(assumed(order, header.nchunks)),
            None => notes.restored.extend(differences(&header, &parts)),
        }
        if let Some(index) = &parts.index
            && clear_lazy(&mut file.read(index.start, ChunkHeader::MAX_LEN as u64)?)
        {
            notes.restored.push(Restored::ChunkIndexFlag);
        }
        let faults = header.faults(parts.header_len, &notes.restored);
        notes.restored.extend(faults);
        let FrameParts { header_len, ref sizes, ref index, .. } = parts;
        let index_end =
            if sizes.nchunks == 0 { Some(header_len) } else { index.as_ref().map(|index| index.end) };
        let frame_len = header.frame_len(file.len);
        // If no trailer is found, the vlmetalayers are lost. This is no error: the new frame gets a new trailer.
        let trailer = find_trailer(file, index_end, frame_len, &mut notes.restored)?;
        if trailer.is_none() && header.values.has_vlmetalayers() {
            notes.lose_metalayer("all vlmetalayers", "the trailer cannot be found");
        } else if trailer.is_none() && index_end.is_some() {
            notes.restored.push(Restored::Trailer);
        }
        let mut vlmetalayers = trailer.as_ref().map_or_else(Vec::new, |bytes| vlmetalayers(bytes, notes));
        // Vlmetalayers are read even from a trailer that readers refuse. Such a trailer counts as restored.
        let head = header.head(sizes, header_len, file.len, file.len)?;
        if trailer.is_some_and(|bytes| Trailer::parse_whole(head.header(), bytes).is_err()) {
            notes.restore_trailer_markers();
        }
        let before = vlmetalayers.iter().position(|(name, _)| name == SALVAGE_NAME.as_bytes());
        let before = before.map(|at| SalvageNote::of_chunk(&vlmetalayers.remove(at).1));
        if before == Some(None) {
            // This vlmetalayer has the name of a salvage note, but does not hold a valid note. It is not kept, because
            // the new frame may need a note with this name.
            notes.lose_metalayer(SALVAGE_NAME, "it is not the list of an earlier salvage");
        }
        let before = before.flatten().unwrap_or_default();
        Ok(Self { header, parts, vlmetalayers, before, order, assumes_order })
    }

    /// Returns the old frame, with a header made from the restored values. Also returns the progress callback in
    /// `file`, because the caller cannot use `file` while the frame borrows it.
    pub(super) fn frame<'s, 'p, R: ReadAt>(
        &self,
        file: &'s mut DamagedFile<'p, R>,
    ) -> Result<(Frame<&'s R>, &'s mut Progress<'p>), Error> {
        let FrameParts { header_len, ref sizes, ref index, .. } = self.parts;
        let end = index.as_ref().map_or(file.len, |index| index.start);
        let mut head = self.header.head(sizes, header_len, end, file.len)?;
        if index.is_none() {
            // The index is lost, so `Frame::chunks` must not read it. `Frame::chunks` reads no index if `nbytes` in the
            // header is 0.
            head.header.nbytes = 0;
        }
        Ok(file.frame(head))
    }
}

/// Finds the parts of the frame. If no chunk index is found, also returns the chunks, numbered in the order of the
/// file. In that case, the result is an error, unless `assumes_order` is true, or the array has one chunk and one chunk
/// was found.
fn place<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
    given: &ArrayEntries,
    assumes_order: bool,
) -> Result<(FrameParts, Option<NumberedChunks>), Error> {
    let nchunks = header.nchunks;
    let contradiction = header.sizes.first().and_then(|sizes| header.contradiction(sizes));
    if let Some(&sizes) = header.sizes.first().filter(|_| nchunks == 0) {
        let header_len = header.header_lens.first().copied().unwrap_or_default();
        // In a frame without chunks, the trailer follows the header. If a chunk follows instead, the shape is wrong.
        let possible = if header.is_len_lost { header.header_lens.len() } else { 1 };
        for &header_len in header.header_lens.iter().take(possible) {
            if begins_chunk(&file.read(header_len, ChunkHeader::MAX_LEN as u64)?, 0) {
                let why = contradiction.map_or_else(String::new, |why| format!("; {why}"));
                return Err(Error::array_unknown(format_args!(
                    "the shape has no items, so there are no chunks, but a chunk begins at byte {header_len}{why}"
                )));
            }
        }
        return Ok((FrameParts { header_len, sizes, index: None, place_doubt: None }, None));
    }
    if let Some(parts) = find_parts(file, header, true)? {
        return Ok((parts, None));
    }
    // No chunk index was found that has an entry for each chunk of the array. Often the reason is that the array's
    // metalayer is wrong. The metalayer is certainly wrong if the header and the chunk index agree on another number of
    // chunks.
    if let (Some(why), Some(indexed)) = (&contradiction, other_count(file, header)?) {
        let indexed = counted(indexed, "chunk");
        return Err(Error::array_unknown(format_args!(
            "the chunk index has {indexed}, but the array has {nchunks}; {why}"
        )));
    }
    let (mut parts, order) = in_order(file, header)?;
    let found = order.found.len();
    // If no chunk has a valid header, although the header of the frame agrees with the array, the sizes in the chunk
    // headers may be damaged.
    if found == 0
        && contradiction.is_none()
        && let Some(parts) = find_parts(file, header, false)?
    {
        return Ok((parts, None));
    }
    if found == 0 {
        let nothing =
            "nothing could be saved: no chunk index that fits the array and no undamaged chunk was found";
        return Err(match contradiction {
            Some(why) => Error::array_unknown(format_args!("{nothing}; {why}")),
            None if given.is_empty() => Error::unsupported(nothing),
            None => Error::unsupported(format_args!("{nothing}; the given shapes or dtype may be wrong")),
        });
    }
    // If the array has one chunk, and one chunk was found, its number is certain, so the order need not be assumed.
    let is_only = (nchunks, found) == (1, 1);
    if !assumes_order && !is_only {
        let why = contradiction.map_or(String::new(), |why| format!("{why}; otherwise, "));
        let found = counted(found, "chunk");
        return Err(Error::order_unknown(format_args!(
            "the chunk index cannot be found; {why}the file has {found} and the array has {nchunks}, but the numbers of \
             the chunks are not known, because a chunk of zeros takes no bytes, and replaced chunks are at the end; \
             to save them in the order of the file, assume the order"
        )));
    }
    let end = parts.header_len.saturating_add(header.values.length(HeaderField::Cbytes));
    // Even the only chunk of a file can be an old chunk, if the file ends within the chunk that has replaced it.
    let is_certain = is_only && header.is_sparse
        || order.is_complete(nchunks, Some(end).filter(|_| !header.values.is_lost));
    parts.place_doubt = (!is_certain).then(|| ASSUMED_PLACE.into());
    Ok((parts, Some(order.numbered(nchunks, end))))
}

/// Finds the chunks in the order of the file. If several header lengths or type sizes are possible, uses the header
/// length and the type size that find the most chunks.
fn in_order<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
) -> Result<(FrameParts, Order), Error> {
    let mut best: Option<(FrameParts, Order)> = None;
    let tries =
        header.header_lens.iter().flat_map(|&len| header.sizes.iter().map(move |&sizes| (len, sizes)));
    for (header_len, sizes) in tries {
        let order = in_order_from(file, header, header_len, &sizes)?;
        if best.as_ref().is_none_or(|(_, most)| order.found.len() > most.found.len()) {
            best = Some((FrameParts { header_len, sizes, index: None, place_doubt: None }, order));
        }
    }
    best.ok_or_else(|| Error::array_unknown("the size of an item is not known"))
}

/// Finds the chunks after a header of `header_len` bytes, in the order of the file.
fn in_order_from<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
    header_len: u64,
    sizes: &Sizes,
) -> Result<Order, Error> {
    let head = header.head(sizes, header_len, file.len, file.len)?;
    let rules = ChunkRules { filters: None, ..ChunkRules::new(&head.header, true) };
    order::find(file, header_len, header.frame_len(file.len), sizes, &rules)
}

/// The number of chunks according to both the header and the chunk index; `None` if they disagree, or if the array has
/// this number too.
fn other_count<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
) -> Result<Option<u64>, Error> {
    let [nbytes, chunksize, cbytes] = [HeaderField::Nbytes, HeaderField::Chunksize, HeaderField::Cbytes]
        .map(|field| header.values.length(field));
    let stated = nbytes.checked_div(chunksize).filter(|&stated| stated > 0 && stated != header.nchunks);
    let Some(stated) = stated else { return Ok(None) };
    for &header_len in &header.header_lens {
        let start = header_len.saturating_add(if header.is_sparse { 0 } else { cbytes });
        let index = ChunkHeader::parse(&file.read(start, ChunkHeader::MAX_LEN as u64)?);
        let is_index = |index: ChunkHeader| {
            usize::from(index.typesize()) == ENTRY_LEN
                && stated.checked_mul(ENTRY_LEN as u64) == Some(index.nbytes() as u64)
        };
        if index.is_some_and(is_index) {
            return Ok(Some(stated));
        }
    }
    Ok(None)
}

fn assumed(order: &[(u64, u64)], nchunks: u64) -> AssumedOrder {
    let found = order.len() as u64;
    let missing = order.last().map_or(0, |&(last, _)| last + 1 - found);
    AssumedOrder { found, missing, nchunks, wrong_entries: 0 }
}

fn restored_number(field: HeaderField, old: impl Into<i128>, new: impl Into<i128>) -> Restored {
    Restored::Number { name: field.encoding().name, numbers: [old.into(), new.into()] }
}

/// The numbers in the header that were wrong.
fn differences(header: &DamagedHeader, parts: &FrameParts) -> Vec<Restored> {
    if header.values.is_lost {
        return Vec::new();
    }
    let FrameParts { header_len, ref sizes, ref index, .. } = *parts;
    let mut right = vec![(HeaderField::HeaderLen, i128::from(header_len))];
    if let Some(index) = index.as_ref().filter(|_| !header.is_sparse) {
        right.push((HeaderField::Cbytes, index.start.saturating_sub(header_len).into()));
    }
    // In a frame without chunks, any `chunksize` is right.
    let is_known = |field| field != HeaderField::Chunksize || sizes.nchunks > 0;
    let of_array = sizes.in_header().into_iter().filter(|&(field, _)| is_known(field));
    right.extend(of_array.map(|(field, right)| (field, right.into())));
    let found = |field| i128::from(header.values.number(field));
    let wrong = right.into_iter().filter(|&(field, right)| found(field) != right);
    wrong.map(|(field, right)| restored_number(field, found(field), right)).collect()
}
