//! One value of MessagePack, of any type.

use std::format;
use std::string::{String, ToString};

use crate::dump::Printable;
use crate::frame::format::cursor::Cursor;
use crate::marker::{
    ARRAY16, ARRAY32, BIN8, BIN16, BIN32, EXT8, EXT16, EXT32, FALSE, FIXARRAY, FIXARRAY_MAX, FIXEXT1,
    FIXEXT16, FIXINT_MAX, FIXMAP, FIXMAP_MAX, FIXSTR, FIXSTR_MAX, FLOAT32, FLOAT64, INT8, INT16, INT32,
    INT64, Kind, MAP16, MAP32, NEGATIVE_FIXINT, NEVER_USED, NIL, STR8, STR16, STR32, TRUE, UINT8, UINT16,
    UINT32, UINT64,
};

/// A text of at most this many bytes is shown on the line of its marker.
const MAX_LINE_TEXT: u8 = 8;

/// A value, or the start of one that contains others.
pub(crate) struct Value<'a> {
    /// The marker, the length, and a short value.
    pub(crate) head: &'a [u8],
    /// The bytes of a long value, which have lines of their own.
    pub(crate) body: &'a [u8],
    /// The number of following values that are inside this one.
    pub(crate) children: usize,
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// What follows the marker, and the length if the value has one.
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
        let marker = cursor.byte().ok()?;
        let content = content(marker, cursor)?;
        let head = bytes.get(..cursor.offset() - start)?;
        let kind = match marker {
            FALSE | TRUE => "bool".into(),
            FIXSTR..=FIXSTR_MAX if matches!(content, Content::Text(_)) => "fixstr".into(),
            _ => Kind(marker).to_string(),
        };
        let (body, children, text): (&[u8], _, _) = match content {
            Content::Text(text) => (&[], 0, text),
            Content::Bytes(len) => (cursor.take(len).ok()?, 0, format!("{len} bytes")),
            Content::Values(children) => (&[], children, String::new()),
        };
        Some(Self { head, body, children, kind, text })
    }
}

/// Takes what is between the marker and a long value.
fn content(marker: u8, cursor: &mut Cursor<'_>) -> Option<Content> {
    use Content::{Bytes, Text, Values};
    Some(match marker {
        ..=FIXINT_MAX => Text(marker.to_string()),
        NEGATIVE_FIXINT.. => Text(i8::from_be_bytes([marker]).to_string()),
        FIXMAP..=FIXMAP_MAX => Values(usize::from(marker - FIXMAP) * 2),
        FIXARRAY..=FIXARRAY_MAX => Values((marker - FIXARRAY).into()),
        FIXSTR..=FIXSTR_MAX => match marker - FIXSTR {
            len @ 0..=MAX_LINE_TEXT => Text(Printable(cursor.take(len.into()).ok()?).to_string()),
            len => Bytes(len.into()),
        },
        NIL => Text(String::new()),
        NEVER_USED => return None,
        FALSE | TRUE => Text((marker == TRUE).to_string()),
        BIN8 | STR8 => Bytes(size::<1>(cursor)?),
        BIN16 | STR16 => Bytes(size::<2>(cursor)?),
        BIN32 | STR32 => Bytes(size::<4>(cursor)?),
        EXT8 => extension(size::<1>(cursor)?, cursor)?,
        EXT16 => extension(size::<2>(cursor)?, cursor)?,
        EXT32 => extension(size::<4>(cursor)?, cursor)?,
        FIXEXT1..=FIXEXT16 => extension(1 << (marker - FIXEXT1), cursor)?,
        FLOAT32 => Text(f32::from_be_bytes(cursor.array().ok()?).to_string()),
        FLOAT64 => Text(f64::from_be_bytes(cursor.array().ok()?).to_string()),
        UINT8 => Text(u8::from_be_bytes(cursor.array().ok()?).to_string()),
        UINT16 => Text(u16::from_be_bytes(cursor.array().ok()?).to_string()),
        UINT32 => Text(u32::from_be_bytes(cursor.array().ok()?).to_string()),
        UINT64 => Text(u64::from_be_bytes(cursor.array().ok()?).to_string()),
        INT8 => Text(i8::from_be_bytes(cursor.array().ok()?).to_string()),
        INT16 => Text(i16::from_be_bytes(cursor.array().ok()?).to_string()),
        INT32 => Text(i32::from_be_bytes(cursor.array().ok()?).to_string()),
        INT64 => Text(i64::from_be_bytes(cursor.array().ok()?).to_string()),
        ARRAY16 => Values(size::<2>(cursor)?),
        ARRAY32 => Values(size::<4>(cursor)?),
        MAP16 => Values(size::<2>(cursor)?.checked_mul(2)?),
        MAP32 => Values(size::<4>(cursor)?.checked_mul(2)?),
    })
}

/// Takes a number of bytes or values.
fn size<const N: usize>(cursor: &mut Cursor<'_>) -> Option<usize> {
    let bytes: [u8; N] = cursor.array().ok()?;
    usize::try_from(bytes.into_iter().fold(0, |size, byte| size << 8 | u64::from(byte))).ok()
}

/// Takes the type of an extension, whose bytes follow.
fn extension(len: usize, cursor: &mut Cursor<'_>) -> Option<Content> {
    cursor.byte().ok()?;
    Some(Content::Bytes(len))
}
