//! A MessagePack value of any type.

use b2nd_serde::dump::Printable;

use crate::messagepack::cursor::Cursor;
use crate::messagepack::marker::{Marker, ValueType};
use crate::messagepack::token::{self, Token};

/// The longest text, in bytes, that is shown on the line of its marker.
// A line has room for 9 bytes: the marker and 8 more.
const MAX_LINE_TEXT: u8 = 8;

/// A value, or the start of a value that contains other values.
pub(crate) struct Value<'a> {
    /// The bytes before `body`: the marker and, depending on the type, a length, a count or the type of an extension.
    /// All bytes of a number, or of a `fixstr` of at most 8 bytes, are here.
    pub(crate) head: &'a [u8],
    /// The bytes of any other text, of binary data or of an extension, shown on lines of their own. They are empty for
    /// all other values.
    pub(crate) body: &'a [u8],
    /// The number of values inside this one.
    pub(crate) children: usize,
    pub(crate) kind: String,
    pub(crate) text: String,
}

impl<'a> Value<'a> {
    /// Reads the next value; `None` if the bytes do not begin with a complete value.
    pub(crate) fn take(cursor: &mut Cursor<'a>) -> Option<Self> {
        let bytes = cursor.rest();
        let (token, rest) = token::take(bytes)?;
        let whole = cursor.take(bytes.len() - rest.len()).ok()?;
        let marker = Marker::from_u8(*whole.first()?);
        let is_short = matches!(marker, Marker::FixStr(len) if len <= MAX_LINE_TEXT);
        let kind = match marker {
            Marker::False | Marker::True => "bool".into(),
            Marker::FixStr(_) if is_short => "fixstr".into(),
            _ => ValueType(marker).to_string(),
        };
        let (body, children, text): (&[u8], _, _) = match token {
            Token::Number(bytes) => (&[], 0, number(marker, bytes)?),
            Token::Text(text) if is_short => (&[], 0, Printable(text).to_string()),
            Token::Text(body) | Token::Binary(body) | Token::Extension(body) => {
                (body, 0, format!("{} bytes", body.len()))
            }
            Token::Array(count) => (&[], usize::try_from(count).ok()?, String::new()),
            Token::Map(pairs) => (&[], usize::try_from(pairs.checked_mul(2)?).ok()?, String::new()),
        };
        let head = whole.get(..whole.len() - body.len())?;
        Some(Self { head, body, children, kind, text })
    }
}

/// The text of a number, of nil or of a boolean.
fn number(marker: Marker, bytes: &[u8]) -> Option<String> {
    Some(match marker {
        Marker::FixPos(value) => value.to_string(),
        Marker::FixNeg(value) => value.to_string(),
        Marker::False => false.to_string(),
        Marker::True => true.to_string(),
        Marker::F32 => f32::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::F64 => f64::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::U8 => u8::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::U16 => u16::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::U32 => u32::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::U64 => u64::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::I8 => i8::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::I16 => i16::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::I32 => i32::from_be_bytes(*bytes.first_chunk()?).to_string(),
        Marker::I64 => i64::from_be_bytes(*bytes.first_chunk()?).to_string(),
        _ => String::new(),
    })
}
