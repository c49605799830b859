//! Python's string literals: the type strings and field names of a dtype.

use alloc::format;
use alloc::string::String;

use winnow::Parser;
use winnow::combinator::{alt, cut_err, preceded, repeat, terminated};
use winnow::error::ErrMode;
use winnow::stream::Location;
use winnow::token::{any, one_of, take_till, take_while};

use super::error::{ErrorKind, ParseError};
use super::input::{DtypeText, ParseResult};

/// Reads a literal in single or double quotes, and returns its string.
///
/// The literal can have the escapes that Python's `repr` writes, and also `\"`, `\a`, `\b`, `\f` and `\v`.
pub(super) fn string(input: &mut DtypeText<'_>) -> ParseResult<String> {
    let quote = one_of(['\'', '"']).context("a string in quotes").parse_next(input)?;
    // In Python too, a line break or a NUL before the closing quote is a syntax error.
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

/// Reads an escape after its backslash.
fn escaped(input: &mut DtypeText<'_>) -> ParseResult<char> {
    const EXPECTED: &str = r#"one of \ ' " a b f n r t v x u U after the backslash"#;
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
        _ => return Err(ErrMode::Cut(ParseError::expected(at, EXPECTED))),
    })
}

fn hexadecimal(count: usize, expected: &'static str, input: &mut DtypeText<'_>) -> ParseResult<char> {
    let at = input.current_token_start();
    let digits: &str =
        take_while(count, |c: char| c.is_ascii_hexdigit()).context(expected).parse_next(input)?;
    // Python's strings can have lone surrogates, but Rust's strings cannot.
    let character = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    character.ok_or_else(|| {
        let message = format!("expected a Unicode character, found {digits}");
        ErrMode::Cut(ParseError::refused(at, ErrorKind::Syntax, message))
    })
}
