//! Checks that bytes are a `MessagePack` value that python-blosc2 reads.

use crate::messagepack::token::{Token, take};

/// The deepest nesting of arrays and maps that python-blosc2 reads.
// This is the size of the stack in the package msgpack for Python (`MSGPACK_EMBED_STACK_SIZE`).
const MAX_DEPTH: usize = 1024;

/// An array or a map with unread items.
struct Open {
    /// The number of items that are left. In a map, keys and values alternate.
    left: u64,
    is_map: bool,
}

/// Checks that bytes are exactly one value that python-blosc2 reads. The value must be complete, and no bytes may
/// follow it. Each text must be UTF-8, and each key of a map must be text or bytes. At most [`MAX_DEPTH`] arrays and
/// maps may be inside one another.
pub(crate) fn check_value(bytes: &[u8]) -> Result<(), String> {
    let mut rest = bytes;
    let mut open: Vec<Open> = Vec::new();
    loop {
        let at = bytes.len() - rest.len();
        let Some((token, after)) = take(rest) else {
            return Err(format!("the value at byte {at} has an unknown marker, or does not end"));
        };
        rest = after;
        // In a map, keys and values alternate. `left` begins as twice the number of pairs plus 1. `ends_item` subtracts
        // 1 for the marker of the map, so before the first key `left` is even. So the next item is a key whenever
        // `left` is even.
        let is_key = open.last().is_some_and(|open| open.is_map && open.left % 2 == 0);
        if is_key && !matches!(token, Token::Text(_) | Token::Binary(_)) {
            return Err(format!("the key at byte {at} is neither text nor bytes"));
        }
        match token {
            Token::Text(text) if core::str::from_utf8(text).is_err() => {
                return Err(format!("the text at byte {at} is not UTF-8"));
            }
            Token::Text(_) | Token::Binary(_) | Token::Extension(_) | Token::Number(_) => {}
            Token::Array(_) | Token::Map(_) if open.len() == MAX_DEPTH => {
                return Err(format!("more than {MAX_DEPTH} arrays and maps are inside one another"));
            }
            // `left` is one more than the number of items, because `ends_item` below counts the marker of the array or
            // map as an item too. An empty array or map then ends at once, and counts as an item of its parent.
            Token::Array(left) => open.push(Open { left: left + 1, is_map: false }),
            Token::Map(pairs) => open.push(Open { left: 2 * pairs + 1, is_map: true }),
        }
        if !ends_item(&mut open) {
            continue;
        }
        let end = bytes.len() - rest.len();
        let is_whole = rest.is_empty();
        return if is_whole { Ok(()) } else { Err(format!("it ends at byte {end} of {}", bytes.len())) };
    }
}

/// Counts an item as read. If it was the last item of an array or map, the array or map is complete, and counts as an
/// item of the value around it. Returns whether the outermost value is complete.
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
