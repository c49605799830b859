//! Bytes as text, as logs and sources have them: hexadecimal digits, or bytes as Python prints them.

use std::io::{self, ErrorKind};

/// Bytes that were given as text.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // A `String` takes all there is.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes; if they are text, which a frame or metalayer never is, the bytes that it describes.
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

fn is_no_text(character: char) -> bool {
    character.is_control() && !character.is_whitespace()
}

/// Bytes from hexadecimal digits, which may be separated as in Rust, C and JSON, or from bytes as Python prints them.
pub(crate) fn unhex(text: &str) -> Result<Vec<u8>, String> {
    if let Some(quoted) = text.trim().strip_prefix('b').filter(|rest| rest.starts_with(['\'', '"'])) {
        return python(quoted).ok_or_else(|| format!("b{quoted} is not a bytes literal of Python"));
    }
    let text = text.replace("0x", " ").replace("\\x", " ");
    let separators = [',', ';', ':', '-', '[', ']', '{', '}', '"', '\''];
    let mut bytes = Vec::new();
    for digits in text.split(|c: char| c.is_whitespace() || separators.contains(&c)) {
        let digits = digits.as_bytes();
        // A digit may stand alone, but not be left over.
        let (pairs, last) = if digits.len() == 1 { (&[][..], digits) } else { (digits, &[][..]) };
        if pairs.len() % 2 == 1 {
            return Err(format!("an odd number of digits in '{}'", String::from_utf8_lossy(digits)));
        }
        for pair in pairs.chunks(2).chain((!last.is_empty()).then_some(last)) {
            let digit = |byte: &u8| char::from(*byte).to_digit(16);
            let value = pair.iter().try_fold(0, |value, byte| Some(16 * value + digit(byte)?));
            match value.and_then(|value| u8::try_from(value).ok()) {
                Some(byte) => bytes.push(byte),
                None => return Err(format!("'{}' is not a byte", String::from_utf8_lossy(pair))),
            }
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
