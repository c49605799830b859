//! Bytes given as input: raw, or as text from a log or a source file, in hexadecimal digits or as a Python literal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::iter;
use std::path::Path;

use crate::terminal::await_stdin;
use crate::text::shortened;

/// The most bytes that are read of a header or metalayer, or of a line of input.
pub(crate) const MAX_LEN: u64 = 1 << 20;

/// The widest quoted input in a message.
const MESSAGE_LEN: usize = 40;

/// Bytes given as text.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// Opens a file, or standard input if the path is `-`. `what` names the expected input.
pub(crate) fn open_or_stdin(path: &Path, what: &str) -> io::Result<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        await_stdin(what);
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

/// The lines of an input. A line beyond the limit is the last, because it may have no end.
pub(crate) fn lines(
    mut input: impl BufRead + Send,
    end: u8,
) -> impl Iterator<Item = io::Result<Vec<u8>>> + Send {
    // Every thread asks until it gets `None`. On a terminal, a second read after Ctrl-D would wait for input again.
    let mut is_over = false;
    iter::from_fn(move || {
        if is_over {
            return None;
        }
        let mut line = Vec::new();
        // A byte more than the limit, to notice a longer line.
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

/// The first bytes of a file or of standard input, decoded if they are text.
pub(crate) fn read_bytes(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_or_stdin(path, "bytes or hexadecimal digits")?.take(longest).read_to_end(&mut bytes)?;
    from_text(bytes)
}

/// The bytes, decoded if they are text. A frame or metalayer is never text, because its first byte is not UTF-8.
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

/// Whether a character never occurs in text.
fn is_no_text(character: char) -> bool {
    character.is_control() && !character.is_whitespace()
}

/// Bytes from hexadecimal digits, with separators as in Rust, C and JSON, or from a bytes literal as Python prints it.
pub(crate) fn unhex(text: &str) -> Result<Vec<u8>, String> {
    // `b` is a digit too, but no quote follows a digit.
    if let Some(quoted) = text.trim().strip_prefix('b').filter(|rest| rest.starts_with(['\'', '"'])) {
        return python(quoted)
            .ok_or_else(|| format!("b{} is not a Python bytes literal", shortened(quoted, MESSAGE_LEN)));
    }
    let text = text.replace("0x", " ").replace("\\x", " ");
    let separators = [',', ';', ':', '-', '[', ']', '{', '}', '"', '\''];
    let mut bytes = Vec::new();
    for digits in text.split(|c: char| c.is_whitespace() || separators.contains(&c)) {
        let value = |digit: char| digit.to_digit(16).and_then(|value| u8::try_from(value).ok());
        let Some(values) = digits.chars().map(value).collect::<Option<Vec<u8>>>() else {
            return Err(format!("'{}' is not hexadecimal", shortened(digits, MESSAGE_LEN)));
        };
        match values[..] {
            // A single digit is a byte, as in `[0, 1]`.
            [byte] => bytes.push(byte),
            _ if values.len() % 2 == 1 => {
                let digits = shortened(digits, MESSAGE_LEN);
                return Err(format!("'{digits}' has an odd number of digits, but a byte has two"));
            }
            _ => bytes
                .extend(values.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| 16 * byte + digit))),
        }
    }
    Ok(bytes)
}

pub(crate) fn unhex_argument(text: &str) -> Result<Bytes, String> {
    unhex(text).map(Bytes)
}

/// The bytes of a Python literal, without its `b`.
fn python(quoted: &str) -> Option<Vec<u8>> {
    let quote = quoted.bytes().next()?;
    let inner = quoted.get(1..)?.strip_suffix(char::from(quote))?;
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                escaped @ (b'\\' | b'\'' | b'"') => escaped,
                _ => return None,
            },
            // `repr` escapes all other bytes.
            byte if byte.is_ascii() && byte != quote => byte,
            _ => return None,
        });
    }
    Some(bytes)
}
