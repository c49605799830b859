//! The rules of the header and of its index of metalayers.

use b2nd_chunk::Filter;

use crate::chunk_file::SPARSE_INDEX;
use crate::code::FindingCode;
use crate::finding::{Escaped, Finding, Place};
use crate::header::fields::{FRAME_TYPE, Generation, HeaderField, filters};
use crate::header::flags::{FrameType, MAX_FILTERS};
use crate::header::frame::Frame;
use crate::header::frame_header::{Header, cut_short};
use crate::header::object_kind::metalayer_kind;
use crate::header::section::{CONTENT_HEADER, Metalayer, Section};
use crate::messagepack::marker::Marker;

/// The last known version of the format.
const LAST_VERSION: u8 = 3;

/// The marker of the list of the metalayers' contents.
const LIST_MARKER: u8 = Marker::Array16.to_u8();

/// The largest filter parameter that python-blosc2 accepts. python-blosc2 does not open a file with a larger parameter.
pub(crate) const MAX_PARAMETER: u32 = i8::MAX as u32;

/// The faults and oddities of a header.
pub(crate) fn check<R>(frame: &Frame<R>) -> Vec<Finding> {
    let (header, section) = (&frame.header, &frame.section);
    let mut findings = Vec::new();
    findings.extend(version(header));
    let type_at = header.range(HeaderField::Flags).map_or(0, |flags| flags.start + FRAME_TYPE);
    let about_type = |text| Finding::new(FindingCode::FrameType, Place::Header).at(type_at as u64).text(text);
    findings.extend(check_frame_type(frame).err().map(about_type));
    findings.extend(filters(header));
    findings.extend(sizes(header));
    findings.extend(index_size(section));
    findings.extend(list(section, header.header_len));
    findings.extend(duplicates(&section.metalayers));
    findings.extend(active_object(&section.metalayers));
    findings
}

/// The finding for a header that C-Blosc2 no longer opens, or that is newer than this crate.
fn version(header: &Header) -> Option<Finding> {
    if header.generation != Generation::Present {
        let [expected, marker] = [Generation::Present, header.generation].map(|of| of.marker().to_u8());
        let text =
            format!("the header has {} values, and C-Blosc2 no longer opens such a frame", marker & 0x0f);
        let finding = Finding::new(FindingCode::OldFrame, Place::Header).at(0);
        return Some(finding.numbers(expected, marker).text(text));
    }
    let version = header.version;
    (version > LAST_VERSION).then(|| {
        let text = format!("the format version is {version}, but must be at most {LAST_VERSION}");
        header
            .finding(FindingCode::UnknownVersion, HeaderField::Flags)
            .numbers(LAST_VERSION, version)
            .text(text)
    })
}

fn filters(header: &Header) -> Vec<Finding> {
    let mut findings = Vec::new();
    let count = header.nfilters;
    if count > MAX_FILTERS {
        let text = format!("the header counts {count} filters, but must count at most {MAX_FILTERS}");
        let finding = header.finding(FindingCode::DamagedHeader, HeaderField::Filters);
        findings.push(finding.numbers(MAX_FILTERS, count).text(text));
    }
    for filter in header.pipeline().filter(|filter| filter.is_unknown()) {
        let text = format!("{filter} is unknown");
        findings.push(header.finding(FindingCode::UnknownFilter, HeaderField::Filters).text(text));
    }
    findings.extend(filter_parameter(header));
    findings
}

fn sizes(header: &Header) -> Vec<Finding> {
    let mut findings = Vec::new();
    if header.typesize < 1 {
        let text = format!("typesize is {}, but must be at least 1", header.typesize);
        findings.push(
            header.finding(FindingCode::Sizes, HeaderField::Typesize).numbers(1, header.typesize).text(text),
        );
    }
    let has_chunks = header.nbytes > 0;
    // Without chunks, `cbytes` and `chunksize` have no meaning, so they are not checked.
    for (field, value, counts) in [
        (HeaderField::Nbytes, header.nbytes, true),
        (HeaderField::Cbytes, header.cbytes, has_chunks),
        (HeaderField::Chunksize, header.chunksize.into(), has_chunks),
    ] {
        if counts && value < 0 {
            let text = format!("{} is {value}, but must not be negative", field.encoding().name);
            findings.push(header.finding(FindingCode::Sizes, field).numbers(0, value).text(text));
        }
    }
    findings
}

/// Checks that the frame type is valid and, if the frame was opened by a path, that the type fits the path.
fn check_frame_type<R>(frame: &Frame<R>) -> Result<(), String> {
    let is_elsewhere = frame.path().is_some_and(|path| !path.ends_with(SPARSE_INDEX));
    match frame.header.frame_type {
        FrameType::Unknown(unknown) => {
            Err(format!("the frame type is {unknown}, but must be 0 (contiguous) or 1 (sparse)"))
        }
        FrameType::Contiguous if frame.by_directory => {
            Err("the header says that the frame is contiguous, but in a directory it must be sparse".into())
        }
        FrameType::Sparse if is_elsewhere => Err(format!(
            "the header says that the frame is sparse, but the file is not called {SPARSE_INDEX}"
        )),
        _ => Ok(()),
    }
}

/// The parameter that python-blosc2 reads for a filter. For the filter `bytedelta`, the parameter 0 stands for the item
/// size.
pub(crate) fn parameter(filter: Filter, typesize: u32) -> u32 {
    if filter == Filter::BYTEDELTA { typesize } else { filter.meta.into() }
}

/// The finding for the first filter parameter above [`MAX_PARAMETER`]. python-blosc2 converts all six parameters to
/// int8, even those of unused filters. So it fails if any parameter is above this maximum.
fn filter_parameter(header: &Header) -> Option<Finding> {
    let typesize = u32::try_from(header.typesize).unwrap_or_default();
    let index = header.filters.iter().position(|&filter| parameter(filter, typesize) > MAX_PARAMETER)?;
    let (&filter, at) =
        (header.filters.get(index)?, header.range(HeaderField::Filters)?.start + filters::METAS + index);
    let (found, unused) =
        (parameter(filter, typesize), if filter.id == 0 { ", which is not in use," } else { "" });
    let stands_for = if filter.meta == 0 { "0, which stands for the item size " } else { "" };
    let text = format!(
        "the parameter of filter {index}{unused} is {stands_for}{found}, but python-blosc2 opens at most {MAX_PARAMETER}"
    );
    let finding = Finding::new(FindingCode::FilterParameter, Place::Header).at(at as u64);
    Some(finding.numbers(MAX_PARAMETER, found).text(text))
}

fn index_size(section: &Section) -> Option<Finding> {
    let (expected, found) = (section.list - section.start, section.index_size);
    (expected != usize::from(found)).then(|| {
        let text = format!("the index of metalayers has {expected} bytes, but its size field says {found}");
        let at = section.index_size_offset() as u64;
        Finding::new(FindingCode::IgnoredBytes, Place::Metalayers).at(at).numbers(expected, found).text(text)
    })
}

/// Checks the list of contents: its marker, its count, and whether the contents follow one another.
fn list(section: &Section, header_len: usize) -> Option<Finding> {
    let count = section.metalayers.len();
    let about = |at: usize| Finding::new(FindingCode::IgnoredBytes, Place::Metalayers).at(at as u64);
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
    // Readers need only the offsets. But known writers store the contents in order and without gaps, so any other
    // placement is a finding.
    let mut end = section.contents();
    for layer in &section.metalayers {
        if layer.offset() != end + CONTENT_HEADER {
            let (found, name) = (layer.offset() - CONTENT_HEADER, Escaped(layer.name()));
            let text =
                format!("metalayer {name} begins at byte {found}, but the one before it ends at byte {end}");
            return Some(about(layer.offset_field()).numbers(end, found).text(text));
        }
        end = layer.offset() + layer.bytes().len();
    }
    (end != header_len).then(|| {
        let text = format!("the metalayers end at byte {end}, but the header at byte {header_len}");
        about(end).numbers(header_len, end).text(text)
    })
}

fn duplicates(layers: &[Metalayer]) -> impl Iterator<Item = Finding> {
    // There are at most 16 metalayers, so comparing each one with all previous ones takes hardly any time.
    let again = move |(index, layer): (usize, &'_ Metalayer)| {
        let before = layers.iter().take(index).any(|other| other.name() == layer.name());
        before.then(|| {
            let text = format!("metalayer {} occurs more than once", Escaped(layer.name()));
            Finding::new(FindingCode::DuplicateMetalayer, Place::Metalayers)
                .at(layer.offset() as u64)
                .text(text)
        })
    };
    layers.iter().enumerate().filter_map(again)
}

/// The finding for an object whose data a reader cannot get from this file alone.
fn active_object(layers: &[Metalayer]) -> Option<Finding> {
    let (kind, layer) = metalayer_kind(layers)?;
    let action = kind.action()?;
    let name = layer.name();
    let text = format!("metalayer {name} marks the frame as {kind}: to get its data, a reader must {action}");
    Some(Finding::new(FindingCode::ActiveObject, Place::Metalayers).at(layer.offset() as u64).text(text))
}

/// The finding for a file that is shorter or longer than its frame. If the frame is inside another file (`is_inside`),
/// any bytes may follow it.
pub(crate) fn file_length(header: &Header, is_inside: bool, available: u64) -> Option<Finding> {
    let frame_len = header.frame_len;
    if available < frame_len {
        return Some(cut_short("", frame_len, available));
    }
    (available > frame_len && !is_inside).then(|| {
        let text = format!("the frame has {frame_len} bytes, but the file {available}");
        Finding::new(FindingCode::LongerFile, Place::File).numbers(frame_len, available).text(text)
    })
}
