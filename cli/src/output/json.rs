//! The lines of `--json`. Each line is a JSON object.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::input::Failure;
use crate::terminal::complain;
use crate::text::is_unsafe;

/// The version of the schema. The version increases if a field is removed or gets another meaning. A new field does not
/// increase the version.
const SCHEMA: u8 = 1;

/// An object with the version of the schema. Every line has the version, because users filter, split and mix lines.
#[derive(Serialize)]
struct Versioned<'v, T> {
    schema: u8,
    #[serde(flatten)]
    value: &'v T,
}

/// Escapes characters that JSON allows in strings but that are not safe to print. Output to a pipe is escaped too,
/// because the pipe can end at a terminal.
struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        // Most text is ASCII. In ASCII text, serde_json has already escaped every control character except DEL, so text
        // without DEL needs no more escapes. The search for unsafe characters is skipped for such text, because the
        // search would take a third of the time of `ls --json`.
        if text.bytes().max() < Some(b'\x7f') {
            return writer.write_all(text.as_bytes());
        }
        // Only the last character of each part can be unsafe.
        for part in text.split_inclusive(is_unsafe) {
            match part.char_indices().next_back().filter(|&(_, last)| is_unsafe(last)) {
                // The code points of all unsafe characters are below 2^16, so one escape of four digits is enough.
                Some((at, last)) => write!(writer, "{}\\u{:04x}", &part[..at], u32::from(last))?,
                None => writer.write_all(part.as_bytes())?,
            }
        }
        Ok(())
    }

    /// Writes a value that is JSON text already, such as the value of a metalayer. This text has unsafe characters only
    /// inside its strings, so the whole text can be escaped like a string.
    fn write_raw_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, json: &str) -> io::Result<()> {
        self.write_string_fragment(writer, json)
    }
}

/// Writes a value. All JSON of the command is written here.
pub(crate) fn write(writer: impl Write, value: &impl Serialize) -> io::Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(writer, Escaped))?)
}

/// The text of a JSON object without its closing brace. The caller adds more fields and the brace.
pub(crate) fn begin(value: &impl Serialize) -> Vec<u8> {
    let mut object = line(value);
    object.truncate(object.len().saturating_sub(b"}\n".len()));
    object
}

/// Adds a value as one line of JSON.
pub(crate) fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    // Writing the object cannot fail: all keys are strings, and writing to a `Vec` does not fail.
    let _ = write(&mut *lines, &Versioned { schema: SCHEMA, value });
    lines.push(b'\n');
}

/// A value as one line of JSON.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::new();
    add_line(&mut line, value);
    line
}

/// Prints a value as one line of JSON.
pub(crate) fn print(value: &impl Serialize) -> io::Result<()> {
    io::stdout().write_all(&line(value))
}

/// Prints the failure of a file: as JSON on standard output, or as text on standard error.
pub(crate) fn print_failure(failure: &Failure, json: bool) -> io::Result<()> {
    if json {
        return print(failure);
    }
    complain(failure);
    Ok(())
}
