//! Annotated bytes: what each byte of a frame's header says.

use core::fmt;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use crate::dump::{Lines, Printable, Row, RowRef, Sink, write_fault, write_metalayer, write_raw};
use crate::frame::format::fields::{Filter, FrameType, Generation};
use crate::frame::format::section::CONTENT_HEADER;
use crate::frame::{ARRAY_NAMES, Error, Frame};
use crate::layout::CATERVA_THREE;
use crate::marker::Marker;

mod value;

use value::Value;

/// Shows the bytes of a frame's header, metalayers included, with what each of them says.
///
/// One line for each value: its offset, its bytes, its type, the value and its name. Of bytes that are no header, what
/// can be read comes first, then the bytes from the fault on, and under them what is wrong. What stands behind the
/// header is not shown.
///
/// ```
/// use b2nd_serde::frame::dump;
///
/// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// let text = dump(&file).to_string();
/// let lines: Vec<&str> = text.lines().collect();
/// assert_eq!(lines[0], "   0  9e                                   array of 14            header");
/// assert_eq!(lines[2], "  10    d2 00 00 00 a5                     int32       165        header_len");
///
/// let text = dump(&file[..20]).to_string();
/// assert!(text.ends_with("^^ expected 24 bytes of header, found the end after 20\n"), "{text}");
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn dump(prefix: &[u8]) -> Dump<'_> {
    Dump { prefix }
}

/// The header of a frame that is displayed as [`dump`] says.
#[derive(Clone, Copy, Debug)]
pub struct Dump<'a> {
    prefix: &'a [u8],
}

impl Dump<'_> {
    /// The lines, as data.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        // A `Vec` takes all there is.
        let _ = Walk::new(self.prefix, &mut rows).frame();
        rows
    }
}

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Walk::new(self.prefix, &mut Lines { f, columns: [43, 55, 66] }).frame()
    }
}

/// The names of the values of a header, in the present generation.
const FIELDS: [&str; 14] = [
    "magic",
    "header_len",
    "frame_len",
    "flags",
    "nbytes",
    "cbytes",
    "typesize",
    "blocksize",
    "chunksize",
    "compr_threads",
    "decomp_threads",
    "has_vlmeta",
    "filters",
    "metalayers",
];

/// Values nested deeper than this are shown as bytes.
const MAX_DEPTH: usize = 32;

/// Why a walk ends before its time.
enum Stop {
    /// The byte at the walk's position, or the next one that is at fault.
    Fault,
    /// The bytes cannot be shown.
    Fmt(fmt::Error),
}

impl From<fmt::Error> for Stop {
    fn from(error: fmt::Error) -> Self {
        Self::Fmt(error)
    }
}

/// A walk that shows what it comes by, up to the byte that the parser refuses.
struct Walk<'w, 'a> {
    bytes: &'a [u8],
    position: usize,
    depth: usize,
    /// The byte that is at fault, and what is wrong with it.
    fault: Option<(usize, String)>,
    sink: &'w mut dyn Sink,
}

/// The byte that is at fault, and what is wrong with it.
fn fault(error: &Error, len: usize) -> (usize, String) {
    match (error.needed(), error.finding()) {
        (Some(needed), _) => (len, format!("expected {needed} bytes of header, found the end after {len}")),
        (None, Some(finding)) => {
            let at = finding.offset().and_then(|at| usize::try_from(at).ok());
            (at.unwrap_or(0), finding.message().into())
        }
        (None, None) => (0, error.to_string()),
    }
}

impl<'w, 'a> Walk<'w, 'a> {
    fn new(prefix: &'a [u8], sink: &'w mut dyn Sink) -> Self {
        let (bytes, fault) = match Frame::parse(prefix) {
            Ok(frame) => (prefix.get(..frame.header().header_len).unwrap_or(prefix), None),
            Err(error) => (prefix, Some(fault(&error, prefix.len()))),
        };
        Self { bytes, position: 0, depth: 0, fault, sink }
    }

    fn frame(&mut self) -> fmt::Result {
        match self.header() {
            Err(Stop::Fmt(error)) => Err(error),
            Ok(()) => Ok(()),
            Err(Stop::Fault) => {
                let unknown = || (self.position, "bytes that are not understood".into());
                let (at, text) = self.fault.take().unwrap_or_else(unknown);
                let at = at.clamp(self.position, self.bytes.len().max(self.position));
                self.raw(at - self.position, self.depth + 1)?;
                let rest = self.bytes.get(at..).unwrap_or_default();
                write_fault(rest, at, self.depth, &text, self.sink)
            }
        }
    }

    fn header(&mut self) -> Result<(), Stop> {
        let marker = self.bytes.first().copied().and_then(Generation::of_marker).ok_or(Stop::Fault)?;
        let count = marker.marker() & 0x0f;
        self.row(1, &format!("array of {count}"), &"", &"header")?;
        self.depth = 1;
        for field in FIELDS {
            match (field, marker) {
                ("blocksize", Generation::Beta1 | Generation::Beta2) | ("filters", Generation::Beta1) => {}
                ("flags", _) => self.flags()?,
                ("filters", _) => self.filters()?,
                ("metalayers", _) => self.metalayers()?,
                _ => self.value(field)?,
            }
        }
        Ok(())
    }

    fn flags(&mut self) -> Result<(), Stop> {
        self.row(1, &"fixstr", &"4 bytes", &"flags")?;
        self.depth += 1;
        let frame = Frame::parse(self.bytes).ok();
        let header = frame.as_ref().map(Frame::header);
        let say = |value: Option<String>| value.unwrap_or_default();
        self.row(1, &"", &say(header.map(|header| format!("version {}", header.version))), &"flags[0]")?;
        let frame_type = header.map(|header| match header.frame_type {
            FrameType::Contiguous => "cframe".into(),
            FrameType::Sparse => "sframe".into(),
            FrameType::Unknown(unknown) => format!("type {unknown}"),
        });
        self.row(1, &"", &say(frame_type), &"flags[1]")?;
        let codec = header.map(|header| format!("{}, level {}", header.codec, header.level));
        self.row(1, &"", &say(codec), &"flags[2]")?;
        let split = header.map(|header| format!("split {}", header.split_mode));
        self.row(1, &"", &say(split), &"flags[3]")?;
        self.depth -= 1;
        Ok(())
    }

    fn filters(&mut self) -> Result<(), Stop> {
        let count = self.bytes.get(self.position + 1).copied().unwrap_or_default();
        self.row(2, &"fixext16", &Counted(count.into(), "filter"), &"filters")?;
        self.depth += 1;
        let ids = self.bytes.get(self.position..).and_then(<[u8]>::first_chunk::<6>).copied();
        let names: Vec<String> = ids
            .into_iter()
            .flatten()
            .filter(|&id| id != 0)
            .map(|id| Filter { id, meta: 0 }.to_string())
            .collect();
        self.row(6, &"", &names.join(", "), &"filters")?;
        self.row(1, &"", &"", &"codec")?;
        self.row(1, &"", &"", &"codec_meta")?;
        self.row(6, &"", &"", &"filters_meta")?;
        self.row(1, &"", &"", &"more_flags")?;
        self.row(1, &"", &"", &"reserved")?;
        self.depth -= 1;
        Ok(())
    }

    fn metalayers(&mut self) -> Result<(), Stop> {
        self.row(1, &"array of 3", &"", &"metalayers")?;
        self.depth += 1;
        self.value("index_size")?;
        let count = self.count().ok_or(Stop::Fault)?;
        self.row(3, &"map16", &Counted(count, "metalayer"), &"index")?;
        self.depth += 1;
        let mut layers = Vec::new();
        for _ in 0..count {
            let name = self.name().ok_or(Stop::Fault)?;
            self.value("name")?;
            let at = self.bytes.get(self.position + 1..).and_then(<[u8]>::first_chunk).copied();
            self.value("offset")?;
            layers.push((at.map(u32::from_be_bytes).and_then(|at| usize::try_from(at).ok()), name));
        }
        self.depth -= 1;
        let count = self.count().ok_or(Stop::Fault)?;
        self.row(3, &"array16", &Counted(count, "content"), &"contents")?;
        self.depth += 1;
        layers.sort();
        for (at, name) in layers {
            self.content(at.ok_or(Stop::Fault)?, &name)?;
        }
        self.depth -= 2;
        let rest = self.bytes.len().saturating_sub(self.position);
        Ok(self.raw(rest, self.depth)?)
    }

    /// A metalayer, whose marker stands at an offset.
    fn content(&mut self, at: usize, name: &str) -> Result<(), Stop> {
        let until_fault = self.fault.as_ref().map_or(usize::MAX, |fault| fault.0);
        self.raw(at.min(until_fault).saturating_sub(self.position), self.depth)?;
        self.position = at;
        let length = self.bytes.get(at + 1..).and_then(<[u8]>::first_chunk).copied();
        let length = length.map(u32::from_be_bytes).and_then(|length| usize::try_from(length).ok());
        let length = length.ok_or(Stop::Fault)?;
        self.row(CONTENT_HEADER, &"bin32", &format!("{length} bytes"), &Printable(name.as_bytes()))?;
        let start = self.position;
        let content = start.checked_add(length).and_then(|end| self.bytes.get(start..end));
        let content = content.ok_or(Stop::Fault)?;
        if !ARRAY_NAMES.contains(&name) || content.first() == Some(&CATERVA_THREE) {
            self.any(start + length)?;
        } else {
            let stale = Frame::parse(self.bytes)
                .ok()
                .and_then(|frame| Some(frame.array().ok()??.stale_tail().len()))
                .unwrap_or_default();
            let (array, stale) = content.split_at(content.len().saturating_sub(stale));
            write_metalayer(array, start, self.depth + 1, self.sink)?;
            self.position = start + array.len();
            self.stale(stale.len())?;
        }
        self.position = start + length;
        Ok(())
    }

    /// Shows bytes that are left of a value that was longer.
    fn stale(&mut self, length: usize) -> fmt::Result {
        for (index, bytes) in
            self.bytes.get(self.position..self.position + length).unwrap_or_default().chunks(10).enumerate()
        {
            let kind = if index == 0 { "stale" } else { "" };
            let value = if index == 0 { format!("{length} old bytes") } else { String::new() };
            let (offset, depth) = (self.position + index * 10, self.depth + 1);
            self.sink.row(&RowRef {
                offset,
                depth,
                bytes,
                kind: &kind,
                value: &value,
                field: &"",
                fault: None,
            })?;
        }
        Ok(())
    }

    /// Shows whatever MessagePack stands up to an offset; what is none, as bytes.
    fn any(&mut self, end: usize) -> Result<(), Stop> {
        self.depth += 1;
        // How many values are left at each level; each one of a map is two.
        let mut left: Vec<usize> = Vec::new();
        while self.position < end {
            let bytes = self.bytes.get(self.position..end).unwrap_or_default();
            let Some(value) = Value::read(bytes).filter(|_| left.len() < MAX_DEPTH) else { break };
            let depth = self.depth;
            self.depth += left.len();
            self.show(&value, "")?;
            self.depth = depth;
            if let Some(count) = left.last_mut() {
                *count = count.saturating_sub(1);
            }
            left.extend((value.children > 0).then_some(value.children));
            while left.last() == Some(&0) {
                left.pop();
            }
        }
        self.raw(end.saturating_sub(self.position), self.depth)?;
        self.depth -= 1;
        Ok(())
    }

    /// Shows the value that is next, under a name.
    fn value(&mut self, field: &str) -> Result<(), Stop> {
        let value = Value::read(self.bytes.get(self.position..).unwrap_or_default()).ok_or(Stop::Fault)?;
        self.show(&value, field)
    }

    fn show(&mut self, value: &Value, field: &str) -> Result<(), Stop> {
        self.row(value.head, &value.kind, &value.text, &field)?;
        Ok(self.raw(value.body, self.depth + 1)?)
    }

    /// What a 16-bit number of values says that is next, behind its marker.
    fn count(&self) -> Option<u16> {
        self.bytes.get(self.position + 1..)?.first_chunk().copied().map(u16::from_be_bytes)
    }

    /// The fixstr that is next.
    fn name(&self) -> Option<String> {
        let (&marker, rest) = self.bytes.get(self.position..)?.split_first()?;
        let name = rest.get(..usize::from(marker & 0x1f))?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// Shows the next bytes as one value, unless they are at fault or not there.
    fn row(
        &mut self,
        length: usize,
        kind: &dyn fmt::Display,
        value: &dyn fmt::Display,
        field: &dyn fmt::Display,
    ) -> Result<(), Stop> {
        let (offset, depth, end) = (self.position, self.depth, self.position + length);
        let Some(bytes) = self.bytes.get(offset..end) else { return Err(Stop::Fault) };
        if self.fault.as_ref().is_some_and(|&(at, _)| at < end) {
            return Err(Stop::Fault);
        }
        self.sink.row(&RowRef { offset, depth, bytes, kind, value, field, fault: None })?;
        self.position = end;
        Ok(())
    }

    fn raw(&mut self, length: usize, depth: usize) -> fmt::Result {
        let bytes = self.bytes.get(self.position..).unwrap_or_default();
        let bytes = bytes.get(..length).unwrap_or(bytes);
        write_raw(bytes, self.position, depth, self.sink)?;
        self.position += bytes.len();
        Ok(())
    }
}

/// A number of things.
struct Counted(u16, &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        write!(f, "{count} {noun}{}", if *count == 1 { "" } else { "s" })
    }
}

/// The type of a value, as a line has room for it.
fn kind(marker: u8) -> String {
    match marker {
        0x00..=0x7f | 0xe0..=0xff => "fixint".into(),
        _ => Marker(marker).to_string().split(" (").next().unwrap_or_default().into(),
    }
}
