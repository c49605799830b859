//! Values of metalayers, which are `MessagePack`, as JSON.
//!
//! | `MessagePack` | JSON |
//! |---|---|
//! | inf, -inf, NaN | a string |
//! | bytes, and a string that is not UTF-8 | `"bytes:0a0b"` |
//! | an extension of type 5 | `"ext(5):0a0b"` |
//! | a map | an object; keys that are not strings are their text |
//! | a map with arrays or maps as keys, or with keys that have the same text | an array of `[key, value]` |
//!
//! Nothing is quoted twice, because each level of quotes doubles the backslashes. The text is at most about six times
//! as long as the value, because of `\u00xx` escapes.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt::{self, Write};

use rmp_serde::decode::Error;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::text::hex;

/// The longest text of a value, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;

/// The most levels of arrays and objects. Many JSON readers, such as `serde_json`, read no more than 128.
const DEEPEST: usize = 100;

/// `MessagePack` as JSON text, and other bytes as a string of digits; or the reason why the text cannot be shown.
///
/// A text longer than `longest` or `LONGEST` is not shown.
pub(crate) fn value(bytes: &[u8], longest: usize) -> Result<Box<RawValue>, String> {
    let longest = longest.min(LONGEST);
    let too_long = || format!("a text of more than {longest} bytes is too long to show");
    let too_deep = || format!("more than {DEEPEST} levels are too deep to show");
    let room = Cell::new(Some(longest));
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    // Each level is a call, and a few bytes can have any depth.
    deserializer.set_max_depth(DEEPEST);
    let shown = ToJson(&room).deserialize(&mut deserializer);
    let json = match shown {
        // Checked first: when the room runs out, the deserializer also returns an error, which would hide the reason.
        _ if room.get().is_none() => return Err(too_long()),
        Ok(Shown { depth, .. }) if depth > DEEPEST => return Err(too_deep()),
        Err(Error::DepthLimitExceeded) => return Err(too_deep()),
        // At the end of the bytes, reading the next marker fails: nothing follows the value.
        Ok(Shown { json, .. })
            if matches!(IgnoredAny::deserialize(&mut deserializer), Err(Error::InvalidMarkerRead(_))) =>
        {
            json
        }
        _ => digits(bytes, longest).ok_or_else(too_long)?,
    };
    RawValue::from_string(json).map_err(|error| error.to_string())
}

fn digits(bytes: &[u8], longest: usize) -> Option<String> {
    // Two digits a byte, and the quotes.
    (bytes.len() < longest / 2).then(|| format!("\"{}\"", hex(bytes)))
}

/// A value as JSON text.
struct Shown {
    json: String,
    /// The levels of arrays and objects.
    depth: usize,
}

impl Shown {
    /// The text as the key of an object, which must be a string; `None` for an array or object.
    fn key(&self) -> Option<String> {
        match self.json.bytes().next() {
            Some(b'"') => Some(self.json.clone()),
            Some(b'[' | b'{') => None,
            _ => Some(format!("\"{}\"", self.json)),
        }
    }
}

/// Shows a value within the remaining room for text, which is `None` once it was exceeded.
#[derive(Clone, Copy)]
struct ToJson<'r>(&'r Cell<Option<usize>>);

impl ToJson<'_> {
    /// Reserves room for a number of bytes.
    fn take<E: serde::de::Error>(self, length: usize) -> Result<(), E> {
        self.0.set(self.0.get().and_then(|room| room.checked_sub(length)));
        self.0.get().map(|_| ()).ok_or_else(|| E::custom("too long"))
    }

    fn scalar<E: serde::de::Error>(self, json: String) -> Result<Shown, E> {
        self.take(json.len())?;
        Ok(Shown { json, depth: 0 })
    }

    /// Bytes as hexadecimal digits, after a prefix for their type.
    fn bytes<E: serde::de::Error>(self, what: fmt::Arguments<'_>, bytes: &[u8]) -> Result<Shown, E> {
        self.take(bytes.len().saturating_mul(2))?;
        self.scalar(format!("\"{what}:{}\"", hex(bytes)))
    }
}

impl<'de> DeserializeSeed<'de> for ToJson<'_> {
    type Value = Shown;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shown, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ToJson<'_> {
    type Value = Shown;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessagePack")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Shown, E> {
        self.scalar("null".into())
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Shown, E> {
        self.scalar(value.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Shown, E> {
        self.scalar(value.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Shown, E> {
        self.scalar(value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Shown, E> {
        if !value.is_finite() {
            return self.scalar(format!("\"{value}\""));
        }
        self.scalar(serde_json::to_string(&value).map_err(E::custom)?)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Shown, E> {
        self.scalar(serde_json::to_string(value).map_err(E::custom)?)
    }

    fn visit_bytes<E: serde::de::Error>(self, value: &[u8]) -> Result<Shown, E> {
        self.bytes(format_args!("bytes"), value)
    }

    /// An extension, in the form of `rmp_serde`.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, extension: D) -> Result<Shown, D::Error> {
        // It passes an extension as a pair of its type and its bytes.
        let (kind, bytes) = <(i8, &[u8])>::deserialize(extension)?;
        self.bytes(format_args!("ext({kind})"), bytes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Shown, A::Error> {
        let mut json = String::from("[");
        let mut depth = 0;
        while let Some(value) = values.next_element_seed(self)? {
            self.take(1)?;
            depth = depth.max(value.depth);
            json.extend([separator(&json), &value.json]);
        }
        json.push(']');
        self.take(2)?;
        Ok(Shown { json, depth: 1 + depth })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shown, A::Error> {
        // Both forms are written, because any later key can rule the object out.
        let (mut object, mut pairs) = (String::from("{"), String::from("["));
        let mut keys = HashSet::new();
        let mut is_object = true;
        let mut depth = 0;
        while let Some(key) = entries.next_key_seed(self)? {
            let value = entries.next_value_seed(self)?;
            // The brackets and commas of a pair.
            self.take(4)?;
            depth = depth.max(key.depth).max(value.depth);
            // Writing to a `String` cannot fail.
            let _ = write!(pairs, "{}[{},{}]", separator(&pairs), key.json, value.json);
            match key.key().filter(|_| is_object) {
                Some(key) => {
                    let _ = write!(object, "{}{key}:{}", separator(&object), value.json);
                    is_object = keys.insert(key);
                }
                None => is_object = false,
            }
        }
        self.take(2)?;
        let (mut json, end, levels) = if is_object { (object, '}', 1) } else { (pairs, ']', 2) };
        json.push(end);
        Ok(Shown { json, depth: levels + depth })
    }
}

/// The separator of the values of an array or object.
fn separator(before: &str) -> &'static str {
    if before.len() > 1 { "," } else { "" }
}
