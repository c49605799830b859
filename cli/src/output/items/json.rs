//! Items as JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use b2nd_serde::dtype::Dtype;
use serde::{Serialize, Serializer};

use super::float::Float;
use super::time::datetime;
use super::value::Value;
use crate::output::json;
use crate::text::hex;

/// Writes the items of an array as nested lists. Each call of `write` adds some items.
pub(crate) struct ValueWriter<'w, W> {
    out: W,
    dtype: &'w Dtype,
    shape: &'w [usize],
    /// The number of items that were written so far.
    written: usize,
}

impl<'w, W: Write> ValueWriter<'w, W> {
    pub(crate) fn new(out: W, dtype: &'w Dtype, shape: &'w [usize]) -> Self {
        Self { out, dtype, shape, written: 0 }
    }

    /// Writes the text before the lists.
    pub(crate) fn begin(&mut self, start: &[u8]) -> io::Result<()> {
        self.out.write_all(start)
    }

    /// Writes the next items, in C order.
    pub(crate) fn write(&mut self, items: &[u8]) -> io::Result<()> {
        for bytes in items.chunks_exact(self.dtype.item_size().max(1)) {
            let begun = self.begun();
            if self.written > 0 {
                self.repeat("]", begun)?;
                self.out.write_all(b",")?;
            }
            self.repeat("[", begun)?;
            json::write(&mut self.out, &Value::read(self.dtype, bytes))?;
            self.written += 1;
        }
        Ok(())
    }

    /// The number of lists that begin with the next item.
    fn begun(&self) -> usize {
        let mut items = 1_usize;
        let is_begun = |length: &&usize| {
            items = items.saturating_mul(**length);
            self.written.is_multiple_of(items)
        };
        self.shape.iter().rev().take_while(is_begun).count()
    }

    fn repeat(&mut self, bracket: &str, times: usize) -> io::Result<()> {
        self.out.write_all(bracket.repeat(times).as_bytes())
    }

    /// Ends all lists. Returns the writer `out`.
    pub(crate) fn end(mut self) -> io::Result<W> {
        if self.written > 0 {
            self.repeat("]", self.shape.len())?;
        } else {
            write_empty(&mut self.out, self.shape)?;
        }
        Ok(self.out)
    }
}

/// Writes the lists of an array without items.
fn write_empty(out: &mut impl Write, shape: &[usize]) -> io::Result<()> {
    let Some((&length, rest)) = shape.split_first() else { return Ok(()) };
    out.write_all(b"[")?;
    for number in 0..length {
        if number > 0 {
            out.write_all(b",")?;
        }
        write_empty(out, rest)?;
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
            // NaT is null, because JSON has no such value.
            Self::Datetime(None, _) | Self::Timedelta(None) => serializer.serialize_none(),
            &Self::Datetime(Some(count), unit) => serializer.serialize_str(&datetime(count, unit)),
            // Only the count is written: the unit is in the dtype, which is another field of the JSON object.
            Self::Timedelta(Some(count)) => serializer.serialize_i64(*count),
            Self::Bytes(bytes) => serializer.serialize_str(&text_of_bytes(bytes)),
            Self::Void(bytes) => serializer.serialize_str(&hex(bytes)),
            Self::Str(text) => serializer.serialize_str(text),
            Self::Struct(fields) => serializer.collect_map(fields.values()),
            Self::List(list) => serializer.collect_seq(list.values()),
        }
    }
}

/// The text of an item of dtype `S`. If its bytes are not UTF-8, each invalid byte is written as `\xNN`, and each
/// backslash as `\\`. In a valid text that contains `\x`, each backslash is written as `\\` too, so that a reader can
/// distinguish this `\x` from an escape.
fn text_of_bytes(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains("\\x") => text.into(),
        _ => {
            let mut text = String::new();
            for chunk in bytes.utf8_chunks() {
                text += &chunk.valid().replace('\\', "\\\\");
                text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
            }
            text.into()
        }
    }
}

/// A float as JSON: the stored number. NaN and infinities become strings, because JSON has no such numbers.
impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.exact() {
            float if float.is_nan() => serializer.serialize_str("NaN"),
            f64::INFINITY => serializer.serialize_str("Infinity"),
            f64::NEG_INFINITY => serializer.serialize_str("-Infinity"),
            float => serializer.serialize_f64(float),
        }
    }
}
