//! An array as text, as NumPy 2.4 prints it with its default options.

use std::io::{self, Write};

use b2nd_serde::dtype::{Dtype, Kind};

use super::float::{Float, FloatFormat};
use super::time::datetime;
use super::value::Value;

/// NumPy's default `threshold`: of an array with more items, only the edges are printed.
pub(crate) const MAX_WHOLE: u64 = 1000;

/// NumPy's default `linewidth`.
const WIDTH: usize = 75;

/// The printed part of an array.
pub(crate) struct Edges {
    /// The shape of the whole array.
    pub(crate) shape: Vec<usize>,
    /// Whether only the edges are printed.
    pub(crate) is_summary: bool,
}

impl Edges {
    /// NumPy's default `edgeitems`: the items at each end of a dimension.
    pub(crate) const LEN: usize = 3;

    /// Whether only the ends of a dimension of this length are printed.
    fn cuts(&self, length: usize) -> bool {
        self.is_summary && length > 2 * Self::LEN
    }

    /// The number of printed items along each dimension.
    pub(crate) fn shown(&self) -> Vec<usize> {
        let shown = |&length| if self.cuts(length) { 2 * Self::LEN } else { length };
        self.shape.iter().map(shown).collect()
    }
}

/// Writes an array with a line break at its end. `items` are the printed ones, in C order.
pub(crate) fn write_array(
    out: &mut impl Write,
    dtype: &Dtype,
    edges: &Edges,
    items: &[u8],
) -> io::Result<()> {
    if edges.shape.is_empty() {
        return writeln!(out, "{}", crate::text::clean(&Value::read(dtype, items).scalar()));
    }
    if edges.shape.contains(&0) {
        // NumPy prints the same for every shape with a 0.
        return writeln!(out, "[]");
    }
    let size = dtype.item_size().max(1);
    let format = Format::new(dtype, items);
    let writer = ArrayWriter { dtype, size, items, edges, shown: edges.shown(), format };
    writer.write(out, 0, 0, WIDTH)?;
    writeln!(out)
}

/// The state of writing an array.
struct ArrayWriter<'a> {
    dtype: &'a Dtype,
    size: usize,
    items: &'a [u8],
    edges: &'a Edges,
    shown: Vec<usize>,
    format: Format,
}

/// An index along a dimension, or the ellipsis between the edges.
enum IndexOrEllipsis {
    Index(usize),
    Ellipsis,
}

impl ArrayWriter<'_> {
    /// Writes the subarray of `dimension` that begins at item `first`. Lines after the first one are indented by the
    /// brackets before it.
    fn write(&self, out: &mut impl Write, dimension: usize, first: usize, width: usize) -> io::Result<()> {
        let indent = " ".repeat(dimension + 1);
        let below: usize = self.shown.iter().skip(dimension + 1).product();
        let rest = self.shown.len() - dimension - 1;
        out.write_all(b"[")?;
        if rest == 0 {
            // The closing bracket takes a column.
            self.row(out, dimension, first, (&indent, width.saturating_sub(1)))?;
        } else {
            for (number, index) in self.indices(dimension).enumerate() {
                if number > 0 {
                    // Of more than two dimensions, empty lines separate the subarrays.
                    write!(out, "{}{indent}", "\n".repeat(rest))?;
                }
                match index {
                    IndexOrEllipsis::Index(index) => {
                        self.write(out, dimension + 1, first + index * below, width.saturating_sub(1))?;
                    }
                    IndexOrEllipsis::Ellipsis => out.write_all(b"...")?,
                }
            }
        }
        out.write_all(b"]")
    }

    /// Writes the last dimension, in as many lines as it needs.
    fn row(
        &self,
        out: &mut impl Write,
        dimension: usize,
        first: usize,
        (indent, width): (&str, usize),
    ) -> io::Result<()> {
        // The brackets before the first line are its indent.
        let (mut line, mut is_first) = (indent.to_owned(), true);
        let mut flush = |line: &str| {
            let start = if std::mem::take(&mut is_first) { indent.len() } else { 0 };
            out.write_all(line.get(start..).unwrap_or_default().as_bytes())
        };
        for (number, index) in self.indices(dimension).enumerate() {
            if number > 0 {
                line.push(' ');
            }
            let word = match index {
                IndexOrEllipsis::Index(index) => self.item(first + index),
                IndexOrEllipsis::Ellipsis => "...".into(),
            };
            // NumPy counts characters, however wide they are.
            let length = |text: &str| text.chars().count();
            // A word that is longer than a line stays whole.
            if length(&line) + length(&word) > width && line.len() > indent.len() {
                flush(line.trim_end_matches(' '))?;
                flush("\n")?;
                indent.clone_into(&mut line);
            }
            line += &word;
        }
        flush(&line)
    }

    fn indices(&self, dimension: usize) -> impl Iterator<Item = IndexOrEllipsis> {
        let shown = self.shown.get(dimension).copied().unwrap_or_default();
        let is_cut = self.edges.shape.get(dimension).is_some_and(|&length| self.edges.cuts(length));
        let ellipsis = move |index| (is_cut && index == Edges::LEN).then_some(IndexOrEllipsis::Ellipsis);
        (0..shown).flat_map(move |index| ellipsis(index).into_iter().chain([IndexOrEllipsis::Index(index)]))
    }

    fn item(&self, number: usize) -> String {
        let bytes = self.items.get(number * self.size..(number + 1) * self.size).unwrap_or_default();
        self.format.text(&Value::read(self.dtype, bytes))
    }
}

/// How the items of an array are printed, so that all have the same width.
enum Format {
    Bool,
    /// Aligned to the right.
    Wide(usize),
    Float(FloatFormat),
    Complex(Box<[FloatFormat; 2]>),
    Plain,
}

impl Format {
    fn new(dtype: &Dtype, items: &[u8]) -> Self {
        let values = || items.chunks_exact(dtype.item_size().max(1)).map(|bytes| Value::read(dtype, bytes));
        match dtype.kind() {
            Kind::Bool => Self::Bool,
            Kind::Int | Kind::Uint => {
                let number = |value| if let Value::Integer(number) = value { number } else { 0 };
                Self::Wide(widest(values().map(number), |number| number.to_string()))
            }
            Kind::Datetime(unit) => {
                let text = |count| format!("'{}'", datetime(count, *unit));
                Self::Wide(with_nat(|| values().map(|value| count(&value)), text))
            }
            Kind::Timedelta(_) => {
                Self::Wide(with_nat(|| values().map(|value| count(&value)), |count| count.to_string()))
            }
            Kind::Float if dtype.item_size() <= 8 => {
                Self::Float(FloatFormat::new(values().filter_map(|value| part(&value, false)), false))
            }
            Kind::Complex if dtype.item_size() <= 16 => {
                Self::Complex(Box::new([false, true].map(|imaginary| {
                    FloatFormat::new(values().filter_map(|value| part(&value, imaginary)), imaginary)
                })))
            }
            _ => Self::Plain,
        }
    }

    fn text(&self, value: &Value<'_>) -> String {
        match (self, value) {
            // As wide as False.
            (Self::Bool, Value::Bool(true)) => " True".into(),
            (&Self::Wide(width), _) => {
                let text = match value {
                    Value::Datetime(None, _) | Value::Timedelta(None, _) => "'NaT'".into(),
                    &Value::Datetime(Some(count), unit) => format!("'{}'", datetime(count, unit)),
                    Value::Timedelta(Some(count), _) => count.to_string(),
                    other => other.quoted(),
                };
                format!("{text:>width$}")
            }
            (Self::Float(format), &Value::Float(float)) => format.text(float),
            (Self::Complex(formats), &Value::Complex(real, imaginary)) => {
                let [real_format, imaginary_format] = &**formats;
                let text = imaginary_format.text(imaginary);
                // The j follows the digits, before the padding.
                let digits = text.trim_end_matches(' ');
                let spaces = " ".repeat(text.len() - digits.len());
                format!("{}{digits}j{spaces}", real_format.text(real))
            }
            (_, other) => other.quoted(),
        }
    }
}

/// The real or the imaginary part of a number.
fn part(value: &Value<'_>, imaginary: bool) -> Option<Float> {
    match *value {
        Value::Float(float) => Some(float),
        Value::Complex(real, i) => Some(if imaginary { i } else { real }),
        _ => None,
    }
}

fn count(value: &Value<'_>) -> Option<i64> {
    match *value {
        Value::Datetime(count, _) | Value::Timedelta(count, _) => count,
        _ => None,
    }
}

/// The greater width of the least and the greatest number, which NumPy uses for all.
fn widest<N: Ord + Copy>(numbers: impl Iterator<Item = N>, text: impl Fn(N) -> String) -> usize {
    let range = numbers.fold(None, |range, number| {
        let (least, most) = range.unwrap_or((number, number));
        Some((number.min(least), number.max(most)))
    });
    range.map_or(0, |(least, most)| text(least).len().max(text(most).len()))
}

/// The same for datetimes and durations, some of which may be `NaT`.
fn with_nat<I: Iterator<Item = Option<i64>>>(counts: impl Fn() -> I, text: impl Fn(i64) -> String) -> usize {
    let has_nat = counts().any(|count| count.is_none());
    widest(counts().flatten(), text).max(if has_nat { "'NaT'".len() } else { 0 })
}
