//! The lines that `--json` prints. Each is an object.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::input::Failure;
use crate::terminal::complain;
use crate::text::is_unsafe;

/// The version of the schema, which grows if a field changes its meaning or goes away. New fields do not change it.
pub(crate) const SCHEMA: u8 = 1;

/// An object as it is printed. Lines are filtered, split and mixed, so each says the version.
#[derive(Serialize)]
struct Versioned<'v, T> {
    schema: u8,
    #[serde(flatten)]
    value: &'v T,
}

/// Escapes what is not safe to print, which JSON allows in strings: a pipe can end at a terminal too.
struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        for part in text.split_inclusive(is_unsafe) {
            match part.char_indices().next_back().filter(|&(_, last)| is_unsafe(last)) {
                // All of them are in the first plane of Unicode.
                Some((at, last)) => write!(writer, "{}\\u{:04x}", &part[..at], u32::from(last))?,
                None => writer.write_all(part.as_bytes())?,
            }
        }
        Ok(())
    }

    /// The value of a metalayer. Outside of its strings, there are no such characters.
    fn write_raw_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, json: &str) -> io::Result<()> {
        self.write_string_fragment(writer, json)
    }
}

/// Writes an object on a line of its own.
pub(crate) fn write_line(mut writer: impl Write, value: &impl Serialize) -> io::Result<()> {
    Versioned { schema: SCHEMA, value }.serialize(&mut Serializer::with_formatter(&mut writer, Escaped))?;
    writer.write_all(b"\n")
}

/// Adds an object on a line of its own.
pub(crate) fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    // This cannot fail: all keys are strings, and writing to a `Vec` does not fail.
    let _ = write_line(lines, value);
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

/// Prints why a file failed: as an object, or on standard error.
pub(crate) fn print_failure(failure: &Failure, json: bool) -> io::Result<()> {
    if json {
        return print(failure);
    }
    complain(failure);
    Ok(())
}
