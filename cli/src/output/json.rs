//! The lines of `--json`. Each is an object.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::input::Failure;
use crate::terminal::complain;
use crate::text::is_unsafe;

/// The version of the schema. It increases if a field changes its meaning or is removed; new fields do not change it.
const SCHEMA: u8 = 1;

/// An object with the version of the schema. Every line has the version, because users filter, split and mix lines.
#[derive(Serialize)]
struct Versioned<'v, T> {
    schema: u8,
    #[serde(flatten)]
    value: &'v T,
}

/// Escapes characters that JSON allows in strings but that are not safe to print, because a pipe can end at a terminal.
struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        // Most text is ASCII, in which serde_json has escaped every control character except DEL. Such text needs no
        // more escapes unless it contains DEL. The search for unsafe characters is skipped for it, because the search
        // would take a third of the time of `ls --json`.
        if text.bytes().max() < Some(b'\x7f') {
            return writer.write_all(text.as_bytes());
        }
        // Only the last character of a part can be unsafe.
        for part in text.split_inclusive(is_unsafe) {
            match part.char_indices().next_back().filter(|&(_, last)| is_unsafe(last)) {
                // The code points of all unsafe characters are below 2^16, so one escape of four digits is enough.
                Some((at, last)) => write!(writer, "{}\\u{:04x}", &part[..at], u32::from(last))?,
                None => writer.write_all(part.as_bytes())?,
            }
        }
        Ok(())
    }

    /// Writes the value of a metalayer, which is JSON text already. This text has unsafe characters only inside its
    /// strings, so the whole text can be escaped like a string.
    fn write_raw_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, json: &str) -> io::Result<()> {
        self.write_string_fragment(writer, json)
    }
}

/// Writes a value. All JSON of the command is written here.
pub(crate) fn write(writer: impl Write, value: &impl Serialize) -> io::Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(writer, Escaped))?)
}

/// The text of an object with these fields, without its end: the caller adds more fields and the closing brace.
pub(crate) fn begin(value: &impl Serialize) -> Vec<u8> {
    let mut object = line(value);
    object.truncate(object.len().saturating_sub(b"}\n".len()));
    object
}

/// Adds an object on a line of its own.
pub(crate) fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    // Writing the object cannot fail: all keys are strings, and writing to a `Vec` does not fail.
    let _ = write(&mut *lines, &Versioned { schema: SCHEMA, value });
    lines.push(b'\n');
}

/// An object on a line of its own.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::new();
    add_line(&mut line, value);
    line
}

/// Prints an object on a line of its own.
pub(crate) fn print(value: &impl Serialize) -> io::Result<()> {
    io::stdout().write_all(&line(value))
}

/// Prints the failure of a file, as an object or on standard error.
pub(crate) fn print_failure(failure: &Failure, json: bool) -> io::Result<()> {
    if json {
        return print(failure);
    }
    complain(failure);
    Ok(())
}
