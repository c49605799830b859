//! Makes the rows of a dump, from the first byte to the last.

use core::fmt;

use super::row::{BYTES_A_LINE, Printable, Row};

/// Makes the rows of a dump. A method such as [`value`](Self::value) reads the next bytes, makes rows of them, and
/// passes each row to a function, `receive`.
///
/// `receive` can return an error to stop the dump. The method that called `receive` then returns the same error. There
/// are no other errors.
///
/// ```
/// use b2nd_serde::dump::{Annotator, Row};
///
/// let mut text = String::new();
/// let mut receive = |row: &Row<'_>| {
///     text += &format!("{row}\n");
///     Ok(())
/// };
/// let mut rows = Annotator::new(b"\0\x05hello!", &mut receive);
/// rows.value(2, "uint16", "length", 5)?;
/// rows.depth += 1;
/// rows.raw(5)?;
/// rows.fault(&"expected a NUL")?;
/// assert_eq!(
///     text,
///     "   0  00 05                             uint16      length         5
///    2    68 65 6c 6c 6f                                             hello
///    7    21
///         ^^ expected a NUL
/// "
/// );
/// # Ok::<(), std::fmt::Error>(())
/// ```
pub struct Annotator<'w, 'b> {
    /// The nesting depth of the next row.
    pub depth: usize,
    bytes: &'b [u8],
    /// The number of bytes shown so far.
    shown: usize,
    /// The offset of `bytes` in the whole input.
    offset: u64,
    /// The offset of the end of the whole input. It determines the width of the offset column in all rows.
    end: u64,
    // Each row is passed to a function instead of being added to a list, so memory does not grow with the input.
    receive: &'w mut dyn FnMut(&Row<'_>) -> fmt::Result,
}

impl<'w, 'b> Annotator<'w, 'b> {
    /// An annotator for these bytes. Its first row begins at the first byte, and each row is passed to `receive`.
    pub fn new(bytes: &'b [u8], receive: &'w mut dyn FnMut(&Row<'_>) -> fmt::Result) -> Self {
        Self { depth: 0, bytes, shown: 0, offset: 0, end: bytes.len() as u64, receive }
    }

    /// States that the bytes are a part of a longer input: they begin at `offset`, and the input ends at `end`. The
    /// offset column is made wide enough for `end`.
    #[must_use]
    pub fn within(self, offset: u64, end: u64) -> Self {
        Self { offset, end, ..self }
    }

    /// The number of bytes shown so far.
    #[must_use]
    pub fn shown(&self) -> usize {
        self.shown
    }

    /// The bytes not shown yet.
    #[must_use]
    pub fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.shown..).unwrap_or_default()
    }

    /// The offset of the next byte in the whole input.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset.saturating_add(self.shown as u64)
    }

    /// Shows the next bytes as one value, with its type, its name and its text. If the length is 0, the row has no
    /// bytes, and is a remark about the next bytes. If the bytes do not fit one line, the rest follows in further rows,
    /// without type, name and text.
    ///
    /// # Errors
    ///
    /// If the function that receives the rows has stopped the dump.
    pub fn value(
        &mut self,
        length: usize,
        kind: impl fmt::Display,
        field: impl fmt::Display,
        value: impl fmt::Display,
    ) -> fmt::Result {
        self.value_with_fault(length, kind, field, value, None)
    }

    /// Shows the next bytes as one value, like [`value`](Self::value). If there is a fault, it is shown on a second
    /// line below the bytes. The dump can continue after this row.
    ///
    /// # Errors
    ///
    /// If the function that receives the rows has stopped the dump.
    pub fn value_with_fault(
        &mut self,
        length: usize,
        kind: impl fmt::Display,
        field: impl fmt::Display,
        value: impl fmt::Display,
        fault: Option<&dyn fmt::Display>,
    ) -> fmt::Result {
        let bytes = self.next(length);
        let (first, rest) = bytes.split_at(bytes.len().min(BYTES_A_LINE));
        self.row(first.len(), [&kind, &field, &value], fault)?;
        rest.chunks(BYTES_A_LINE).try_for_each(|line| self.row(line.len(), [&"", &"", &""], None))
    }

    /// Shows the next bytes as text, split into lines.
    ///
    /// # Errors
    ///
    /// If the function that receives the rows has stopped the dump.
    pub fn raw(&mut self, length: usize) -> fmt::Result {
        let mut bytes = self.next(length);
        while !bytes.is_empty() {
            let (line, rest) = bytes.split_at(characters(bytes));
            self.row(line.len(), [&"", &"", &Printable(line)], None)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Shows as many of the next bytes as fit a line, and the fault on a second line below the bytes. No row should
    /// follow this row.
    ///
    /// # Errors
    ///
    /// If the function that receives the rows has stopped the dump.
    pub fn fault(&mut self, fault: &dyn fmt::Display) -> fmt::Result {
        let rest = self.rest().len();
        let kind: &dyn fmt::Display = if rest > BYTES_A_LINE { &"…" } else { &"" };
        self.row(rest.min(BYTES_A_LINE), [kind, &"", &""], Some(fault))
    }

    /// An annotator for the next `length` bytes. `self` counts these bytes as already shown, and continues after them.
    pub(super) fn part(&mut self, length: usize) -> Annotator<'_, 'b> {
        let (bytes, offset) = (self.next(length), self.offset());
        self.shown += bytes.len();
        let Self { depth, end, receive, .. } = self;
        Annotator { depth: *depth, bytes, shown: 0, offset, end: *end, receive: &mut **receive }
    }

    fn next(&self, length: usize) -> &'b [u8] {
        let rest = self.rest();
        rest.get(..length).unwrap_or(rest)
    }

    fn row(
        &mut self,
        length: usize,
        [kind, field, value]: [&dyn fmt::Display; 3],
        fault: Option<&dyn fmt::Display>,
    ) -> fmt::Result {
        let Self { depth, end, .. } = *self;
        let row =
            Row { offset: self.offset(), depth, bytes: self.next(length), kind, field, value, fault, end };
        (self.receive)(&row)?;
        self.shown += row.bytes.len();
        Ok(())
    }
}

impl fmt::Debug for Annotator<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Annotator")
            .field("depth", &self.depth)
            .field("offset", &self.offset())
            .field("rest", &self.rest())
            .finish_non_exhaustive()
    }
}

/// The length of the next line of text. No UTF-8 character is split across two lines.
fn characters(bytes: &[u8]) -> usize {
    let is_start = |&length: &usize| bytes.get(length).is_none_or(|byte| byte & 0xc0 != 0x80);
    let most = BYTES_A_LINE.min(bytes.len());
    // A UTF-8 character has at most 4 bytes.
    (most.saturating_sub(3)..=most).rev().find(is_start).unwrap_or(most)
}
