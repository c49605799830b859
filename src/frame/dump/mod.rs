//! Annotated bytes of a frame's header.

use core::fmt;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use crate::dump::{Lines, Printable, Row, RowRef, Sink, write_fault, write_metalayer, write_raw};
use crate::frame::finding::{Code, Finding, Place};
use crate::frame::format::cursor::{Cursor, Part};
use crate::frame::format::fields::{FILTER_PARTS, Field, Generation};
use crate::frame::format::flags::{Filter, FrameType};
use crate::frame::format::section::ARRAY_NAMES;
use crate::frame::{Error, Frame};
use crate::layout::CATERVA_THREE;
use crate::marker::Kind;
use crate::{Meta, take_from_slice};

mod value;

use value::Value;

/// Shows the bytes of a frame's header with its metalayers, and what each of them means.
///
/// Each line is a value: its offset, its bytes, its type, the value itself and its name. If the bytes are not a header,
/// the lines end at the first wrong byte, and the last line says what is wrong with it. Bytes after the header are not
/// shown.
///
/// ```
/// use b2nd_serde::frame::dump_header;
///
/// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// let text = dump_header(&file).to_string();
/// let lines: Vec<&str> = text.lines().collect();
/// assert_eq!(lines[0], "   0  9e                                   array of 14            header");
/// assert_eq!(lines[2], "  10    d2 00 00 00 a5                     int32       165        header_len");
///
/// let text = dump_header(&file[..20]).to_string();
/// assert!(text.ends_with("^^ expected 24 bytes of header, but the input ends after 20\n"), "{text}");
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn dump_header(bytes: &[u8]) -> HeaderDump<'_> {
    HeaderDump { bytes }
}

/// The annotated bytes of a header, from [`dump_header`]. Its `Display` is the text.
#[derive(Clone, Copy, Debug)]
pub struct HeaderDump<'a> {
    bytes: &'a [u8],
}

impl HeaderDump<'_> {
    /// The lines of the text as data, one [`Row`] for each.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        // Adding a row to a `Vec` cannot fail.
        let _ = Annotator::new(self.bytes, &mut rows).write();
        rows
    }
}

impl fmt::Display for HeaderDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Annotator::new(self.bytes, &mut Lines { f, columns: [43, 55, 66] }).write()
    }
}

/// Values that are nested deeper are shown as bytes.
const MAX_DEPTH: usize = 32;

/// The number of old bytes on one line.
const BYTES_A_LINE: usize = 10;

/// Why the annotation ends early.
enum Stop {
    /// The next bytes are wrong or missing.
    Fault,
    /// The sink failed.
    Fmt(fmt::Error),
}

impl From<Finding> for Stop {
    fn from(_: Finding) -> Self {
        Self::Fault
    }
}

impl From<fmt::Error> for Stop {
    fn from(error: fmt::Error) -> Self {
        Self::Fmt(error)
    }
}

/// Reads a header, and writes a row for each value that it reads, up to the byte that the parser refuses.
struct Annotator<'w, 'a> {
    cursor: Cursor<'a>,
    /// The offset of the first byte that has no row yet.
    shown: usize,
    depth: usize,
    /// The frame, if it can be parsed.
    frame: Option<Frame>,
    /// The offset of the byte that the parser refuses, and why.
    fault: Option<(usize, String)>,
    sink: &'w mut dyn Sink,
}

/// The offset of the byte that the parser refused, and the reason.
fn fault(error: &Error, len: usize) -> (usize, String) {
    match (error.needed(), error.finding()) {
        (Some(needed), _) => {
            (len, format!("expected {needed} bytes of header, but the input ends after {len}"))
        }
        (None, Some(finding)) => {
            let offset = finding.offset().and_then(|offset| usize::try_from(offset).ok());
            (offset.unwrap_or(0), finding.message().into())
        }
        (None, None) => (0, error.to_string()),
    }
}

impl<'w, 'a> Annotator<'w, 'a> {
    fn new(prefix: &'a [u8], sink: &'w mut dyn Sink) -> Self {
        let (frame, fault) = match Frame::parse(prefix) {
            Ok(frame) => (Some(frame), None),
            Err(error) => (None, Some(fault(&error, prefix.len()))),
        };
        let header = frame.as_ref().and_then(|frame| prefix.get(..frame.header().header_len));
        // `Frame::parse` has found what is wrong, so the findings of this cursor are not shown.
        let (marker, end) = (Code::HeaderMarker, Code::HeaderLength);
        let part = Part { place: Place::Header, start: 0, marker, end };
        let cursor = Cursor::new(header.unwrap_or(prefix), part);
        Self { cursor, shown: 0, depth: 0, frame, fault, sink }
    }

    fn write(&mut self) -> fmt::Result {
        match self.header() {
            Err(Stop::Fmt(error)) => Err(error),
            Ok(()) => Ok(()),
            Err(Stop::Fault) => {
                let unknown = || (self.shown, "these bytes are not part of a valid header".into());
                let (offset, text) = self.fault.take().unwrap_or_else(unknown);
                self.raw(offset, self.depth + 1)?;
                let rest = self.cursor.at(self.shown).rest();
                write_fault(rest, self.shown, self.depth, &text, self.sink)
            }
        }
    }

    fn header(&mut self) -> Result<(), Stop> {
        let marker = self.cursor.byte()?;
        let generation = Generation::of_marker(marker).ok_or(Stop::Fault)?;
        self.row(&Kind(marker), &"", &"header")?;
        self.depth = 1;
        for field in Field::ALL.iter().filter(|field| field.offset(generation).is_some()) {
            match field {
                Field::Flags => self.flags()?,
                Field::Filters => self.filters()?,
                Field::Metalayers => self.metalayers()?,
                field => drop(self.value(field.encoding().name)?),
            }
        }
        Ok(())
    }

    fn flags(&mut self) -> Result<(), Stop> {
        self.cursor.byte()?;
        self.row(&"fixstr", &"4 bytes", &"flags")?;
        let values = self.frame.as_ref().map(|frame| {
            let header = frame.header();
            let frame_type = match header.frame_type {
                FrameType::Contiguous => "cframe".into(),
                FrameType::Sparse => "sframe".into(),
                FrameType::Unknown(unknown) => format!("type {unknown}"),
            };
            let codec = format!("{}, level {}", header.codec, header.level);
            [format!("version {}", header.version), frame_type, codec, format!("split {}", header.split_mode)]
        });
        self.depth += 1;
        for (index, value) in values.unwrap_or_default().iter().enumerate() {
            self.cursor.byte()?;
            self.row(&"", value, &format_args!("flags[{index}]"))?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn filters(&mut self) -> Result<(), Stop> {
        let [_, count] = self.cursor.array()?;
        self.row(&"fixext16", &counted(count.into(), "filter"), &"filters")?;
        self.depth += 1;
        for (name, _, len) in FILTER_PARTS.into_iter().skip(1) {
            let bytes = self.cursor.take(len)?;
            let ids = bytes.iter().filter(|&&id| name == "filters" && id != 0);
            let names: Vec<String> = ids.map(|&id| Filter { id, meta: 0 }.to_string()).collect();
            self.row(&"", &names.join(", "), &name)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn metalayers(&mut self) -> Result<(), Stop> {
        let marker = self.cursor.byte()?;
        self.row(&Kind(marker), &"", &"metalayers")?;
        self.depth += 1;
        self.value("index_size")?;
        let count = self.count("metalayer", "index")?;
        self.depth += 1;
        let mut layers = Vec::new();
        for _ in 0..count {
            let name = self.value("name")?;
            // A short name is on the line of its marker.
            let name = if name.body.is_empty() { name.head.get(1..).unwrap_or_default() } else { name.body };
            let offset = self.value("offset")?.head.last_chunk().copied().map(u32::from_be_bytes);
            layers.push((offset.and_then(|offset| usize::try_from(offset).ok()).ok_or(Stop::Fault)?, name));
        }
        self.depth -= 1;
        self.count("content", "contents")?;
        self.depth += 1;
        layers.sort_unstable();
        for (offset, name) in layers {
            self.content(offset, name)?;
        }
        self.depth -= 2;
        Ok(self.raw(usize::MAX, self.depth)?)
    }

    /// Shows a metalayer, whose marker is at an offset.
    fn content(&mut self, offset: usize, name: &[u8]) -> Result<(), Stop> {
        let fault = self.fault.as_ref().map_or(usize::MAX, |fault| fault.0);
        if offset < self.shown {
            // Otherwise 16 metalayers in the same place would cost as much as 16 of them.
            let name = Printable(name);
            return Ok(self.write_row(
                self.depth,
                &[],
                &"",
                &format_args!("at byte {offset}, above"),
                &name,
            )?);
        }
        self.raw(offset.min(fault), self.depth)?;
        self.cursor = self.cursor.at(offset);
        self.shown = offset;
        let marker = self.cursor.byte()?;
        let len = u32::from_be_bytes(self.cursor.array()?);
        self.row(&Kind(marker), &format_args!("{len} bytes"), &Printable(name))?;
        let start = self.cursor.offset();
        let content = self.cursor.take(usize::try_from(len).map_err(|_| Stop::Fault)?)?;
        let is_array = ARRAY_NAMES.iter().any(|array| array.as_bytes() == name);
        if !is_array || content.first() == Some(&CATERVA_THREE) {
            return Ok(self.values(start)?);
        }
        let stale = take_from_slice::<Meta>(content).map_or(0, |(_, stale)| stale.len());
        let (array, stale) = content.split_at(content.len().saturating_sub(stale));
        write_metalayer(array, start, self.depth + 1, self.sink)?;
        self.shown = start + array.len();
        Ok(self.stale(stale)?)
    }

    /// Shows old bytes after a metalayer.
    fn stale(&mut self, stale: &[u8]) -> fmt::Result {
        let (mut kind, mut value) = ("stale", format!("{} old bytes", stale.len()));
        for bytes in stale.chunks(BYTES_A_LINE) {
            self.write_row(self.depth + 1, bytes, &kind, &value, &"")?;
            self.shown += bytes.len();
            (kind, value) = ("", String::new());
        }
        Ok(())
    }

    /// Shows the MessagePack values between an offset and the cursor. Bytes that are not MessagePack are shown as
    /// bytes.
    fn values(&mut self, start: usize) -> fmt::Result {
        let end = self.cursor.offset();
        let mut cursor = self.cursor.until(end).at(start);
        // How many values are left at each level. Each pair of a map is two.
        let mut left: Vec<usize> = Vec::new();
        while left.len() < MAX_DEPTH && self.shown < end {
            let Some(value) = Value::take(&mut cursor) else { break };
            self.show(&value, self.depth + 1 + left.len(), "")?;
            if let Some(count) = left.last_mut() {
                *count = count.saturating_sub(1);
            }
            left.extend((value.children > 0).then_some(value.children));
            while left.last() == Some(&0) {
                left.pop();
            }
        }
        self.raw(end, self.depth + 1)
    }

    /// Takes the next value, and shows it under a name.
    fn value(&mut self, field: &str) -> Result<Value<'a>, Stop> {
        let value = Value::take(&mut self.cursor).ok_or(Stop::Fault)?;
        self.refuse_fault(self.shown + value.head.len())?;
        self.show(&value, self.depth, field)?;
        Ok(value)
    }

    /// Takes the next 16-bit number of values, and shows it under a name.
    fn count(&mut self, noun: &str, field: &str) -> Result<u16, Stop> {
        let marker = self.cursor.byte()?;
        let count = u16::from_be_bytes(self.cursor.array()?);
        self.row(&Kind(marker), &counted(count, noun), &field)?;
        Ok(count)
    }

    /// Shows a value that begins where the last row ended.
    fn show(&mut self, value: &Value<'_>, depth: usize, field: &str) -> fmt::Result {
        self.write_row(depth, value.head, &value.kind, &value.text, &field)?;
        self.shown += value.head.len();
        self.raw(self.shown + value.body.len(), depth + 1)
    }

    /// Shows all that the cursor has taken since the last row as one value.
    fn row(
        &mut self,
        kind: &dyn fmt::Display,
        value: &dyn fmt::Display,
        field: &dyn fmt::Display,
    ) -> Result<(), Stop> {
        let end = self.cursor.offset();
        self.refuse_fault(end)?;
        let bytes = self.cursor.bytes().get(self.shown..end).unwrap_or_default();
        self.write_row(self.depth, bytes, kind, value, field)?;
        self.shown = end;
        Ok(())
    }

    /// Stops if the wrong byte is before the end of a row.
    fn refuse_fault(&self, end: usize) -> Result<(), Stop> {
        if self.fault.as_ref().is_some_and(|&(offset, _)| offset < end) { Err(Stop::Fault) } else { Ok(()) }
    }

    fn write_row(
        &mut self,
        depth: usize,
        bytes: &[u8],
        kind: &dyn fmt::Display,
        value: &dyn fmt::Display,
        field: &dyn fmt::Display,
    ) -> fmt::Result {
        self.sink.row(&RowRef { offset: self.shown, depth, bytes, kind, value, field, fault: None })
    }

    /// Shows the bytes up to an offset, with the text that they may be.
    fn raw(&mut self, end: usize, depth: usize) -> fmt::Result {
        let bytes = self.cursor.at(self.shown).rest();
        let bytes = bytes.get(..end.saturating_sub(self.shown)).unwrap_or(bytes);
        write_raw(bytes, self.shown, depth, self.sink)?;
        self.shown += bytes.len();
        Ok(())
    }
}

/// A number of things.
fn counted(count: u16, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
