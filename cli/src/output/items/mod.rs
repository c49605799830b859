//! The items of an array, as text, as JSON, as CSV and as a NumPy file.

mod float;
mod time;

mod value;

mod compare;
mod json;
mod level;
mod npy;
mod numpy;
mod stats;

mod csv;

pub(crate) use compare::Comparison;
pub(crate) use csv::CsvWriter;
pub(crate) use json::ValueWriter;
pub(crate) use level::LevelRange;
pub(crate) use npy::{Item, npy_header, why_too_many_lists};
pub(crate) use numpy::{Edges, write_array};
pub(crate) use stats::{Number, Stats, ValueCount, ValueCounts};
pub(crate) use value::{EDGE_LEN, Value};
