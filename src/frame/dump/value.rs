//! One value of `MessagePack`, of any type.

use std::format;
use std::string::{String, ToString};

use super::{Printable, kind};

/// Texts that are as long stand on the line of their marker.
const SHORT_TEXT: usize = 9;

/// A value, or the head of one that has others in it.
pub(crate) struct Value {
    /// Bytes of the marker, the length and a short value.
    pub(crate) head: usize,
    /// Bytes of a long value, behind the head.
    pub(crate) body: usize,
    /// Values that follow in this one.
    pub(crate) children: usize,
    pub(crate) kind: String,
    pub(crate) text: String,
}

impl Value {
    /// The value at the start of these bytes, if it is one and all there.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (&marker, rest) = bytes.split_first()?;
        // Where the number of bytes or values stands behind the marker, in so many bytes.
        let size = |width: usize| {
            let number = rest.get(..width)?.iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
            usize::try_from(number).ok()
        };
        let value = match marker {
            0x00..=0x7f => scalar(marker, 0, marker.to_string()),
            0xe0..=0xff => scalar(marker, 0, i8::from_be_bytes([marker]).to_string()),
            0x80..=0x8f => nested(marker, 0, usize::from(marker & 0x0f) * 2),
            0x90..=0x9f => nested(marker, 0, usize::from(marker & 0x0f)),
            0xa0..=0xbf => {
                let length = usize::from(marker & 0x1f);
                let text = rest.get(..length)?;
                if length > SHORT_TEXT {
                    long(marker, 0, length)
                } else {
                    Self { kind: "fixstr".into(), ..scalar(marker, length, Printable(text).to_string()) }
                }
            }
            0xc0 => scalar(marker, 0, String::new()),
            0xc2 | 0xc3 => Self { kind: "bool".into(), ..scalar(marker, 0, (marker == 0xc3).to_string()) },
            0xc4 | 0xd9 => long(marker, 1, size(1)?),
            0xc5 | 0xda => long(marker, 2, size(2)?),
            0xc6 | 0xdb => long(marker, 4, size(4)?),
            // The type of an extension is a byte more.
            0xc7 => long(marker, 2, size(1)?),
            0xc8 => long(marker, 3, size(2)?),
            0xc9 => long(marker, 5, size(4)?),
            0xd4..=0xd8 => long(marker, 1, 1 << (marker - 0xd4)),
            0xca => scalar(marker, 4, f32::from_be_bytes(*rest.first_chunk()?).to_string()),
            0xcb => scalar(marker, 8, f64::from_be_bytes(*rest.first_chunk()?).to_string()),
            0xcc => scalar(marker, 1, size(1)?.to_string()),
            0xcd => scalar(marker, 2, size(2)?.to_string()),
            0xce => scalar(marker, 4, size(4)?.to_string()),
            0xcf => scalar(marker, 8, u64::from_be_bytes(*rest.first_chunk()?).to_string()),
            0xd0 => scalar(marker, 1, i8::from_be_bytes(*rest.first_chunk()?).to_string()),
            0xd1 => scalar(marker, 2, i16::from_be_bytes(*rest.first_chunk()?).to_string()),
            0xd2 => scalar(marker, 4, i32::from_be_bytes(*rest.first_chunk()?).to_string()),
            0xd3 => scalar(marker, 8, i64::from_be_bytes(*rest.first_chunk()?).to_string()),
            0xdc => nested(marker, 2, size(2)?),
            0xdd => nested(marker, 4, size(4)?),
            0xde => nested(marker, 2, size(2)?.checked_mul(2)?),
            0xdf => nested(marker, 4, size(4)?.checked_mul(2)?),
            0xc1 => return None,
        };
        (value.head.checked_add(value.body)? <= bytes.len()).then_some(value)
    }
}

/// A value that stands on one line.
fn scalar(marker: u8, length: usize, text: String) -> Value {
    Value { head: 1 + length, body: 0, children: 0, kind: kind(marker), text }
}

fn nested(marker: u8, width: usize, children: usize) -> Value {
    Value { head: 1 + width, body: 0, children, kind: kind(marker), text: String::new() }
}

/// A value whose bytes have lines of their own.
fn long(marker: u8, width: usize, length: usize) -> Value {
    Value { head: 1 + width, body: length, children: 0, kind: kind(marker), text: format!("{length} bytes") }
}
