//! The header of a NumPy file.

use std::borrow::Cow;

use b2nd_serde::dtype::{Dtype, Kind};

use super::value::{list_count, printed_len};
use crate::input::Items;

/// If the text of an item is longer than the item by more than this number of bytes, the array is not printed. Two
/// things can make the text longer without limit: empty lists, which have no bytes in the item, and overlapping fields,
/// whose common bytes are printed several times.
const MAX_EXCESS: u64 = 1 << 20;

/// The dtype of the items in the output, and a note for the user if it is not the dtype of the array.
pub(crate) struct Item {
    pub(crate) dtype: Dtype,
    pub(crate) note: Option<String>,
}

impl Item {
    /// Uses the dtype of the array if its item size is equal to the typesize of the frame. Otherwise, uses raw bytes.
    pub(crate) fn from_items(items: &Items) -> Self {
        let dtype = items.dtype().map_err(|error| error.to_string());
        Self::new(dtype.transpose(), items.typesize)
    }

    fn new(dtype: Option<Result<Dtype, String>>, typesize: usize) -> Self {
        let why = match dtype {
            Some(Ok(dtype)) if dtype.item_size() == typesize => return Self { dtype, note: None },
            Some(Ok(dtype)) => {
                format!(
                    "items of dtype {dtype} have {} bytes, but the frame's typesize is {typesize}",
                    dtype.item_size()
                )
            }
            Some(Err(error)) => format!("dtype: {error}"),
            None => "the array has no dtype".into(),
        };
        Self {
            note: Some(format!("{why}, so its items are shown as bytes, |V{typesize}")),
            dtype: void(typesize),
        }
    }

    /// Appends the dimensions of a subarray dtype to the shape, as NumPy does.
    pub(crate) fn unfold(&mut self, shape: &mut Vec<usize>) {
        while let Kind::Subarray(subarray) = self.dtype.kind() {
            // A subarray of subarrays adds the dimensions of each.
            shape.extend(subarray.shape());
            self.dtype = subarray.base().clone();
        }
    }

    /// The error message if the text of an item would be far longer than its bytes.
    pub(crate) fn why_too_long(&self) -> Option<&'static str> {
        let excess = printed_len(&self.dtype).saturating_sub(self.dtype.item_size() as u64);
        (excess > MAX_EXCESS).then_some(
            "the text of an item would be too long: its dtype has too many empty lists, or fields that overlap; use --npy, or `b2nd convert`",
        )
    }

    /// Converts the dtype and the shape for a NumPy file. Dimensions of the dtype follow the dimensions of the array. A
    /// dtype that such a file cannot store becomes raw bytes, `|V`.
    pub(crate) fn for_npy(mut self, shape: &mut Vec<usize>) -> Self {
        self.unfold(shape);
        if descr(&self.dtype).is_some() {
            return self;
        }
        let size = self.dtype.item_size();
        let note = format!("a NumPy file cannot have items of dtype {}, so they are |V{size}", self.dtype);
        Self { dtype: void(size), note: Some(self.note.unwrap_or(note)) }
    }
}

fn void(size: usize) -> Dtype {
    // A typesize and an item size are at most 2147483647, so `|V` followed by the size always parses.
    format!("|V{size}").parse().unwrap_or_else(|_| unreachable!("a size of int32"))
}

/// The error message if an array without items has too many empty lists to print. A shape that contains a 0 can still
/// have any number of empty lists.
pub(crate) fn why_too_many_lists(shape: &[usize]) -> Option<String> {
    let count = list_count(shape);
    let is_long = shape.contains(&0) && count > MAX_EXCESS;
    is_long.then(|| format!("the array has no items, but {count} empty lists, which are too many to print"))
}

/// The header of a NumPy file whose items are in C order. A dtype that such a file cannot store is replaced by raw
/// bytes, `|V`.
pub(crate) fn npy_header(dtype: &Dtype, shape: &[usize]) -> Vec<u8> {
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape: Vec<_> = shape.iter().map(usize::to_string).collect();
    let descr = descr(dtype).unwrap_or_else(|| format!("'|V{}'", dtype.item_size()).into());
    let shape = shape.join(", ");
    let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}{comma}), }}");
    // In format 1.0, the length of the text is stored in 2 bytes. In the formats 2.0 and 3.0, the length is stored in 4
    // bytes. In format 3.0, the text is UTF-8. The number 128 is an upper limit for the bytes before the text and the
    // padding together.
    let is_long = text.len() + 128 > usize::from(u16::MAX);
    let version = if !text.is_ascii() {
        3
    } else if is_long {
        2
    } else {
        1
    };
    let before = if version == 1 { 10 } else { 12 };
    // NumPy aligns the items to 64 bytes.
    let length = (before + text.len() + 1).next_multiple_of(64) - before;
    let mut header = [b"\x93NUMPY", &[version, 0][..]].concat();
    // The length fits in a `u32`, because the text of a dtype has less than 2 GiB.
    let bytes = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    header.extend(bytes.iter().take(before - 8));
    header.extend(text.as_bytes());
    header.resize(before + length - 1, b' ');
    header.push(b'\n');
    header
}

/// The text of a dtype in the header of a NumPy file. `None` if such a file cannot store the dtype, for example because
/// its fields overlap or are not in the order of their offsets.
fn descr(dtype: &Dtype) -> Option<Cow<'static, str>> {
    match dtype.kind() {
        Kind::Struct(parts) => {
            let (mut fields, mut end) = (Vec::new(), 0);
            for field in parts.fields() {
                let gap = field.offset().checked_sub(end)?;
                // NumPy stores a gap as a field without a name.
                if gap > 0 {
                    fields.push(format!("('', '|V{gap}')"));
                }
                end = field.offset() + field.dtype().item_size();
                let name = match field.title() {
                    Some(title) => format!("({}, {})", literal(title), literal(field.name())),
                    None => literal(field.name()),
                };
                fields.push(match field.dtype().kind() {
                    Kind::Subarray(subarray) => {
                        let shape: Vec<_> = subarray.shape().iter().map(ToString::to_string).collect();
                        format!("({name}, {}, ({},))", descr(subarray.base())?, shape.join(", "))
                    }
                    _ => format!("({name}, {})", descr(field.dtype())?),
                });
            }
            let gap = dtype.item_size().checked_sub(end)?;
            if gap > 0 {
                fields.push(format!("('', '|V{gap}')"));
            }
            (!fields.is_empty()).then(|| format!("[{}]", fields.join(", ")).into())
        }
        // NumPy stores items of types from other packages as raw bytes.
        Kind::Extension(_) => Some(format!("'|V{}'", dtype.item_size()).into()),
        Kind::Subarray(_) | Kind::Object => None,
        _ => Some(format!("'{}'", dtype.type_string()).into()),
    }
}

/// A text as a string literal of Python. Single quotes, backslashes and control characters are written as escapes.
fn literal(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            _ if c.is_control() => quoted.extend(format!("\\U{:08x}", u32::from(c)).chars()),
            _ => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}
