//! An array as text, in the layout of NumPy's default options.

use std::io::{self, Write};

use b2nd_serde::dtype::{Dtype, Kind};

use super::float::FloatFormat;
use super::value::{EDGE_LEN, ListText, Value, value_count};

/// NumPy's default `threshold`. If an array has more values, only the edges are printed. NumPy counts the items. Here,
/// the values are counted, because a struct with subarrays can have any number of values.
const MAX_WHOLE: u64 = 1000;

/// NumPy's default `linewidth`.
const WIDTH: usize = 75;

/// The printed part of an array.
pub(crate) struct Edges {
    /// The shape of the whole array.
    shape: Vec<usize>,
    /// Whether only the edges are printed.
    pub(crate) is_summary: bool,
    /// Whether only the ends of the lists in an item are printed.
    cuts_lists: bool,
}

impl Edges {
    /// The edges of an array of `count` items; the whole array if it has at most `MAX_WHOLE` values.
    pub(crate) fn new(shape: Vec<usize>, count: u64, dtype: &Dtype) -> Self {
        let values = value_count(dtype);
        Self {
            shape,
            is_summary: count.saturating_mul(values) > MAX_WHOLE,
            cuts_lists: count > 0 && values > MAX_WHOLE,
        }
    }

    /// The whole array.
    pub(crate) fn whole(shape: Vec<usize>) -> Self {
        Self { shape, is_summary: false, cuts_lists: false }
    }

    fn lists(&self) -> ListText {
        if self.cuts_lists { ListText::Ends } else { ListText::Whole }
    }

    /// Whether only the ends of a dimension of this length are printed.
    fn cuts(&self, length: usize) -> bool {
        self.is_summary && length > 2 * EDGE_LEN
    }

    /// The number of printed items along a dimension of this length.
    fn shown(&self, length: usize) -> usize {
        if self.cuts(length) { 2 * EDGE_LEN } else { length }
    }

    /// The items and the ellipsis, in the order in which they are printed along a dimension of this length. An item is
    /// given by its position among the printed items. The ellipsis between the edges is `None`.
    fn indices(&self, length: usize) -> impl Iterator<Item = Option<usize>> {
        let ellipsis = self.cuts(length).then_some(EDGE_LEN);
        (0..self.shown(length)).flat_map(move |index| {
            let gap = (ellipsis == Some(index)).then_some(None);
            gap.into_iter().chain([Some(index)])
        })
    }
}

/// Writes an array and a line break. `items` are the printed items, in C order.
pub(crate) fn write_array(
    out: &mut impl Write,
    dtype: &Dtype,
    edges: &Edges,
    items: &[u8],
) -> io::Result<()> {
    if edges.shape.is_empty() {
        return writeln!(
            out,
            "{}",
            crate::text::clean(&Value::read(dtype, items).scalar_with(edges.lists()))
        );
    }
    if edges.shape.contains(&0) {
        // NumPy prints `[]` for every shape with a 0.
        return writeln!(out, "[]");
    }
    let format = Format::new(dtype, items);
    ArrayText { dtype, items, edges, format }.write(out, 0, 0)?;
    writeln!(out)
}

/// The text of an array.
struct ArrayText<'a> {
    dtype: &'a Dtype,
    items: &'a [u8],
    edges: &'a Edges,
    format: Format,
}

impl ArrayText<'_> {
    /// Writes a part of the array: the items with the same indices in the dimensions before `dimension`. `first` is the
    /// position in `items` of the first of these items. Lines after the first are indented by one space per open
    /// bracket.
    fn write(&self, out: &mut impl Write, dimension: usize, first: usize) -> io::Result<()> {
        let Some((&length, below)) = self.edges.shape.get(dimension..).and_then(<[_]>::split_first) else {
            return Ok(());
        };
        let nitems: usize = below.iter().map(|&length| self.edges.shown(length)).product();
        let indent = " ".repeat(dimension + 1);
        // The last line of the array also contains one closing bracket per dimension, so this number of columns is left
        // free. A subarray dtype can add any number of dimensions, so there may be more brackets than columns.
        let width = WIDTH.saturating_sub(self.edges.shape.len());
        // The first line needs no indent, because `dimension` characters of this line are already written: the brackets
        // or the indent of the dimensions before this one. Together with the bracket that is written here, they are as
        // wide as `indent`.
        out.write_all(b"[")?;
        let (mut line, mut start) = (indent.clone(), indent.len());
        for (number, index) in self.edges.indices(length).enumerate() {
            let word = match index {
                None => "...".into(),
                Some(index) if below.is_empty() => self.item(first + index),
                Some(_) => String::new(),
            };
            // NumPy counts characters, although some characters are two columns wide. A word that is longer than a line
            // stays whole.
            let is_full = line.chars().count() + 1 + word.chars().count() > width;
            if number > 0 && (is_full || !below.is_empty()) {
                // With more than two dimensions, empty lines separate the subarrays.
                let breaks = "\n".repeat(below.len().max(1));
                write!(out, "{}{breaks}", line.get(start..).unwrap_or_default().trim_end())?;
                (line, start) = (indent.clone(), 0);
            } else if number > 0 {
                line.push(' ');
            }
            line += &word;
            if let Some(index) = index.filter(|_| !below.is_empty()) {
                out.write_all(line.get(start..).unwrap_or_default().as_bytes())?;
                start = line.len();
                self.write(out, dimension + 1, first + index * nitems)?;
            }
        }
        write!(out, "{}]", line.get(start..).unwrap_or_default())
    }

    fn item(&self, number: usize) -> String {
        let size = self.dtype.item_size();
        let bytes = self.items.get(number * size..(number + 1) * size).unwrap_or_default();
        self.format.text(&Value::read(self.dtype, bytes), self.edges.lists())
    }
}

/// The format of the items of an array. Except with `Plain`, all items have the same width.
enum Format {
    Float(FloatFormat),
    Complex(Box<[FloatFormat; 2]>),
    /// The text of each item is aligned to the right in a field of this width.
    Wide(usize),
    Plain,
}

impl Format {
    fn new(dtype: &Dtype, items: &[u8]) -> Self {
        let values = || items.chunks_exact(dtype.item_size().max(1)).map(|bytes| Value::read(dtype, bytes));
        match dtype.kind() {
            // 5 is the width of `False`. It is used even if no item is false.
            Kind::Bool => Self::Wide(5),
            Kind::Int | Kind::Uint | Kind::Datetime(_) | Kind::Timedelta(_) => {
                Self::Wide(values().map(|value| value.quoted().len()).max().unwrap_or_default())
            }
            Kind::Float => {
                let float =
                    |value| if let Value::Float(float) = value { Some(float.shortest()) } else { None };
                Self::Float(FloatFormat::new(values().filter_map(float), false))
            }
            Kind::Complex => {
                let part = |is_real| {
                    move |value| match value {
                        Value::Complex(real, imaginary) => {
                            Some(if is_real { real } else { imaginary }.shortest())
                        }
                        _ => None,
                    }
                };
                Self::Complex(Box::new(
                    [true, false]
                        .map(|is_real| FloatFormat::new(values().filter_map(part(is_real)), !is_real)),
                ))
            }
            _ => Self::Plain,
        }
    }

    fn text(&self, value: &Value<'_>, lists: ListText) -> String {
        match (self, value) {
            (Self::Float(format), Value::Float(float)) => format.text(float.shortest()),
            (Self::Complex(formats), Value::Complex(real, imaginary)) => {
                let [real_format, imaginary_format] = &**formats;
                let text = imaginary_format.text(imaginary.shortest());
                // The `j` is put between the digits and the padding.
                let digits = text.trim_end_matches(' ');
                let spaces = " ".repeat(text.len() - digits.len());
                format!("{}{digits}j{spaces}", real_format.text(real.shortest()))
            }
            (Self::Wide(width), _) => format!("{:>width$}", value.quoted()),
            _ => value.quoted_with(lists),
        }
    }
}
