//! The array's metalayer, by itself and held against the header.

use std::format;
use std::string::String;
use std::vec::Vec;

use crate::frame::finding::{Code, Finding, Place};
use crate::frame::format::array::{Array, ArrayLayout, meaningless};
use crate::frame::{Field, Frame, Header};
use crate::{Geometry, Layout};

/// Ranks that readers before C-Blosc2 2.21.3 have room for.
const OLD_MAX_RANK: usize = 8;

pub(crate) fn check<R>(frame: &Frame<R>) -> Vec<Finding> {
    match frame.read_array() {
        None => Vec::new(),
        Some(Ok(array)) => {
            let mut findings = oddities(&array);
            findings.extend(of_array(&array, frame.header()));
            findings.extend(dtype(&array, frame.header()));
            findings
        }
        Some(Err(finding)) => [finding].into(),
    }
}

/// What is odd about a metalayer.
fn oddities(array: &Array<'_>) -> Vec<Finding> {
    let start = array.metalayer().offset();
    let about =
        |code: Code, at: usize, text: String| Finding::new(code, Place::Array).at(at as u64).text(text);
    let mut findings = Vec::new();
    if array.layout() != ArrayLayout::Format(Layout::B2nd) {
        let text = format!("layout {} in metalayer {}", array.layout(), array.metalayer().name());
        findings.push(about(Code::OldLayout, start, text));
    }
    let stale = array.stale_tail().len();
    if stale > 0 {
        let end = start + array.metalayer().bytes().len() - stale;
        let text = format!("{stale} old bytes behind the array's metalayer");
        findings.push(about(Code::StaleTail, end, text).numbers(0, stale));
    }
    if let (Some(blockshape), false) = (array.blockshape(), array.has_blocks()) {
        let text = format!("blockshape {blockshape:?} in chunks of {:?} means nothing", array.chunkshape());
        findings.push(about(Code::UnsetBlockshape, start, text));
    }
    let ndim = array.shape().len();
    if ndim > OLD_MAX_RANK {
        let text = format!("the array has {ndim} dimensions, more than {OLD_MAX_RANK}");
        findings.push(about(Code::HighRank, start, text).numbers(OLD_MAX_RANK, ndim));
    }
    findings
}

/// What the dtype means, and its item size.
fn dtype(array: &Array<'_>, header: &Header) -> Option<Finding> {
    let meta = array.meta()?;
    let dtype = match meta.parse_dtype() {
        Ok(dtype) => dtype?,
        Err(error) => {
            let format = meta.dtype_format().unwrap_or_default();
            let code = if format == 0 { Code::UnknownDtype } else { Code::UnknownDtypeFormat };
            let finding = Finding::new(code, Place::Array).at(array.metalayer().offset() as u64);
            let finding = if format == 0 { finding } else { finding.numbers(0, format) };
            return Some(finding.text(format!("dtype: {error}")));
        }
    };
    let (expected, found) = (dtype.item_size(), header.typesize);
    (usize::try_from(found) != Ok(expected)).then(|| {
        let text = format!("expected a typesize of {expected}, the size of dtype {dtype}, found {found}");
        about(header, Code::DtypeMismatch, Field::Typesize).numbers(expected, found).text(text)
    })
}

/// What of an array is wrong: the meaning of its numbers, and their agreement with the header.
pub(crate) fn of_array(array: &Array<'_>, header: &Header) -> Vec<Finding> {
    let geometry = match array.geometry() {
        Ok(geometry) => geometry,
        Err(error) => return [meaningless(array, error)].into(),
    };
    // The header's own rules refuse a typesize of none.
    let Some(typesize) = usize::try_from(header.typesize).ok().filter(|&typesize| typesize > 0) else {
        return Vec::new();
    };
    match geometry.chunk_nbytes(typesize) {
        Ok(chunksize) if geometry.nitems() == 0 => without_items(header, chunksize),
        Ok(chunksize) => with_items(&geometry, header, chunksize),
        Err(error) => [meaningless(array, error)].into(),
    }
}

fn about(header: &Header, code: Code, field: Field) -> Finding {
    let finding = Finding::new(code, Place::Header);
    match header.range(field) {
        Some(range) => finding.at(range.start as u64),
        None => finding,
    }
}

/// An array without items: there are no chunks, but new ones would have a size.
fn without_items(header: &Header, chunksize: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    if header.nbytes != 0 {
        let text = format!("expected nbytes 0 for an array without items, found {}", header.nbytes);
        findings
            .push(about(header, Code::InterruptedResize, Field::Nbytes).numbers(0, header.nbytes).text(text));
    }
    let found = header.chunksize;
    if usize::try_from(found) != Ok(chunksize) && found != -1 {
        let text =
            format!("expected a chunksize of {chunksize} or -1 for an array without items, found {found}");
        findings
            .push(about(header, Code::EmptyChunksize, Field::Chunksize).numbers(chunksize, found).text(text));
    }
    findings
}

fn with_items(geometry: &Geometry, header: &Header, chunksize: usize) -> Vec<Finding> {
    let (padded, typesize) = (geometry.padded_chunk_nitems(), header.typesize);
    let mut findings = Vec::new();
    let found = header.chunksize;
    if usize::try_from(found) != Ok(chunksize) {
        let code = if found == 0 { Code::ZeroChunksize } else { Code::ChunksizeMismatch };
        let text = format!(
            "expected a chunksize of {chunksize}, which is {padded} items of {typesize} bytes, found {found}"
        );
        findings.push(about(header, code, Field::Chunksize).numbers(chunksize, found).text(text));
    }
    let blocksize = i128::from(geometry.block_nitems()) * i128::from(typesize);
    if let Some(found) = header.blocksize.filter(|&found| i128::from(found) != blocksize) {
        let items = geometry.block_nitems();
        let text = format!(
            "expected a blocksize of {blocksize}, which is {items} items of {typesize} bytes, found {found}"
        );
        findings.push(
            about(header, Code::BlocksizeMismatch, Field::Blocksize).numbers(blocksize, found).text(text),
        );
    }
    // Where the sizes of a chunk disagree, the number of chunks may still be right.
    let nchunks = geometry.nchunks();
    let nbytes = i128::from(nchunks) * i128::from(found);
    if found > 0 && header.nbytes >= 0 && i128::from(header.nbytes) != nbytes {
        let there = header.nbytes.checked_div(found.into()).unwrap_or_default();
        let text = format!(
            "expected nbytes {nbytes}, which is {nchunks} chunks of {found} bytes, found {}, which is {there}",
            header.nbytes
        );
        findings.push(
            about(header, Code::InterruptedResize, Field::Nbytes).numbers(nbytes, header.nbytes).text(text),
        );
    }
    findings
}
