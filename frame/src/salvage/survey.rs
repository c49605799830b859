//! The survey of a damaged frame, before its chunks are read: the places of its parts, and its vlmetalayers.

use core::ops::Range;
use std::collections::BTreeSet;
use std::io::{Read, Seek};

use b2nd_serde::dtype::Dtype;

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::header::{clear_false_dictionary, typesize_byte};

use crate::error::Error;
use crate::finding::{Escaped, counted};
use crate::format::decompress;
use crate::format::fields::{Generation, HeaderField};
use crate::format::frame::Frame;
use crate::format::header::{MAX_HEADER_LEN, not_a_frame};
use crate::format::header_builder::{Compression, HeaderBuilder};
use crate::format::index::{ChunkPlace, ENTRY_LEN};
use crate::format::marker::Marker;
use crate::format::salvage_note::{SALVAGE_NAME, SalvageNote};
use crate::format::section::{Section, SectionRules};
use crate::format::trailer::{END_LEN, HEAD_LEN, MAX_TRAILER_LEN};
use crate::progress::Progress;
use crate::rules::chunk::{ChunkRules, check_in_trailer};
use crate::rules::messagepack::check_value;
use crate::salvage::damaged_file::{DamagedFile, PIECE};
use crate::salvage::header::{
    Given, Layers, Metadata, TRAILER_START, Values, begins_chunk, generation, in_header, is_trailer,
    read_metadata,
};
use crate::salvage::order::{self, NumberedChunks, Order, TYPESIZE, signature};
use crate::salvage::report::{AssumedOrder, LostMetalayer, Restored};
use crate::write::plan::{self, Sizes};

/// The maximum number of possible places of the chunk index. If there are more, the last ones in the file are tried,
/// because the index follows the chunks.
const MAX_PLACES: usize = 16;

/// The maximum number of entries of a possible chunk index that are compared with the chunks. It bounds the time of
/// each try.
const MAX_TRIED: usize = 1 << 12;

/// The parts of a frame.
pub(super) struct FrameParts {
    pub(super) header_len: u64,
    pub(super) sizes: Sizes,
    /// The byte range of the chunk index; `None` if it was not found, or if there are no chunks.
    pub(super) index: Option<Range<u64>>,
}

/// The values of a header that do not depend on the sizes and places of the parts.
pub(super) struct Draft<'m> {
    pub(super) compression: &'m Compression,
    pub(super) layers: &'m [(Vec<u8>, Vec<u8>)],
    pub(super) is_sparse: bool,
}

impl Draft<'_> {
    /// The values and the metalayers of a header.
    pub(super) fn header(&self, sizes: &Sizes) -> Result<(HeaderBuilder, Vec<u8>), Error> {
        let builder = plan::header(sizes, self.is_sparse, self.compression, false);
        let layers: Vec<_> = self.layers.iter().map(|(name, content)| (&name[..], &content[..])).collect();
        let section = Section::build(&SectionRules::HEADER, builder.len(), &layers);
        let section = section.ok_or_else(|| Error::too_large("the metalayers are too long for a header"))?;
        Ok((builder, section))
    }

    /// The header of a frame with these parts. `end` is the end of the chunks.
    pub(super) fn head(
        &self,
        sizes: &Sizes,
        header_len: u64,
        end: u64,
        frame_len: u64,
    ) -> Result<Frame<()>, Error> {
        let (builder, section) = self.header(sizes)?;
        let bytes = builder.finish(&section, frame_len);
        let bytes = bytes.ok_or_else(|| Error::too_large("the metalayers are too long for a header"))?;
        let mut head = Frame::parse(&bytes)?;
        head.header.header_len = usize::try_from(header_len).unwrap_or(usize::MAX);
        head.header.frame_len = frame_len;
        // In a sparse frame, the bytes of the chunks are not in this file.
        let cbytes = if self.is_sparse { u64::MAX } else { end.saturating_sub(header_len) };
        head.header.cbytes = i64::try_from(cbytes).unwrap_or(i64::MAX);
        Ok(head)
    }
}

/// Finds the parts of a frame. The possible chunk index whose entries lead to most chunks wins.
fn find_parts<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    values: &Values,
    metadata: &Metadata,
    draft: &Draft<'_>,
) -> Result<Option<FrameParts>, Error> {
    let mut best: Option<(usize, FrameParts)> = None;
    let cbytes = u64::try_from(values.number(HeaderField::Cbytes)).unwrap_or_default();
    let stated = metadata.header_lens.iter().map(|&len| len as u64).map(|header_len| {
        let start = if draft.is_sparse { header_len } else { header_len.saturating_add(cbytes) };
        (header_len, start)
    });
    // First the place in the header, which is nearly always right.
    for (header_len, start) in stated {
        if try_place(file, metadata, draft, (header_len, start, true), &mut best)? {
            return Ok(best.map(|(_, parts)| parts));
        }
    }
    // Then every place in the file where the bytes match an index of the right length, the last one first.
    for start in places(file, metadata.nchunks)?.into_iter().rev() {
        let before = start.saturating_sub(cbytes);
        let before = metadata.header_lens.is_empty().then_some(before);
        let header_lens = metadata.header_lens.iter().map(|&len| len as u64).chain(before);
        for header_len in if draft.is_sparse { vec![start] } else { header_lens.collect() } {
            if try_place(file, metadata, draft, (header_len, start, false), &mut best)? {
                return Ok(best.map(|(_, parts)| parts));
            }
        }
    }
    Ok(best.map(|(_, parts)| parts))
}

/// Tries a place of the chunk index with each possible item size. Returns whether one of them has no wrong entry.
fn try_place<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    metadata: &Metadata,
    draft: &Draft<'_>,
    (header_len, start, is_stated): (u64, u64, bool),
    best: &mut Option<(usize, FrameParts)>,
) -> Result<bool, Error> {
    for &sizes in &metadata.sizes {
        if header_len > start || start >= file.len {
            continue;
        }
        let head = draft.head(&sizes, header_len, start, file.len)?;
        let (mut frame, progress) = file.frame(head);
        progress.advance(0)?;
        let Some((tried, end)) = agreeing(&mut frame) else { continue };
        let parts = FrameParts { header_len, sizes, index: Some(start..end) };
        // The data of a chunk can resemble an index, but no trailer follows it.
        let is_index = is_trailer(&file.read(end, TRAILER_START.len() as u64)?);
        if !(is_index || is_stated && tried.nwrong == 0) {
            continue;
        }
        let is_whole = tried.nwrong == 0;
        if is_whole || tried.agreeing > best.as_ref().map_or(0, |&(most, _)| most) {
            *best = Some((tried.agreeing, parts));
        }
        if is_whole {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The agreement of a possible chunk index with the chunks.
#[derive(Default)]
struct Tried {
    /// Entries that are exactly a special value, or lead to a chunk header, each to a different one.
    agreeing: usize,
    nwrong: usize,
}

/// Compares the first entries of a chunk index with the chunks. Also returns the end of the index; `None` if it cannot
/// be read.
fn agreeing<R: Read + Seek>(frame: &mut Frame<&mut R>) -> Option<(Tried, u64)> {
    // The filters in a damaged header may be wrong too, and a wrong repeated value says nothing about the index.
    let rules = ChunkRules { filters: None, itemsize: None, ..ChunkRules::new(frame.header(), true) };
    let mut chunks = frame.chunks().ok()?;
    let end = chunks.index()?.start().saturating_add(chunks.index()?.header().cbytes as u64);
    let (mut tried, mut nstored) = (Tried::default(), 0_usize);
    let mut places = BTreeSet::new();
    // If all entries are equal, the second one already shows that a place repeats.
    let most = if chunks.is_repeated() { 2 } else { MAX_TRIED };
    while let Some(entry) = chunks.next().filter(|_| tried.agreeing + tried.nwrong < most) {
        let entry = entry.ok()?;
        let value = i64::from_le_bytes(chunks.entry_bytes(entry.number));
        let is_right = match entry.place {
            ChunkPlace::Special(_) => chunks.other_bits(&entry).is_none(),
            ChunkPlace::Frame(_) | ChunkPlace::File(_) => {
                nstored += 1;
                chunks.valid_header(&entry, &rules).is_ok() && places.insert(value)
            }
            ChunkPlace::Invalid(_) => false,
        };
        tried.agreeing += usize::from(is_right);
        tried.nwrong += usize::from(!is_right);
    }
    // Stored entries that lead to no chunk at all are not an index.
    if nstored > 0 && places.is_empty() { None } else { Some((tried, end)) }
}

/// The last places in a file, at most [`MAX_PLACES`], where the bytes match the item size and the length of a chunk
/// index for `nchunks` chunks.
fn places<R: Read + Seek>(file: &mut DamagedFile<'_, R>, nchunks: u64) -> Result<Vec<u64>, Error> {
    let nbytes = nchunks.checked_mul(ENTRY_LEN as u64).and_then(|nbytes| i32::try_from(nbytes).ok());
    let Some(nbytes) = nbytes.filter(|&nbytes| nbytes > 0) else { return Ok(Vec::new()) };
    let [a, b, c, d] = nbytes.to_le_bytes();
    let mut found = Vec::new();
    let mut at = TYPESIZE;
    while at < file.len {
        // The item size of an index, and its decompressed size, as they follow one another in a chunk header.
        found.extend(
            file.search_piece(at, &[typesize_byte(ENTRY_LEN), a, b, c, d])?
                .into_iter()
                .map(|offset| offset - TYPESIZE),
        );
        found.drain(..found.len().saturating_sub(MAX_PLACES));
        at = at.saturating_add(PIECE);
    }
    Ok(found)
}

/// The type sizes of the chunks of vlmetalayers: python-blosc2 asks for 1 in a file, and C-Blosc2 takes 8 in memory.
const TYPESIZES: [u8; 2] = [1, 8];

/// The vlmetalayers of a trailer.
#[derive(Default)]
struct Vlmetalayers {
    kept: Vec<(Vec<u8>, Vec<u8>)>,
    /// The names of the vlmetalayers that cannot be read, and the reasons.
    lost: Vec<LostMetalayer>,
}

/// Finds the trailer and returns its vlmetalayers; `None` if there is no trailer. The last bytes of a trailer hold its
/// length, so it is found from the end of the frame or of the file. If its end is damaged, it is found at the end of
/// the chunk index.
fn read_trailer<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    index_end: Option<u64>,
    frame_len: u64,
    restored: &mut Vec<Restored>,
) -> Result<Option<Vlmetalayers>, Error> {
    let least = index_end.unwrap_or(Generation::Present.head_len() as u64);
    // The end of the frame first: other bytes may follow it in the file.
    for end in [frame_len, file.len] {
        if let Some(bytes) = from_end(file, least, end)? {
            if frame_len != end {
                let numbers = [frame_len.into(), end.into()];
                restored.push(Restored::Number { name: HeaderField::FrameLen.encoding().name, numbers });
            }
            return Ok(Some(vlmetalayers(&bytes, restored)));
        }
    }
    let Some(start) = index_end else { return Ok(None) };
    if !is_trailer(&file.read(start, HEAD_LEN as u64 + 1)?) {
        return Ok(None);
    }
    let bytes = file.read(start, MAX_TRAILER_LEN as u64)?;
    restored.push(Restored::TrailerMarkers);
    Ok(Some(vlmetalayers(&bytes, restored)))
}

/// The bytes of the trailer that ends at `end`.
fn from_end<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    least: u64,
    end: u64,
) -> Result<Option<Vec<u8>>, Error> {
    if end > file.len {
        return Ok(None);
    }
    let suffix = file.read(end.saturating_sub(END_LEN as u64), END_LEN as u64)?;
    let [marker, a, b, c, d, ..] = *suffix else { return Ok(None) };
    let len = u32::from_be_bytes([a, b, c, d]);
    let start =
        end.checked_sub(len.into()).filter(|&start| start >= least && len as usize <= MAX_TRAILER_LEN);
    let Some(start) = start.filter(|_| marker == Marker::U32.to_u8()) else { return Ok(None) };
    let bytes = file.read(start, len.into())?;
    Ok(bytes.starts_with(&TRAILER_START).then_some(bytes))
}

/// The vlmetalayers of a trailer. More bytes may follow it.
fn vlmetalayers(bytes: &[u8], restored: &mut Vec<Restored>) -> Vlmetalayers {
    let section = Layers::read(bytes, HEAD_LEN, SectionRules::TRAILER.max_count.into());
    let mut found = Vlmetalayers::default();
    // Undamaged contents share no bytes, so together they are no longer than the trailer. Twice that leaves room for
    // damaged ones, which are tried at several places.
    let mut left = bytes.len().saturating_mul(2);
    for layer in section.layers {
        let contents = layer.contents.iter().filter_map(|range| bytes.get(range.clone()));
        let is_named = core::str::from_utf8(&layer.name).is_ok_and(|name| !name.is_empty());
        let chunk = intact(contents, &mut left);
        let chunk = if is_named { chunk } else { chunk.and(Err("its name is damaged".into())) };
        let name = Escaped(&String::from_utf8_lossy(&layer.name)).to_string();
        match chunk {
            Ok((chunk, is_restored)) => {
                restored.extend(is_restored.then_some(Restored::Vlmetalayer(name)));
                found.kept.push((layer.name, chunk));
            }
            Err(why) => found.lost.push(LostMetalayer { name, why }),
        }
    }
    found
}

/// The first of these contents that is an intact chunk, and whether a flag of it was restored. The error is that of the
/// first content, because the index refers to it. The contents may have `left` bytes together.
fn intact<'b>(contents: impl Iterator<Item = &'b [u8]>, left: &mut usize) -> Result<(Vec<u8>, bool), String> {
    let mut first = None;
    for content in contents {
        let chunk = ChunkHeader::parse(content).filter(|header| header.cbytes == content.len());
        let why = match left.checked_sub(content.len()) {
            _ if chunk.is_none() => "its chunk has another length than its header says".into(),
            None => "it shares bytes with other vlmetalayers".into(),
            Some(rest) => {
                *left = rest;
                let mut chunk = content.to_vec();
                let is_restored = clear_false_dictionary(&mut chunk);
                match check_chunk(&chunk) {
                    Ok(()) => return Ok((chunk, is_restored)),
                    Err(wrong) => format!("its chunk {wrong}"),
                }
            }
        };
        first.get_or_insert(why);
    }
    Err(first.unwrap_or_else(|| "its chunk cannot be found in the trailer".into()))
}

/// Checks that the chunk of a vlmetalayer can be read.
fn check_chunk(chunk: &[u8]) -> Result<(), String> {
    let header = ChunkHeader::parse(chunk).ok_or("has no header")?;
    check_in_trailer(&header, chunk)?;
    // The filter moves bytes by the type size, so a damaged one gives another text, which is MessagePack too.
    let is_usual = header.is_uncompressed || TYPESIZES.contains(&header.typesize);
    if !is_usual || header.has_unknown_flags() {
        return Err("has the header of another kind of chunk".into());
    }
    if header.filters.iter().any(|filter| filter.is_unknown() || filter.is_plugin()) {
        return Err("has filters that no writer uses for a vlmetalayer".into());
    }
    // Without the feature, only an uncompressed value is read.
    if header.stored(chunk).is_none() && cfg!(not(feature = "decompress")) {
        return Ok(());
    }
    let value = decompress::value(header, chunk).map_err(|why| format!("cannot be decompressed: {why}"))?;
    check_value(&value).map_err(|why| format!("does not hold MessagePack: {why}"))
}

/// The longest header that is searched if its length is not known.
const FIRST_READ: u64 = 1 << 16;

/// The parts of the report that the survey finds.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) restored: Vec<Restored>,
    pub(super) assumed_order: Option<AssumedOrder>,
    pub(super) lost_metalayers: Vec<LostMetalayer>,
}

/// A damaged frame with a known array and known places of chunks.
pub(super) struct Survey {
    /// The first bytes, which must stay the same.
    pub(super) prefix: Vec<u8>,
    pub(super) parts: FrameParts,
    pub(super) dtype: Option<Dtype>,
    pub(super) compression: Compression,
    pub(super) layers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) is_sparse: bool,
    pub(super) vlmetalayers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The losses of an earlier salvage.
    pub(super) before: SalvageNote,
    /// The numbers and places of the chunks, if there is no chunk index. Chunks that are not in it are lost.
    pub(super) order: Option<NumberedChunks>,
    /// Whether the numbers of the chunks are those of the file, and may be wrong.
    pub(super) has_assumed_order: bool,
}

impl Survey {
    /// Finds the parts of a frame. Returns `OrderUnknown` if the places of the chunks are not known, and
    /// `assumes_order` is false.
    pub(super) fn of<R: Read + Seek>(
        file: &mut DamagedFile<'_, R>,
        given: &Given,
        assumes_order: bool,
    ) -> Result<(Self, Notes), Error> {
        let mut notes = Notes::default();
        let mut prefix = file.read(0, FIRST_READ)?;
        if generation(&prefix) != Generation::Present {
            return Err(Error::unsupported("frames older than C-Blosc2 2.0.0-rc1 cannot be salvaged"));
        }
        let values = Values::read(&prefix, &mut notes.restored);
        let header_len = u64::try_from(values.number(HeaderField::HeaderLen)).unwrap_or_default();
        if header_len > FIRST_READ && header_len <= MAX_HEADER_LEN as u64 {
            prefix = file.read(0, header_len)?;
        }
        if prefix.is_empty() {
            return Err(Error::malformed(not_a_frame("the file is empty")));
        }
        let Notes { restored, lost_metalayers, .. } = &mut notes;
        let mut metadata = match read_metadata(&prefix, &values, given, restored, lost_metalayers) {
            Err(_) if values.is_lost && given.is_empty() => {
                return Err(Error::malformed(not_a_frame(
                    "its first bytes are not those of a header; if they are lost, give the shape, chunk shape, block \
                     shape and dtype of the array",
                )));
            }
            Err(_) if values.head(&prefix).is_some_and(|head| head.array_metalayer().is_none()) => {
                return Err(Error::unsupported("the frame has no array, so it cannot be salvaged"));
            }
            metadata => metadata?,
        };
        add_header_lens(file, &mut metadata)?;
        let compression = values.compression(restored);
        let is_sparse = file.directory().is_some();
        let draft = Draft { compression: &compression, layers: &metadata.layers, is_sparse };
        let nchunks = metadata.nchunks;
        let (parts, order) = place(file, &values, &metadata, &draft, assumes_order)?;
        match &order {
            Some(order) if (nchunks, order.len()) == (1, 1) => notes.restored.push(Restored::ChunkIndex),
            Some(order) => notes.assumed_order = Some(assumed(order, nchunks)),
            None => notes.restored.extend(differences(&values, &parts, is_sparse)),
        }
        let mut vlmetalayers = find_trailer(file, &values, &parts, &mut notes)?;
        let before = take_note(&mut vlmetalayers.kept, &mut notes.lost_metalayers);
        let Metadata { dtype, layers, .. } = metadata;
        let vlmetalayers = vlmetalayers.kept;
        let has_assumed_order = notes.assumed_order.is_some();
        let survey = Self {
            prefix,
            parts,
            dtype,
            compression,
            layers,
            is_sparse,
            vlmetalayers,
            before,
            order,
            has_assumed_order,
        };
        Ok((survey, notes))
    }

    /// The values and metalayers for the headers of the old and the new frame.
    pub(super) fn draft(&self) -> Draft<'_> {
        Draft { compression: &self.compression, layers: &self.layers, is_sparse: self.is_sparse }
    }

    /// The old frame, with a header made from the restored values, and the progress of the work on it.
    pub(super) fn frame<'s, 'p, R: Read + Seek>(
        &self,
        file: &'s mut DamagedFile<'p, R>,
    ) -> Result<(Frame<&'s mut R>, &'s mut Progress<'p>), Error> {
        let FrameParts { header_len, ref sizes, ref index } = self.parts;
        let end = index.as_ref().map_or(file.len, |index| index.start);
        let mut head = self.draft().head(sizes, header_len, end, file.len)?;
        if index.is_none() {
            // The index is lost: with an `nbytes` of 0, `chunks` does not read it.
            head.header.nbytes = 0;
        }
        Ok(file.frame(head))
    }
}

/// The vlmetalayers. Without a trailer there are none, and the new frame gets an empty one.
fn find_trailer<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    values: &Values,
    parts: &FrameParts,
    notes: &mut Notes,
) -> Result<Vlmetalayers, Error> {
    let FrameParts { header_len, ref sizes, ref index } = *parts;
    let index_end = if sizes.nchunks == 0 { Some(header_len) } else { index.as_ref().map(|index| index.end) };
    // Without a header, the frame is the whole file.
    let stated = Some(values.number(HeaderField::FrameLen)).filter(|_| !values.is_lost);
    let frame_len = stated.map_or(file.len, |len| u64::from_ne_bytes(len.to_ne_bytes()));
    let trailer = read_trailer(file, index_end, frame_len, &mut notes.restored)?;
    if trailer.is_none() && values.has_vlmetalayers() {
        let why = "the trailer cannot be found".into();
        notes.lost_metalayers.push(LostMetalayer { name: "all vlmetalayers".into(), why });
    } else if trailer.is_none() && index_end.is_some() {
        notes.restored.push(Restored::Trailer);
    }
    let mut vlmetalayers = trailer.unwrap_or_default();
    notes.lost_metalayers.append(&mut vlmetalayers.lost);
    Ok(vlmetalayers)
}

/// If the length of the header is not known, adds the offset of the first chunk as a possible length.
fn add_header_lens<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    metadata: &mut Metadata,
) -> Result<(), Error> {
    if metadata.header_lens.is_empty() {
        for sizes in &metadata.sizes {
            let first = file.search(TYPESIZE, &signature(sizes))?;
            let first = first.and_then(|first| usize::try_from(first - TYPESIZE).ok());
            metadata.header_lens.extend(first);
        }
    }
    Ok(())
}

/// Finds the parts of the frame. Without an index, it determines the order of the chunks, if the caller allows to
/// assume it.
fn place<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    values: &Values,
    metadata: &Metadata,
    draft: &Draft<'_>,
    assumes_order: bool,
) -> Result<(FrameParts, Option<NumberedChunks>), Error> {
    let nchunks = metadata.nchunks;
    if let Some(&sizes) = metadata.sizes.first().filter(|_| nchunks == 0) {
        let header_len = metadata.header_lens.first().copied().unwrap_or_default() as u64;
        // In a frame without chunks, the trailer follows the header.
        if begins_chunk(&file.read(header_len, ChunkHeader::MAX_LEN as u64)?, 0) {
            let why = contradiction(values, &sizes).map_or_else(String::new, |why| format!("; {why}"));
            return Err(Error::array_unknown(format_args!(
                "the shape has no items, so there are no chunks, but a chunk begins at byte {header_len}{why}"
            )));
        }
        return Ok((FrameParts { header_len, sizes, index: None }, None));
    }
    if let Some(parts) = find_parts(file, values, metadata, draft)? {
        return Ok((parts, None));
    }
    // If chunks cannot be found, the metalayer often describes another array.
    let contradiction = metadata.sizes.first().and_then(|sizes| contradiction(values, sizes));
    if let (Some(why), Some(indexed)) = (&contradiction, other_count(file, values, metadata)?) {
        let indexed = counted(indexed, "chunk");
        return Err(Error::array_unknown(format_args!(
            "the chunk index has {indexed}, but the array has {nchunks}; {why}"
        )));
    }
    let (parts, order) = in_order(file, metadata, draft)?;
    if order.found.is_empty() {
        let nothing = "nothing could be saved: neither a chunk index nor a chunk was found";
        return Err(match contradiction {
            Some(why) => Error::array_unknown(format_args!("{nothing}; {why}")),
            None => Error::unsupported(nothing),
        });
    }
    // One chunk has only one order.
    if !assumes_order && (nchunks, order.found.len()) != (1, 1) {
        return Err(order_unknown(order.found.len(), nchunks, contradiction));
    }
    let cbytes = u64::try_from(values.number(HeaderField::Cbytes)).unwrap_or_default();
    let end = parts.header_len.saturating_add(cbytes);
    Ok((parts, Some(order.numbered(nchunks, end))))
}

/// The chunks in the order of the file, found with the item size that finds the most chunks.
fn in_order<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    metadata: &Metadata,
    draft: &Draft<'_>,
) -> Result<(FrameParts, Order), Error> {
    let stated = metadata.header_lens.iter().map(|&len| len as u64);
    let header_lens: Vec<u64> = if metadata.header_lens.is_empty() { vec![0] } else { stated.collect() };
    let mut best: Option<(FrameParts, Order)> = None;
    let tries = header_lens.iter().flat_map(|&len| metadata.sizes.iter().map(move |&sizes| (len, sizes)));
    for (header_len, sizes) in tries {
        let head = draft.head(&sizes, header_len, file.len, file.len)?;
        let rules = ChunkRules { filters: None, ..ChunkRules::new(&head.header, true) };
        let order = order::find(file, header_len, &sizes, &rules)?;
        if best.as_ref().is_none_or(|(_, most)| order.found.len() > most.found.len()) {
            best = Some((FrameParts { header_len, sizes, index: None }, order));
        }
    }
    best.ok_or_else(|| Error::array_unknown("the size of an item is not known"))
}

/// The number of chunks in the header and in the chunk index, if both agree on a number that is not the array's.
fn other_count<R: Read + Seek>(
    file: &mut DamagedFile<'_, R>,
    values: &Values,
    metadata: &Metadata,
) -> Result<Option<u64>, Error> {
    let number = |field| u64::try_from(values.number(field)).unwrap_or_default();
    let stated = number(HeaderField::Nbytes).checked_div(number(HeaderField::Chunksize));
    let Some(stated) = stated.filter(|&stated| stated > 0 && stated != metadata.nchunks) else {
        return Ok(None);
    };
    for &header_len in &metadata.header_lens {
        let chunks = if file.directory().is_some() { 0 } else { number(HeaderField::Cbytes) };
        let start = (header_len as u64).saturating_add(chunks);
        let header = ChunkHeader::parse(&file.read(start, ChunkHeader::MAX_LEN as u64)?);
        let is_index = |header: ChunkHeader| {
            usize::from(header.typesize) == ENTRY_LEN
                && stated.checked_mul(ENTRY_LEN as u64) == Some(header.nbytes as u64)
        };
        if header.is_some_and(is_index) {
            return Ok(Some(stated));
        }
    }
    Ok(None)
}

fn order_unknown(found: usize, nchunks: u64, contradiction: Option<String>) -> Error {
    let why = contradiction.map_or(String::new(), |why| format!("{why}; otherwise, "));
    let found = counted(found, "chunk");
    Error::order_unknown(format_args!(
        "the chunk index cannot be found; {why}the file has {found} and the array has {nchunks}, but the numbers of \
         the chunks are not known, because a chunk of zeros takes no bytes, and replaced chunks are at the end; \
         to save them in the order of the file, assume the order"
    ))
}

/// The first header size that contradicts the array.
fn contradiction(values: &Values, sizes: &Sizes) -> Option<String> {
    let is_wrong = |(field, right): &(HeaderField, i64)| values.number(*field) != *right;
    let (field, right) = in_header(sizes).into_iter().find(is_wrong).filter(|_| !values.is_lost)?;
    let (name, found) = (field.encoding().name, values.number(field));
    Some(format!(
        "{name} is {found} in the header, but the array needs {right}: if a shape is wrong, give the right one"
    ))
}

fn assumed(order: &[(u64, u64)], nchunks: u64) -> AssumedOrder {
    let found = order.len() as u64;
    AssumedOrder { found, missing: order.last().map_or(0, |&(last, _)| last + 1 - found), nchunks }
}

/// The numbers of the header that were wrong.
fn differences(values: &Values, parts: &FrameParts, is_sparse: bool) -> Vec<Restored> {
    let FrameParts { header_len, ref sizes, ref index } = *parts;
    let cbytes = index.as_ref().filter(|_| !is_sparse).map(|index| index.start.saturating_sub(header_len));
    if values.is_lost {
        return Vec::new();
    }
    let of_parts = [
        (HeaderField::HeaderLen, i64::try_from(header_len).ok()),
        (HeaderField::Cbytes, cbytes.and_then(|cbytes| i64::try_from(cbytes).ok())),
    ];
    // Without chunks, `chunksize` may be anything.
    let is_known = |field| field != HeaderField::Chunksize || sizes.nchunks > 0;
    let of_array = in_header(sizes).map(|(field, right)| (field, Some(right).filter(|_| is_known(field))));
    let wrong = of_parts.into_iter().chain(of_array).filter_map(|(field, right)| {
        let (found, right) = (values.number(field), right?);
        let name = field.encoding().name;
        (found != right).then_some(Restored::Number { name, numbers: [found.into(), right.into()] })
    });
    wrong.collect()
}

/// Takes the note of an earlier salvage from the vlmetalayers. One that cannot be read is lost, as the new frame has a
/// note of its own.
fn take_note(
    vlmetalayers: &mut Vec<(Vec<u8>, Vec<u8>)>,
    lost_metalayers: &mut Vec<LostMetalayer>,
) -> SalvageNote {
    let at = vlmetalayers.iter().position(|(name, _)| name == SALVAGE_NAME.as_bytes());
    let Some((_, chunk)) = at.map(|at| vlmetalayers.remove(at)) else { return SalvageNote::default() };
    SalvageNote::of_chunk(&chunk).unwrap_or_else(|| {
        let why = "it is not the list of an earlier salvage".into();
        lost_metalayers.push(LostMetalayer { name: SALVAGE_NAME.into(), why });
        SalvageNote::default()
    })
}
