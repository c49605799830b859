//! Python's string literals: how a dtype writes its type strings and the names of its fields.

use alloc::format;
use alloc::string::String;
use core::fmt::{self, Display, Write};

use ecow::EcoString;
use winnow::Parser;
use winnow::combinator::{alt, cut_err, preceded, repeat, terminated};
use winnow::error::ErrMode;
use winnow::stream::Location;
use winnow::token::{any, one_of, take_till, take_while};

use super::error::{ParseErrorKind, Problem};
use super::syntax::{Input, Parsed};

/// Reads a literal in either sort of quotes, and gives what it means.
///
/// The escapes are those that Python writes and the other ones of a single letter.
pub(super) fn string(input: &mut Input<'_>) -> Parsed<String> {
    let quote = one_of(['\'', '"']).context("a string in quotes").parse_next(input)?;
    let ends = move |c| c == quote || matches!(c, '\\' | '\n' | '\r' | '\0');
    let fragment = alt((
        take_till(1.., ends).map(Fragment::Plain),
        preceded('\\', cut_err(escaped)).map(Fragment::Escaped),
    ));
    let content = repeat(0.., fragment).fold(String::new, |mut content, fragment| {
        match fragment {
            Fragment::Plain(text) => content.push_str(text),
            Fragment::Escaped(c) => content.push(c),
        }
        content
    });
    terminated(content, quote.context("the closing quote")).parse_next(input)
}

enum Fragment<'a> {
    Plain(&'a str),
    Escaped(char),
}

/// Reads what stands behind a backslash.
fn escaped(input: &mut Input<'_>) -> Parsed<char> {
    const EXPECTED: &str = r#"one of \ ' " a b f n r t v x u U behind the backslash"#;
    let at = input.current_token_start();
    Ok(match any.context(EXPECTED).parse_next(input)? {
        c @ ('\\' | '\'' | '"') => c,
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        'x' => return hexadecimal(2, "2 hexadecimal digits", input),
        'u' => return hexadecimal(4, "4 hexadecimal digits", input),
        'U' => return hexadecimal(8, "8 hexadecimal digits", input),
        _ => return Err(ErrMode::Cut(Problem::expected(at, EXPECTED))),
    })
}

fn hexadecimal(count: usize, expected: &'static str, input: &mut Input<'_>) -> Parsed<char> {
    let at = input.current_token_start();
    let digits: &str =
        take_while(count, |c: char| c.is_ascii_hexdigit()).context(expected).parse_next(input)?;
    let character = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    character.ok_or_else(|| {
        let message = format!("expected a Unicode character, found {digits}");
        ErrMode::Cut(Problem::refused(at, ParseErrorKind::Syntax, message))
    })
}

/// A string as `repr` prints it.
pub(super) struct Literal<'a>(pub(super) &'a str);

impl Display for Literal<'_> {
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

/// Whether `repr` prints the character as it is.
///
/// Rust's own escaping has the same rule, and the tables for it, but escapes a combining mark at the beginning: so the
/// character is looked at behind a letter.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let mut behind_a_letter = EcoString::from("a");
    behind_a_letter.push(c);
    behind_a_letter.escape_debug().nth(1) == Some(c)
}

/// The beginning of a string, for a message.
pub(super) fn excerpt(text: &str) -> impl Display {
    const LONGEST: usize = 40;
    // No character is printed as less than one.
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    let mut excerpt = format!("{}", Literal(text.get(..end).unwrap_or(text)));
    if let Some((end, _)) = excerpt.char_indices().nth(LONGEST) {
        excerpt.truncate(end);
        excerpt.push_str("...");
    }
    excerpt
}
