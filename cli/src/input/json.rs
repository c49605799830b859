//! JSON values that a user gives, parsed without a silent loss.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// Parses a JSON value. A number without a fraction or an exponent is an integer, and must fit int64 or uint64. Any
/// other number becomes the nearest float64. An object must not have a key twice.
// `serde_json` alone turns a larger integer into a float, keeps only the last of two equal keys, and rounds some
// floats to the second nearest one.
pub(crate) fn json_value(text: &str) -> Result<Value, String> {
    let wrong = |error| format!("the value is not JSON: {error}; a string needs double quotes");
    // This first parse refuses arrays and objects that are nested too deeply, so it also limits the recursion of
    // `exact`.
    serde_json::from_str::<Value>(text).map_err(wrong)?;
    exact(serde_json::from_str(text).map_err(wrong)?)
}

fn exact(value: &RawValue) -> Result<Value, String> {
    let text = value.get();
    let unread = |error: serde_json::Error| error.to_string();
    match text.as_bytes().first() {
        Some(b'{') => {
            let mut object = Map::new();
            for (key, value) in serde_json::from_str::<Entries<'_>>(text).map_err(unread)?.0 {
                if object.contains_key(&key) {
                    return Err(format!("the value has the key {key:?} twice"));
                }
                object.insert(key, exact(value)?);
            }
            Ok(object.into())
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(text).map_err(unread)?;
            values.into_iter().map(exact).collect()
        }
        Some(b'-' | b'0'..=b'9') => number(text).map(Value::Number),
        _ => serde_json::from_str(text).map_err(unread),
    }
}

fn number(text: &str) -> Result<Number, String> {
    if !text.contains(['.', 'e', 'E']) {
        let number = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
        return number.map_err(|_| {
            format!(
                "{text} fits neither int64 nor uint64; write {text}.0 for the nearest float64, or a string"
            )
        });
    }
    let float = text.parse().ok().and_then(Number::from_f64);
    float.ok_or_else(|| format!("{text} is larger than any float64; write a string"))
}

/// The entries of an object, in order.
struct Entries<'j>(Vec<(String, &'j RawValue)>);

impl<'de: 'j, 'j> Deserialize<'de> for Entries<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = object.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_map(Collect).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_value_keeps_each_number_and_key_or_refuses_it() {
        let cases = [
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            // An integer has no negative zero.
            (" -0 ", "0"),
            ("-0.0", "-0.0"),
            ("1e3", "1000.0"),
            ("18446744073709551616.0", "1.8446744073709552e+19"),
            ("0.12345678901234567890123", "0.12345678901234568"),
            ("1e-400", "0.0"),
            (r#" {"b": [1, 2.5, {"é": null}], "a": "\u00e9\n"} "#, r#"{"b":[1,2.5,{"é":null}],"a":"é\n"}"#),
            ("[[], {}]", "[[],{}]"),
        ];
        for (text, expected) in cases {
            assert_eq!(json_value(text).map(|value| value.to_string()).as_deref(), Ok(expected), "{text}");
        }
        let too_large = "18446744073709551616 fits neither int64 nor uint64; write 18446744073709551616.0 for the \
                         nearest float64, or a string";
        let refused = [
            ("18446744073709551616", too_large),
            (r#"{"a": [1, {"b": 18446744073709551616}]}"#, too_large),
            (r#"[{"a": 1, "b": 2, "\u0061": 3}]"#, "the value has the key \"a\" twice"),
            (
                "1e400",
                "the value is not JSON: number out of range at line 1 column 5; a string needs double quotes",
            ),
        ];
        for (text, message) in refused {
            assert_eq!(json_value(text).unwrap_err(), message);
        }
        assert!(
            json_value("-9223372036854775809").unwrap_err().starts_with("-9223372036854775809 fits neither")
        );
        assert!(json_value(&"[".repeat(100_000)).is_err());
        assert!(
            json_value("mm").is_err() && json_value("\"\\ud800\"").is_err() && json_value("1 2").is_err()
        );
    }
}
