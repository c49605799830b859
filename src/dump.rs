//! Annotated bytes: what each byte of a metalayer means.
//!
//! [`metalayer`] makes a [`Dump`]. Its `Display` is the text; with the feature `alloc`, its method `rows` returns the
//! lines as data.

use core::fmt::{self, Write};

#[cfg(feature = "alloc")]
use alloc::string::{String, ToString};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::error::Error;
use crate::layout::{Encoding, Entry};
use crate::wire::{FixedInt, Input};

/// Shows the bytes of a metalayer, and what each of them means.
///
/// Each line is a value: its offset, its bytes, its type, the value itself and the name of its entry. If the bytes are
/// not a metalayer, the lines end at the first wrong byte, and the last line says what is wrong with it.
///
/// ```
/// use b2nd_serde::dump;
///
/// let mut buffer = [0; 64];
/// let bytes = b2nd_serde::to_slice(&(0, 1, [6], [4], [2], 0, "|u1"), &mut buffer)?;
/// let text = "   0  97                              array of 7   b2nd           layout
///    1  00                              fixint       0              version
///    2  01                              fixint       1              ndim
///    3  91                              array of 1                  shape
///    4    d3 00 00 00 00 00 00 00 06    int64        6              shape[0]
///   13  91                              array of 1                  chunkshape
///   14    d2 00 00 00 04                int32        4              chunkshape[0]
///   19  91                              array of 1                  blockshape
///   20    d2 00 00 00 02                int32        2              blockshape[0]
///   25  00                              fixint       0              dtype_format
///   26  db 00 00 00 03                  str32        3 bytes        dtype
///   31    7c 75 31                                   |u1
/// ";
/// assert_eq!(dump::metalayer(bytes).to_string(), text);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[must_use]
pub fn metalayer(bytes: &[u8]) -> Dump<'_> {
    Dump { bytes }
}

/// The annotated bytes of a metalayer, from [`metalayer`]. Its `Display` is the text.
#[derive(Clone, Copy, Debug)]
pub struct Dump<'a> {
    bytes: &'a [u8],
}

#[cfg(feature = "alloc")]
impl Dump<'_> {
    /// The lines of the text as data, one [`Row`] for each.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        // Adding a row to a `Vec` cannot fail.
        let _ = write_metalayer(self.bytes, 0, 0, &mut rows);
        rows
    }
}

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_metalayer(self.bytes, 0, 0, &mut Lines { f, columns: [38, 51, 66] })
    }
}

/// A line of a dump: a value, and the bytes that encode it.
///
/// ```
/// use b2nd_serde::{dump, to_vec};
///
/// let bytes = to_vec(&(0, 1, [6], [4], [2], 0, "|u1"))?;
/// let rows = dump::metalayer(&bytes).rows();
/// let row = &rows[4];
/// assert_eq!((row.offset, row.depth, row.bytes.len()), (4, 1, 9));
/// assert_eq!((&*row.kind, &*row.value, &*row.field), ("int64", "6", "shape[0]"));
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The offset of the first byte in the input.
    pub offset: usize,
    /// How deep the value is nested, as the indentation of its line shows. In a metalayer, 0 is an entry and 1 is a
    /// dimension.
    pub depth: usize,
    /// The bytes on this line. A long text has several rows.
    pub bytes: Vec<u8>,
    /// The `MessagePack` type, or `stale` for old bytes after a metalayer. Empty if the bytes have no type of their
    /// own, such as the rest of a long text. In the row of a fault it is `…` if more bytes follow, else empty.
    pub kind: String,
    /// The value as text. It may be empty.
    pub value: String,
    /// The name of the value, such as `shape[0]`. It may be empty.
    pub field: String,
    /// What is wrong with these bytes. Only the last row can have it.
    pub fault: Option<String>,
}

/// A `Row` that owns nothing, for a [`Sink`].
pub(crate) struct RowRef<'r> {
    pub(crate) offset: usize,
    pub(crate) depth: usize,
    pub(crate) bytes: &'r [u8],
    pub(crate) kind: &'r dyn fmt::Display,
    pub(crate) value: &'r dyn fmt::Display,
    pub(crate) field: &'r dyn fmt::Display,
    pub(crate) fault: Option<&'r dyn fmt::Display>,
}

/// Where the rows go: into a text, or into a `Vec`.
pub(crate) trait Sink {
    fn row(&mut self, row: &RowRef<'_>) -> fmt::Result;
}

#[cfg(feature = "alloc")]
impl Sink for Vec<Row> {
    fn row(&mut self, row: &RowRef<'_>) -> fmt::Result {
        self.push(Row {
            offset: row.offset,
            depth: row.depth,
            bytes: row.bytes.into(),
            kind: row.kind.to_string(),
            value: row.value.to_string(),
            field: row.field.to_string(),
            fault: row.fault.map(ToString::to_string),
        });
        Ok(())
    }
}

/// Writes rows as lines of text, at most 80 characters long if the values are short.
pub(crate) struct Lines<'l, 'f> {
    pub(crate) f: &'l mut fmt::Formatter<'f>,
    /// The columns at which type, value and name begin.
    pub(crate) columns: [usize; 3],
}

impl Sink for Lines<'_, '_> {
    fn row(&mut self, row: &RowRef<'_>) -> fmt::Result {
        let mut line = Line { f: self.f, column: 0, gap: 0 };
        write!(line, "{:4}", row.offset)?;
        line.gap = 2 + 2 * row.depth;
        let start = line.column + line.gap;
        for byte in row.bytes {
            write!(line, "{byte:02x}")?;
            line.gap = 1;
        }
        let texts = [row.kind, row.value, row.field];
        for (column, text) in self.columns.into_iter().zip(texts) {
            line.gap = column.saturating_sub(line.column).max(1);
            write!(line, "{text}")?;
        }
        writeln!(self.f)?;
        match row.fault {
            Some(fault) => writeln!(self.f, "{:start$}^^ {fault}", ""),
            None => Ok(()),
        }
    }
}

/// A line without trailing spaces: the gap before a text is written together with the text.
struct Line<'l, 'f> {
    f: &'l mut fmt::Formatter<'f>,
    column: usize,
    /// Spaces before the next text.
    gap: usize,
}

impl Write for Line<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.is_empty() {
            return Ok(());
        }
        write!(self.f, "{:gap$}{text}", "", gap = self.gap)?;
        self.column += self.gap + text.chars().count();
        self.gap = 0;
        Ok(())
    }
}

/// The most bytes on one line, of a text or of bytes that cannot be read.
const BYTES_A_LINE: usize = 10;

/// Writes the rows of a metalayer that begins at `offset` of the input, nested in `depth` other values.
pub(crate) fn write_metalayer(bytes: &[u8], offset: usize, depth: usize, sink: &mut dyn Sink) -> fmt::Result {
    let mut annotator = Annotator { bytes, input: Input::new(bytes), shown: 0, offset, depth, sink };
    match annotator.metalayer() {
        Ok(()) => Ok(()),
        Err(Stop::Fault(error)) => {
            let version = annotator.input.version(0);
            annotator.fault(&error.of_version(version))
        }
        Err(Stop::Fmt(error)) => Err(error),
    }
}

/// Writes bytes that are a text or cannot be read, a few on each line.
pub(crate) fn write_raw(
    mut bytes: &[u8],
    mut offset: usize,
    depth: usize,
    sink: &mut dyn Sink,
) -> fmt::Result {
    while !bytes.is_empty() {
        let (line, rest) = bytes.split_at(characters(bytes, BYTES_A_LINE));
        let row = RowRef {
            offset,
            depth,
            bytes: line,
            kind: &"",
            value: &Printable(line),
            field: &"",
            fault: None,
        };
        sink.row(&row)?;
        offset += line.len();
        bytes = rest;
    }
    Ok(())
}

/// Writes the first bytes at a fault, and what is wrong with them.
pub(crate) fn write_fault(
    bytes: &[u8],
    offset: usize,
    depth: usize,
    fault: &dyn fmt::Display,
    sink: &mut dyn Sink,
) -> fmt::Result {
    let shown = bytes.get(..BYTES_A_LINE);
    let kind: &dyn fmt::Display = if bytes.len() > BYTES_A_LINE { &"…" } else { &"" };
    let bytes = shown.unwrap_or(bytes);
    sink.row(&RowRef { offset, depth, bytes, kind, value: &"", field: &"", fault: Some(fault) })
}

/// Why the annotation ends early.
enum Stop {
    /// The bytes are not a metalayer.
    Fault(Error),
    /// The sink failed.
    Fmt(fmt::Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fault(error)
    }
}

impl From<fmt::Error> for Stop {
    fn from(error: fmt::Error) -> Self {
        Self::Fmt(error)
    }
}

/// Reads a metalayer, and writes a row for each value that it reads.
struct Annotator<'w, 'a> {
    bytes: &'a [u8],
    input: Input<'a>,
    /// The number of bytes that have a row.
    shown: usize,
    /// The offset of `bytes` in the whole input.
    offset: usize,
    depth: usize,
    sink: &'w mut dyn Sink,
}

impl Annotator<'_, '_> {
    fn metalayer(&mut self) -> Result<(), Stop> {
        let layout = self.input.layout()?;
        self.input.skip_outer_marker();
        self.row(1, 0, &ArrayOf(layout.marked_entries()), &layout, &"layout")?;
        let mut ndim = 0;
        for &entry in layout.entries() {
            match (entry, entry.encoding()) {
                (Entry::Ndim, _) => {
                    ndim = self.input.ndim()?;
                    self.row(1, 0, &"fixint", &ndim, &entry)?;
                }
                (_, Encoding::Fixint) => {
                    let value = self.input.fixint(entry)?;
                    self.row(1, 0, &"fixint", &value, &entry)?;
                }
                (_, Encoding::Int64s) => self.vector::<i64>(entry, ndim, "int64")?,
                (_, Encoding::Int32s) => self.vector::<i32>(entry, ndim, "int32")?,
                (_, Encoding::Str32) => self.text(entry)?,
            }
        }
        Ok(self.input.end()?)
    }

    fn vector<T: FixedInt>(&mut self, entry: Entry, ndim: u8, width: &str) -> Result<(), Stop> {
        let vector = self.input.vector::<T>(entry, ndim);
        // The dimensions before the wrong one, or before the end of the input, are good and have rows.
        let good = match &vector {
            Ok(items) => Some(items.len()),
            Err(error) => error.dimension(),
        };
        if let Some(good) = good {
            self.row(1, 0, &ArrayOf(ndim), &"", &entry)?;
            let items = self.bytes.get(self.shown..).unwrap_or_default().chunks(T::WIDTH);
            for (index, value) in items.filter_map(T::decode).take(good).enumerate() {
                let value: i64 = value.into();
                self.row(T::WIDTH, 1, &width, &value, &format_args!("{entry}[{index}]"))?;
            }
        }
        vector?;
        Ok(())
    }

    fn text(&mut self, entry: Entry) -> Result<(), Stop> {
        let length = self.input.text(entry)?.len();
        let end = self.input.position();
        self.row(end - length - self.shown, 0, &"str32", &format_args!("{length} bytes"), &entry)?;
        Ok(self.raw(end)?)
    }

    /// Writes the bytes up to an offset, with the text that they may be.
    fn raw(&mut self, end: usize) -> fmt::Result {
        let bytes = self.bytes.get(self.shown..end).unwrap_or_default();
        write_raw(bytes, self.offset + self.shown, self.depth + 1, self.sink)?;
        self.shown = end.max(self.shown);
        Ok(())
    }

    /// Writes what was read before the fault, and the fault at its byte.
    fn fault(&mut self, error: &Error) -> fmt::Result {
        let at = error.offset().unwrap_or(self.bytes.len()).min(self.bytes.len());
        self.raw(at)?;
        let rest = self.bytes.get(at..).unwrap_or_default();
        write_fault(rest, self.offset + at, self.depth, &error.message(), self.sink)
    }

    /// Writes the next bytes as one value.
    fn row(
        &mut self,
        length: usize,
        depth: usize,
        kind: &dyn fmt::Display,
        value: &dyn fmt::Display,
        field: &dyn fmt::Display,
    ) -> fmt::Result {
        let start = self.shown;
        self.shown += length;
        let bytes = self.bytes.get(start..self.shown).unwrap_or_default();
        let (offset, depth) = (self.offset + start, self.depth + depth);
        self.sink.row(&RowRef { offset, depth, bytes, kind, value, field, fault: None })
    }
}

/// The type of an array marker, with the number of values that follow.
struct ArrayOf(u8);

impl fmt::Display for ArrayOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "array of {}", self.0)
    }
}

/// The number of first bytes, at most `most`, that are whole characters; `most` if the bytes are not UTF-8.
fn characters(bytes: &[u8], most: usize) -> usize {
    let is_start = |&length: &usize| bytes.get(length).is_none_or(|byte| byte & 0xc0 != 0x80);
    let most = most.min(bytes.len());
    (most.saturating_sub(3)..=most).rev().find(is_start).filter(|&length| length > 0).unwrap_or(most)
}

/// Bytes as text, with a dot for each control character and each byte that is not UTF-8.
pub(crate) struct Printable<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                f.write_char(if character.is_control() { '.' } else { character })?;
            }
            chunk.invalid().iter().try_for_each(|_| f.write_char('.'))?;
        }
        Ok(())
    }
}
