//! Annotated bytes: what each byte of a metalayer says.

use core::fmt::{self, Write};

use crate::error::Error;
use crate::layout::{Encoding, Entry};
use crate::wire::{FixedInt, Input};

/// Shows the bytes of a metalayer with what each of them says.
///
/// One line for each value: its offset, its bytes, its entry, its encoding and value. Of bytes that are no
/// metalayer, what can be read comes first, then the bytes up to the fault as they are, then the fault.
///
/// ```
/// let mut buffer = [0; 64];
/// let bytes = b2nd_serde::to_slice(&(0, 1, [6], [4], [2], 0, "|u1"), &mut buffer)?;
/// let dump = "   0  97                              layout        b2nd
///    1  00                              version       0
///    2  01                              ndim          1
///    3  91                              shape         1 of int64
///    4    d3 00 00 00 00 00 00 00 06    shape[0]      6
///   13  91                              chunkshape    1 of int32
///   14    d2 00 00 00 04                chunkshape[0] 4
///   19  91                              blockshape    1 of int32
///   20    d2 00 00 00 02                blockshape[0] 2
///   25  00                              dtype_format  0
///   26  db 00 00 00 03                  dtype         3 bytes
///   31    7c 75 31                                    |u1
/// ";
/// assert_eq!(b2nd_serde::dump(bytes).to_string(), dump);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[must_use]
pub fn dump(bytes: &[u8]) -> Dump<'_> {
    Dump { bytes }
}

/// Bytes that are displayed as [`dump`] says.
#[derive(Clone, Copy, Debug)]
pub struct Dump<'a> {
    bytes: &'a [u8],
}

/// How many bytes of a text, or of what cannot be read, stand on a line.
const BYTES_A_LINE: usize = 10;

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut walk = Walk { bytes: self.bytes, input: Input::new(self.bytes), shown: 0, f };
        match walk.metalayer() {
            Ok(()) => Ok(()),
            Err(Stop::Fault(error)) => walk.fault(&error),
            Err(Stop::Fmt(error)) => Err(error),
        }
    }
}

/// Why a walk ends before its time.
enum Stop {
    /// The bytes are no metalayer.
    Fault(Error),
    /// They cannot be shown.
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

/// A reader that shows what it reads.
struct Walk<'w, 'f, 'a> {
    bytes: &'a [u8],
    input: Input<'a>,
    /// Bytes that have been shown.
    shown: usize,
    f: &'w mut fmt::Formatter<'f>,
}

impl Walk<'_, '_, '_> {
    fn metalayer(&mut self) -> Result<(), Stop> {
        let layout = self.input.layout()?;
        self.input.skip_outer_marker();
        self.line(1, "", &format_args!("{:13} {layout}", "layout"))?;
        let mut ndim = 0;
        for &entry in layout.entries() {
            match (entry, entry.encoding()) {
                (Entry::Ndim, _) => {
                    ndim = self.input.ndim()?;
                    self.line(1, "", &format_args!("{entry:13} {ndim}"))?;
                }
                (_, Encoding::Fixint) => {
                    let value = self.input.fixint(entry)?;
                    self.line(1, "", &format_args!("{entry:13} {value}"))?;
                }
                (_, Encoding::Int64s) => self.vector::<i64>(entry, ndim, "int64")?,
                (_, Encoding::Int32s) => self.vector::<i32>(entry, ndim, "int32")?,
                (_, Encoding::Str32) => self.text(entry)?,
            }
        }
        Ok(self.input.end()?)
    }

    fn vector<T: FixedInt>(&mut self, entry: Entry, ndim: u8, width: &str) -> Result<(), Stop> {
        let items = self.input.vector::<T>(entry, ndim)?;
        self.line(1, "", &format_args!("{entry:13} {ndim} of {width}"))?;
        for (index, item) in items.enumerate() {
            let value: i64 = item?.into();
            self.line(T::WIDTH, "  ", &format_args!("{:13} {value}", Dimension(entry, index)))?;
        }
        Ok(())
    }

    fn text(&mut self, entry: Entry) -> Result<(), Stop> {
        let length = self.input.text(entry)?.len();
        let end = self.input.position();
        self.line(end - length - self.shown, "", &format_args!("{entry:13} {length} bytes"))?;
        Ok(self.raw(end)?)
    }

    /// Shows bytes up to an offset, with the text they might be.
    fn raw(&mut self, end: usize) -> fmt::Result {
        while self.shown < end {
            let rest = self.bytes.get(self.shown..end).unwrap_or_default();
            let length = characters(rest, BYTES_A_LINE);
            let text = Text(rest.get(..length).unwrap_or_default());
            self.line(length, "  ", &format_args!("{:13} {text}", ""))?;
        }
        Ok(())
    }

    /// Shows what was read before the fault, the fault, and the byte it is at.
    fn fault(&mut self, error: &Error) -> fmt::Result {
        let offset = error.offset().unwrap_or(self.bytes.len()).min(self.bytes.len());
        self.raw(offset)?;
        let rest = self.bytes.len() - offset;
        if rest > 0 {
            let shown = rest.min(BYTES_A_LINE);
            self.line(shown, "  ", &if rest > shown { "^^ …" } else { "^^" })?;
        }
        writeln!(self.f, "{error}")
    }

    /// Shows the next bytes on a line of their own.
    fn line(&mut self, length: usize, indent: &str, what: &dyn fmt::Display) -> fmt::Result {
        let start = self.shown;
        self.shown += length;
        let bytes = self.bytes.get(start..self.shown).unwrap_or_default();
        write!(self.f, "{start:4}  {indent}")?;
        for byte in bytes {
            write!(self.f, "{byte:02x} ")?;
        }
        let column = indent.len() + 3 * bytes.len();
        writeln!(self.f, "{:padding$}{what}", "", padding = 32_usize.saturating_sub(column))
    }
}

/// How many of the first bytes, up to `most`, are whole characters; all of them where the bytes are no UTF-8.
fn characters(bytes: &[u8], most: usize) -> usize {
    let is_start = |&length: &usize| bytes.get(length).is_none_or(|byte| byte & 0xc0 != 0x80);
    let most = most.min(bytes.len());
    (most.saturating_sub(3)..=most).rev().find(is_start).filter(|&length| length > 0).unwrap_or(most)
}

/// Bytes as text, with a dot for what cannot be shown.
struct Text<'a>(&'a [u8]);

impl fmt::Display for Text<'_> {
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

/// A dimension of an entry, padded as a whole.
struct Dimension(Entry, usize);

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(entry, index) = self;
        let digits = if *index < 10 { 1 } else { 2 };
        write!(f, "{entry}[{index}]")?;
        let padding = f.width().unwrap_or(0).saturating_sub(entry.name().len() + 2 + digits);
        write!(f, "{:padding$}", "")
    }
}
