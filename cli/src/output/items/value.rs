//! One item of an array.

use std::fmt::{Display, Write};

use b2nd_frame::b2nd_serde::dtype::{ByteOrder, Dtype, Kind, TimeUnit};
use half::f16;

use super::float::Float;
use super::time::{datetime, timedelta};

/// An item, read from its bytes.
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
    Struct(Vec<(&'b str, Value<'b>)>),
    /// A subarray of a struct, with its shape.
    List(&'b [usize], Vec<Value<'b>>),
}

impl<'b> Value<'b> {
    /// Reads an item of this dtype. It never fails: bytes without a meaning become `Void`.
    pub(super) fn read(dtype: &'b Dtype, bytes: &'b [u8]) -> Self {
        let is_big = dtype.byte_order() == Some(ByteOrder::Big);
        let value = match dtype.kind() {
            Kind::Bool => bytes.first().map(|&byte| Self::Bool(byte != 0)),
            Kind::Int => signed(bytes, is_big).map(|value| Self::Integer(value.into())),
            Kind::Uint => number(bytes, is_big).map(|value| Self::Integer(value.into())),
            Kind::Float => float(bytes, is_big).map(Self::Float),
            Kind::Complex => {
                let (real, imaginary) = bytes.split_at(bytes.len() / 2);
                float(real, is_big).zip(float(imaginary, is_big)).map(|(real, i)| Self::Complex(real, i))
            }
            &Kind::Datetime(unit) => signed(bytes, is_big).map(|count| Self::Datetime(known(count), unit)),
            &Kind::Timedelta(unit) => signed(bytes, is_big).map(|count| Self::Timedelta(known(count), unit)),
            Kind::Bytes => Some(Self::Bytes(without_zeros(bytes))),
            Kind::Str => Some(Self::Str(text(bytes, is_big))),
            Kind::Struct(parts) => {
                let fields = parts.fields().iter().map(|field| {
                    let (dtype, start) = (field.dtype(), field.offset());
                    let bytes = bytes.get(start..start + dtype.item_size()).unwrap_or_default();
                    (field.name(), Self::read(dtype, bytes))
                });
                Some(Self::Struct(fields.collect()))
            }
            Kind::Subarray(subarray) => {
                let size = subarray.base().item_size().max(1);
                let items = bytes.chunks_exact(size).map(|bytes| Self::read(subarray.base(), bytes));
                Some(Self::List(subarray.shape(), items.collect()))
            }
            _ => None,
        };
        value.unwrap_or(Self::Void(bytes))
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
                let texts: Vec<_> = fields.iter().map(|(_, value)| value.quoted()).collect();
                let last = if texts.len() == 1 { "," } else { "" };
                format!("({}{last})", texts.join(", "))
            }
            Self::List(shape, items) => list(shape, &mut items.iter()),
        }
    }
}

/// A subarray, in brackets for each dimension.
fn list<'v>(shape: &[usize], items: &mut impl Iterator<Item = &'v Value<'v>>) -> String {
    match shape.split_first() {
        None => items.next().map(Value::quoted).unwrap_or_default(),
        Some((&length, rest)) => {
            let texts: Vec<_> = (0..length).map(|_| list(rest, items)).collect();
            format!("[{}]", texts.join(", "))
        }
    }
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

/// An integer of up to 8 bytes.
fn number(bytes: &[u8], is_big: bool) -> Option<u64> {
    let mut wide = [0; 8];
    let slots = wide.get_mut(..bytes.len())?;
    slots.copy_from_slice(bytes);
    if is_big {
        slots.reverse();
    }
    Some(u64::from_le_bytes(wide))
}

fn signed(bytes: &[u8], is_big: bool) -> Option<i64> {
    let unused = 64_u32.checked_sub(8 * u32::try_from(bytes.len()).ok()?).filter(|&unused| unused < 64)?;
    // Extends the sign.
    Some(number(bytes, is_big)?.cast_signed() << unused >> unused)
}

fn float(bytes: &[u8], is_big: bool) -> Option<Float> {
    let bits = number(bytes, is_big)?;
    Some(match bytes.len() {
        2 => Float::F16(f16::from_bits(u16::try_from(bits).ok()?)),
        4 => Float::F32(f32::from_bits(u32::try_from(bits).ok()?)),
        8 => Float::F64(f64::from_bits(bits)),
        _ => return None,
    })
}

/// The count; `None` for `i64::MIN`, which is `NaT`.
fn known(count: i64) -> Option<i64> {
    Some(count).filter(|&count| count != i64::MIN)
}

fn without_zeros(bytes: &[u8]) -> &[u8] {
    // NumPy removes the zeros at the end of a string, which pad it.
    let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.get(..length).unwrap_or_default()
}

/// A text of UTF-32. Invalid code points are replaced.
fn text(bytes: &[u8], is_big: bool) -> String {
    let code = |bytes| number(bytes, is_big).and_then(|code| u32::try_from(code).ok()).unwrap_or(u32::MAX);
    let text: String = bytes
        .chunks_exact(4)
        .map(|bytes| char::from_u32(code(bytes)).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.trim_end_matches('\0').into()
}
