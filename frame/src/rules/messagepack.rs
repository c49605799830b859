//! Whether bytes are a `MessagePack` value that python-blosc2 reads.

use crate::format::marker::Marker;

/// The deepest nesting of arrays and maps that python-blosc2 reads.
// The size of the stack in msgpack for Python (`MSGPACK_EMBED_STACK_SIZE`).
const MAX_DEPTH: usize = 1024;

/// A value without the items of an array or a map.
enum Token<'b> {
    Text(&'b [u8]),
    Bytes,
    Other,
    Array(u64),
    Map(u64),
}

/// An array or a map whose items are not all read.
struct Open {
    /// The number of items that are left. In a map, keys and values take turns.
    left: u64,
    is_map: bool,
}

/// Why bytes are not a value that python-blosc2 reads. The value must be complete, its texts UTF-8, and its keys text
/// or bytes.
pub(crate) fn wrong_value(bytes: &[u8]) -> Option<String> {
    let mut rest = bytes;
    let mut open: Vec<Open> = Vec::new();
    loop {
        let at = bytes.len() - rest.len();
        let Some((token, after)) = take(rest) else {
            return Some(format!("the value at byte {at} has an unknown marker, or does not end"));
        };
        rest = after;
        // A map begins with an even number of items left, so an even number means that a key is next.
        let is_key = open.last().is_some_and(|open| open.is_map && open.left % 2 == 0);
        if is_key && !matches!(token, Token::Text(_) | Token::Bytes) {
            return Some(format!("the key at byte {at} is neither text nor bytes"));
        }
        match token {
            Token::Text(text) if core::str::from_utf8(text).is_err() => {
                return Some(format!("the text at byte {at} is not UTF-8"));
            }
            Token::Text(_) | Token::Bytes | Token::Other => {}
            Token::Array(_) | Token::Map(_) if open.len() == MAX_DEPTH => {
                return Some(format!("more than {MAX_DEPTH} arrays and maps are inside one another"));
            }
            // One more than its items, because `ends_item` below first counts off the marker of the container. The
            // container counts as an item of its parent when it is complete.
            Token::Array(left) => open.push(Open { left: left + 1, is_map: false }),
            Token::Map(pairs) => open.push(Open { left: 2 * pairs + 1, is_map: true }),
        }
        if !ends_item(&mut open) {
            continue;
        }
        let end = bytes.len() - rest.len();
        return (!rest.is_empty()).then(|| format!("it ends at byte {end} of {}", bytes.len()));
    }
}

/// Counts an item, and closes each array or map that it completes. Returns whether the outermost value is complete.
fn ends_item(open: &mut Vec<Open>) -> bool {
    while let Some(last) = open.last_mut() {
        last.left -= 1;
        if last.left > 0 {
            return false;
        }
        open.pop();
    }
    true
}

/// Takes a marker and the bytes that belong to it.
fn take(bytes: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let (&marker, rest) = bytes.split_first()?;
    let other = |len: usize| Some((Token::Other, rest.get(len..)?));
    let text = |(len, rest): (usize, _)| split(rest, len).map(|(text, rest)| (Token::Text(text), rest));
    let binary = |(len, rest): (usize, _)| split(rest, len).map(|(_, rest)| (Token::Bytes, rest));
    let extension =
        |(len, rest): (usize, _)| split(rest, len.checked_add(1)?).map(|(_, rest)| (Token::Other, rest));
    let array = |(count, rest)| (Token::Array(count as u64), rest);
    let map = |(count, rest)| (Token::Map(count as u64), rest);
    match Marker::from_u8(marker) {
        Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => other(0),
        Marker::U8 | Marker::I8 => other(1),
        Marker::U16 | Marker::I16 | Marker::FixExt1 => other(2),
        Marker::FixExt2 => other(3),
        Marker::U32 | Marker::I32 | Marker::F32 => other(4),
        Marker::FixExt4 => other(5),
        Marker::U64 | Marker::I64 | Marker::F64 => other(8),
        Marker::FixExt8 => other(9),
        Marker::FixExt16 => other(17),
        Marker::FixStr(len) => text((len.into(), rest)),
        Marker::Str8 => length(rest, 1).and_then(text),
        Marker::Str16 => length(rest, 2).and_then(text),
        Marker::Str32 => length(rest, 4).and_then(text),
        Marker::Bin8 => length(rest, 1).and_then(binary),
        Marker::Bin16 => length(rest, 2).and_then(binary),
        Marker::Bin32 => length(rest, 4).and_then(binary),
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

/// Takes a length of this many bytes.
fn length(bytes: &[u8], size: usize) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_at_checked(size)?;
    Some((length.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)), rest))
}

fn split(bytes: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(len)
}
