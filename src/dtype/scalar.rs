//! Scalar types: their names, type strings and properties.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::error::{self, ErrorKind, ParseError};
use super::repr::excerpt;
use super::types::{ByteOrder, Dtype, Extension, Kind, MAX_ITEM_SIZE, Spelling, TimeUnit};

/// The names that `np.dtype(name)` accepts on 64-bit Linux, each with NumPy's letter for its kind and with its size.
// A file does not record on which machine it was written, so this crate gives `long` the same meaning on every machine.
const NAMES: [(&str, char, usize); 50] = [
    ("bool", 'b', 1),
    ("bool_", 'b', 1),
    ("int8", 'i', 1),
    ("int16", 'i', 2),
    ("int32", 'i', 4),
    ("int64", 'i', 8),
    ("uint8", 'u', 1),
    ("uint16", 'u', 2),
    ("uint32", 'u', 4),
    ("uint64", 'u', 8),
    ("float16", 'f', 2),
    ("float32", 'f', 4),
    ("float64", 'f', 8),
    ("float128", 'f', 16),
    ("complex64", 'c', 8),
    ("complex128", 'c', 16),
    ("complex256", 'c', 32),
    ("object", 'O', 8),
    ("object_", 'O', 8),
    ("a", 'S', 0),
    ("bytes", 'S', 0),
    ("bytes_", 'S', 0),
    ("str", 'U', 0),
    ("str_", 'U', 0),
    ("unicode", 'U', 0),
    ("void", 'V', 0),
    ("byte", 'i', 1),
    ("short", 'i', 2),
    ("intc", 'i', 4),
    ("int", 'i', 8),
    ("int_", 'i', 8),
    ("intp", 'i', 8),
    ("long", 'i', 8),
    ("longlong", 'i', 8),
    ("ubyte", 'u', 1),
    ("ushort", 'u', 2),
    ("uintc", 'u', 4),
    ("uint", 'u', 8),
    ("uintp", 'u', 8),
    ("ulong", 'u', 8),
    ("ulonglong", 'u', 8),
    ("half", 'f', 2),
    ("single", 'f', 4),
    ("float", 'f', 8),
    ("double", 'f', 8),
    ("longdouble", 'f', 16),
    ("csingle", 'c', 8),
    ("complex", 'c', 16),
    ("cdouble", 'c', 16),
    ("clongdouble", 'c', 32),
];

/// NumPy's one-letter codes, each with NumPy's letter for its kind and with its size. A byte order may precede them.
/// The letters `b` and `c` are codes and also kinds, but with different meanings. The code `b` is an `int8`, and the
/// kind `b` is a Boolean. The code `c` is `S1`, and the kind `c` is a complex number.
const CODES: [(char, char, usize); 29] = [
    ('?', 'b', 1),
    ('b', 'i', 1),
    ('h', 'i', 2),
    ('i', 'i', 4),
    ('l', 'i', 8),
    ('q', 'i', 8),
    ('p', 'i', 8),
    ('n', 'i', 8),
    ('B', 'u', 1),
    ('H', 'u', 2),
    ('I', 'u', 4),
    ('L', 'u', 8),
    ('Q', 'u', 8),
    ('P', 'u', 8),
    ('N', 'u', 8),
    ('e', 'f', 2),
    ('f', 'f', 4),
    ('d', 'f', 8),
    ('g', 'f', 16),
    ('F', 'c', 8),
    ('D', 'c', 16),
    ('G', 'c', 32),
    ('O', 'O', 8),
    ('c', 'S', 1),
    ('S', 'S', 0),
    ('U', 'U', 0),
    ('V', 'V', 0),
    ('M', 'M', 8),
    ('m', 'm', 8),
];

/// The types of `ml_dtypes`: name, item size and kind.
const EXTENSIONS: [(&str, usize, char); 20] = [
    ("bfloat16", 2, 'V'),
    ("float8_e3m4", 1, 'V'),
    ("float8_e4m3", 1, 'V'),
    ("float8_e4m3b11fnuz", 1, 'V'),
    ("float8_e4m3fn", 1, 'V'),
    ("float8_e4m3fnuz", 1, 'V'),
    ("float8_e5m2", 1, 'f'),
    ("float8_e5m2fnuz", 1, 'V'),
    ("float8_e8m0fnu", 1, 'V'),
    ("float6_e2m3fn", 1, 'V'),
    ("float6_e3m2fn", 1, 'V'),
    ("float4_e2m1fn", 1, 'V'),
    ("int1", 1, 'V'),
    ("int2", 1, 'V'),
    ("int4", 1, 'V'),
    ("uint1", 1, 'V'),
    ("uint2", 1, 'V'),
    ("uint4", 1, 'V'),
    ("complex32", 4, 'W'),
    ("bcomplex32", 4, 'W'),
];

const TIME_UNITS: [&str; 14] =
    ["generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

const LETTER_EXPECTED: &str = "a type letter such as i, u or f";

const END_EXPECTED: &str = "the end of the type";

const UNIT_EXPECTED: &str = "a time unit (Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as)";

/// The number of bytes of a character in a `U`.
const CHARACTER: usize = 4;

/// The number of bytes of an `O` in memory.
const POINTER: usize = 8;

/// Whether a type string or the name of a type may begin with this character.
pub(super) fn is_beginning(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '<' | '>' | '|' | '=' | '?')
}

/// Reads a type string or the name of a type. An error has the offset of the wrong character in `text`, in bytes.
pub(super) fn parse(text: &str) -> Result<Dtype, ParseError> {
    // Names are tried before type strings, because a name such as `float` also begins with the letter of a type.
    if let Some(&(_, letter, size)) = NAMES.iter().find(|(name, ..)| *name == text) {
        return numpy(letter, size, ByteOrder::Little).ok_or_else(|| unknown(text));
    }
    if let Some(dtype) = extension(text) {
        return Ok(dtype);
    }
    for (name, letter) in [("datetime64", 'M'), ("timedelta64", 'm')] {
        if let Some(unit) = text.strip_prefix(name) {
            let dtype = numpy(letter, 8, ByteOrder::Little).ok_or_else(|| unknown(text))?;
            return in_time_units(dtype, text, unit);
        }
    }
    type_string(text)
}

/// The type of `ml_dtypes` with this name.
pub(super) fn extension(name: &str) -> Option<Dtype> {
    let &(name, item_size, letter) = EXTENSIONS.iter().find(|(known, ..)| *known == name)?;
    // The two complex types have kind `W`. A complex number has the alignment of its parts.
    let alignment = if letter == 'W' { item_size / 2 } else { item_size };
    Some(Dtype {
        kind: Kind::Extension(Extension { name, letter }),
        item_size,
        alignment,
        byte_order: Some(ByteOrder::Little),
        spelling: Spelling::TypeString,
    })
}

/// The NumPy type with this letter and item size. For a `U` the size is the number of characters.
pub(super) fn numpy(letter: char, size: usize, order: ByteOrder) -> Option<Dtype> {
    let (kind, alignment) = match (letter, size) {
        ('b', 1) => (Kind::Bool, 1),
        ('i', 1 | 2 | 4 | 8) => (Kind::Int, size),
        ('u', 1 | 2 | 4 | 8) => (Kind::Uint, size),
        ('f', 2 | 4 | 8 | 16) => (Kind::Float, size),
        ('c', 8 | 16 | 32) => (Kind::Complex, size / 2),
        // `O4` was written on a machine with pointers of 4 bytes. It is read as `O`.
        ('O', 4 | 8) => (Kind::Object, POINTER),
        ('M', 8) => (Kind::Datetime(TimeUnit::GENERIC), 8),
        ('m', 8) => (Kind::Timedelta(TimeUnit::GENERIC), 8),
        // `a` is an old letter for `S`.
        ('S' | 'a', _) => (Kind::Bytes, 1),
        ('U', _) => (Kind::Str, CHARACTER),
        ('V', _) => (Kind::Void, 1),
        _ => return None,
    };
    let item_size = match kind {
        Kind::Object => POINTER,
        Kind::Str => size.checked_mul(CHARACTER)?,
        _ => size,
    };
    // Python objects, `S`, `V` and items of one byte have no byte order. A `U` has a byte order even if it is empty.
    let has_order = match kind {
        Kind::Object | Kind::Bytes | Kind::Void => false,
        Kind::Str => true,
        _ => item_size > 1,
    };
    (item_size <= MAX_ITEM_SIZE).then_some(Dtype {
        kind,
        item_size,
        alignment,
        byte_order: has_order.then_some(order),
        spelling: Spelling::TypeString,
    })
}

/// Reads byte order, letter, size, and the unit of a time: `<M8[25s]`.
fn type_string(text: &str) -> Result<Dtype, ParseError> {
    let (order, rest) = match text.strip_prefix('>') {
        Some(rest) => (ByteOrder::Big, rest),
        None => (ByteOrder::Little, text.strip_prefix(['<', '|', '=']).unwrap_or(text)),
    };
    let mut chars = rest.chars();
    let letter = chars.next().ok_or_else(|| unexpected(text, rest, LETTER_EXPECTED))?;
    let sized = chars.as_str();
    // `parse` has already tried all known names, so a text that begins with two letters can only be an unknown name. A
    // message about the name is better than one about a missing size.
    let is_letter = |c: char| c.is_ascii_alphabetic();
    if text.starts_with(is_letter) && sized.starts_with(is_letter) {
        return Err(unknown(text));
    }
    let code = CODES.iter().find(|(code, ..)| *code == letter);
    let code = code.and_then(|&(_, letter, size)| numpy(letter, size, order));
    let expected = match (code, sizes(letter)) {
        (Some(dtype), _) if sized.is_empty() => return Ok(dtype),
        (_, Some(expected)) => expected,
        (Some(_), None) => return Err(unexpected(text, sized, END_EXPECTED)),
        (None, None) => return Err(unexpected(text, rest, LETTER_EXPECTED)),
    };
    let (size, rest) = split_digits(sized);
    if size.is_empty() {
        return Err(unexpected(text, sized, &format!("{expected} for '{letter}'")));
    }
    let is_time = matches!(letter, 'M' | 'm');
    let dtype = match size.parse() {
        // NumPy rejects a leading zero (`M08`) only if a unit follows.
        Ok(_) if is_time && size != "8" && !rest.is_empty() => None,
        Ok(size) => numpy(letter, size, order),
        Err(_) => None,
    };
    let dtype = dtype.ok_or_else(|| {
        let message = format!("expected {expected} for '{letter}', found {size:.40}");
        let kind = match letter {
            'S' | 'a' | 'U' | 'V' => ErrorKind::TooLarge,
            _ => ErrorKind::UnknownType,
        };
        ParseError::refused(text.len() - sized.len(), kind, message)
    })?;
    if is_time {
        in_time_units(dtype, text, rest)
    } else if rest.is_empty() {
        Ok(dtype)
    } else {
        Err(unexpected(text, rest, END_EXPECTED))
    }
}

/// The sizes that a letter can have, for an error message.
fn sizes(letter: char) -> Option<&'static str> {
    Some(match letter {
        'b' => "1 byte",
        'i' | 'u' => "1, 2, 4 or 8 bytes",
        'f' => "2, 4, 8 or 16 bytes",
        'c' => "8, 16 or 32 bytes",
        'O' => "4 or 8 bytes",
        'M' | 'm' => "8 bytes",
        'S' | 'a' | 'V' => "0 to 2147483647 bytes",
        'U' => "0 to 536870911 characters",
        _ => return None,
    })
}

/// Adds the unit of a time to its dtype. `unit` is the end of `text`, and must be empty or have the form `[25s]`.
fn in_time_units(mut dtype: Dtype, text: &str, unit: &str) -> Result<Dtype, ParseError> {
    let unit = time_unit(text, unit)?;
    dtype.kind = match dtype.kind {
        Kind::Timedelta(_) => Kind::Timedelta(unit),
        _ => Kind::Datetime(unit),
    };
    Ok(dtype)
}

fn time_unit(text: &str, unit: &str) -> Result<TimeUnit, ParseError> {
    if unit.is_empty() {
        return Ok(TimeUnit::GENERIC);
    }
    let counted =
        unit.strip_prefix('[').ok_or_else(|| unexpected(text, unit, "'[' or the end of the type"))?;
    let (count, named) = split_digits(counted);
    // NumPy stores the count of units, such as 25 in `[25s]`, in a C `int`.
    let count = match (count, count.parse::<i32>()) {
        ("", _) => 1,
        (_, Ok(count)) => count.unsigned_abs(),
        (_, Err(_)) => {
            let message = format!("expected a count of 0 to {}, found {count:.40}", i32::MAX);
            return Err(refused(text, counted, message));
        }
    };
    let after_name = named.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let (name, _) = named.split_at(named.len() - after_name.len());
    let known = TIME_UNITS.iter().find(|known| **known == name);
    let symbol = known.ok_or_else(|| {
        if name.is_empty() {
            return unexpected(text, named, UNIT_EXPECTED);
        }
        let found = excerpt(name);
        refused(text, named, format!("expected {UNIT_EXPECTED}, found {found}"))
    })?;
    let rest = after_name.strip_prefix(']').ok_or_else(|| unexpected(text, after_name, "']'"))?;
    if !rest.is_empty() {
        return Err(unexpected(text, rest, END_EXPECTED));
    }
    Ok(match *symbol {
        "generic" => TimeUnit::GENERIC,
        symbol => TimeUnit { count, symbol },
    })
}

fn split_digits(text: &str) -> (&str, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.split_at(text.len() - rest.len())
}

fn unknown(text: &str) -> ParseError {
    refused(text, text, format!("expected a type such as <i4 or float64, found {}", excerpt(text)))
}

/// The error for something unexpected at the start of `rest`, which must be a suffix of `text`.
fn unexpected(text: &str, rest: &str, expected: &str) -> ParseError {
    refused(text, rest, error::expected(expected, rest))
}

/// An error at the start of `rest`, which must be a suffix of `text`.
fn refused(text: &str, rest: &str, message: String) -> ParseError {
    let at = text.len() - rest.len();
    ParseError::refused(at, ErrorKind::UnknownType, message)
}

impl TimeUnit {
    const GENERIC: Self = Self { count: 1, symbol: "generic" };
}

/// The unit as printed after `M8` and `m8`, such as `[25s]`.
impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::GENERIC => Ok(()),
            Self { count: 1, symbol } => write!(f, "[{symbol}]"),
            Self { count, symbol } => write!(f, "[{count}{symbol}]"),
        }
    }
}
