//! Checks the header and its index of metalayers.

use crate::find::open::SPARSE_INDEX;
use crate::finding::{Code, Escaped, Finding, Place};
use crate::format::fields::{FRAME_TYPE, Field, Generation, filters};
use crate::format::flags::{FrameType, MAX_FILTERS};
use crate::format::header::cut_short;
use crate::format::marker::Marker;
use crate::format::section::CONTENT_HEADER;
use crate::{Frame, Header, Metalayer};

/// The last version of the format that is known.
const LAST_VERSION: u8 = 3;

/// The marker of the list of metalayers.
const LIST_MARKER: u8 = Marker::Array16.to_u8();

/// The largest parameter of a filter that python-blosc2 opens.
const MAX_PARAMETER: u8 = i8::MAX as u8;

/// Checks the header by itself.
pub(super) fn check<R>(frame: &Frame<R>) -> Vec<Finding> {
    let header = frame.header();
    let mut findings = Vec::new();
    if header.generation != Generation::Present {
        let [expected, marker] = [Generation::Present, header.generation].map(|of| of.marker().to_u8());
        let text =
            format!("the header has {} values, and C-Blosc2 no longer opens such a frame", marker & 0x0f);
        let finding = Finding::new(Code::OldFrame, Place::Header).at(0);
        findings.push(finding.numbers(expected, marker).text(text));
    } else if header.version > LAST_VERSION {
        let text = format!("the format version is {}, but must be at most {LAST_VERSION}", header.version);
        findings.push(
            header.finding(Code::FrameVersion, Field::Flags).numbers(LAST_VERSION, header.version).text(text),
        );
    }
    let type_at = header.range(Field::Flags).map_or(0, |flags| flags.start + FRAME_TYPE);
    let about_type = |text| Finding::new(Code::FrameType, Place::Header).at(type_at as u64).text(text);
    findings.extend(frame_type(frame).map(about_type));
    if header.nfilters > MAX_FILTERS {
        let text =
            format!("the header counts {} filters, but must count at most {MAX_FILTERS}", header.nfilters);
        findings.push(
            header
                .finding(Code::FilterCount, Field::Filters)
                .numbers(MAX_FILTERS, header.nfilters)
                .text(text),
        );
    }
    for filter in header.pipeline().filter(|filter| filter.is_unknown()) {
        let text = format!("{filter} is unknown");
        findings.push(header.finding(Code::UnknownFilter, Field::Filters).text(text));
    }
    findings.extend(filter_parameter(header));
    if header.typesize < 1 {
        let text = format!("typesize is {}, but must be at least 1", header.typesize);
        findings.push(header.finding(Code::Typesize, Field::Typesize).numbers(1, header.typesize).text(text));
    }
    let has_chunks = header.nbytes > 0;
    for (field, name, value, counts) in [
        (Field::Nbytes, "nbytes", header.nbytes, true),
        (Field::Cbytes, "cbytes", header.cbytes, has_chunks),
        (Field::Chunksize, "chunksize", header.chunksize.into(), has_chunks),
    ] {
        if counts && value < 0 {
            let text = format!("{name} is {value}, but must not be negative");
            findings.push(header.finding(Code::Sizes, field).numbers(0, value).text(text));
        }
    }
    findings.extend(index_size(frame));
    findings.extend(list(frame));
    findings.extend(duplicates(frame));
    findings.extend(active_object(frame));
    findings
}

/// What is wrong with the type of a frame, which must fit the name of its file.
fn frame_type<R>(frame: &Frame<R>) -> Option<String> {
    // Only a sparse frame needs a certain name.
    let is_elsewhere =
        frame.path().is_some_and(|path| path.file_name().is_none_or(|name| name != SPARSE_INDEX));
    match frame.header().frame_type {
        FrameType::Unknown(unknown) => {
            Some(format!("the frame type is {unknown}, but must be 0 (contiguous) or 1 (sparse)"))
        }
        FrameType::Contiguous if frame.by_directory => {
            Some("the header says that the frame is contiguous, but in a directory it must be sparse".into())
        }
        FrameType::Sparse if is_elsewhere => Some(format!(
            "the header says that the frame is sparse, but the file is not called {SPARSE_INDEX}"
        )),
        _ => None,
    }
}

/// The first parameter that python-blosc2 takes for a number that does not fit: it has all six, of filters in use or not.
fn filter_parameter(header: &Header) -> Option<Finding> {
    let index = header.filters.iter().position(|filter| filter.meta > MAX_PARAMETER)?;
    let (filter, at) =
        (header.filters.get(index)?, header.range(Field::Filters)?.start + filters::METAS + index);
    let unused = if filter.id == 0 { ", which is not in use," } else { "" };
    let text = format!(
        "the parameter of filter {index}{unused} is {}, but python-blosc2 opens at most {MAX_PARAMETER}",
        filter.meta
    );
    let finding = Finding::new(Code::FilterParameter, Place::Header).at(at as u64);
    Some(finding.numbers(MAX_PARAMETER, filter.meta).text(text))
}

fn index_size<R>(frame: &Frame<R>) -> Option<Finding> {
    let section = &frame.section;
    let (expected, found) = (section.list - section.start, section.index_size);
    (expected != usize::from(found)).then(|| {
        let text = format!("the index of metalayers has {expected} bytes, but its size field says {found}");
        let at = section.index_size_offset() as u64;
        Finding::new(Code::IndexSize, Place::Metalayers).at(at).numbers(expected, found).text(text)
    })
}

/// Checks the list of contents: its marker, its count, and whether the contents follow one another.
fn list<R>(frame: &Frame<R>) -> Option<Finding> {
    let (section, count) = (&frame.section, frame.metalayers().len());
    let about = |at: usize| Finding::new(Code::MetalayerList, Place::Metalayers).at(at as u64);
    let Some((marker, listed)) = section.list_header else {
        return Some(about(section.list).text("the header ends before the list of metalayers".into()));
    };
    if marker != LIST_MARKER {
        let text = format!(
            "the list of metalayers begins with {marker:#04x}, but must begin with {LIST_MARKER:#04x}"
        );
        return Some(about(section.list).numbers(LIST_MARKER, marker).text(text));
    }
    if usize::from(listed) != count {
        let text = format!("the list of metalayers counts {listed}, but their index has {count}");
        return Some(about(section.list).numbers(count, listed).text(text));
    }
    let mut end = section.contents();
    for layer in frame.metalayers() {
        if layer.offset() != end + CONTENT_HEADER {
            let (found, name) = (layer.offset() - CONTENT_HEADER, Escaped(layer.name()));
            let text =
                format!("metalayer {name} begins at byte {found}, but the one before it ends at byte {end}");
            return Some(about(layer.offset_field()).numbers(end, found).text(text));
        }
        end = layer.offset() + layer.bytes().len();
    }
    let header_len = frame.header().header_len;
    (end != header_len).then(|| {
        let text = format!("the metalayers end at byte {end}, but the header at byte {header_len}");
        about(end).numbers(header_len, end).text(text)
    })
}

fn duplicates<R>(frame: &Frame<R>) -> impl Iterator<Item = Finding> {
    let layers = frame.metalayers();
    let again = move |(index, layer): (usize, &'_ Metalayer)| {
        let before = layers.iter().take(index).any(|other| other.name() == layer.name());
        before.then(|| {
            let text = format!("metalayer {} occurs more than once", Escaped(layer.name()));
            Finding::new(Code::DuplicateMetalayer, Place::Metalayers).at(layer.offset() as u64).text(text)
        })
    };
    layers.iter().enumerate().filter_map(again)
}

/// What a reader must do to get the data, where that is more than to read the file.
fn active_object<R>(frame: &Frame<R>) -> Option<Finding> {
    let (kind, layer) = frame.told_kind()?;
    let action = kind.action()?;
    let name = layer.name();
    let text =
        format!("by metalayer {name}, the frame is of kind {kind}: to get its data, a reader must {action}");
    Some(Finding::new(Code::ActiveObject, Place::Metalayers).at(layer.offset() as u64).text(text))
}

/// Compares the length of the frame with that of its file. A frame inside another file may be followed by anything.
pub(super) fn against_file<R>(frame: &Frame<R>, available: u64) -> Option<Finding> {
    let frame_len = frame.header().frame_len;
    if available < frame_len {
        return Some(cut_short("", frame_len, available));
    }
    (available > frame_len && frame.offset() == 0).then(|| {
        let text = format!("the frame has {frame_len} bytes, but the file {available}");
        Finding::new(Code::LongerFile, Place::File).numbers(frame_len, available).text(text)
    })
}
