//! Builds the header and the trailer of a rewritten frame. If the frame type changes or holes are left out, also builds
//! a new chunk index. All of them have the format of the present generation, and the array's metalayer has the present
//! layout.

use core::ops::Range;
use std::path::Path;

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Layout, Meta, from_slice, to_vec};

use crate::check::Check;
use crate::chunk::chunk_rules::ChunkRules;
use crate::chunk::entry::{ChunkPlace, EntryValue};
use crate::code::{CheckDepth, FindingCode, Severity};
use crate::edit::change::{check_dtype, check_shape, no_array, wrong_dtype};
use crate::edit::new_trailer::changes_items;
use crate::edit::table_column::refuse_column;
use crate::error::{Error, ErrorKind};
use crate::header::array_header::ArrayHeader;
use crate::header::array_rules::valid_geometry;
use crate::header::fields::{Generation, HeaderField};
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::header::header_builder::{HeaderBuilder, VERSION};
use crate::header::section::{ARRAY_NAME, Section, SectionRules};
use crate::index::index_writer::NewIndex;
use crate::messagepack::marker::Marker;
use crate::read::chunks::{Chunks, unowned_bytes};
use crate::read::trailer::trailer_or_changing;
use crate::source::ReadAt;
use crate::trailer::derived_layers::outdated;
use crate::trailer::frame_trailer::Trailer;

/// The requested changes of a rewrite.
#[derive(Debug, Default)]
pub(crate) struct FrameChanges {
    pub(crate) shape: Option<Vec<i64>>,
    pub(crate) dtype: Option<String>,
    pub(crate) is_sparse: Option<bool>,
}

/// A frame in the present format, before it is written.
pub(crate) struct Rewritten {
    pub(crate) header: Vec<u8>,
    pub(crate) body: Body,
    pub(crate) trailer: Vec<u8>,
    pub(crate) changes_items: bool,
}

/// The bytes between header and trailer.
pub(crate) enum Body {
    /// The bytes of the old frame in this range. They need no change, because the offsets of chunks count from the end
    /// of the header.
    Kept(Range<u64>),
    /// The new chunk index. The frame type changes or holes are left out, so the chunks are copied one by one to new
    /// places.
    Moved(NewIndex),
}

impl Rewritten {
    /// Converts a frame. The frame must have no errors except a lost type size, or an interrupted resize that the new
    /// shape undoes. `in_place` is the path of the frame if the new frame replaces it.
    pub(crate) fn new<R: ReadAt>(
        frame: &Frame<R>,
        changes: &FrameChanges,
        in_place: Option<&Path>,
    ) -> Result<Self, Error> {
        let FrameChanges { shape, dtype, is_sparse } = changes;
        let typesize = checked_typesize(frame, shape.is_some())?;
        let is_present = frame.header().generation == Generation::Present;
        let mut header = HeaderBuilder::new();
        header.copy(frame.header(), frame.header_bytes());
        header.set(HeaderField::Typesize, &typesize.to_be_bytes());
        let old_trailer = trailer_or_changing(frame)?;
        let mut trailer =
            if is_present { old_trailer.bytes().to_vec() } else { present_trailer(&old_trailer)? };
        let was_sparse = frame.header().is_sparse();
        let is_sparse_now = is_sparse.unwrap_or(was_sparse);
        // In a frame of an older generation, the chunk index is not read, so the holes between the chunks are not
        // known.
        let has_holes = !was_sparse && is_present && has_known_holes(frame)?;
        let (body, body_len) = match Some(is_sparse_now).filter(|&to| to != was_sparse || has_holes) {
            None => {
                let (start, end) = (frame.header().header_len as u64, old_trailer.offset());
                (Body::Kept(start..end), end.saturating_sub(start))
            }
            Some(is_sparse) => {
                let (index, cbytes) = moved(frame, is_sparse)?;
                header.set_sparse(is_sparse);
                header
                    .set(HeaderField::Cbytes, &i64::try_from(cbytes).map_err(|_| too_large())?.to_be_bytes());
                let len = index.written_len().saturating_add(if is_sparse { 0 } else { cbytes });
                (Body::Moved(index), len)
            }
        };
        // If the frame has no array, only the frame type can change, or holes can be left out.
        let array = frame.array()?;
        if array.is_none() && (is_sparse.is_none() && !has_holes || dtype.is_some() || shape.is_some()) {
            return Err(no_array());
        }
        let value =
            array.as_ref().map(|array| metalayer(array, frame.header(), typesize, changes)).transpose()?;
        if !is_present {
            // The low 4 bits are the version of the format; the flags above them stay.
            let [general, ..] = frame.header().flags;
            header.set(HeaderField::Flags, &[general & 0xf0 | VERSION]);
            let array = array.as_ref().ok_or_else(no_array)?;
            header.set(HeaderField::Blocksize, &blocksize(array, typesize)?.to_be_bytes());
        }
        let after = value.as_deref().and_then(|value| from_slice::<Meta>(value).ok());
        let changes_items =
            array.as_ref().zip(after).is_some_and(|(array, after)| changes_items(array.meta(), &after));
        if changes_items {
            frame.kind().refuse_without_items()?;
            in_place.map_or(Ok(()), refuse_column)?;
            if let Some((bytes, has_vlmetalayers)) = outdated(&old_trailer, in_place.is_none())? {
                let flag = if has_vlmetalayers { Marker::True } else { Marker::False };
                header.set(HeaderField::HasVlmetalayers, &[flag.to_u8()]);
                trailer = bytes;
            }
        }
        let bytes_after = body_len.saturating_add(trailer.len() as u64);
        let section = section(frame, header.len(), value.as_deref());
        let header = section.and_then(|section| header.finish(&section, bytes_after));
        Ok(Self { header: header.ok_or_else(too_large)?, body, trailer, changes_items })
    }
}

/// Whether the frame has bytes that belong to no chunk. If this build cannot decompress the chunk index, holes are not
/// known, and all bytes are copied.
fn has_known_holes<R: ReadAt>(frame: &Frame<R>) -> Result<bool, Error> {
    match unowned_bytes(frame) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(false),
        unowned => Ok(unowned? > 0),
    }
}

/// Builds the section of metalayers that follows the first `start` bytes of a header. `array` replaces the array's
/// metalayer.
pub(super) fn section<R>(frame: &Frame<R>, start: usize, array: Option<&[u8]>) -> Option<Vec<u8>> {
    let of_array = frame.array_metalayer().zip(array);
    let layers = frame.metalayers().iter().map(|layer| match of_array {
        Some((old, new)) if old == layer => (ARRAY_NAME.as_bytes(), new),
        _ => (layer.raw_name(), layer.bytes()),
    });
    Section::build(&SectionRules::HEADER, start, &layers.collect::<Vec<_>>())
}

/// Checks the old frame, and returns the type size for the new frame. This is the type size in the old header or, if
/// the old type size is lost, the item size of the dtype. The check includes the headers of chunks, because a damaged
/// chunk would be copied.
fn checked_typesize<R: ReadAt>(frame: &Frame<R>, has_shape: bool) -> Result<i32, Error> {
    let mut typesize = frame.header().typesize;
    for finding in Check::new(CheckDepth::ChunkHeaders).run(frame)?.findings {
        match (finding.code(), finding.expected().map(i32::try_from)) {
            // The rewrite corrects a lost type size. `size` is the item size of the dtype, and the sizes of chunks and
            // blocks agree with it.
            (FindingCode::LostTypesize, Some(Ok(size))) => typesize = size,
            // This error is ignored, because the new shape undoes the resize. `check_shape` compares the new shape with
            // the number of chunks.
            (FindingCode::InterruptedResize, _) if has_shape => {}
            _ if finding.severity() == Severity::Error => return Err(Error::malformed(finding)),
            _ => {}
        }
    }
    Ok(typesize)
}

/// Returns the chunk index of a new frame to which the chunks are copied one by one, and the stored size of all chunks.
// The new header must be known before anything is written, because a preview shows this header. To compute it, only the
// headers of the chunks are read here. The chunks themselves are read later, when they are copied.
fn moved<R: ReadAt>(frame: &Frame<R>, is_sparse: bool) -> Result<(NewIndex, u64), Error> {
    let rules = ChunkRules { may_be_short: is_sparse, ..ChunkRules::new(frame.header(), frame.is_array()) };
    let mut chunks = Chunks::open_or_changing(frame)?;
    let mut index = NewIndex::new(chunks.len())?;
    let (mut cbytes, mut files) = (0_u64, 0);
    while let Some(entry) = chunks.next().transpose()? {
        let number = entry.number;
        let new = match entry.place {
            ChunkPlace::Special(special) if chunks.is_repeated() => {
                index.set_others(special);
                break;
            }
            ChunkPlace::Special(special) => EntryValue::Special(special),
            _ => {
                let header = chunks.valid_header(&entry, &rules);
                let header = chunks.or_changing(header)?;
                // The place is a file number in a sparse frame, and an offset in a contiguous frame.
                let place = if is_sparse { files } else { cbytes };
                files += 1;
                cbytes = cbytes.saturating_add(header.cbytes() as u64);
                EntryValue::Stored(place)
            }
        };
        index.reserve(number).map_err(|error| Error::too_large(format_args!("chunk {number}: {error}")))?;
        index.set(number, new);
    }
    Ok((index, cbytes))
}

/// The array's metalayer in the present layout.
fn metalayer(
    array: &ArrayHeader<'_>,
    header: &Header,
    typesize: i32,
    FrameChanges { shape, dtype, .. }: &FrameChanges,
) -> Result<Vec<u8>, Error> {
    if let Some(shape) = shape {
        check_shape(array, header, shape)?;
    }
    let parse = |text: &str| text.parse::<Dtype>().map_err(wrong_dtype);
    let stored = array.meta().dtype_format().unwrap_or_default();
    let (dtype_format, dtype) = match (dtype, array.dtype()) {
        (Some(given), _) => {
            let dtype = parse(given)?;
            check_dtype(&dtype, typesize)?;
            (0, dtype.type_string().to_string())
        }
        // Layout `b2nd-six` stores `str(dtype)`, but the present layout stores `dtype.str`.
        (None, Some(text)) if array.meta().layout() == Layout::B2ndSix => {
            (0, parse(text)?.type_string().to_string())
        }
        (None, Some(text)) => (stored, text.to_owned()),
        (None, None) => {
            let layout = array.meta().layout();
            return Err(Error::invalid_input(format_args!("layout {layout} stores no dtype; give one")));
        }
    };
    let blockshape = if array.has_blocks() { array.meta().blockshape() } else { array.chunkshape() };
    // The first entry is the version of the metalayer. It is always 0, because `checked_typesize` has already
    // rejected a frame with any other version.
    let entries = (
        0_u8,
        array.shape().len(),
        shape.as_deref().unwrap_or(array.shape()),
        array.chunkshape(),
        blockshape,
        dtype_format,
        dtype,
    );
    to_vec(&entries).map_err(|error| Error::encode(ARRAY_NAME, error))
}

/// Computes the block size in bytes, which a header of the older generation does not store.
fn blocksize(array: &ArrayHeader<'_>, typesize: i32) -> Result<i32, Error> {
    let nitems = valid_geometry(array)?.block_nitems();
    i32::try_from(i128::from(nitems) * i128::from(typesize)).map_err(|_| too_large())
}

fn too_large() -> Error {
    Error::too_large("a length or an offset in the new header would be larger than the format allows")
}

/// Converts a trailer of the older generation to the present generation. An older trailer can hold user metadata
/// without a name. Such metadata is an error, because the present format cannot store it.
fn present_trailer(old: &Trailer) -> Result<Vec<u8>, Error> {
    if let Some(user) = old.vlmetalayers().first() {
        let len = user.chunk().len();
        return Err(Error::unsupported(format_args!(
            "the trailer has {len} bytes of user metadata without a name, which the present format cannot store"
        )));
    }
    Trailer::build(&[], old.fingerprint()).ok_or_else(too_large)
}
