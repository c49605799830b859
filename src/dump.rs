//! Annotated bytes: what each byte of a metalayer means.
//!
//! [`metalayer`] makes a [`Dump`]. Its `Display` is the text; with the feature `alloc`, its method `rows` passes the
//! lines on as data. [`frame::dump_header`](../frame/fn.dump_header.html) shows a whole header.
//!
//! ```
//! // Where an encoder stopped too early: the last line says what is missing.
//! let text = b2nd_serde::dump::metalayer(&[0x95, 0x00, 0x02]).to_string();
//! assert!(text.trim_end().ends_with("expected 1 byte for shape, but the input ends here"));
//! ```

use core::fmt::{self, Write};
#[cfg(feature = "alloc")]
use core::ops::ControlFlow;

#[cfg(feature = "alloc")]
use alloc::string::{String, ToString};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::error::Error;
use crate::layout::{Encoding, Entry};
use crate::wire::{FixedInt, Input};

/// Shows the bytes of a metalayer, and what each of them means.
///
/// Each line is a value: its offset, its bytes, its type, the name of its entry and the value itself. If the bytes are
/// not a metalayer, the lines end at the first wrong byte, and the last line says what is wrong with it.
///
/// ```
/// use b2nd_serde::dump;
///
/// let mut buffer = [0; 64];
/// let bytes = b2nd_serde::to_slice(&(0, 1, [6], [4], [2], 0, "|u1"), &mut buffer)?;
/// let text = "   0  97                                array of 7  layout         b2nd
///    1  00                                fixint      version        0
///    2  01                                fixint      ndim           1
///    3  91                                array of 1  shape
///    4    d3 00 00 00 00 00 00 00 06      int64       shape[0]       6
///   13  91                                array of 1  chunkshape
///   14    d2 00 00 00 04                  int32       chunkshape[0]  4
///   19  91                                array of 1  blockshape
///   20    d2 00 00 00 02                  int32       blockshape[0]  2
///   25  00                                fixint      dtype_format   0
///   26  db 00 00 00 03                    str32       dtype          3 bytes
///   31    7c 75 31                                                   |u1
/// ";
/// assert_eq!(dump::metalayer(bytes).to_string(), text);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[must_use]
pub fn metalayer(bytes: &[u8]) -> Dump<'_> {
    Dump { bytes }
}

/// The annotated bytes of a metalayer, from [`metalayer`]. Its `Display` is the text.
///
/// ```
/// let dump = b2nd_serde::dump::metalayer(&[0x97, 0x00]);
/// assert!(dump.to_string().starts_with("   0  97 "));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dump<'a> {
    bytes: &'a [u8],
}

#[cfg(feature = "alloc")]
impl Dump<'_> {
    /// Passes the lines of the text on as data, one by one, until the function breaks off.
    pub fn rows(&self, receive: impl FnMut(Row) -> ControlFlow<()>) {
        // The function has broken off, or there are no more rows.
        let _ = write_metalayer(self.bytes, &Start::default(), &mut Receiver(receive));
    }
}

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_metalayer(self.bytes, &Start::default(), &mut Lines { f })
    }
}

/// A line of a dump: a value, and the bytes that encode it.
///
/// ```
/// use core::ops::ControlFlow;
/// use b2nd_serde::{dump, to_vec};
///
/// let bytes = to_vec(&(0, 1, [6], [4], [2], 0, "|u1"))?;
/// let mut rows = Vec::new();
/// dump::metalayer(&bytes).rows(|row| {
///     rows.push(row);
///     ControlFlow::Continue(())
/// });
/// let row = &rows[4];
/// assert_eq!((row.offset, row.depth, row.bytes.len()), (4, 1, 9));
/// assert_eq!((&*row.kind, &*row.field, &*row.value), ("int64", "shape[0]", "6"));
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The offset of the first byte in the input. In a frame, it counts from the start of the frame.
    pub offset: u64,
    /// How deep the value is nested. In a metalayer, 0 is an entry and 1 is a dimension.
    pub depth: usize,
    /// The bytes on this line. A long text has several rows.
    pub bytes: Vec<u8>,
    /// The `MessagePack` type; in a chunk, `byte`, or a type with `le` for little-endian. `stale` for old bytes after a
    /// metalayer. Empty if the bytes have no type of their own, such as the rest of a long text. In the row of a fault it
    /// is `…` if more bytes follow, else empty.
    pub kind: String,
    /// The name of the value, such as `shape[0]`. It may be empty.
    pub field: String,
    /// The value as text. It may be empty.
    pub value: String,
    /// What is wrong with these bytes. Only the last row can have it.
    pub fault: Option<String>,
    /// An offset that no row exceeds.
    end: u64,
}

#[cfg(feature = "alloc")]
impl Row {
    /// The texts of the line: offset, bytes, type, name and value. Each one begins with the spaces before it, so that
    /// together they are the line.
    ///
    /// ```
    /// use core::ops::ControlFlow;
    ///
    /// b2nd_serde::dump::metalayer(&[0x97]).rows(|row| {
    ///     let [_, bytes, kind, field, value] = row.cells();
    ///     assert_eq!((bytes.trim(), kind.trim()), ("97", "array of 7"));
    ///     assert_eq!((field.trim(), value.trim()), ("layout", "b2nd"));
    ///     ControlFlow::Break(())
    /// });
    /// ```
    #[must_use]
    pub fn cells(&self) -> [String; 5] {
        let mut cells = [const { String::new() }; 5];
        let mut free = cells.iter_mut();
        // Writing to a `String` cannot fail.
        let _ = self
            .borrowed(None)
            .cells(&mut |gap, text| free.next().map_or(Ok(()), |cell| write!(cell, "{:gap$}{text}", "")));
        cells
    }

    fn borrowed<'r>(&'r self, fault: Option<&'r dyn fmt::Display>) -> RowRef<'r> {
        let Self { offset, depth, bytes, kind, field, value, end, .. } = self;
        RowRef { end: *end, offset: *offset, depth: *depth, bytes, kind, field, value, fault }
    }
}

/// Prints the line, and what is wrong with its bytes on a second one.
#[cfg(feature = "alloc")]
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrowed(self.fault.as_ref().map(|fault| fault as &dyn fmt::Display)).fmt(f)
    }
}

/// A `Row` that owns nothing, for a [`Sink`].
pub(crate) struct RowRef<'r> {
    /// An offset that no row exceeds: all are as wide as this.
    pub(crate) end: u64,
    pub(crate) offset: u64,
    pub(crate) depth: usize,
    pub(crate) bytes: &'r [u8],
    pub(crate) kind: &'r dyn fmt::Display,
    pub(crate) field: &'r dyn fmt::Display,
    pub(crate) value: &'r dyn fmt::Display,
    pub(crate) fault: Option<&'r dyn fmt::Display>,
}

/// The most bytes on one line, of a text or of bytes that cannot be read. A marker and a number of 64 bits are as many.
pub(crate) const BYTES_A_LINE: usize = 9;

/// The width of the bytes, without their indentation.
const BYTES_WIDTH: usize = 3 * BYTES_A_LINE - 1;

/// The widest indentation, where offsets have 4 digits. Longer ones take the room of the indentation first.
const INDENTATION_WIDTH: usize = 6;

/// The widths of the types and names, with the space after them. The value comes last, because it may have any width.
const KIND_WIDTH: usize = 12;
const FIELD_WIDTH: usize = 15;

impl RowRef<'_> {
    /// The width of the offsets.
    fn offset_width(&self) -> usize {
        digits(self.end).max(4)
    }

    /// The width of the bytes.
    fn bytes_width(&self) -> usize {
        (3 * self.bytes.len()).saturating_sub(1)
    }

    /// The width of the column of the bytes, with their indentation.
    fn bytes_room(&self) -> usize {
        BYTES_WIDTH + INDENTATION_WIDTH.saturating_sub(self.offset_width() - 4)
    }

    /// The spaces before the bytes: two for each level, where so many fit.
    fn indentation(&self) -> usize {
        (2 * self.depth).min(self.bytes_room().saturating_sub(self.bytes_width()))
    }

    /// Passes on offset, bytes, type, name and value, each with the number of spaces before it.
    fn cells(&self, put: &mut dyn FnMut(usize, &dyn fmt::Display) -> fmt::Result) -> fmt::Result {
        let bytes = self.offset_width() + 2;
        let kind = bytes + self.bytes_room() + 2;
        let field = kind + KIND_WIDTH;
        let offset_width = digits(self.offset);
        let offset = (bytes - 2).saturating_sub(offset_width);
        let mut column = 0;
        for (start, width, text) in [
            (offset, offset_width, &self.offset as &dyn fmt::Display),
            (bytes + self.indentation(), self.bytes_width(), &Hex(self.bytes)),
            (kind, width(self.kind), self.kind),
            (field, width(self.field), self.field),
            // Nothing follows it.
            (field + FIELD_WIDTH, usize::from(!is_empty(self.value)), self.value),
        ] {
            let gap = if width == 0 { 0 } else { start.saturating_sub(column).max(usize::from(column > 0)) };
            put(gap, text)?;
            column += gap + width;
        }
        Ok(())
    }
}

/// The line without its end, and what is wrong with its bytes on a second one.
impl fmt::Display for RowRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cells(&mut |gap, text| write!(f, "{:gap$}{text}", ""))?;
        let start = self.offset_width() + 2 + self.indentation();
        self.fault.map_or(Ok(()), |fault| write!(f, "\n{:start$}^^ {fault}", ""))
    }
}

/// Bytes as hexadecimal digits, with spaces between them.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02x}", if index > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

/// The number of decimal digits of a number.
fn digits(number: u64) -> usize {
    1 + number.checked_ilog10().map_or(0, |log| log as usize)
}

/// Whether a text has no characters. It is asked for no more than its first ones.
fn is_empty(text: &dyn fmt::Display) -> bool {
    struct Nothing;

    impl Write for Nothing {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if text.is_empty() { Ok(()) } else { Err(fmt::Error) }
        }
    }

    write!(Nothing, "{text}").is_ok()
}

/// The number of characters of a text.
fn width(text: &dyn fmt::Display) -> usize {
    struct Width(usize);

    impl Write for Width {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.chars().count();
            Ok(())
        }
    }

    let mut width = Width(0);
    // Counting cannot fail.
    let _ = write!(width, "{text}");
    width.0
}

/// Where the rows go: into a text, or to a function.
pub(crate) trait Sink {
    fn row(&mut self, row: &RowRef<'_>) -> fmt::Result;
}

/// Passes rows on to a function. An error means that the function has broken off.
#[cfg(feature = "alloc")]
pub(crate) struct Receiver<F>(pub(crate) F);

#[cfg(feature = "alloc")]
impl<F: FnMut(Row) -> ControlFlow<()>> Sink for Receiver<F> {
    fn row(&mut self, row: &RowRef<'_>) -> fmt::Result {
        let row = Row {
            offset: row.offset,
            depth: row.depth,
            bytes: row.bytes.into(),
            kind: row.kind.to_string(),
            field: row.field.to_string(),
            value: row.value.to_string(),
            fault: row.fault.map(ToString::to_string),
            end: row.end,
        };
        match (self.0)(row) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(fmt::Error),
        }
    }
}

/// Writes rows as lines of text, at most 80 characters long if the values are short.
pub(crate) struct Lines<'l, 'f> {
    pub(crate) f: &'l mut fmt::Formatter<'f>,
}

impl Sink for Lines<'_, '_> {
    fn row(&mut self, row: &RowRef<'_>) -> fmt::Result {
        writeln!(self.f, "{row}")
    }
}

/// Where rows begin.
#[derive(Clone, Copy, Default)]
pub(crate) struct Start {
    /// The offset in the whole input of the first byte.
    pub(crate) offset: u64,
    pub(crate) depth: usize,
    /// An offset that no row exceeds; 0 for the end of the bytes.
    pub(crate) end: u64,
}

impl Start {
    /// The start of what is some bytes later, and some levels deeper.
    pub(crate) fn later(self, bytes: usize, levels: usize) -> Self {
        Self { offset: self.offset.saturating_add(bytes as u64), depth: self.depth + levels, ..self }
    }

    /// A row without a fault.
    pub(crate) fn row<'r>(
        &self,
        bytes: &'r [u8],
        [kind, field, value]: [&'r dyn fmt::Display; 3],
    ) -> RowRef<'r> {
        let Self { offset, depth, end } = *self;
        RowRef { end, offset, depth, bytes, kind, field, value, fault: None }
    }
}

/// Writes the rows of a metalayer.
pub(crate) fn write_metalayer(bytes: &[u8], start: &Start, sink: &mut dyn Sink) -> fmt::Result {
    let end = start.end.max(start.offset.saturating_add(bytes.len() as u64));
    let start = Start { end, ..*start };
    let mut annotator = Annotator { bytes, input: Input::new(bytes), shown: 0, start, sink };
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
pub(crate) fn write_raw(bytes: &[u8], start: &Start, sink: &mut dyn Sink) -> fmt::Result {
    let mut shown = 0;
    while let Some(rest) = bytes.get(shown..).filter(|rest| !rest.is_empty()) {
        let (line, _) = rest.split_at(characters(rest));
        sink.row(&start.later(shown, 0).row(line, [&"", &"", &Printable(line)]))?;
        shown += line.len();
    }
    Ok(())
}

/// Writes the first bytes at a fault, and what is wrong with them.
pub(crate) fn write_fault(
    bytes: &[u8],
    start: &Start,
    fault: &dyn fmt::Display,
    sink: &mut dyn Sink,
) -> fmt::Result {
    let shown = bytes.get(..BYTES_A_LINE);
    let kind: &dyn fmt::Display = if bytes.len() > BYTES_A_LINE { &"…" } else { &"" };
    let row = start.row(shown.unwrap_or(bytes), [kind, &"", &""]);
    sink.row(&RowRef { fault: Some(fault), ..row })
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
    start: Start,
    sink: &'w mut dyn Sink,
}

impl Annotator<'_, '_> {
    fn metalayer(&mut self) -> Result<(), Stop> {
        let layout = self.input.layout()?;
        self.input.skip_outer_marker();
        self.row(1, 0, [&ArrayOf(layout.marked_entries()), &"layout", &layout])?;
        let mut ndim = 0;
        for &entry in layout.entries() {
            match (entry, entry.encoding()) {
                (Entry::Ndim, _) => {
                    ndim = self.input.ndim()?;
                    self.row(1, 0, [&"fixint", &entry, &ndim])?;
                }
                (_, Encoding::Fixint) => {
                    let value = self.input.fixint(entry)?;
                    self.row(1, 0, [&"fixint", &entry, &value])?;
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
            self.row(1, 0, [&ArrayOf(ndim), &entry, &""])?;
            let items = self.bytes.get(self.shown..).unwrap_or_default().chunks(T::WIDTH);
            for (index, value) in items.filter_map(T::decode).take(good).enumerate() {
                let value: i64 = value.into();
                self.row(T::WIDTH, 1, [&width, &format_args!("{entry}[{index}]"), &value])?;
            }
        }
        vector?;
        Ok(())
    }

    fn text(&mut self, entry: Entry) -> Result<(), Stop> {
        let length = self.input.text(entry)?.len();
        let end = self.input.position();
        let head = end - length - self.shown;
        self.row(head, 0, [&"str32", &entry, &format_args!("{length} bytes")])?;
        Ok(self.raw(end)?)
    }

    /// Writes the bytes up to an offset, with the text that they may be.
    fn raw(&mut self, end: usize) -> fmt::Result {
        let bytes = self.bytes.get(self.shown..end).unwrap_or_default();
        write_raw(bytes, &self.start.later(self.shown, 1), self.sink)?;
        self.shown = end.max(self.shown);
        Ok(())
    }

    /// Writes what was read before the fault, and the fault at its byte.
    fn fault(&mut self, error: &Error) -> fmt::Result {
        let at = error.offset().unwrap_or(self.bytes.len()).min(self.bytes.len());
        self.raw(at)?;
        let rest = self.bytes.get(at..).unwrap_or_default();
        write_fault(rest, &self.start.later(at, 0), &error.message(), self.sink)
    }

    /// Writes the next bytes as one value: its type, its name and its text.
    fn row(&mut self, length: usize, depth: usize, texts: [&dyn fmt::Display; 3]) -> fmt::Result {
        let start = self.shown;
        self.shown += length;
        let bytes = self.bytes.get(start..self.shown).unwrap_or_default();
        self.sink.row(&self.start.later(start, depth).row(bytes, texts))
    }
}

/// The type of an array marker, with the number of values that follow.
struct ArrayOf(u8);

impl fmt::Display for ArrayOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "array of {}", self.0)
    }
}

/// The number of first bytes, as many as a line has, that are whole characters; all of them if they are not UTF-8.
fn characters(bytes: &[u8]) -> usize {
    let is_start = |&length: &usize| bytes.get(length).is_none_or(|byte| byte & 0xc0 != 0x80);
    let most = BYTES_A_LINE.min(bytes.len());
    (most.saturating_sub(3)..=most).rev().find(is_start).unwrap_or(most)
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
