//! Numbers, names and sizes as a person reads them.

use std::fmt::{self, Display, Write as _};
use std::path::Path;

use b2nd_serde::frame::Array;
use humansize::{BINARY, FormatSizeOptions, format_size_i};

/// Numbers as Python shows a tuple.
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

/// Numbers as `b2nd encode` takes them: shorter than a tuple.
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

/// A number of bytes, alone and with a unit such as MiB.
pub(crate) struct Size(pub(crate) i64);

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, format_size_i(self.0, BINARY))
    }
}

/// A number of bytes with a unit such as MiB.
pub(crate) fn short_size(bytes: i64) -> String {
    format_size_i(bytes, FormatSizeOptions::from(BINARY).decimal_places(1))
}

/// The dtype as NumPy prints it; if it is not valid, the text in the metalayer.
pub(crate) fn dtype(array: &Array<'_>) -> Option<String> {
    match array.meta()?.parse_dtype() {
        Ok(dtype) => dtype.map(|dtype| dtype.numpy_str().to_string()),
        Err(_) => array.dtype().map(clean),
    }
}

/// A path that is safe to print on a terminal.
pub(crate) fn path(path: &Path) -> String {
    clean(&path.to_string_lossy())
}

/// Replaces characters that control a terminal or reverse its text: names and values in a file may contain them.
pub(crate) fn clean(text: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.replace(|c: char| c.is_control() || turns(c), "\u{fffd}")
}

/// A number with its noun.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
