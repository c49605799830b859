//! Converts the values of metalayers from `MessagePack` to JSON.
//!
//! | `MessagePack` | JSON |
//! |---|---|
//! | inf, -inf, NaN | a string |
//! | bytes, and a string that is not UTF-8 | `"bytes:0a0b"` |
//! | an extension of type 5 | `"ext(5):0a0b"` |
//! | a map | an object; a key that is not a string becomes its text |
//! | a map with arrays or maps as keys, or with keys that have the same text | an array of `[key, value]` |
//!
//! No JSON string contains the JSON text of an array or object. If such strings were nested, each level would double
//! the backslashes, and the text could become very long. Without such strings, the text is at most about six times as
//! long as the value: in the worst case, each byte becomes an escape `\u00xx`.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use rmp_serde::decode::Error;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::{RawValue, Value, to_raw_value};

use crate::text::hex;

/// The maximum length in bytes of a value's JSON text if several values are shown. A longer text is not shown.
pub(crate) const LONGEST: usize = 1 << 20;

/// The maximum depth of arrays and maps. Many JSON readers, such as `serde_json`, read at most 128 levels, and a map
/// can need two levels of JSON.
const DEEPEST: usize = 50;

/// Converts `MessagePack` to JSON text, and other bytes to a string of hexadecimal digits. The error is the reason why
/// the text cannot be shown.
///
/// Fails if the text would be longer than `longest` bytes.
pub(crate) fn value(bytes: &[u8], longest: usize) -> Result<Box<RawValue>, String> {
    let too_long = || format!("a text of more than {longest} bytes is too long to show");
    let room = Cell::new(Some(longest));
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    // Each array or map inside another one is read by a nested call. A single byte can be the start of an array, so
    // even a short value can have very many levels. Without a limit of the depth, the stack could overflow.
    deserializer.set_max_depth(DEEPEST);
    let value = match ToJson(&room).deserialize(&mut deserializer) {
        // This case must be first. If the JSON text became too long, `room` contains `None`, and `deserialize` has
        // returned an error. A later case would take this error for a sign that the bytes are not `MessagePack`.
        _ if room.get().is_none() => return Err(too_long()),
        Err(Error::DepthLimitExceeded) => {
            return Err(format!("nested too deep to show: more than {DEEPEST} levels"));
        }
        // No bytes may follow the value. So an attempt to read a second value must fail at its marker, the first byte.
        Ok(value)
            if matches!(IgnoredAny::deserialize(&mut deserializer), Err(Error::InvalidMarkerRead(_))) =>
        {
            value
        }
        _ if bytes.len() < longest / 2 => hex(bytes).into(),
        _ => return Err(too_long()),
    };
    let text = to_raw_value(&value).map_err(|error| error.to_string())?;
    if text.get().len() > longest { Err(too_long()) } else { Ok(text) }
}

/// Converts a value to JSON while it is read. The cell contains the room: the number of bytes that are left for the
/// text of the value. After the room was exceeded, the cell contains `None`.
#[derive(Clone, Copy)]
struct ToJson<'r>(&'r Cell<Option<usize>>);

impl ToJson<'_> {
    /// Subtracts the minimum length of a value's text from the room, and returns the value. Fails if the room is too
    /// small.
    fn take<E: serde::de::Error>(self, length: usize, value: impl Into<Value>) -> Result<Value, E> {
        self.0.set(self.0.get().and_then(|room| room.checked_sub(length)));
        self.0.get().map(|_| value.into()).ok_or_else(|| E::custom("too long"))
    }

    /// Bytes as hexadecimal digits, after a prefix for their type.
    fn bytes<E: serde::de::Error>(self, what: fmt::Arguments<'_>, bytes: &[u8]) -> Result<Value, E> {
        self.take(bytes.len().saturating_mul(2), ())?;
        Ok(format!("{what}:{}", hex(bytes)).into())
    }
}

impl<'de> DeserializeSeed<'de> for ToJson<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ToJson<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessagePack")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.take(4, ())
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.take(4, value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.take(1, value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.take(1, value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() { self.take(1, value) } else { self.take(1, value.to_string()) }
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len() + 1, ())?;
        Ok(value.into())
    }

    fn visit_bytes<E: serde::de::Error>(self, value: &[u8]) -> Result<Value, E> {
        self.bytes(format_args!("bytes"), value)
    }

    /// Reads an extension, which `rmp_serde` passes as a newtype struct.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, extension: D) -> Result<Value, D::Error> {
        // The newtype struct contains a pair: the type of the extension and its bytes.
        let (kind, bytes) = <(i8, &[u8])>::deserialize(extension)?;
        self.bytes(format_args!("ext({kind})"), bytes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        self.take::<A::Error>(2, ())?;
        let mut list = Vec::new();
        while let Some(value) = values.next_element_seed(self)? {
            list.push(value);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.take::<A::Error>(2, ())?;
        let mut pairs = Vec::new();
        while let Some(key) = entries.next_key_seed(self)? {
            pairs.push((key, entries.next_value_seed(self)?));
        }
        // A JSON object is possible only if every key has a text (see `name`), and if no two keys have the same text.
        // So all keys are read before the choice between an object and an array of pairs.
        let keys: Option<HashSet<_>> = pairs.iter().map(|(key, _)| name(key)).collect();
        if keys.is_some_and(|keys| keys.len() == pairs.len()) {
            return Ok(pairs.into_iter().filter_map(|(key, value)| Some((name(&key)?, value))).collect());
        }
        Ok(pairs.into_iter().map(|(key, value)| Value::Array(vec![key, value])).collect())
    }
}

/// The text of a value that is used as the key of an object; `None` if the value is an array or an object.
fn name(key: &Value) -> Option<String> {
    match key {
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
        scalar => Some(scalar.to_string()),
    }
}
