//! Whether bytes are a `MessagePack` value that every reader reads.

use crate::format::marker::Marker;

/// Whether there is one value, all texts of which are UTF-8, and nothing after it.
pub(super) fn is_value(bytes: &[u8]) -> bool {
    let (mut rest, mut left) = (bytes, 1_u64);
    while left > 0 {
        let Some((more, after)) = take(rest) else { return false };
        left = (left - 1).saturating_add(more);
        rest = after;
    }
    rest.is_empty()
}

/// Takes a marker and the bytes that belong to it. Returns how many values follow as items.
fn take(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&marker, rest) = bytes.split_first()?;
    let of_len = |size: usize| length(rest, size);
    match Marker::from_u8(marker) {
        Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => {
            Some((0, rest))
        }
        Marker::U8 | Marker::I8 => Some((0, rest.get(1..)?)),
        Marker::U16 | Marker::I16 | Marker::FixExt1 => Some((0, rest.get(2..)?)),
        Marker::U32 | Marker::I32 | Marker::F32 => Some((0, rest.get(4..)?)),
        Marker::U64 | Marker::I64 | Marker::F64 => Some((0, rest.get(8..)?)),
        Marker::FixStr(len) => text(rest, len.into()),
        Marker::Str8 => of_len(1).and_then(|(len, rest)| text(rest, len)),
        Marker::Str16 => of_len(2).and_then(|(len, rest)| text(rest, len)),
        Marker::Str32 => of_len(4).and_then(|(len, rest)| text(rest, len)),
        Marker::Bin8 => of_len(1).and_then(|(len, rest)| Some((0, rest.get(len..)?))),
        Marker::Bin16 => of_len(2).and_then(|(len, rest)| Some((0, rest.get(len..)?))),
        Marker::Bin32 => of_len(4).and_then(|(len, rest)| Some((0, rest.get(len..)?))),
        Marker::FixArray(count) => Some((count.into(), rest)),
        Marker::Array16 => of_len(2).map(|(count, rest)| (count as u64, rest)),
        Marker::Array32 => of_len(4).map(|(count, rest)| (count as u64, rest)),
        Marker::FixMap(count) => Some((2 * u64::from(count), rest)),
        Marker::Map16 => of_len(2).map(|(count, rest)| (2 * count as u64, rest)),
        Marker::Map32 => of_len(4).map(|(count, rest)| (2 * count as u64, rest)),
        Marker::FixExt2 => Some((0, rest.get(3..)?)),
        Marker::FixExt4 => Some((0, rest.get(5..)?)),
        Marker::FixExt8 => Some((0, rest.get(9..)?)),
        Marker::FixExt16 => Some((0, rest.get(17..)?)),
        Marker::Ext8 => of_len(1).and_then(|(len, rest)| Some((0, rest.get(len.checked_add(1)?..)?))),
        Marker::Ext16 => of_len(2).and_then(|(len, rest)| Some((0, rest.get(len.checked_add(1)?..)?))),
        Marker::Ext32 => of_len(4).and_then(|(len, rest)| Some((0, rest.get(len.checked_add(1)?..)?))),
        Marker::Reserved => None,
    }
}

/// Takes a length of this many bytes.
fn length(bytes: &[u8], size: usize) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_at_checked(size)?;
    Some((length.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)), rest))
}

fn text(bytes: &[u8], len: usize) -> Option<(u64, &[u8])> {
    let (text, rest) = bytes.split_at_checked(len)?;
    core::str::from_utf8(text).ok()?;
    Some((0, rest))
}
