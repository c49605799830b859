//! One line of a dump, and its columns.

use core::fmt::{self, Write};

#[cfg(feature = "alloc")]
use alloc::string::String;

/// A line of a dump: a value and its bytes. `Display` prints the line.
///
/// ```
/// use core::ops::ControlFlow;
/// use b2nd_serde::{dump, to_slice};
///
/// let mut buffer = [0; 64];
/// let bytes = to_slice(&(0, 1, [6], [4], [2], 0, "|u1"), &mut buffer)?;
/// let mut shapes = Vec::new();
/// dump::metalayer(bytes).rows(|row| {
///     if row.depth == 1 && row.bytes.len() == 9 {
///         shapes.push((row.offset, format!("{} {} = {}", row.kind, row.field, row.value)));
///     }
///     ControlFlow::Continue(())
/// });
/// assert_eq!(shapes, [(4, "int64 shape[0] = 6".to_owned())]);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Row<'r> {
    /// The offset of the row's first byte in the input. In a dump of a frame, the offset counts from the start of the
    /// frame.
    pub offset: u64,
    /// The nesting depth of the value. In a metalayer, 0 is an entry and 1 is a dimension.
    pub depth: usize,
    /// The bytes on this line. A value with more bytes than fit a line has several rows.
    pub bytes: &'r [u8],
    /// The type of the value: a `MessagePack` type such as `int32`. In a chunk, little-endian integers have the type
    /// `int32 le` or `int64 le`. Old bytes after a metalayer have the type `stale`. Bytes without a type, such as the
    /// rest of a long text or the flags of a chunk, have an empty type. In the row of a fault, the type is `…` if the
    /// remaining bytes do not fit the line, else empty.
    pub kind: &'r dyn fmt::Display,
    /// The name of the value, such as `shape[0]`. It may be empty.
    pub field: &'r dyn fmt::Display,
    /// The value as text. It may be empty.
    pub value: &'r dyn fmt::Display,
    /// The error message, if the bytes of the row are invalid.
    pub fault: Option<&'r dyn fmt::Display>,
    /// The offset of the end of the input. It determines the width of the offset column in all rows.
    pub(super) end: u64,
}

/// The maximum number of bytes on one line, enough for a marker and a 64-bit number.
pub(super) const BYTES_A_LINE: usize = 9;

/// The width of the text of [`BYTES_A_LINE`] bytes, without indentation: two digits for each byte, with a space between
/// two bytes.
const BYTES_WIDTH: usize = 3 * BYTES_A_LINE - 1;

/// The space for the indentation if offsets have 4 digits. Each further digit reduces this space by 1, so the columns
/// after the bytes do not move. Offsets of 10 digits leave no space for the indentation.
const INDENTATION_WIDTH: usize = 6;

/// The widths of the columns of types and names, enough for `array of 14` and `chunkshape[15]` with a space after them.
/// The value is the last column, because its width is not limited.
const KIND_WIDTH: usize = 12;
const FIELD_WIDTH: usize = 15;

impl Row<'_> {
    /// The texts of the line: offset, bytes, type, name and value. Each text includes the spaces before it. Joined
    /// together, the texts are the line, without the message of a fault.
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
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn cells(&self) -> [String; 5] {
        let mut cells = [const { String::new() }; 5];
        let mut free = cells.iter_mut();
        // Writing to a `String` cannot fail.
        let _ = self
            .each_cell(&mut |gap, text| free.next().map_or(Ok(()), |cell| write!(cell, "{:gap$}{text}", "")));
        cells
    }

    /// Passes the offset, bytes, type, name and value to `put`, each with the number of spaces before it.
    fn each_cell(&self, put: &mut dyn FnMut(usize, &dyn fmt::Display) -> fmt::Result) -> fmt::Result {
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
            (field + FIELD_WIDTH, width(self.value), self.value),
        ] {
            // There is at least one space after a cell that is wider than its column, and no space before an empty
            // cell.
            let gap = if width == 0 { 0 } else { start.saturating_sub(column).max(usize::from(column > 0)) };
            put(gap, text)?;
            column += gap + width;
        }
        Ok(())
    }

    /// The width of the column of offsets.
    fn offset_width(&self) -> usize {
        digits(self.end).max(4)
    }

    /// The width of the text of this row's bytes.
    fn bytes_width(&self) -> usize {
        (3 * self.bytes.len()).saturating_sub(1)
    }

    /// The width of the column of bytes, with the indentation.
    fn bytes_room(&self) -> usize {
        BYTES_WIDTH + INDENTATION_WIDTH.saturating_sub(self.offset_width() - 4)
    }

    /// The number of spaces before the bytes: two per level, but no more than fit the column.
    fn indentation(&self) -> usize {
        self.depth.saturating_mul(2).min(self.bytes_room().saturating_sub(self.bytes_width()))
    }
}

/// Prints the line without a newline at its end. A fault is on a second line.
impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.each_cell(&mut |gap, text| write!(f, "{:gap$}{text}", ""))?;
        let start = self.offset_width() + 2 + self.indentation();
        self.fault.map_or(Ok(()), |fault| write!(f, "\n{:start$}^^ {fault}", ""))
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("offset", &self.offset)
            .field("depth", &self.depth)
            .field("bytes", &self.bytes)
            .field("line", &format_args!("{self}"))
            .finish_non_exhaustive()
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

/// The number of characters of a text.
fn width(text: &dyn fmt::Display) -> usize {
    struct CharacterCount(usize);

    impl Write for CharacterCount {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.chars().count();
            Ok(())
        }
    }

    let mut count = CharacterCount(0);
    // Counting cannot fail.
    let _ = write!(count, "{text}");
    count.0
}

/// Bytes as text, with a dot for each control character and each byte that is not UTF-8.
///
/// ```
/// assert_eq!(b2nd_serde::dump::Printable(b"a\n\xc3\xa9\xff").to_string(), "a.é.");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printable<'b>(pub &'b [u8]);

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
