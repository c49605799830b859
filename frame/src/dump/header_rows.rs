//! Annotated bytes of a frame's header.

use core::fmt;

use b2nd_chunk::{Codec, Filter};
use b2nd_serde::dump::{self, Dump};

use super::annotator::{Annotator, Stop};
use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place, counted};
use crate::header::fields::{FILTER_PARTS, Generation, HeaderField};
use crate::header::flags::FrameType;
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::messagepack::cursor::Part;
use crate::messagepack::marker::ValueType;

/// Shows the bytes of a frame's header with its metalayers, and their meaning.
///
/// Each line shows a value: its offset, its bytes, its type, its name and the value itself. If the bytes are not a
/// header, the lines end at the first invalid byte, with an error message. Bytes after the header are not shown.
///
/// ```
/// use b2nd_frame::dump_header;
///
/// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// let text = dump_header(&file).to_string();
/// let lines: Vec<&str> = text.lines().collect();
/// assert_eq!(lines[0], "   0  9e                                array of 14 header");
/// assert_eq!(lines[2], "  10  d2 00 00 00 a5                    int32       header_len     165");
///
/// let text = dump_header(&file[..20]).to_string();
/// assert!(text.ends_with("^^ expected 24 bytes of header, but the input ends after 20\n"), "{text}");
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn dump_header(bytes: &[u8]) -> Dump<'_> {
    Dump::new(header_of(bytes), annotate)
}

/// The offset of the byte that the parser rejected, and the reason.
fn fault(error: &Error, len: usize) -> (usize, String) {
    if let Some(needed) = error.needed() {
        return (len, format!("expected {needed} bytes of header, but the input ends after {len}"));
    }
    let offset = error.finding().and_then(Finding::offset).and_then(|offset| usize::try_from(offset).ok());
    let message = error.finding().map_or_else(|| error.to_string(), |finding| finding.message().into());
    (offset.unwrap_or(0), message)
}

/// The bytes of the header at the start of `prefix`, or all bytes of `prefix` if the header is not valid.
fn header_of(prefix: &[u8]) -> &[u8] {
    let frame = Frame::parse(prefix);
    frame.ok().and_then(|frame| prefix.get(..frame.header().header_len)).unwrap_or(prefix)
}

/// Shows a header.
fn annotate(rows: dump::Annotator<'_, '_>) -> fmt::Result {
    let bytes = rows.rest();
    let (frame, fault) = match Frame::parse(bytes) {
        Ok(frame) => (Some(frame), None),
        Err(error) => (None, Some(fault(&error, bytes.len()))),
    };
    let part = Part { place: Place::Header, start: 0, code: FindingCode::DamagedHeader };
    Annotator::new(part, rows, fault).run(|rows| rows.header(frame.as_ref().map(Frame::header)))
}

impl Annotator<'_, '_> {
    fn header(&mut self, header: Option<&Header>) -> Result<(), Stop> {
        let marker = self.marker()?;
        let generation = Generation::of_marker(marker.to_u8()).ok_or(Stop::Fault)?;
        self.row(ValueType(marker), "header", "")?;
        for field in HeaderField::ALL.iter().filter(|field| field.offset(generation).is_some()) {
            match field {
                HeaderField::Flags => self.flags(header)?,
                HeaderField::Filters => self.filters()?,
                HeaderField::Metalayers => {
                    self.section(field.encoding().name, Annotator::metalayer)?;
                }
                field => drop(self.value(field.encoding().name)?),
            }
        }
        Ok(self.raw_until(usize::MAX)?)
    }

    fn flags(&mut self, header: Option<&Header>) -> Result<(), Stop> {
        self.cursor.byte()?;
        self.row("fixstr", "flags", "4 bytes")?;
        let values = header.map(|header| {
            let frame_type = match header.frame_type {
                FrameType::Contiguous => "cframe".into(),
                FrameType::Sparse => "sframe".into(),
                FrameType::Unknown(unknown) => format!("type {unknown}"),
            };
            let codec = format!("{}, level {}", header.codec, header.level);
            [format!("version {}", header.version), frame_type, codec, format!("split {}", header.split_mode)]
        });
        self.inside(|rows| {
            for (index, value) in values.unwrap_or_default().iter().enumerate() {
                rows.cursor.byte()?;
                rows.row("", format_args!("flags[{index}]"), value)?;
            }
            Ok::<_, Stop>(())
        })
    }

    fn filters(&mut self) -> Result<(), Stop> {
        let [_, count] = self.cursor.array()?;
        self.row("fixext16", "filters", counted(count, "filter"))?;
        self.inside(|rows| {
            for &(name, _, len) in FILTER_PARTS.iter().skip(1) {
                let bytes = rows.cursor.take(len)?;
                rows.row("", name, filter_part(name, bytes))?;
            }
            Ok::<_, Stop>(())
        })
    }
}

/// Describes the value of one part of the header field `filters`, or of one part of a chunk header. `name` is the name
/// of the part.
pub(super) fn filter_part(name: &str, bytes: &[u8]) -> String {
    let first = bytes.first().copied().unwrap_or_default();
    match name {
        "filters" if bytes.iter().all(|&id| id == 0) => "none".into(),
        "filters" => {
            let ids = bytes.iter().filter(|&&id| id != 0);
            let names: Vec<String> = ids.map(|&id| Filter { id, meta: 0 }.to_string()).collect();
            names.join(", ")
        }
        "codec" => Codec(first).to_string(),
        "more_flags" => if first & 1 == 0 { "no dictionary" } else { "dictionary" }.into(),
        _ if bytes.iter().all(|&byte| byte == 0) => "0".into(),
        _ => bytes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}
