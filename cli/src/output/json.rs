//! The lines that `--json` prints. Each is an object.

use std::io::{self, Write};

use serde::Serialize;

use crate::input::Failure;
use crate::terminal::complain;

/// The version of the schema, which grows if a field changes its meaning or goes away. New fields do not change it.
const SCHEMA: u8 = 1;

/// An object as it is printed. Lines are filtered, split and mixed, so each says the version.
#[derive(Serialize)]
struct Versioned<'v, T> {
    schema: u8,
    #[serde(flatten)]
    value: &'v T,
}

/// Writes an object on a line of its own.
pub(crate) fn write_line(mut writer: impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut writer, &Versioned { schema: SCHEMA, value })?;
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
