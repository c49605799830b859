//! Bytes given as input: raw, or in hexadecimal digits.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::iter;
use std::path::Path;
use std::str::FromStr;

use crate::terminal::await_stdin;

/// The maximum number of bytes to read of a header, a metalayer or a line of input.
pub(crate) const MAX_LEN: u64 = 1 << 20;

/// Bytes that the user gives as hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// Opens a file, or standard input if the path is `-`. If standard input is a terminal, a message asks the user for
/// `what`.
pub(crate) fn open_or_stdin(path: &Path, what: &str) -> io::Result<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        await_stdin(what);
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

/// The lines of an input. A line of more than `MAX_LEN` bytes is an error, and nothing is read after it, because such a
/// line may never end.
pub(crate) fn lines(
    mut input: impl BufRead + Send,
    end: u8,
) -> impl Iterator<Item = io::Result<Vec<u8>>> + Send {
    // Every worker thread calls this closure until the closure returns `None`, so it is called several times after the
    // end of the input. The input must not be read then: at a terminal, a read after Ctrl-D would wait for more input.
    let mut is_over = false;
    iter::from_fn(move || {
        if is_over {
            return None;
        }
        let mut line = Vec::new();
        // One byte more than the limit is read, to recognize a line that is too long.
        let read = Read::by_ref(&mut input).take(MAX_LEN + 1).read_until(end, &mut line);
        let has_end = line.pop_if(|last| *last == end).is_some();
        is_over = !has_end;
        match read {
            Ok(0) => None,
            Ok(_) if line.len() as u64 > MAX_LEN => {
                let message = format!("a line has more than {MAX_LEN} bytes");
                Some(Err(io::Error::new(ErrorKind::InvalidData, message)))
            }
            read => Some(read.map(|_| line)),
        }
    })
}

/// Reads at most `longest` bytes of a file or of standard input. If they are text, they are decoded as hexadecimal
/// digits.
pub(crate) fn read_bytes(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_or_stdin(path, "bytes or hexadecimal digits")?.take(longest).read_to_end(&mut bytes)?;
    from_text(bytes)
}

/// Decodes the bytes as hexadecimal digits if they are text, and returns all other bytes unchanged. A frame or
/// metalayer is never text, because its first byte is not UTF-8.
pub(crate) fn from_text(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    match std::str::from_utf8(&bytes) {
        Ok(text) if !text.is_empty() && !text.contains(is_no_text) => unhex(text).map_err(|error| {
            io::Error::new(
                ErrorKind::InvalidData,
                format!("not a frame, a metalayer, or hexadecimal digits: {error}"),
            )
        }),
        _ => Ok(bytes),
    }
}

/// Whether a character is a control character, but not white space. Such a character never occurs in text.
fn is_no_text(character: char) -> bool {
    character.is_control() && !character.is_whitespace()
}

/// Decodes hexadecimal digits, with or without white space between the digits.
fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let mut digits = text.chars().filter(|c| !c.is_whitespace());
    let value = |digit: char| {
        let value = digit.to_digit(16).and_then(|value| u8::try_from(value).ok());
        value.ok_or_else(|| format!("{digit:?} is not a hexadecimal digit"))
    };
    let mut bytes = Vec::new();
    while let Some(high) = digits.next() {
        let high = value(high)?;
        let low = digits.next().ok_or("the number of digits is odd, but a byte has two")?;
        bytes.push(16 * high + value(low)?);
    }
    Ok(bytes)
}

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        unhex(text).map(Self)
    }
}
