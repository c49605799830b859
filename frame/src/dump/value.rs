//! A MessagePack value of any type.

use b2nd_serde::dump::Printable;

use crate::format::cursor::Cursor;
use crate::format::marker::{Marker, ValueType};

/// The longest text, in bytes, that is shown on the line of its marker.
// A line has room for 9 bytes: the marker and 8 more.
const MAX_LINE_TEXT: u8 = 8;

/// A value, or the start of a value that contains others.
pub(crate) struct Value<'a> {
    /// The marker, the length, and a short value.
    pub(crate) head: &'a [u8],
    /// The bytes of a long value, shown on lines of their own.
    pub(crate) body: &'a [u8],
    /// The number of values inside this one.
    pub(crate) children: usize,
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// The content of a value, after its marker and its length.
enum Content {
    /// No more bytes: the value is this text.
    Text(String),
    Bytes(usize),
    Values(usize),
}

impl<'a> Value<'a> {
    /// Takes the next value; `None` if the bytes are not a whole value.
    pub(crate) fn take(cursor: &mut Cursor<'a>) -> Option<Self> {
        let bytes = cursor.rest();
        let start = cursor.offset();
        let marker = Marker::from_u8(cursor.byte().ok()?);
        let content = content(marker, cursor)?;
        let head = bytes.get(..cursor.offset() - start)?;
        let kind = match marker {
            Marker::False | Marker::True => "bool".into(),
            Marker::FixStr(_) if matches!(content, Content::Text(_)) => "fixstr".into(),
            _ => ValueType(marker).to_string(),
        };
        let (body, children, text): (&[u8], _, _) = match content {
            Content::Text(text) => (&[], 0, text),
            Content::Bytes(len) => (cursor.take(len).ok()?, 0, format!("{len} bytes")),
            Content::Values(children) => (&[], children, String::new()),
        };
        Some(Self { head, body, children, kind, text })
    }
}

/// Takes the bytes between the marker and a long value.
fn content(marker: Marker, cursor: &mut Cursor<'_>) -> Option<Content> {
    use Content::{Bytes, Text, Values};
    Some(match marker {
        Marker::FixPos(value) => Text(value.to_string()),
        Marker::FixNeg(value) => Text(value.to_string()),
        Marker::FixMap(count) => Values(usize::from(count) * 2),
        Marker::FixArray(count) => Values(count.into()),
        Marker::FixStr(len) if len <= MAX_LINE_TEXT => {
            Text(Printable(cursor.take(len.into()).ok()?).to_string())
        }
        Marker::FixStr(len) => Bytes(len.into()),
        Marker::Null => Text(String::new()),
        Marker::Reserved => return None,
        Marker::False => Text(false.to_string()),
        Marker::True => Text(true.to_string()),
        Marker::Bin8 | Marker::Str8 => Bytes(size::<1>(cursor)?),
        Marker::Bin16 | Marker::Str16 => Bytes(size::<2>(cursor)?),
        Marker::Bin32 | Marker::Str32 => Bytes(size::<4>(cursor)?),
        Marker::Ext8 => extension(size::<1>(cursor)?, cursor)?,
        Marker::Ext16 => extension(size::<2>(cursor)?, cursor)?,
        Marker::Ext32 => extension(size::<4>(cursor)?, cursor)?,
        Marker::FixExt1 => extension(1, cursor)?,
        Marker::FixExt2 => extension(2, cursor)?,
        Marker::FixExt4 => extension(4, cursor)?,
        Marker::FixExt8 => extension(8, cursor)?,
        Marker::FixExt16 => extension(16, cursor)?,
        Marker::F32 => Text(f32::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::F64 => Text(f64::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::U8 => Text(u8::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::U16 => Text(u16::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::U32 => Text(u32::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::U64 => Text(u64::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::I8 => Text(i8::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::I16 => Text(i16::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::I32 => Text(i32::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::I64 => Text(i64::from_be_bytes(cursor.array().ok()?).to_string()),
        Marker::Array16 => Values(size::<2>(cursor)?),
        Marker::Array32 => Values(size::<4>(cursor)?),
        Marker::Map16 => Values(size::<2>(cursor)?.checked_mul(2)?),
        Marker::Map32 => Values(size::<4>(cursor)?.checked_mul(2)?),
    })
}

/// Takes a number of bytes or values.
fn size<const N: usize>(cursor: &mut Cursor<'_>) -> Option<usize> {
    let bytes: [u8; N] = cursor.array().ok()?;
    usize::try_from(bytes.into_iter().fold(0, |size, byte| size << 8 | u64::from(byte))).ok()
}

/// Takes the type of an extension. Its bytes follow.
fn extension(len: usize, cursor: &mut Cursor<'_>) -> Option<Content> {
    cursor.byte().ok()?;
    Some(Content::Bytes(len))
}
