//! The tokens of `MessagePack`: single values, and the beginnings of arrays and maps.

use crate::messagepack::marker::Marker;

/// A single value, or the start of an array or map with the number of its items.
pub(crate) enum Token<'b> {
    /// A number, nil or a boolean: the bytes after its marker.
    Number(&'b [u8]),
    Text(&'b [u8]),
    Binary(&'b [u8]),
    /// The data of an extension, without its type.
    Extension(&'b [u8]),
    /// The start of an array, with the number of its items.
    Array(u64),
    /// The start of a map, with the number of its pairs.
    Map(u64),
}

/// Takes a token, and returns the bytes after it; `None` if its marker is unknown or its bytes are incomplete.
pub(crate) fn take(bytes: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let (&marker, rest) = bytes.split_first()?;
    let number = |len: usize| split(rest, len).map(|(bytes, rest)| (Token::Number(bytes), rest));
    let text = |(len, rest): (usize, _)| split(rest, len).map(|(text, rest)| (Token::Text(text), rest));
    let binary = |(len, rest): (usize, _)| split(rest, len).map(|(data, rest)| (Token::Binary(data), rest));
    let extension = |(len, rest): (usize, _)| {
        let (_, rest) = split(rest, 1)?;
        split(rest, len).map(|(data, rest)| (Token::Extension(data), rest))
    };
    let array = |(count, rest)| (Token::Array(count as u64), rest);
    let map = |(count, rest)| (Token::Map(count as u64), rest);
    match Marker::from_u8(marker) {
        Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => number(0),
        Marker::U8 | Marker::I8 => number(1),
        Marker::U16 | Marker::I16 => number(2),
        Marker::U32 | Marker::I32 | Marker::F32 => number(4),
        Marker::U64 | Marker::I64 | Marker::F64 => number(8),
        Marker::FixStr(len) => text((len.into(), rest)),
        Marker::Str8 => length(rest, 1).and_then(text),
        Marker::Str16 => length(rest, 2).and_then(text),
        Marker::Str32 => length(rest, 4).and_then(text),
        Marker::Bin8 => length(rest, 1).and_then(binary),
        Marker::Bin16 => length(rest, 2).and_then(binary),
        Marker::Bin32 => length(rest, 4).and_then(binary),
        Marker::FixExt1 => extension((1, rest)),
        Marker::FixExt2 => extension((2, rest)),
        Marker::FixExt4 => extension((4, rest)),
        Marker::FixExt8 => extension((8, rest)),
        Marker::FixExt16 => extension((16, rest)),
        Marker::Ext8 => length(rest, 1).and_then(extension),
        Marker::Ext16 => length(rest, 2).and_then(extension),
        Marker::Ext32 => length(rest, 4).and_then(extension),
        Marker::FixArray(count) => Some(array((count.into(), rest))),
        Marker::Array16 => length(rest, 2).map(array),
        Marker::Array32 => length(rest, 4).map(array),
        Marker::FixMap(count) => Some(map((count.into(), rest))),
        Marker::Map16 => length(rest, 2).map(map),
        Marker::Map32 => length(rest, 4).map(map),
        Marker::Reserved => None,
    }
}

/// Takes a length that is stored in `size` bytes.
fn length(bytes: &[u8], size: usize) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_at_checked(size)?;
    Some((length.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)), rest))
}

fn split(bytes: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(len)
}
