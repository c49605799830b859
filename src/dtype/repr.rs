//! Strings as Python's `repr` prints them, for the names of fields and for messages.

use alloc::format;
use core::fmt::{self, Display, Write};

use ecow::EcoString;

/// Displays a string as `repr` does.
pub(super) struct Repr<'a>(pub(super) &'a str);

impl Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains('\'') && !self.0.contains('"') { '"' } else { '\'' };
        f.write_char(quote)?;
        for c in self.0.chars() {
            match c {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\\' => f.write_str("\\\\")?,
                _ if c == quote => write!(f, "\\{c}")?,
                _ if is_printable(c) => f.write_char(c)?,
                ..='\u{ff}' => write!(f, "\\x{:02x}", u32::from(c))?,
                ..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(c))?,
                _ => write!(f, "\\U{:08x}", u32::from(c))?,
            }
        }
        f.write_char(quote)
    }
}

/// Whether `repr` prints the character without an escape.
///
/// Rust's `escape_debug` has the same rule, except that it also escapes a combining mark at the beginning of a string.
/// So this function puts a letter before the character.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let mut after_a_letter = EcoString::from("a");
    after_a_letter.push(c);
    after_a_letter.escape_debug().nth(1) == Some(c)
}

/// The beginning of a string, for an error message.
pub(super) fn excerpt(text: &str) -> impl Display {
    const MOST_CHARACTERS: usize = 40;
    // The text is cut twice. It is cut before the conversion, so a long text takes no more time than a short one. But
    // `repr` can print a character as an escape of several characters, so the result is cut, too.
    let end = text.char_indices().nth(MOST_CHARACTERS).map_or(text.len(), |(end, _)| end);
    let mut excerpt = format!("{}", Repr(text.get(..end).unwrap_or(text)));
    if let Some((end, _)) = excerpt.char_indices().nth(MOST_CHARACTERS) {
        excerpt.truncate(end);
        excerpt.push_str("...");
    }
    excerpt
}
