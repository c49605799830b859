//! Bytes as text, as logs and sources have them: hexadecimal digits, or bytes as Python prints them.

use std::io::{self, ErrorKind};

use crate::table::shortened;

/// A message shows at most this much of a text.
const LONGEST: usize = 40;

/// Bytes that were given as text.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes, or those that they describe as text. A frame or metalayer is never text: its first byte is not UTF-8.
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

/// Whether a character does not occur in text.
fn is_no_text(character: char) -> bool {
    character.is_control() && !character.is_whitespace()
}

/// Bytes from hexadecimal digits, which may be separated as in Rust, C and JSON, or from bytes as Python prints them.
pub(crate) fn unhex(text: &str) -> Result<Vec<u8>, String> {
    if let Some(quoted) = text.trim().strip_prefix('b').filter(|rest| rest.starts_with(['\'', '"'])) {
        return python(quoted)
            .ok_or_else(|| format!("b{} is not a Python bytes literal", shortened(quoted, LONGEST)));
    }
    let text = text.replace("0x", " ").replace("\\x", " ");
    let separators = [',', ';', ':', '-', '[', ']', '{', '}', '"', '\''];
    let mut bytes = Vec::new();
    for digits in text.split(|c: char| c.is_whitespace() || separators.contains(&c)) {
        let value = |digit: char| digit.to_digit(16).and_then(|value| u8::try_from(value).ok());
        let Some(values) = digits.chars().map(value).collect::<Option<Vec<u8>>>() else {
            return Err(format!("'{}' is not hexadecimal", shortened(digits, LONGEST)));
        };
        match values[..] {
            // A digit by itself is a byte, as in `[0, 1]`.
            [byte] => bytes.push(byte),
            _ if values.len() % 2 == 1 => {
                let digits = shortened(digits, LONGEST);
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

/// The bytes of a literal of Python, without its `b`.
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
            byte if byte.is_ascii() && byte != quote => byte,
            _ => return None,
        });
    }
    Some(bytes)
}
