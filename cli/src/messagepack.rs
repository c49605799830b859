//! Values of metalayers, which are `MessagePack`, as JSON.

use crate::hex::hex;

/// `MessagePack` as JSON: numbers that JSON does not have as text, and bytes that are not `MessagePack` as digits.
pub(crate) fn value(bytes: &[u8]) -> serde_json::Value {
    let mut rest = bytes;
    match rmpv::decode::read_value(&mut rest) {
        Ok(value) if rest.is_empty() => json(value),
        _ => hex(bytes).into(),
    }
}

fn json(value: rmpv::Value) -> serde_json::Value {
    use rmpv::Value::{Array, Binary, Boolean, Ext, F32, F64, Integer, Map, Nil, String};
    match value {
        Nil => serde_json::Value::Null,
        Boolean(value) => value.into(),
        Integer(value) => match (value.as_i64(), value.as_u64()) {
            (Some(value), _) => value.into(),
            (_, Some(value)) => value.into(),
            _ => serde_json::Value::Null,
        },
        F32(value) if value.is_finite() => value.into(),
        F64(value) if value.is_finite() => value.into(),
        F32(value) => value.to_string().into(),
        F64(value) => value.to_string().into(),
        String(value) => std::string::String::from_utf8_lossy(value.as_bytes()).into(),
        Binary(bytes) | Ext(_, bytes) => hex(&bytes).into(),
        Array(values) => values.into_iter().map(json).collect(),
        Map(pairs) => pairs.into_iter().map(|(key, value)| (name(key), json(value))).collect(),
    }
}

/// A key, which must be a string in JSON.
fn name(key: rmpv::Value) -> String {
    match json(key) {
        serde_json::Value::String(name) => name,
        other => other.to_string(),
    }
}
