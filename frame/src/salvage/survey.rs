//! The survey of a damaged frame, before its chunks are read.

use std::io::{Read, Seek};

use b2nd_chunk::ChunkHeader;
use b2nd_serde::dtype::Dtype;

use crate::error::Error;
use crate::finding::counted;
use crate::format::fields::{Generation, HeaderField};
use crate::format::header::{MAX_HEADER_LEN, not_a_frame};
use crate::format::header_builder::Compression;
use crate::format::index::ENTRY_LEN;
use crate::format::salvage_note::{SALVAGE_NAME, SalvageNote};
use crate::io::frame::Frame;
use crate::rules::chunk::ChunkRules;
use crate::salvage::array::Given;
use crate::salvage::damaged_file::DamagedFile;
use crate::salvage::metadata::{self, Metadata, in_header};
use crate::salvage::order::{self, NumberedChunks, Order};
use crate::salvage::parts::{self, Draft, FrameParts};
use crate::salvage::trailer;
use crate::salvage::values::{self, Values};
use crate::write::plan::Sizes;

/// The longest header that is searched if its length is not known.
const FIRST_READ: u64 = 1 << 16;

/// Texts for the report.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) restored: Vec<String>,
    pub(super) assumed: Vec<String>,
    pub(super) lost_metalayers: Vec<(String, String)>,
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
}

impl Survey {
    /// Finds the parts of a frame. Returns `OrderUnknown` if the places of the chunks are not known, and
    /// `assumes_order` is false.
    pub(super) fn of<R: Read + Seek>(
        file: &mut DamagedFile<R>,
        given: &Given,
        assumes_order: bool,
    ) -> Result<(Self, Notes), Error> {
        let mut notes = Notes::default();
        let mut prefix = file.read(0, FIRST_READ)?;
        if values::generation(&prefix) != Generation::Present {
            return Err(Error::refused("frames older than C-Blosc2 2.0.0-rc1 cannot be salvaged"));
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
        let mut metadata = match metadata::read(&prefix, &values, given, restored, lost_metalayers) {
            Err(_) if values.is_lost && given.is_empty() => {
                return Err(Error::malformed(not_a_frame(
                    "its first bytes are not those of a header; if they are lost, give the shape, chunk shape, block \
                     shape and dtype of the array",
                )));
            }
            Err(_) if values.head(&prefix).is_some_and(|head| head.array_metalayer().is_none()) => {
                return Err(Error::refused("the frame has no array, so it cannot be salvaged"));
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
            Some(order) => notes.assumed.push(assumption(order, nchunks)),
            None => notes.restored.extend(differences(&values, &parts, is_sparse)),
        }
        let index_end =
            if nchunks == 0 { Some(parts.header_len) } else { parts.index.as_ref().map(|index| index.end) };
        // Without a header, the frame is the whole file.
        let stated = Some(values.number(HeaderField::FrameLen)).filter(|_| !values.is_lost);
        let frame_len = stated.map_or(file.len, |len| u64::from_ne_bytes(len.to_ne_bytes()));
        let trailer = trailer::read(file, index_end, frame_len, &mut notes.restored)?;
        if trailer.is_none() && values.has_vlmetalayers() {
            notes.lost_metalayers.push(("all vlmetalayers".into(), "the trailer cannot be found".into()));
        } else if trailer.is_none() && order.is_none() {
            notes.restored.push("the trailer, which has no vlmetalayers according to the header".into());
        }
        let mut vlmetalayers = trailer.unwrap_or_default();
        notes.lost_metalayers.append(&mut vlmetalayers.lost);
        let before = take_note(&mut vlmetalayers.kept, &mut notes.lost_metalayers);
        let Metadata { dtype, layers, .. } = metadata;
        let vlmetalayers = vlmetalayers.kept;
        let survey =
            Self { prefix, parts, dtype, compression, layers, is_sparse, vlmetalayers, before, order };
        Ok((survey, notes))
    }

    /// The values and metalayers from which the headers of both frames are built, the old and the new one.
    pub(super) fn draft(&self) -> Draft<'_> {
        Draft { compression: &self.compression, layers: &self.layers, is_sparse: self.is_sparse }
    }

    /// The old frame, with a header made from the restored values.
    pub(super) fn frame<'s, R: Read + Seek>(
        &self,
        file: &'s mut DamagedFile<R>,
    ) -> Result<Frame<&'s mut R>, Error> {
        let FrameParts { header_len, ref sizes, ref index } = self.parts;
        let end = index.as_ref().map_or(file.len, |index| index.start);
        let mut head = self.draft().head(sizes, header_len, end, file.len)?;
        if index.is_none() {
            // With an `nbytes` of 0, `chunks` does not try to read the index, which is lost.
            head.header.nbytes = 0;
        }
        Ok(file.frame(head))
    }
}

/// If the length of the header is not known, adds the offset of the first chunk as a possible length.
fn add_header_lens<R: Read + Seek>(file: &mut DamagedFile<R>, metadata: &mut Metadata) -> Result<(), Error> {
    if metadata.header_lens.is_empty() {
        for sizes in &metadata.sizes {
            let first = file.search(parts::TYPESIZE, &parts::signature(sizes))?;
            let first = first.and_then(|first| usize::try_from(first - parts::TYPESIZE).ok());
            metadata.header_lens.extend(first);
        }
    }
    Ok(())
}

/// Finds the parts of the frame. Without an index, it determines the order of the chunks, if the caller allows to
/// assume it.
fn place<R: Read + Seek>(
    file: &mut DamagedFile<R>,
    values: &Values,
    metadata: &Metadata,
    draft: &Draft<'_>,
    assumes_order: bool,
) -> Result<(FrameParts, Option<NumberedChunks>), Error> {
    let nchunks = metadata.nchunks;
    if let Some(&sizes) = metadata.sizes.first().filter(|_| nchunks == 0) {
        let header_len = metadata.header_lens.first().copied().unwrap_or_default() as u64;
        return Ok((FrameParts { header_len, sizes, index: None }, None));
    }
    if let Some(parts) = parts::find(file, values, metadata, draft)? {
        return Ok((parts, None));
    }
    // Chunks that cannot be found often mean that the array is not the one of the metalayer.
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
            None => Error::refused(nothing),
        });
    }
    if !assumes_order {
        return Err(order_unknown(order.found.len(), nchunks, contradiction));
    }
    let cbytes = u64::try_from(values.number(HeaderField::Cbytes)).unwrap_or_default();
    let end = parts.header_len.saturating_add(cbytes);
    Ok((parts, Some(order.numbered(nchunks, end))))
}

/// The chunks in the order of the file, found with the item size that finds the most chunks.
fn in_order<R: Read + Seek>(
    file: &mut DamagedFile<R>,
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
    best.ok_or_else(|| Error::refused("the size of an item is not known"))
}

/// The number of chunks in the header and in the chunk index, if both agree on a number that is not the array's.
fn other_count<R: Read + Seek>(
    file: &mut DamagedFile<R>,
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
    Error::order_unknown(format_args!(
        "the chunk index cannot be found; {why}the file has {found} chunks and the array has {nchunks}, but the numbers of \
         the chunks are not known, because a chunk of zeros takes no bytes, and replaced chunks are at the end; \
         to save them in the order of the file, assume the order"
    ))
}

/// The first size in the header that is not the one of the array.
fn contradiction(values: &Values, sizes: &Sizes) -> Option<String> {
    let is_wrong = |(field, right): &(HeaderField, i64)| values.number(*field) != *right;
    let (field, right) = in_header(sizes).into_iter().find(is_wrong).filter(|_| !values.is_lost)?;
    let (name, found) = (field.encoding().name, values.number(field));
    Some(format!(
        "{name} is {found} in the header, but the array needs {right}: if a shape is wrong, give the right one"
    ))
}

fn assumption(order: &[(u64, u64)], nchunks: u64) -> String {
    let found = order.len() as u64;
    let lost = order.last().map_or(0, |&(last, _)| last + 1 - found);
    if lost > 0 {
        return format!(
            "the order of the chunks: {found} of {nchunks} were found, and {lost} are missing before the last one found"
        );
    }
    let more = match found.checked_sub(nchunks) {
        Some(more @ 1..) => format!("; the last {more} are left out"),
        _ => String::new(),
    };
    format!("the order of the chunks: the {found} chunks in the file are the first ones of {nchunks}{more}")
}

/// The numbers of the header that were wrong.
fn differences(values: &Values, parts: &FrameParts, is_sparse: bool) -> Vec<String> {
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
        (found != right).then(|| format!("{name} was {found}, and is {right}"))
    });
    wrong.collect()
}

/// Takes the note of an earlier salvage from the vlmetalayers. One that cannot be read is lost, as the new frame has a
/// note of its own.
fn take_note(
    vlmetalayers: &mut Vec<(Vec<u8>, Vec<u8>)>,
    lost_metalayers: &mut Vec<(String, String)>,
) -> SalvageNote {
    let at = vlmetalayers.iter().position(|(name, _)| name == SALVAGE_NAME.as_bytes());
    let Some((_, chunk)) = at.map(|at| vlmetalayers.remove(at)) else { return SalvageNote::default() };
    SalvageNote::of_chunk(&chunk).unwrap_or_else(|| {
        lost_metalayers.push((SALVAGE_NAME.into(), "it is not the list of an earlier salvage".into()));
        SalvageNote::default()
    })
}
