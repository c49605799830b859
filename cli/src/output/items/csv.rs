//! Items as comma-separated values.

use std::io::{self, Write};

use b2nd_serde::dtype::{Dtype, Kind};
use serde_json::Value as Json;

use super::value::Value;
use crate::text::clean;

/// Writes the items of an array as CSV (RFC 4180), with a record for each row. Each call of `write` adds some items.
pub(crate) struct CsvWriter<'w, W: Write> {
    out: csv::Writer<W>,
    dtype: &'w Dtype,
    /// The number of items in a row.
    length: usize,
    /// The number of items in the current row so far.
    written: usize,
    /// Whether the output is a terminal, so that control characters must be replaced.
    is_terminal: bool,
}

impl<'w, W: Write> CsvWriter<'w, W> {
    /// The error is the reason why an array of this shape cannot be written as rows of cells.
    pub(crate) fn new(out: W, is_terminal: bool, dtype: &'w Dtype, shape: &[usize]) -> Result<Self, String> {
        let is_struct = matches!(dtype.kind(), Kind::Struct(_));
        let (most, items) = if is_struct { (1, "structs") } else { (2, "items") };
        if shape.len() > most {
            let rank = shape.len();
            return Err(format!(
                "CSV has at most {most} dimensions of {items}, but there are {rank}; use --slice"
            ));
        }
        let out = csv::WriterBuilder::new().flexible(true).from_writer(out);
        let length = shape.get(1).copied().unwrap_or(1);
        Ok(Self { out, dtype, length, written: 0, is_terminal })
    }

    /// Writes the names of the columns, if the items are structs.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        if let Kind::Struct(_) = self.dtype.kind() {
            let mut names = Vec::new();
            add_columns(self.dtype, "", &mut names);
            names.iter().try_for_each(|name| self.cell(name))?;
            self.end_row()?;
        }
        Ok(())
    }

    /// Writes the next items, in C order.
    pub(crate) fn write(&mut self, items: &[u8]) -> io::Result<()> {
        for bytes in items.chunks_exact(self.dtype.item_size().max(1)) {
            self.cells(&Value::read(self.dtype, bytes))?;
            self.written += 1;
            if self.written == self.length {
                self.end_row()?;
                self.written = 0;
            }
        }
        Ok(())
    }

    /// Writes the cells of an item. A cell contains the JSON text of the value, without quotes. `NaT` is an empty cell.
    fn cells(&mut self, value: &Value<'_>) -> io::Result<()> {
        match value {
            Value::Struct(fields) => fields.values().try_for_each(|(_, value)| self.cells(&value)),
            Value::List(list) => list.values().try_for_each(|value| self.cells(&value)),
            &Value::Complex(real, imaginary) => {
                [real, imaginary].map(Value::Float).iter().try_for_each(|part| self.cells(part))
            }
            _ => match serde_json::to_value(value) {
                Ok(Json::String(text)) => self.cell(&text),
                Ok(Json::Null) | Err(_) => self.cell(""),
                Ok(other) => self.cell(&other.to_string()),
            },
        }
    }

    fn cell(&mut self, text: &str) -> io::Result<()> {
        let written =
            if self.is_terminal { self.out.write_field(&*clean(text)) } else { self.out.write_field(text) };
        written.map_err(into_io)
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.out.write_record(None::<&[u8]>).map_err(into_io)
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Converts an error of the crate csv to an `io::Error` of the same kind. The kind is needed to recognize a closed
/// pipe, but the conversion in the crate csv loses it.
fn into_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Adds the names of the columns of an item. Parts of a nested field, subarray or complex number have names with dots.
fn add_columns(dtype: &Dtype, name: &str, names: &mut Vec<String>) {
    let within = |part: &str| if name.is_empty() { part.into() } else { format!("{name}.{part}") };
    match dtype.kind() {
        Kind::Struct(_) => {
            dtype.fields().iter().for_each(|field| add_columns(field.dtype(), &within(field.name()), names));
        }
        Kind::Subarray(list) => add_elements(list.shape(), list.base(), name, names),
        Kind::Complex => names.extend(["real", "imag"].map(within)),
        _ => names.push(name.into()),
    }
}

fn add_elements(shape: &[usize], base: &Dtype, name: &str, names: &mut Vec<String>) {
    match shape.split_first() {
        None => add_columns(base, name, names),
        Some((&length, shape)) => {
            (0..length).for_each(|number| add_elements(shape, base, &format!("{name}.{number}"), names));
        }
    }
}
