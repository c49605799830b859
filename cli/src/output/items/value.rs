//! One item of an array.

use b2nd_serde::dtype::{ByteOrder, Dtype, Field, Kind, TimeUnit};
use half::f16;

use super::float::{Float, scalar};
use super::time::datetime;

/// An item, read from its bytes. The values of a struct or subarray are read only when they are used, because all of
/// them together would need many times the memory of their bytes.
#[derive(Debug)]
pub(crate) enum Value<'b> {
    Bool(bool),
    Integer(i128),
    Float(Float),
    Complex(Float, Float),
    /// `None` is `NaT`.
    Datetime(Option<i64>, TimeUnit),
    /// A number of units. The unit is in the dtype. `None` is `NaT`.
    Timedelta(Option<i64>),
    Bytes(&'b [u8]),
    Str(String),
    /// Raw bytes: `void`, and numbers without a Rust type, such as float128.
    Void(&'b [u8]),
    Struct(Fields<'b>),
    /// A subarray, for example in a field of a struct.
    List(List<'b>),
}

/// The fields of a struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'b> {
    fields: &'b [Field],
    bytes: &'b [u8],
}

impl<'b> Fields<'b> {
    /// The name and the value of each field.
    pub(super) fn values(self) -> impl ExactSizeIterator<Item = (&'b str, Value<'b>)> {
        self.fields.iter().map(move |field| {
            let (dtype, start) = (field.dtype(), field.offset());
            let bytes = self.bytes.get(start..start + dtype.item_size()).unwrap_or_default();
            (field.name(), Value::read(dtype, bytes))
        })
    }
}

/// A subarray: nested lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<'b> {
    shape: &'b [usize],
    base: &'b Dtype,
    bytes: &'b [u8],
}

impl<'b> List<'b> {
    /// The number of elements of this list. The elements are values if the list has one dimension, and lists if it has
    /// more.
    fn len(self) -> usize {
        self.shape.first().copied().unwrap_or_default()
    }

    fn value(self, number: usize) -> Value<'b> {
        let shape = self.shape.get(1..).unwrap_or_default();
        let size = self.bytes.len().checked_div(self.len()).unwrap_or_default();
        let bytes = self.bytes.get(number * size..(number + 1) * size).unwrap_or_default();
        Value::in_list(List { shape, bytes, ..self })
    }

    pub(super) fn values(self) -> impl ExactSizeIterator<Item = Value<'b>> {
        (0..self.len()).map(move |number| self.value(number))
    }
}

/// Whether the text of an item has all values of its lists, or only those at the ends of each list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListText {
    Whole,
    Ends,
}

/// The number of values at each end of a list, or of a dimension of an array: NumPy's default `edgeitems`.
pub(crate) const EDGE_LEN: usize = 3;

/// The number of values in an item.
pub(super) fn value_count(dtype: &Dtype) -> u64 {
    match dtype.kind() {
        Kind::Struct(parts) => {
            parts.fields().iter().fold(0, |sum, field| value_count(field.dtype()).saturating_add(sum))
        }
        Kind::Subarray(subarray) => list_count(subarray.shape()).saturating_mul(value_count(subarray.base())),
        _ => 1,
    }
}

/// The approximate length of an item's text: the number of bytes of all its values, and one byte for each empty list.
/// An empty list has no bytes in the item, and fields that overlap share their bytes, so a short item can have a text
/// of any length.
pub(super) fn printed_len(dtype: &Dtype) -> u64 {
    match dtype.kind() {
        Kind::Struct(parts) => {
            parts.fields().iter().fold(0, |sum, field| printed_len(field.dtype()).saturating_add(sum))
        }
        Kind::Subarray(subarray) => {
            let is_empty = subarray.shape().contains(&0);
            let value = if is_empty { 1 } else { printed_len(subarray.base()) };
            list_count(subarray.shape()).saturating_mul(value)
        }
        _ => dtype.item_size().max(1) as u64,
    }
}

/// The number of values in nested lists of this shape. If the shape contains a 0, this is the number of empty lists.
pub(super) fn list_count(shape: &[usize]) -> u64 {
    let lengths = shape.iter().take_while(|&&length| length > 0);
    lengths.fold(1, |count, &length| length.saturating_mul(count)) as u64
}

impl<'b> Value<'b> {
    /// Reads an item of this dtype. This never fails: bytes that cannot be read as a value become `Void`.
    pub(crate) fn read(dtype: &'b Dtype, bytes: &'b [u8]) -> Self {
        let value = match (dtype.kind(), dtype.item_size()) {
            (Kind::Bool, _) => dtype.read_item(bytes).map(Self::Bool),
            (Kind::Int | Kind::Uint, _) => dtype.read_item(bytes).map(Self::Integer),
            // `read_item` returns a float16 as an `f32`, which has the same value, so the conversion back to `f16` is
            // exact.
            (Kind::Float, 2) => {
                dtype.read_item(bytes).map(|half| Self::Float(Float::Half(f16::from_f32(half))))
            }
            (Kind::Float, 4) => dtype.read_item(bytes).map(|single| Self::Float(Float::Single(single))),
            (Kind::Float, _) => dtype.read_item(bytes).map(|double| Self::Float(Float::Double(double))),
            (Kind::Complex, 8) => {
                dtype.read_item(bytes).map(|(real, i)| Self::Complex(Float::Single(real), Float::Single(i)))
            }
            (Kind::Complex, _) => {
                dtype.read_item(bytes).map(|(real, i)| Self::Complex(Float::Double(real), Float::Double(i)))
            }
            (&Kind::Datetime(unit), _) => {
                dtype.read_item(bytes).map(|count| Self::Datetime(known(count), unit))
            }
            (Kind::Timedelta(_), _) => dtype.read_item(bytes).map(|count| Self::Timedelta(known(count))),
            (Kind::Bytes, _) => dtype.read_item(bytes).map(Self::Bytes),
            (Kind::Str, _) => {
                Ok(Self::Str(dtype.read_item(bytes).unwrap_or_else(|_| with_replacements(dtype, bytes))))
            }
            (Kind::Struct(parts), _) => Ok(Self::Struct(Fields { fields: parts.fields(), bytes })),
            (Kind::Subarray(subarray), _) => {
                Ok(Self::in_list(List { shape: subarray.shape(), base: subarray.base(), bytes }))
            }
            _ => return Self::Void(bytes),
        };
        value.unwrap_or(Self::Void(bytes))
    }

    /// The value of a list. A list without dimensions has one item, and this item is returned instead of a list.
    fn in_list(list: List<'b>) -> Self {
        if list.shape.is_empty() { Self::read(list.base, list.bytes) } else { Self::List(list) }
    }

    /// The text of an item that is printed alone, outside an array or struct.
    pub(crate) fn scalar(&self) -> String {
        self.scalar_with(ListText::Whole)
    }

    pub(super) fn scalar_with(&self, lists: ListText) -> String {
        match self {
            Self::Str(text) => text.clone(),
            Self::Datetime(None, _) | Self::Timedelta(None) => "NaT".into(),
            &Self::Datetime(Some(count), unit) => datetime(count, unit),
            _ => self.quoted_with(lists),
        }
    }

    /// The text of the item in an array or struct: texts and datetimes have quotes.
    pub(super) fn quoted(&self) -> String {
        self.quoted_with(ListText::Whole)
    }

    pub(super) fn quoted_with(&self, lists: ListText) -> String {
        match self {
            Self::Bool(value) => if *value { "True" } else { "False" }.into(),
            Self::Integer(value) => value.to_string(),
            Self::Float(float) => scalar(float.shortest()),
            &Self::Complex(real, imaginary) => {
                let [real, imaginary] = [real, imaginary].map(|part| scalar(part.shortest()));
                let plus = if imaginary.starts_with('-') { "" } else { "+" };
                let short = |text: &str| text.strip_suffix(".0").unwrap_or(text).to_owned();
                // As in Python, a real part of 0 is omitted, but a real part of -0 is shown.
                if real == "0.0" {
                    return format!("{}j", short(&imaginary));
                }
                format!("({}{plus}{}j)", short(&real), short(&imaginary))
            }
            Self::Datetime(None, _) | Self::Timedelta(None) => "'NaT'".into(),
            &Self::Datetime(Some(count), unit) => format!("'{}'", datetime(count, unit)),
            Self::Timedelta(Some(count)) => count.to_string(),
            // The text is in single quotes, so a double quote needs no backslash.
            Self::Bytes(bytes) => format!("b'{}'", bytes.escape_ascii().to_string().replace("\\\"", "\"")),
            Self::Str(text) => format!("'{}'", text.escape_debug().to_string().replace("\\\"", "\"")),
            Self::Void(bytes) => {
                let digits: Vec<_> = bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect();
                format!("b'{}'", digits.concat())
            }
            Self::Struct(fields) => {
                let values = fields.values();
                let last = if values.len() == 1 { "," } else { "" };
                format!("({}{last})", joined(values.map(|(_, value)| value.quoted_with(lists))))
            }
            &Self::List(list) => {
                let text = |number: usize| list.value(number).quoted_with(lists);
                let length = list.len();
                if lists == ListText::Whole || length <= 2 * EDGE_LEN {
                    return format!("[{}]", joined((0..length).map(text)));
                }
                let ends = (0..EDGE_LEN).map(text).chain(["...".into()]);
                format!("[{}]", joined(ends.chain((length - EDGE_LEN..length).map(text))))
            }
        }
    }
}

/// The texts, separated by commas.
fn joined(texts: impl Iterator<Item = String>) -> String {
    let mut all = String::new();
    for text in texts {
        all += if all.is_empty() { "" } else { ", " };
        all += &text;
    }
    all
}

/// The count of a datetime or timedelta. `None` for `i64::MIN`, which means `NaT`.
fn known(count: i64) -> Option<i64> {
    Some(count).filter(|&count| count != i64::MIN)
}

/// Decodes UTF-32, and replaces code points that Unicode does not have.
fn with_replacements(dtype: &Dtype, bytes: &[u8]) -> String {
    let code = |&bytes: &[u8; 4]| match dtype.byte_order() {
        Some(ByteOrder::Big) => u32::from_be_bytes(bytes),
        _ => u32::from_le_bytes(bytes),
    };
    let codes = bytes.as_chunks().0.iter().map(code);
    let text: String =
        codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.trim_end_matches('\0').into()
}
