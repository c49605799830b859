//! Reads the parts of a frame, and writes a row for each value that it reads.

use core::fmt;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::value::Value;
use crate::dump::{BYTES_A_LINE, Printable, RowRef, Sink, Start, write_fault, write_metalayer, write_raw};
use crate::frame::Finding;
use crate::frame::format::cursor::{Cursor, Part};
use crate::frame::format::section::ARRAY_NAMES;
use crate::layout::CATERVA_THREE;
use crate::marker::Kind;
use crate::{Meta, take_from_slice};

/// Values that are nested deeper are shown as bytes.
const MAX_DEPTH: usize = 32;

/// Why the annotation ends early.
pub(super) enum Stop {
    /// The next bytes are wrong or missing.
    Fault,
    /// What is wrong has been shown.
    Shown,
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

/// Reads bytes of a frame, and writes a row for each value that it reads, up to the byte that the parser refuses.
pub(super) struct Annotator<'w, 'a> {
    pub(super) cursor: Cursor<'a>,
    /// The number of bytes that have a row.
    pub(super) shown: usize,
    /// The first byte, and the level of the next row.
    start: Start,
    /// The offset in the bytes of the one that the parser refuses, and why.
    fault: Option<(usize, String)>,
    sink: &'w mut dyn Sink,
}

impl<'w, 'a> Annotator<'w, 'a> {
    /// The parser has found what is wrong, so the findings of the cursor are not shown.
    pub(super) fn new(
        bytes: &'a [u8],
        part: Part,
        start: Start,
        fault: Option<(usize, String)>,
        sink: &'w mut dyn Sink,
    ) -> Self {
        Self { cursor: Cursor::new(bytes, part), shown: 0, start, fault, sink }
    }

    /// Shows all, and ends the rows with the fault if there is one.
    pub(super) fn run(mut self, show: impl FnOnce(&mut Self) -> Result<(), Stop>) -> fmt::Result {
        match show(&mut self) {
            Err(Stop::Fmt(error)) => Err(error),
            Err(Stop::Shown) => Ok(()),
            Ok(()) if self.fault.is_none() => Ok(()),
            // A header that is cut short can show more than it has.
            Ok(()) | Err(Stop::Fault) => {
                let unknown = || (self.shown, "these bytes are not valid here".into());
                let (offset, text) = self.fault.take().unwrap_or_else(unknown);
                self.raw(offset, 1)?;
                let rest = self.cursor.at(self.shown).rest();
                write_fault(rest, &self.start.later(self.shown, 0), &text, self.sink)
            }
        }
    }

    /// Shows what is inside of the last value, a level deeper.
    pub(super) fn inside(&mut self, show: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        self.start.depth += 1;
        show(self)?;
        self.start.depth -= 1;
        Ok(())
    }

    /// Shows a section, which begins with the marker of its three parts. `content` shows what a content of this name has
    /// after its length.
    pub(super) fn section(
        &mut self,
        name: &str,
        mut content: impl FnMut(&mut Self, &[u8], &'a [u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let marker = self.cursor.byte()?;
        self.row([&Kind(marker), &name, &""])?;
        self.value("index_size")?;
        let count = self.count("metalayer", "index")?;
        let mut layers = Vec::new();
        self.inside(|rows| {
            for _ in 0..count {
                let name = rows.value("name")?;
                // A short name is on the line of its marker.
                let name =
                    if name.body.is_empty() { name.head.get(1..).unwrap_or_default() } else { name.body };
                let offset = rows.value("offset")?.head.last_chunk().copied().map(u32::from_be_bytes);
                let offset = offset.and_then(|offset| usize::try_from(offset).ok()).ok_or(Stop::Fault)?;
                layers.push((offset, name));
            }
            Ok(())
        })?;
        self.count("content", "contents")?;
        layers.sort_unstable();
        self.inside(|rows| {
            layers.into_iter().try_for_each(|(offset, name)| rows.content(offset, name, &mut content))
        })
    }

    /// Shows a content, whose marker is at an offset.
    pub(super) fn content(
        &mut self,
        offset: usize,
        name: &[u8],
        content: &mut impl FnMut(&mut Self, &[u8], &'a [u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let name = if name.is_empty() { String::new() } else { format!("{}, ", Printable(name)) };
        if offset < self.shown {
            // Otherwise 16 metalayers in the same place would cost as much as 16 of them.
            let start = self.start.offset.saturating_add(offset as u64);
            return Ok(self.note("content", &format_args!("{name}at byte {start}, above"))?);
        }
        // The wrong byte may be between the contents, where another metalayer should begin.
        self.refuse_fault(offset)?;
        self.raw(offset, 0)?;
        self.cursor = self.cursor.at(offset);
        self.shown = offset;
        let marker = self.cursor.byte()?;
        let len = u32::from_be_bytes(self.cursor.array()?);
        self.row([&Kind(marker), &"content", &format_args!("{name}{len} B")])?;
        let bytes = self.cursor.take(usize::try_from(len).map_err(|_| Stop::Fault)?)?;
        let name = name.strip_suffix(", ").unwrap_or_default().as_bytes();
        self.inside(|rows| content(rows, name, bytes))
    }

    /// Shows the content of a metalayer.
    pub(super) fn metalayer(&mut self, name: &[u8], content: &[u8]) -> Result<(), Stop> {
        let is_array = ARRAY_NAMES.iter().any(|array| array.as_bytes() == name);
        if !is_array || content.first() == Some(&CATERVA_THREE) {
            return Ok(self.values(self.shown + content.len())?);
        }
        let read = take_from_slice::<Meta>(content);
        let stale = read.as_ref().map_or(0, |(_, stale)| stale.len());
        let (array, stale) = content.split_at(content.len().saturating_sub(stale));
        write_metalayer(array, &self.start.later(self.shown, 0), self.sink)?;
        self.shown += array.len();
        if read.is_err() {
            return Err(Stop::Shown);
        }
        Ok(self.stale(stale)?)
    }

    /// Shows old bytes after a metalayer.
    fn stale(&mut self, stale: &[u8]) -> fmt::Result {
        let (mut kind, mut value) = ("stale", format!("{} old bytes", stale.len()));
        for bytes in stale.chunks(BYTES_A_LINE) {
            let start = self.start.later(self.shown, 0);
            self.sink.row(&start.row(bytes, [&kind, &"", &value]))?;
            self.shown += bytes.len();
            (kind, value) = ("", String::new());
        }
        Ok(())
    }

    /// Shows the MessagePack values up to an offset. Bytes that are not MessagePack are shown as bytes.
    pub(super) fn values(&mut self, end: usize) -> fmt::Result {
        let mut cursor = self.cursor.until(end).at(self.shown);
        // How many values are left at each level. Each pair of a map is two.
        let mut left: Vec<usize> = Vec::new();
        while left.len() < MAX_DEPTH {
            let Some(value) = Value::take(&mut cursor) else { break };
            self.show(&value, left.len(), "")?;
            if let Some(count) = left.last_mut() {
                *count = count.saturating_sub(1);
            }
            left.push(value.children);
            while left.last() == Some(&0) {
                left.pop();
            }
        }
        self.raw(end, 0)
    }

    /// Takes the next value, and shows it under a name.
    pub(super) fn value(&mut self, field: &str) -> Result<Value<'a>, Stop> {
        let value = Value::take(&mut self.cursor).ok_or(Stop::Fault)?;
        self.refuse_fault(self.shown + value.head.len())?;
        self.show(&value, 0, field)?;
        Ok(value)
    }

    /// Takes the next 16-bit number of values, and shows it under a name.
    fn count(&mut self, noun: &str, field: &str) -> Result<u16, Stop> {
        let marker = self.cursor.byte()?;
        let count = u16::from_be_bytes(self.cursor.array()?);
        self.row([&Kind(marker), &field, &counted(count.into(), noun)])?;
        Ok(count)
    }

    /// Shows a value that begins where the last row ended.
    fn show(&mut self, value: &Value<'_>, levels: usize, field: &str) -> fmt::Result {
        let start = self.start.later(self.shown, levels);
        self.sink.row(&start.row(value.head, [&value.kind, &field, &value.text]))?;
        self.shown += value.head.len();
        self.raw(self.shown + value.body.len(), levels + 1)
    }

    /// Shows all that the cursor has taken since the last row as one value: its type, its name and its text.
    pub(super) fn row(&mut self, texts: [&dyn fmt::Display; 3]) -> Result<(), Stop> {
        self.row_with(texts, None)
    }

    /// Does so, and says what is wrong with the value if it is. The next rows follow.
    pub(super) fn row_with(
        &mut self,
        texts: [&dyn fmt::Display; 3],
        fault: Option<&dyn fmt::Display>,
    ) -> Result<(), Stop> {
        let end = self.cursor.offset();
        self.refuse_fault(end)?;
        let bytes = self.cursor.bytes().get(self.shown..end).unwrap_or_default();
        let start = self.start.later(self.shown, 0);
        self.sink.row(&RowRef { fault, ..start.row(bytes, texts) })?;
        self.shown = end;
        Ok(())
    }

    /// Shows a remark about the next bytes, without the bytes.
    pub(super) fn note(&mut self, field: &str, value: &dyn fmt::Display) -> fmt::Result {
        self.sink.row(&self.start.later(self.shown, 0).row(&[], [&"", &field, value]))
    }

    /// Stops if the wrong byte is before the end of a row.
    fn refuse_fault(&self, end: usize) -> Result<(), Stop> {
        if self.fault.as_ref().is_some_and(|&(offset, _)| offset < end) { Err(Stop::Fault) } else { Ok(()) }
    }

    /// Shows the bytes up to an offset, with the text that they may be.
    pub(super) fn raw(&mut self, end: usize, levels: usize) -> fmt::Result {
        let bytes = self.cursor.at(self.shown).rest();
        let bytes = bytes.get(..end.saturating_sub(self.shown)).unwrap_or(bytes);
        write_raw(bytes, &self.start.later(self.shown, levels), self.sink)?;
        self.shown += bytes.len();
        Ok(())
    }
}

/// A number of things.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
