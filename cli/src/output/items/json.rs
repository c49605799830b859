//! Items as JSON.

use std::io::{self, Write};

use b2nd_frame::b2nd_serde::dtype::Dtype;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::float::Float;
use super::time::datetime;
use super::value::Value;
use crate::text::hex;

/// Writes the items of an array as lists in lists.
pub(crate) fn write_values(
    out: &mut impl Write,
    dtype: &Dtype,
    shape: &[usize],
    items: &[u8],
) -> io::Result<()> {
    let Some((&length, rest)) = shape.split_first() else {
        serde_json::to_writer(out, &Value::read(dtype, items))?;
        return Ok(());
    };
    let size = items.len().checked_div(length).unwrap_or_default();
    out.write_all(b"[")?;
    for number in 0..length {
        if number > 0 {
            out.write_all(b",")?;
        }
        write_values(out, dtype, rest, items.get(number * size..(number + 1) * size).unwrap_or_default())?;
    }
    out.write_all(b"]")
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i128(*value),
            Self::Float(float) => float.serialize(serializer),
            Self::Complex(real, imaginary) => [real, imaginary].serialize(serializer),
            Self::Datetime(None, _) | Self::Timedelta(None, _) => serializer.serialize_none(),
            &Self::Datetime(Some(count), unit) => serializer.serialize_str(&datetime(count, unit)),
            Self::Timedelta(Some(count), _) => serializer.serialize_i64(*count),
            Self::Bytes(bytes) | Self::Void(bytes) => serializer.serialize_str(&hex(bytes)),
            Self::Str(text) => serializer.serialize_str(text),
            Self::Struct(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
            Self::List(shape, items) => Lists { shape, items }.serialize(serializer),
        }
    }
}

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.json() {
            Ok(number) => serializer.serialize_f64(number),
            Err(text) => serializer.serialize_str(text),
        }
    }
}

/// A subarray as lists in lists.
struct Lists<'v> {
    shape: &'v [usize],
    items: &'v [Value<'v>],
}

impl Serialize for Lists<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((&length, shape)) = self.shape.split_first() else {
            return self.items.first().serialize(serializer);
        };
        let size = self.items.len().checked_div(length).unwrap_or_default();
        let mut list = serializer.serialize_seq(Some(length))?;
        for number in 0..length {
            let items = self.items.get(number * size..(number + 1) * size).unwrap_or_default();
            list.serialize_element(&Lists { shape, items })?;
        }
        list.end()
    }
}
