//! The present header for a frame of an older layout or generation.

use core::ops::Range;
use std::borrow::ToOwned;
use std::fs::File;
use std::string::ToString;
use std::vec::Vec;

use crate::dtype::Dtype;
use crate::frame::edit::change::{check_dtype, no_array, put, wrong_dtype};
use crate::frame::finding::Severity;
use crate::frame::format::array::{Array, ArrayLayout};
use crate::frame::format::fields::Generation;
use crate::frame::format::trailer::{END, Trailer};
use crate::frame::{Error, Frame, Header};
use crate::{Layout, Meta, to_vec};

/// The version of the format that is written, in the lower half of the first byte of flags.
const VERSION: u8 = 2;

const HEADER_LEN_AT: usize = 11;
const FRAME_LEN_AT: usize = 16;
const FLAGS_AT: usize = 25;

/// Where the block size begins, with its marker.
const BLOCKSIZE_AT: usize = 52;

/// Bytes before the first entry of the index of metalayers.
const INDEX_HEAD: usize = 7;

/// Bytes of an offset in the index.
const OFFSET: usize = 4;

/// A trailer without vlmetalayers, up to its end.
const TRAILER: [u8; 12] = [0x94, 0x01, 0x93, 0xcd, 0x00, 0x06, 0xde, 0x00, 0x00, 0xdc, 0x00, 0x00];

/// The index entry of an array, up to its offset.
const ARRAY_ENTRY: &[u8] = b"\xa4b2nd\xd2";

/// A frame in the present format: a new header, what is kept of the old frame, and a new trailer where the old one is
/// not kept.
///
/// Chunks and chunk index are kept as they are, because the offsets of chunks count from the end of the header.
pub(crate) struct Canonical {
    pub(crate) header: Vec<u8>,
    pub(crate) kept: Range<u64>,
    pub(crate) trailer: Vec<u8>,
}

impl Canonical {
    /// Of a frame that is sound, with another dtype if one is given.
    pub(crate) fn of(frame: &mut Frame<File>, dtype: Option<&str>) -> Result<Self, Error> {
        if frame.header.generation == Generation::Beta1 {
            return Err(Error::refused(
                "a header of the first generation (0x9c) can be read, but not rewritten",
            ));
        }
        let findings = frame.check()?;
        if let Some(wrong) = findings.into_iter().find(|finding| finding.severity() == Severity::Error) {
            return Err(Error::malformed(wrong));
        }
        let is_present = frame.header.generation == Generation::Present;
        let (start, mut end) = (frame.header.header_len as u64, frame.header.frame_len);
        let mut trailer = Vec::new();
        if !is_present {
            let old = frame.trailer()?;
            end = old.offset();
            trailer = present_trailer(&old)?;
        }
        let kept = start..end;

        let array = frame.array()?.ok_or_else(no_array)?;
        let value = metalayer(&array, &frame.header, dtype)?;
        let mut header = frame.bytes.get(..frame.section.start).unwrap_or_default().to_vec();
        if !is_present {
            make_present(&mut header, &array, frame.header.typesize)?;
        }
        let section = section(frame, header.len(), &value).ok_or_else(too_large)?;
        header.extend(section);
        let header_len = i32::try_from(header.len()).map_err(|_| too_large())?;
        let frame_len = (header.len() as u64)
            .saturating_add(end.saturating_sub(start))
            .saturating_add(trailer.len() as u64);
        put(&mut header, HEADER_LEN_AT, &header_len.to_be_bytes());
        put(&mut header, FRAME_LEN_AT, &frame_len.to_be_bytes());
        Ok(Self { header, kept, trailer })
    }
}

/// The array's metalayer in the present layout.
fn metalayer(array: &Array<'_>, header: &Header, dtype: Option<&str>) -> Result<Vec<u8>, Error> {
    let parse = |text: &str| text.parse::<Dtype>().map_err(wrong_dtype);
    let stored = array.meta().and_then(Meta::dtype_format).unwrap_or_default();
    let (dtype_format, dtype) = match (dtype, array.dtype()) {
        (Some(given), _) => {
            let dtype = parse(given)?;
            check_dtype(&dtype, header)?;
            (0, dtype.type_string().to_string())
        }
        // It is spelled otherwise there.
        (None, Some(text)) if array.layout() == ArrayLayout::Format(Layout::B2ndSix) => {
            (0, parse(text)?.type_string().to_string())
        }
        (None, Some(text)) => (stored, text.to_owned()),
        (None, None) => {
            let layout = array.layout();
            return Err(Error::refused(format_args!("layout {layout} stores no dtype; give one")));
        }
    };
    let blockshape = array.blockshape().filter(|_| array.has_blocks()).unwrap_or(array.chunkshape());
    // The check has refused every version but 0.
    let entries =
        (0_u8, array.shape().len(), array.shape(), array.chunkshape(), blockshape, dtype_format, dtype);
    to_vec(&entries).map_err(|error| Error::decode(array.metalayer().name(), error))
}

/// Makes the header of the second generation, which has no block size, one of the present generation.
fn make_present(header: &mut Vec<u8>, array: &Array<'_>, typesize: i32) -> Result<(), Error> {
    let blocksize =
        i128::from(array.geometry().map_err(Error::refused)?.block_nitems()) * i128::from(typesize);
    let blocksize = i32::try_from(blocksize).map_err(|_| too_large())?;
    let behind = header.split_off(BLOCKSIZE_AT.min(header.len()));
    header.push(0xd2);
    header.extend(blocksize.to_be_bytes());
    header.extend(behind);
    put(header, 0, &[Generation::Present.marker()]);
    let flags = header.get(FLAGS_AT).copied().unwrap_or_default();
    put(header, FLAGS_AT, &[flags & 0xf0 | VERSION]);
    Ok(())
}

/// The metalayers for a header in which they begin at a byte: those that the frame has, but for the array's.
fn section<R>(frame: &Frame<R>, start: usize, array: &[u8]) -> Option<Vec<u8>> {
    let layers = frame.metalayers();
    let is_array = |layer| frame.array_metalayer() == Some(layer);
    let mut entry_start = frame.section.start + INDEX_HEAD;
    let mut entries = Vec::new();
    for layer in layers {
        let entry = frame.bytes.get(entry_start..layer.offset_field())?;
        entry_start = layer.offset_field() + OFFSET;
        entries.push(if is_array(layer) { (ARRAY_ENTRY, array) } else { (entry, layer.bytes()) });
    }
    let count = u16::try_from(entries.len()).ok()?.to_be_bytes();
    let size = entries.iter().fold(INDEX_HEAD, |size, (entry, _)| size + entry.len() + OFFSET);
    let [size_high, size_low] = u16::try_from(size).ok()?.to_be_bytes();
    let mut index = [&[0x93, 0xcd, size_high, size_low, 0xde], &count[..]].concat();
    let mut contents = [&[0xdc], &count[..]].concat();
    for (entry, content) in entries {
        index.extend(entry);
        index.extend(i32::try_from(start + size + contents.len()).ok()?.to_be_bytes());
        contents.push(0xc6);
        contents.extend(i32::try_from(content.len()).ok()?.to_be_bytes());
        contents.extend(content);
    }
    Some([index, contents].concat())
}

fn too_large() -> Error {
    Error::refused("a length or an offset in the new header would be larger than the format allows")
}

/// The trailer of the present generation for one of the second, which has at most one content.
fn present_trailer(old: &Trailer) -> Result<Vec<u8>, Error> {
    if let Some(user) = old.vlmetalayers().first() {
        let len = user.chunk().len();
        return Err(Error::refused(format_args!(
            "the trailer has {len} bytes of user metadata, for which the present format has no place"
        )));
    }
    let end = old.bytes().last_chunk::<END>().copied().unwrap_or([0; END]);
    let mut trailer = [&TRAILER[..], &end].concat();
    let len = u32::try_from(trailer.len()).map_err(|_| too_large())?;
    put(&mut trailer, TRAILER.len() + 1, &len.to_be_bytes());
    Ok(trailer)
}
