//! One item of an array.

use std::fmt::{Display, Write};

use b2nd_serde::dtype::{ByteOrder, Dtype, Field, Kind, TimeUnit};
use half::f16;

use super::float::Float;
use super::time::{datetime, timedelta};

/// An item, read from its bytes. The values of a struct or subarray are read when they are used: in memory they would
/// be many times longer than their bytes.
#[derive(Debug)]
pub(super) enum Value<'b> {
    Bool(bool),
    Integer(i128),
    Float(Float),
    Complex(Float, Float),
    /// `None` is `NaT`.
    Datetime(Option<i64>, TimeUnit),
    Timedelta(Option<i64>, TimeUnit),
    Bytes(&'b [u8]),
    Str(String),
    /// Raw bytes: `void`, and numbers without a Rust type, such as float128.
    Void(&'b [u8]),
    Struct(Fields<'b>),
    /// A subarray of a struct.
    List(List<'b>),
}

/// The fields of a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'b> {
    fields: &'b [Field],
    bytes: &'b [u8],
}

impl<'b> Fields<'b> {
    /// The names and values.
    pub(super) fn values(self) -> impl ExactSizeIterator<Item = (&'b str, Value<'b>)> {
        self.fields.iter().map(move |field| {
            let (dtype, start) = (field.dtype(), field.offset());
            let bytes = self.bytes.get(start..start + dtype.item_size()).unwrap_or_default();
            (field.name(), Value::read(dtype, bytes))
        })
    }
}

/// A subarray: lists in lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'b> {
    shape: &'b [usize],
    base: &'b Dtype,
    bytes: &'b [u8],
}

impl<'b> List<'b> {
    /// The lists, or in the last dimension the values.
    pub(super) fn values(self) -> impl ExactSizeIterator<Item = Value<'b>> {
        let (length, shape) =
            self.shape.split_first().map_or((0, self.shape), |(&length, rest)| (length, rest));
        let size = self.bytes.len().checked_div(length).unwrap_or_default();
        (0..length).map(move |number| {
            let bytes = self.bytes.get(number * size..(number + 1) * size).unwrap_or_default();
            Value::in_list(List { shape, bytes, ..self })
        })
    }
}

/// The length of an item's text, roughly: the bytes of its values, and one for each empty list. Lists without values
/// have no bytes, and fields can overlap, so a short item can have a text of any length.
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

/// The number of values in lists of this shape. If the shape has a 0, the number of empty lists.
pub(super) fn list_count(shape: &[usize]) -> u64 {
    let lengths = shape.iter().take_while(|&&length| length > 0);
    lengths.fold(1, |count, &length| length.saturating_mul(count)) as u64
}

impl<'b> Value<'b> {
    /// Reads an item of this dtype. It never fails: bytes without a meaning become `Void`.
    pub(super) fn read(dtype: &'b Dtype, bytes: &'b [u8]) -> Self {
        let value = match (dtype.kind(), dtype.item_size()) {
            (Kind::Bool, _) => dtype.read_item(bytes).map(Self::Bool),
            (Kind::Int | Kind::Uint, _) => dtype.read_item(bytes).map(Self::Integer),
            (Kind::Float, 2) => dtype.read_item(bytes).map(|value| Self::Float(half(value))),
            (Kind::Float, 4) => dtype.read_item(bytes).map(|value| Self::Float(Float::F32(value))),
            (Kind::Float, _) => dtype.read_item(bytes).map(|value| Self::Float(Float::F64(value))),
            (Kind::Complex, 8) => {
                let complex = |(real, imaginary)| Self::Complex(Float::F32(real), Float::F32(imaginary));
                dtype.read_item(bytes).map(complex)
            }
            (Kind::Complex, _) => {
                let complex = |(real, imaginary)| Self::Complex(Float::F64(real), Float::F64(imaginary));
                dtype.read_item(bytes).map(complex)
            }
            (&Kind::Datetime(unit), _) => {
                dtype.read_item(bytes).map(|count| Self::Datetime(known(count), unit))
            }
            (&Kind::Timedelta(unit), _) => {
                dtype.read_item(bytes).map(|count| Self::Timedelta(known(count), unit))
            }
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

    /// A list, or below the last dimension the value itself.
    fn in_list(list: List<'b>) -> Self {
        if list.shape.is_empty() { Self::read(list.base, list.bytes) } else { Self::List(list) }
    }

    /// The item as NumPy prints a scalar. Structs, and values in them, have a simpler form of our own.
    pub(super) fn scalar(&self) -> String {
        match self {
            Self::Bytes(_) => format!("np.bytes_({})", self.quoted()),
            Self::Str(text) => text.clone(),
            _ => self.quoted(),
        }
    }

    /// The same, with quotes around a text.
    pub(super) fn quoted(&self) -> String {
        match self {
            Self::Bool(value) => if *value { "True" } else { "False" }.into(),
            Self::Integer(value) => value.to_string(),
            Self::Float(float) => float.scalar(true),
            Self::Complex(real, imaginary) => complex(*real, *imaginary),
            Self::Datetime(None, _) | Self::Timedelta(None, _) => "NaT".into(),
            &Self::Datetime(Some(count), unit) => datetime(count, unit),
            &Self::Timedelta(Some(count), unit) => timedelta(count, unit),
            Self::Bytes(bytes) => format!("b{}", quoted(bytes.iter().map(|&byte| char::from(byte)), true)),
            Self::Str(text) => quoted(text.chars(), false),
            Self::Void(bytes) => {
                let mut text = String::from("b'");
                // NumPy prints void items with capital digits.
                bytes.iter().for_each(|byte| add(&mut text, &format_args!("\\x{byte:02X}")));
                text + "'"
            }
            Self::Struct(fields) => {
                let values = fields.values();
                let last = if values.len() == 1 { "," } else { "" };
                format!("({}{last})", joined(values.map(|(_, value)| value)))
            }
            Self::List(list) => format!("[{}]", joined(list.values())),
        }
    }
}

/// The values, separated by commas.
fn joined<'v>(values: impl Iterator<Item = Value<'v>>) -> String {
    let mut text = String::new();
    for value in values {
        text += if text.is_empty() { "" } else { ", " };
        text += &value.quoted();
    }
    text
}

fn complex(real: Float, imaginary: Float) -> String {
    let text = imaginary.scalar(false);
    // Like Python, without a real part of +0.
    if real.wide() == 0.0 && real.wide().is_sign_positive() {
        return format!("{text}j");
    }
    let plus = if text.starts_with('-') { "" } else { "+" };
    format!("({}{plus}{text}j)", real.scalar(false))
}

/// A text or bytes as Python's `repr` prints them.
fn quoted(characters: impl Iterator<Item = char> + Clone, is_bytes: bool) -> String {
    let has = |quote| characters.clone().any(|c| c == quote);
    // Python uses double quotes only for a text with single and without double ones.
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    let mut text = String::from(quote);
    for c in characters {
        match c {
            '\n' => text += "\\n",
            '\r' => text += "\\r",
            '\t' => text += "\\t",
            '\\' => text += "\\\\",
            _ if c == quote => text.extend(['\\', c]),
            _ if c.is_ascii_graphic() || c == ' ' || !is_bytes && is_printable(c) => text.push(c),
            ..='\u{ff}' => add(&mut text, &format_args!("\\x{:02x}", u32::from(c))),
            ..='\u{ffff}' => add(&mut text, &format_args!("\\u{:04x}", u32::from(c))),
            _ => add(&mut text, &format_args!("\\U{:08x}", u32::from(c))),
        }
    }
    text.push(quote);
    text
}

fn add(text: &mut String, more: &dyn Display) {
    // Writing to a `String` cannot fail.
    let _ = write!(text, "{more}");
}

/// Whether `repr` prints a character that is not ASCII as it is. Rust escapes a combining mark only at the beginning.
fn is_printable(c: char) -> bool {
    !c.is_ascii() && ['a', c].iter().collect::<String>().escape_debug().nth(1) == Some(c)
}

/// Every `f32` of a float16 is one.
fn half(value: f32) -> Float {
    Float::F16(f16::from_f32(value))
}

/// The count; `None` for `i64::MIN`, which is `NaT`.
fn known(count: i64) -> Option<i64> {
    Some(count).filter(|&count| count != i64::MIN)
}

/// A text of UTF-32 with code points that Unicode does not have.
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
