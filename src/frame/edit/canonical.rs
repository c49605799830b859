//! Makes the header of a rewritten frame: of the present generation, with the array in the present layout.

use core::ops::Range;
use std::borrow::ToOwned;
use std::fs::File;
use std::string::ToString;
use std::vec::Vec;

use crate::dtype::Dtype;
use crate::frame::edit::change::{check_dtype, no_array, wrong_dtype};
use crate::frame::finding::{Code, Severity};
use crate::frame::format::array::{Array, ArrayLayout};
use crate::frame::format::fields::{Field, Generation};
use crate::frame::format::header;
use crate::frame::format::section::{ARRAY_NAME, Section, SectionRules};
use crate::frame::format::trailer::Trailer;
use crate::frame::{Error, Frame};
use crate::{Layout, Meta, to_vec};

/// A frame in the present format: a new header, the bytes that are kept of the old frame, and a new trailer if the kept
/// bytes do not include the old one.
///
/// Chunks and chunk index are kept unchanged, because the offsets of chunks count from the end of the header.
pub(crate) struct Canonical {
    pub(crate) header: Vec<u8>,
    pub(crate) kept: Range<u64>,
    pub(crate) trailer: Vec<u8>,
}

impl Canonical {
    /// The number of bytes that are kept.
    pub(crate) fn kept_len(&self) -> u64 {
        self.kept.end.saturating_sub(self.kept.start)
    }

    /// Converts a frame, with another dtype if one is given. A frame with errors is refused, unless the only one is a lost
    /// type size.
    pub(crate) fn of(frame: &mut Frame<File>, dtype: Option<&str>) -> Result<Self, Error> {
        if frame.header.generation == Generation::Beta1 {
            return Err(Error::refused(format_args!(
                "a header of the first generation ({:#04x}) can be read, but not rewritten",
                Generation::Beta1.marker()
            )));
        }
        let mut typesize = frame.header.typesize;
        for finding in frame.check()? {
            match (finding.code(), finding.expected().map(i32::try_from)) {
                // Everything else in the frame shows the right one.
                (Code::LostTypesize, Some(Ok(size))) => typesize = size,
                _ if finding.severity() == Severity::Error => return Err(Error::malformed(finding)),
                _ => {}
            }
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
        let value = metalayer(&array, typesize, dtype)?;
        let mut header = header::Builder::new();
        header.copy(&frame.header, &frame.bytes);
        header.set(Field::Typesize, &typesize.to_be_bytes());
        if !is_present {
            let [general, others @ ..] = frame.header.flags;
            header.set(Field::Flags, &[&[general & 0xf0 | header::VERSION], &others[..]].concat());
            header.set(Field::Blocksize, &blocksize(&array, typesize)?.to_be_bytes());
        }
        let layers = frame.metalayers().iter().map(|layer| match frame.array_metalayer() {
            Some(array) if array == layer => (ARRAY_NAME.as_bytes(), &value[..]),
            _ => (layer.raw_name(), layer.bytes()),
        });
        let section = Section::build(&SectionRules::HEADER, header.len(), &layers.collect::<Vec<_>>());
        let bytes_after = end.saturating_sub(start).saturating_add(trailer.len() as u64);
        let header = section.and_then(|section| header.finish(&section, bytes_after));
        Ok(Self { header: header.ok_or_else(too_large)?, kept, trailer })
    }
}

/// The array's metalayer in the present layout.
fn metalayer(array: &Array<'_>, typesize: i32, dtype: Option<&str>) -> Result<Vec<u8>, Error> {
    let parse = |text: &str| text.parse::<Dtype>().map_err(wrong_dtype);
    let stored = array.meta().and_then(Meta::dtype_format).unwrap_or_default();
    let (dtype_format, dtype) = match (dtype, array.dtype()) {
        (Some(given), _) => {
            let dtype = parse(given)?;
            check_dtype(&dtype, typesize)?;
            (0, dtype.type_string().to_string())
        }
        // `b2nd-six` spells the dtype as `str(dtype)`.
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
    // The version is 0: `check` reports any other as an error.
    let entries =
        (0_u8, array.shape().len(), array.shape(), array.chunkshape(), blockshape, dtype_format, dtype);
    to_vec(&entries).map_err(|error| Error::decode(array.metalayer().name(), error))
}

/// The size of a block in bytes. A header of the second generation does not have it.
fn blocksize(array: &Array<'_>, typesize: i32) -> Result<i32, Error> {
    let nitems = array.geometry().map_err(Error::refused)?.block_nitems();
    i32::try_from(i128::from(nitems) * i128::from(typesize)).map_err(|_| too_large())
}

fn too_large() -> Error {
    Error::refused("a length or an offset in the new header would be larger than the format allows")
}

/// Converts a trailer of the second generation, which has at most one content, to the present generation.
fn present_trailer(old: &Trailer) -> Result<Vec<u8>, Error> {
    if let Some(user) = old.vlmetalayers().first() {
        let len = user.chunk().len();
        return Err(Error::refused(format_args!(
            "the trailer has {len} bytes of user metadata without a name, which the present format cannot store"
        )));
    }
    Trailer::build(&[], old.fingerprint()).ok_or_else(too_large)
}
