//! Reads the parts of a frame, and shows each value.
//!
//! The parser reads the bytes first. If the bytes are invalid, the parser returns the offset of the invalid byte. Then
//! the annotator reads the bytes again, with the same type of cursor as the parser. Each row shows the bytes that the
//! cursor has read since the previous row. The rows end at the invalid byte, so a dump cannot disagree with the error
//! of the parser.

use core::fmt;
use core::ops::ControlFlow;

use b2nd_serde::dump::{self, Printable, Row};
use b2nd_serde::{Meta, take_from_slice};

use super::value_rows::Value;
use crate::finding::{Finding, counted};
use crate::header::section::ARRAY_NAMES;
use crate::messagepack::cursor::{Cursor, Part};
use crate::messagepack::marker::{Marker, ValueType};

/// The maximum depth of nested values that get rows of their own. Deeper values are shown as bytes.
// Real metalayers are nested a few levels deep. Without a limit, each byte of a hostile metalayer could open a level.
const MAX_DEPTH: usize = 32;

/// Why the rows end early.
pub(super) enum Stop {
    /// The next bytes are invalid or missing.
    Fault,
    /// The next bytes are invalid, and a row has already shown the fault.
    Shown,
    /// The function that receives the rows has returned an error, so the dump ends.
    Over(fmt::Error),
}

impl From<Finding> for Stop {
    fn from(_: Finding) -> Self {
        Self::Fault
    }
}

impl From<fmt::Error> for Stop {
    fn from(error: fmt::Error) -> Self {
        Self::Over(error)
    }
}

/// A function that receives the rows. If it returns an error, the dump ends.
pub(super) type Receive<'r> = dyn FnMut(&Row<'_>) -> fmt::Result + 'r;

/// Converts a function that returns `ControlFlow` to a function that returns `fmt::Result`. `Break` becomes an error.
pub(super) fn until_break(
    receive: &mut dyn FnMut(&Row<'_>) -> ControlFlow<()>,
) -> impl FnMut(&Row<'_>) -> fmt::Result {
    |row| match receive(row) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(fmt::Error),
    }
}

/// Reads bytes of a frame, and shows each value up to the byte that the parser rejects.
pub(super) struct Annotator<'w, 'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) rows: dump::Annotator<'w, 'a>,
    /// The offset of the byte that the parser rejects, and the reason.
    fault: Option<(usize, String)>,
}

impl<'w, 'a> Annotator<'w, 'a> {
    /// An annotator of the bytes that `rows` has not shown yet. `fault` is the fault that the parser has found, with
    /// its offset. If the cursor of the annotator also finds a fault, only `fault` is shown.
    pub(super) fn new(part: Part, rows: dump::Annotator<'w, 'a>, fault: Option<(usize, String)>) -> Self {
        Self { cursor: Cursor::new(rows.rest(), part), rows, fault }
    }

    /// Calls `show`, which shows all values. If there is a fault, also shows the fault.
    pub(super) fn run(mut self, show: impl FnOnce(&mut Self) -> Result<(), Stop>) -> fmt::Result {
        match show(&mut self) {
            Err(Stop::Over(error)) => Err(error),
            Err(Stop::Shown) => Ok(()),
            Ok(()) if self.fault.is_none() => Ok(()),
            // A truncated header can end after a complete value. Then `show` returns no error, but there is a fault to
            // show.
            Ok(()) | Err(Stop::Fault) => {
                let unknown = || (self.rows.shown(), "these bytes are not valid here".into());
                let (offset, text) = self.fault.take().unwrap_or_else(unknown);
                self.inside(|rows| rows.raw_until(offset))?;
                self.rows.fault(&text)
            }
        }
    }

    /// Calls `show` to show the content of the last value, one level deeper.
    pub(super) fn inside<E>(&mut self, show: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        self.rows.depth += 1;
        show(self)?;
        self.rows.depth -= 1;
        Ok(())
    }

    /// Shows a section. A section is an array of three parts, and begins with the marker of this array. The function
    /// `content` is called with the name and the bytes of a metalayer, and shows these bytes.
    pub(super) fn section(
        &mut self,
        name: &str,
        mut content: impl FnMut(&mut Self, &[u8], &'a [u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let marker = self.marker()?;
        self.row(ValueType(marker), name, "")?;
        self.value("index_size")?;
        let count = self.count("metalayer", "index")?;
        let mut layers = Vec::new();
        self.inside(|rows| {
            for _ in 0..count {
                let name = rows.value("name")?;
                // A short name is in `Value::head`, after its marker. A long name is in `Value::body`.
                let name =
                    if name.body.is_empty() { name.head.get(1..).unwrap_or_default() } else { name.body };
                let offset = rows.value("offset")?.head.last_chunk().copied().map(u32::from_be_bytes);
                let offset = offset.and_then(|offset| usize::try_from(offset).ok()).ok_or(Stop::Fault)?;
                layers.push((offset, name));
            }
            Ok::<_, Stop>(())
        })?;
        self.count("content", "contents")?;
        // The index of the section may list the metalayers in another order than the order of their contents. A dump
        // shows the bytes in ascending order, so the metalayers are sorted by the offsets of their contents.
        layers.sort_unstable();
        self.inside(|rows| {
            layers.into_iter().try_for_each(|(offset, name)| rows.content(offset, name, &mut content))
        })
    }

    /// Shows the content whose marker is at this offset.
    pub(super) fn content(
        &mut self,
        offset: usize,
        name: &[u8],
        content: &mut impl FnMut(&mut Self, &[u8], &'a [u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let label = if name.is_empty() { String::new() } else { format!("{}, ", Printable(name)) };
        if let Some(back) = self.rows.shown().checked_sub(offset).filter(|&back| back > 0) {
            // The bytes at `offset` have already been shown, so the row only refers to them. Several metalayers can
            // have the same content, which would otherwise be shown several times.
            let start = self.rows.offset().saturating_sub(back as u64);
            return Ok(self.note("content", &format_args!("{label}at byte {start}, above"))?);
        }
        // The parser may have rejected a byte before `offset`, between two contents. In that case, the dump ends at
        // this byte.
        self.refuse_fault(offset)?;
        self.raw_until(offset)?;
        self.cursor = self.cursor.at(offset);
        let marker = self.marker()?;
        let len = u32::from_be_bytes(self.cursor.array()?);
        self.row(ValueType(marker), "content", format_args!("{label}{len} B"))?;
        let bytes = self.cursor.take(usize::try_from(len).map_err(|_| Stop::Fault)?)?;
        self.inside(|rows| content(rows, name, bytes))
    }

    /// Shows the content of a metalayer.
    pub(super) fn metalayer(&mut self, name: &[u8], content: &[u8]) -> Result<(), Stop> {
        let is_array = ARRAY_NAMES.iter().any(|array| array.as_bytes() == name);
        if !is_array {
            return Ok(self.values(self.rows.shown() + content.len())?);
        }
        let read = take_from_slice::<Meta>(content);
        let stale = read.as_ref().map_or(0, |(_, stale)| stale.len());
        self.rows.metalayer(content.len().saturating_sub(stale))?;
        if read.is_err() {
            return Err(Stop::Shown);
        }
        if stale > 0 {
            self.rows.value(stale, "stale", "", format_args!("{stale} old bytes"))?;
        }
        Ok(())
    }

    /// Shows the `MessagePack` values up to an offset. Bytes that are not `MessagePack` are shown as bytes.
    pub(super) fn values(&mut self, end: usize) -> fmt::Result {
        let mut cursor = self.cursor.until(end).at(self.rows.shown());
        let depth = self.rows.depth;
        // The number of values left at each level. A pair of a map counts as two values. This function uses a list and
        // not recursion, so that deep nesting needs no stack.
        let mut left: Vec<usize> = Vec::new();
        while left.len() < MAX_DEPTH {
            let Some(value) = Value::take(&mut cursor) else { break };
            self.rows.depth = depth + left.len();
            self.show(&value, "")?;
            if let Some(count) = left.last_mut() {
                *count = count.saturating_sub(1);
            }
            left.push(value.children);
            while left.last() == Some(&0) {
                left.pop();
            }
        }
        self.rows.depth = depth;
        self.raw_until(end)
    }

    /// Reads the next value, and shows it with the name `field`.
    pub(super) fn value(&mut self, field: &str) -> Result<Value<'a>, Stop> {
        let value = Value::take(&mut self.cursor).ok_or(Stop::Fault)?;
        self.refuse_fault(self.rows.shown() + value.head.len())?;
        self.show(&value, field)?;
        Ok(value)
    }

    /// Reads the marker of the next value.
    pub(super) fn marker(&mut self) -> Result<Marker, Stop> {
        Ok(Marker::from_u8(self.cursor.byte()?))
    }

    /// Reads the next 16-bit count, and shows it with the name `field`.
    fn count(&mut self, noun: &str, field: &str) -> Result<u16, Stop> {
        let marker = self.marker()?;
        let count = u16::from_be_bytes(self.cursor.array()?);
        self.row(ValueType(marker), field, counted(count, noun))?;
        Ok(count)
    }

    /// Shows a value that begins where the last row ends.
    fn show(&mut self, value: &Value<'_>, field: &str) -> fmt::Result {
        self.rows.value(value.head.len(), &value.kind, field, &value.text)?;
        self.inside(|rows| rows.rows.raw(value.body.len()))
    }

    /// Shows the bytes that the cursor has read since the last row, as one value with a type, a name and a text.
    pub(super) fn row(
        &mut self,
        kind: impl fmt::Display,
        field: impl fmt::Display,
        value: impl fmt::Display,
    ) -> Result<(), Stop> {
        self.row_with(kind, field, value, None)
    }

    /// Shows a row as [`row`](Self::row) does. If `fault` is not `None`, it is shown below the value, and the dump
    /// continues.
    pub(super) fn row_with(
        &mut self,
        kind: impl fmt::Display,
        field: impl fmt::Display,
        value: impl fmt::Display,
        fault: Option<&dyn fmt::Display>,
    ) -> Result<(), Stop> {
        let end = self.cursor.offset();
        self.refuse_fault(end)?;
        let length = end.saturating_sub(self.rows.shown());
        Ok(self.rows.value_with_fault(length, kind, field, value, fault)?)
    }

    /// Shows a remark about the next bytes, without the bytes.
    pub(super) fn note(&mut self, field: &str, value: &dyn fmt::Display) -> fmt::Result {
        self.rows.value(0, "", field, value)
    }

    /// Returns an error if the byte that the parser rejects is before the offset `end`.
    fn refuse_fault(&self, end: usize) -> Result<(), Stop> {
        if self.fault.as_ref().is_some_and(|&(offset, _)| offset < end) { Err(Stop::Fault) } else { Ok(()) }
    }

    /// Shows the bytes before the offset `end` that have not been shown yet. Their rows show the bytes also as text,
    /// but have no type and no name.
    pub(super) fn raw_until(&mut self, end: usize) -> fmt::Result {
        self.rows.raw(end.saturating_sub(self.rows.shown()))
    }
}
