//! The rules for the array's metalayer itself, and for its agreement with the header.

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Geometry, Layout, Shapes, geometry};

use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place, counted};
use crate::header::array_header::ArrayHeader;
use crate::header::fields::HeaderField;
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::header::section::Metalayer;

/// The maximum number of dimensions that C-Blosc2 before 2.21.3 supports.
const OLD_MAX_RANK: usize = 8;

/// The largest item size that C-Blosc2's compression context can hold, because the context has one byte for it.
const MAX_CONTEXT_TYPESIZE: usize = 255;

/// The faults and oddities of the array of a frame.
pub(crate) fn check<R>(frame: &Frame<R>) -> Vec<Finding> {
    match frame.read_array() {
        Ok(None) => misnamed(&frame.header, frame.metalayers()).into_iter().collect(),
        Ok(Some(array)) => {
            let mut findings = oddities(&array);
            let disagreements = agreement(&array, &frame.header);
            let is_lost = disagreements.iter().any(|finding| finding.code() == FindingCode::LostTypesize);
            findings.extend(disagreements);
            // If the type size is lost (1 instead of the item size), it contradicts the dtype too. The finding of the
            // lost type size is enough, so the contradiction is not reported.
            if !is_lost {
                findings.extend(dtype(&array, &frame.header));
            }
            findings
        }
        Err(finding) => [finding].into(),
    }
}

/// The finding for an array's metalayer with a wrong name. With a wrong name, readers do not find the array, but only
/// plain chunks.
fn misnamed(header: &Header, layers: &[Metalayer]) -> Option<Finding> {
    // The bytes of an unrelated metalayer can look like an array by chance. So all numbers must agree with the header.
    let is_array =
        |array: &ArrayHeader<'_>| array.stale_tail().is_empty() && agreement(array, header).is_empty();
    layers.iter().find_map(|layer| {
        ArrayHeader::read(layer, header.generation).ok().filter(is_array)?;
        let text = format!(
            "metalayer {:?} describes an array and agrees with the header, but its name should be b2nd",
            layer.name()
        );
        Some(Finding::new(FindingCode::MisnamedArray, Place::Metalayers).at(layer.offset() as u64).text(text))
    })
}

/// The oddities of the array's metalayer.
fn oddities(array: &ArrayHeader<'_>) -> Vec<Finding> {
    let start = array.metalayer().offset();
    let about = |code: FindingCode, at: usize, text: String| {
        Finding::new(code, Place::Array).at(at as u64).text(text)
    };
    let mut findings = Vec::new();
    if array.meta().layout() != Layout::B2nd {
        let (metalayer, layout) = (array.metalayer().name(), array.meta().layout());
        let text = format!("metalayer {metalayer} has the old layout {layout}");
        findings.push(about(FindingCode::OldLayout, start, text));
    }
    let stale = array.stale_tail().len();
    if stale > 0 {
        let end = start + array.metalayer().bytes().len() - stale;
        let verb = if stale == 1 { "follows" } else { "follow" };
        let text = format!("{} {verb} the array's metalayer", counted(stale, "old byte"));
        findings.push(about(FindingCode::StaleTail, end, text).numbers(0, stale));
    }
    if !array.has_blocks() {
        let blockshape = array.meta().blockshape();
        let text = format!(
            "blockshape {blockshape:?} does not fit chunkshape {:?}: it was never set",
            array.chunkshape()
        );
        findings.push(about(FindingCode::UnsetBlockshape, start, text));
    }
    let large_block = check_block(&array.meta().shapes()).err().filter(|_| array.has_blocks());
    findings.extend(large_block.map(|text| about(FindingCode::LargeBlock, start, text)));
    let ndim = array.shape().len();
    if ndim > OLD_MAX_RANK {
        let text =
            format!("the array has {ndim} dimensions, but older readers support at most {OLD_MAX_RANK}");
        findings.push(about(FindingCode::HighRank, start, text).numbers(OLD_MAX_RANK, ndim));
    }
    findings
}

/// Checks that a block is not larger than a chunk in any dimension. python-blosc2 does not create an array with larger
/// blocks.
pub(crate) fn check_block(shapes: &Shapes<'_>) -> Result<(), String> {
    let mut sizes = shapes.blockshape.iter().zip(shapes.chunkshape).enumerate();
    match sizes.find(|(_, (block, chunk))| **chunk > 0 && block > chunk) {
        Some((dimension, (block, chunk))) => Err(format!(
            "blockshape[{dimension}] is {block}, but chunkshape[{dimension}] is {chunk}: a block must not be larger than a chunk"
        )),
        None => Ok(()),
    }
}

/// The finding for a dtype that is unknown, contains Python objects, or has another item size than the header.
fn dtype(array: &ArrayHeader<'_>, header: &Header) -> Option<Finding> {
    let meta = array.meta();
    let dtype = match meta.parse_dtype() {
        Ok(dtype) => dtype?,
        Err(error) => {
            let format = meta.dtype_format().unwrap_or_default();
            let finding =
                Finding::new(FindingCode::UnknownDtype, Place::Array).at(array.metalayer().offset() as u64);
            let finding = if format == 0 { finding } else { finding.numbers(0, format) };
            return Some(finding.text(format!("dtype: {error}")));
        }
    };
    if dtype.has_objects() {
        let text = format!(
            "items of dtype {dtype} hold memory addresses of Python objects, which only existed in the writer"
        );
        let finding = Finding::new(FindingCode::ObjectDtype, Place::Array);
        return Some(finding.at(array.metalayer().offset() as u64).text(text));
    }
    let (expected, found) = (dtype.item_size(), header.typesize);
    (usize::try_from(found) != Ok(expected)).then(|| {
        let text = format!("typesize is {found}, but items of dtype {dtype} have {expected} bytes");
        header.finding(FindingCode::DtypeMismatch, HeaderField::Typesize).numbers(expected, found).text(text)
    })
}

/// Whether all readers get the same items from a special chunk of NaN in an array of this dtype. C-Blosc2 fills such a
/// chunk with floats of 4 or 8 bytes. They have the byte order of the processor, which is nearly always little-endian.
/// So the result is true only for `<f4` and `<f8`.
pub(crate) fn can_be_nan(dtype: &Dtype) -> bool {
    ["<f4", "<f8"].contains(&&*dtype.type_string().to_string())
}

/// Rejects a dtype with Python objects, which no other process can read.
pub(crate) fn refuse_objects(dtype: &Dtype) -> Result<(), Error> {
    if dtype.has_objects() {
        return Err(Error::invalid_input(format_args!(
            "dtype `{dtype}` has Python objects: a file could only store their addresses in memory"
        )));
    }
    Ok(())
}

/// The errors in the numbers of an array, and the contradictions between these numbers and the header.
pub(crate) fn agreement(array: &ArrayHeader<'_>, header: &Header) -> Vec<Finding> {
    let geometry = match array.geometry() {
        Ok(geometry) => geometry,
        Err(error) => return [meaningless(array, error)].into(),
    };
    // With a typesize below 1, nothing can be compared. The rules of the header report such a typesize.
    let Some(typesize) = usize::try_from(header.typesize).ok().filter(|&typesize| typesize > 0) else {
        return Vec::new();
    };
    match geometry.chunk_nbytes(typesize) {
        Ok(chunksize) if geometry.nitems() == 0 => without_items(header, chunksize),
        // Check for a lost type size before the other sizes. A lost type size makes the sizes of chunks and blocks seem
        // wrong too, but one finding is enough.
        Ok(chunksize) => match lost_typesize(array, &geometry, header) {
            Some(finding) => [finding].into_iter().chain(nbytes(&geometry, header)).collect(),
            None => with_items(&geometry, header, chunksize),
        },
        Err(error) => [meaningless(array, error)].into(),
    }
}

/// The findings for an array without items. It has no chunks, but `chunksize` may already be the size of future chunks.
fn without_items(header: &Header, chunksize: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    let found = header.nbytes;
    if found != 0 {
        let text = format!("nbytes is {found}, but the shape has no items, so it should be 0");
        findings.push(
            header.finding(FindingCode::InterruptedResize, HeaderField::Nbytes).numbers(0, found).text(text),
        );
    }
    let found = header.chunksize;
    // Caterva writes -1 as the chunk size of an array without items.
    if usize::try_from(found) != Ok(chunksize) && found != -1 {
        let text =
            format!("chunksize is {found}, but should be {chunksize} or -1, as the array has no items");
        findings.push(
            header
                .finding(FindingCode::IgnoredBytes, HeaderField::Chunksize)
                .numbers(chunksize, found)
                .text(text),
        );
    }
    findings
}

/// The finding for a lost type size. C-Blosc2 writes 1 as the type size if an item has more than 255 bytes, the limit
/// of its compression context. The sizes of chunks and blocks still show the true item size.
fn lost_typesize(array: &ArrayHeader<'_>, geometry: &Geometry, header: &Header) -> Option<Finding> {
    if header.typesize != 1 {
        return None;
    }
    let size = array.meta().parse_dtype().ok()??.item_size();
    let chunksize = geometry.chunk_nbytes(size).ok()?;
    let blocksize = block_nbytes(geometry, i128::try_from(size).ok()?);
    let is_lost = size > MAX_CONTEXT_TYPESIZE
        && usize::try_from(header.chunksize) == Ok(chunksize)
        && header.blocksize.map(i128::from) == Some(blocksize);
    is_lost.then(|| {
        let text = format!("typesize is 1, but items, chunks and blocks show that it should be {size}");
        header.finding(FindingCode::LostTypesize, HeaderField::Typesize).numbers(size, 1).text(text)
    })
}

fn with_items(geometry: &Geometry, header: &Header, chunksize: usize) -> Vec<Finding> {
    let typesize = header.typesize;
    let mut findings = Vec::new();
    let found = header.chunksize;
    if usize::try_from(found) != Ok(chunksize) {
        let code = if found == 0 { FindingCode::Sizes } else { FindingCode::ChunksizeMismatch };
        let items = geometry.padded_chunk_nitems();
        let text = format!(
            "chunksize is {found}, but a padded chunk has {items} items of {typesize} bytes, which is {chunksize}"
        );
        findings.push(header.finding(code, HeaderField::Chunksize).numbers(chunksize, found).text(text));
    }
    let blocksize = block_nbytes(geometry, typesize.into());
    if let Some(found) = header.blocksize.filter(|&found| i128::from(found) != blocksize) {
        let items = geometry.block_nitems();
        let text = format!(
            "blocksize is {found}, but a block has {items} items of {typesize} bytes, which is {blocksize}"
        );
        findings.push(
            header.finding(FindingCode::Sizes, HeaderField::Blocksize).numbers(blocksize, found).text(text),
        );
    }
    findings.extend(nbytes(geometry, header));
    findings
}

fn block_nbytes(geometry: &Geometry, typesize: i128) -> i128 {
    i128::from(geometry.block_nitems()) * typesize
}

/// Checks `nbytes` in the header, the size of all decompressed chunks.
// The header does not store the number of chunks: readers divide `nbytes` by `chunksize`. This rule checks that the
// result is the number of chunks that the shape needs. So the rule expects `nbytes` to be the needed number of chunks
// times the `chunksize` in the header, even if the `chunksize` is wrong. Another rule reports a wrong `chunksize`.
fn nbytes(geometry: &Geometry, header: &Header) -> Option<Finding> {
    let (chunksize, found) = (i128::from(header.chunksize), header.nbytes);
    let nchunks = geometry.nchunks();
    let nbytes = i128::from(nchunks) * chunksize;
    (chunksize > 0 && found >= 0 && i128::from(found) != nbytes).then(|| {
        let stored = i128::from(found) / chunksize;
        let text = format!(
            "nbytes is {found}, enough for {} of {chunksize} bytes, but the shape has {}, which is {nbytes}",
            counted(stored, "chunk"),
            counted(nchunks, "chunk")
        );
        header.finding(FindingCode::InterruptedResize, HeaderField::Nbytes).numbers(nbytes, found).text(text)
    })
}

/// The geometry of an array; [`Malformed`](crate::ErrorKind::Malformed) if its numbers are invalid.
pub(crate) fn valid_geometry(array: &ArrayHeader<'_>) -> Result<Geometry, Error> {
    array.geometry().map_err(|error| Error::malformed(meaningless(array, error)))
}

/// The finding for an array whose version is unknown, or whose numbers do not make a valid geometry.
fn meaningless(array: &ArrayHeader<'_>, error: geometry::Error) -> Finding {
    let is_version = error.kind() == geometry::ErrorKind::Version;
    let code = if is_version { FindingCode::UnknownVersion } else { FindingCode::InvalidShape };
    let text = format!("metalayer {}: {error}", array.metalayer().name());
    Finding::new(code, Place::Array).at(array.metalayer().offset() as u64).text(text)
}
