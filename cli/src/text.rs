//! Formats numbers, names and sizes for people.

use std::fmt::{self, Display, Write as _};
use std::path::Path;

use b2nd_frame::{ArrayHeader, PackedTensor};
use b2nd_serde::dtype::Dtype;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text for an absent value.
pub(crate) const ABSENT: &str = "none";

/// Numbers in the form of a Python tuple.
pub(crate) struct Tuple<'a, T>(pub(crate) &'a [T]);

impl<T: Display> Display for Tuple<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        for (index, item) in self.0.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            write!(f, "{separator}{item}")?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

/// Numbers in the form that the options of `b2nd encode` accept. It is shorter than the form of a tuple.
pub(crate) fn short<T: Display>(numbers: &[T]) -> String {
    if numbers.is_empty() {
        return "()".into();
    }
    let mut text = String::new();
    for number in numbers {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{}{number}", if text.is_empty() { "" } else { "," });
    }
    text
}

/// A number of bytes, displayed twice: in bytes and, in parentheses, with a unit such as MiB.
pub(crate) struct Size<N>(pub(crate) N);

impl<N: Copy + Display + Into<i128>> Display for Size<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, with_unit(self.0.into(), 2))
    }
}

/// A number of bytes with a unit such as MiB.
pub(crate) fn short_size(bytes: impl Into<i128>) -> String {
    with_unit(bytes.into(), 1)
}

/// A number of bytes in a message: exact, and from 1024 on also with a unit.
pub(crate) fn byte_count(number: u64) -> String {
    let exact = count(number, "byte");
    if number < 1024 { exact } else { format!("{exact} ({})", short_size(number)) }
}

/// Formats a size in the largest unit in which it is at least 1, with at most `decimals` decimals.
fn with_unit(bytes: i128, decimals: u32) -> String {
    const UNITS: [&str; 9] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"];
    let ten = 10_u128.pow(decimals);
    let size = bytes.unsigned_abs() * ten;
    let (mut number, mut unit) = (size, 0);
    // A number that rounds up to 1024 is shown as 1 of the next unit.
    while number >= 1024 * ten {
        unit += 1;
        // Half of the unit is added, so that the shift rounds.
        number = (size + (1 << (10 * unit - 1))) >> (10 * unit);
    }
    let (whole, rest) = (number / ten, number % ten);
    let sign = if bytes < 0 { "-" } else { "" };
    let unit = UNITS.get(unit).unwrap_or(&"");
    if rest == 0 {
        return format!("{sign}{whole} {unit}");
    }
    let decimals = format!("{rest:0width$}", width = decimals as usize);
    format!("{sign}{whole}.{} {unit}", decimals.trim_end_matches('0'))
}

/// The dtype of an array, if it is valid.
pub(crate) fn parsed_dtype(array: &ArrayHeader<'_>) -> Option<Dtype> {
    array.meta().parse_dtype().ok().flatten()
}

/// The dtype as NumPy prints it; if it is not valid, the text in the metalayer.
pub(crate) fn dtype(array: &ArrayHeader<'_>) -> Option<String> {
    dtype_name(array, parsed_dtype(array).as_ref())
}

/// Returns the same text as `dtype`, for a caller that has already parsed the dtype.
pub(crate) fn dtype_name(array: &ArrayHeader<'_>, dtype: Option<&Dtype>) -> Option<String> {
    let name = dtype.map(|dtype| dtype.numpy_str().to_string());
    name.or_else(|| array.dtype().map(clean))
}

/// The dtype of a packed tensor as NumPy prints it; if it is not valid, the text in the vlmetalayer.
pub(crate) fn tensor_dtype(tensor: &PackedTensor) -> String {
    let dtype = tensor.dtype.parse::<Dtype>();
    dtype.map_or_else(|_| clean(&tensor.dtype), |dtype| dtype.numpy_str().to_string())
}

/// The compression ratio; `None` if there are no compressed bytes.
#[expect(clippy::cast_precision_loss, reason = "a ratio is not exact")]
pub(crate) fn ratio((stored_nbytes, cbytes): (i128, i128)) -> Option<f64> {
    (cbytes != 0).then(|| stored_nbytes as f64 / cbytes as f64)
}

/// Names separated by commas.
pub(crate) fn list(names: &[String]) -> String {
    if names.is_empty() { ABSENT.into() } else { names.join(", ") }
}

/// A path that is safe to print on a terminal.
pub(crate) fn path(path: &Path) -> String {
    clean(&path.to_string_lossy())
}

/// Replaces characters that are not safe to print. Names and values in a file may contain such characters.
pub(crate) fn clean(text: &str) -> String {
    text.replace(is_unsafe, "\u{fffd}")
}

/// Whether a character controls a terminal or reverses its text.
pub(crate) fn is_unsafe(c: char) -> bool {
    // The characters of Unicode that set the direction of text.
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns(c)
}

/// The text; if it is wider than `widest`, its beginning and an ellipsis.
pub(crate) fn shortened(text: &str, widest: usize) -> String {
    // The number of characters is limited too, because some characters, such as accents, have no width.
    let most = widest.saturating_mul(4);
    if text.chars().nth(most).is_none() && text.width() <= widest {
        return text.into();
    }
    let (mut short, mut width) = (String::new(), 0);
    for character in text.chars().take(most) {
        // There must be room for a character of width 1 and the ellipsis. With a character of width 2, the text can
        // exceed the limit by 1.
        if width + 2 > widest {
            break;
        }
        width += character.width().unwrap_or(1);
        short.push(character);
    }
    short + "…"
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('?'));
    bytes.iter().flat_map(digits).collect()
}

/// A question that suggests the most similar of these names, with a space at its end; empty if no name is similar.
pub(crate) fn did_you_mean<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let likeness = |name: &str| strsim::jaro(text, name);
    let others = names.into_iter().filter(|&name| name != text);
    let nearest = others.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let nearest = nearest.filter(|name| likeness(name) > 0.8);
    nearest.map_or(String::new(), |name| format!("did you mean '{}'? ", clean(name)))
}

/// A number with its noun.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Numbers with their nouns, with a comma before each number. A number that is 0 is omitted.
pub(crate) fn more_counts(counts: &[(u64, &str)]) -> String {
    let counts = counts.iter().filter(|&&(number, _)| number > 0);
    counts.flat_map(|&(number, noun)| [", ".into(), count(number, noun)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shortened_to_its_width_and_also_if_it_has_none() {
        assert_eq!(
            [shortened("abcd", 4), shortened("abcde", 4), shortened("日本語", 4)],
            ["abcd", "abc…", "日本…"]
        );
        let accents = "\u{301}".repeat(1 << 20);
        assert_eq!(shortened(&accents, 4).chars().count(), 17);
        assert_eq!(shortened(&format!("{accents}abcde"), 4).chars().count(), 17);
    }

    #[test]
    fn a_size_has_the_largest_unit_in_which_it_is_at_least_one() {
        let cases: [(i64, &str, &str); 12] = [
            (0, "0 B", "0 B"),
            (1023, "1023 B", "1023 B"),
            (1024, "1 KiB", "1 KiB"),
            (1075, "1.05 KiB", "1 KiB"),
            (1076, "1.05 KiB", "1.1 KiB"),
            (1536, "1.5 KiB", "1.5 KiB"),
            (10 << 20, "10 MiB", "10 MiB"),
            ((1 << 20) - 1, "1 MiB", "1 MiB"),
            ((1 << 20) - 8, "1023.99 KiB", "1 MiB"),
            (-2048, "-2 KiB", "-2 KiB"),
            (i64::MAX, "8 EiB", "8 EiB"),
            (i64::MIN, "-8 EiB", "-8 EiB"),
        ];
        for (bytes, long, short) in cases {
            assert_eq!(
                (Size(bytes).to_string(), short_size(bytes)),
                (format!("{bytes} ({long})"), short.into())
            );
        }
    }
}
