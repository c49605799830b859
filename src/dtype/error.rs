//! The error of parsing a dtype, with the position of the wrong character.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use ecow::EcoString;

use super::repr::Repr;

/// The error for a string that is not a dtype, or not a dtype that this crate knows.
///
/// The text names what was expected, what was found, and the position of the wrong character, counted from 0.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, ErrorKind};
///
/// let error = "[('a', '<i4'), ('b', '<i3')]".parse::<Dtype>().unwrap_err();
/// assert_eq!(error.to_string(), "character 24: expected 1, 2, 4 or 8 bytes for 'i', found 3");
/// assert_eq!(error.kind(), ErrorKind::UnknownType);
/// assert_eq!(error.character(), Some(24));
/// assert_eq!(error.input(), "[('a', '<i4'), ('b', '<i3')]");
/// ```
#[derive(Clone, PartialEq, Eq)]
// A box, so a `Result` with it stays small.
pub struct Error(Box<ErrorParts>);

#[derive(Clone, PartialEq, Eq)]
struct ErrorParts {
    kind: ErrorKind,
    character: Option<usize>,
    message: String,
    input: Box<str>,
}

/// The kind of an [`Error`], for a program to act on.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, ErrorKind};
///
/// let error = "string".parse::<Dtype>().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::UnknownType);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The `dtype_format` of the metalayer is not 0, so the syntax of the dtype is not NumPy's.
    UnknownFormat,
    /// The string is not in the syntax of a dtype: a type, or Python's lists, tuples and dictionaries of types.
    Syntax,
    /// The string contains a type that this crate does not know, such as `int33`.
    UnknownType,
    /// A name or title of a field occurs more than once.
    DuplicateField,
    /// Parts of the dtype contradict each other: offsets, item size, alignment, or the lengths of lists.
    Layout,
    /// A number, or the size of an item in bytes, is above 2147483647, the limit of NumPy and C-Blosc2.
    TooLarge,
    /// Dtypes are nested deeper than 16 levels, or a subarray has more than 64 dimensions.
    TooDeep,
}

impl Error {
    #[cold]
    pub(super) fn new(input: &str, error: ParseError) -> Self {
        // The position counts characters, not bytes, because the message may be shown to a Python user, and Python's
        // strings are indexed by characters.
        let before = input.get(..error.at).unwrap_or(input);
        let message = match error.reason {
            Reason::Refused(message) => message,
            Reason::Expected(what) => expected(what, input.get(error.at..).unwrap_or_default()),
        };
        Self(Box::new(ErrorParts {
            kind: error.kind,
            character: Some(before.chars().count()),
            message,
            input: input.into(),
        }))
    }

    #[cold]
    pub(crate) fn unknown_format(input: &str, dtype_format: u8) -> Self {
        Self(Box::new(ErrorParts {
            kind: ErrorKind::UnknownFormat,
            character: None,
            message: format!("dtype_format is {dtype_format}, but only 0 (NumPy) is known"),
            input: input.into(),
        }))
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The position of the wrong character in the input, counted from 0; `None` if the dtype format is wrong.
    #[must_use]
    pub fn character(&self) -> Option<usize> {
        self.0.character
    }

    /// The whole input.
    #[must_use]
    pub fn input(&self) -> &str {
        &self.0.input
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(character) = self.0.character {
            write!(f, "character {character}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

/// Prints the message, because `unwrap` and a `main` that returns an error show the `Debug` text. `{:#?}` prints the
/// fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return fmt::Display::fmt(self, f);
        }
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("character", &self.0.character)
            .field("message", &self.0.message)
            .field("input", &self.0.input)
            .finish()
    }
}

impl core::error::Error for Error {}

/// The message for an input that continues with `rest`. The message names what was expected, and what was found: the
/// first character of `rest`, or the end.
pub(super) fn expected(what: &str, rest: &str) -> String {
    match rest.chars().next() {
        Some(found) => format!("expected {what}, found {}", Repr(&EcoString::from(found))),
        None => format!("expected {what}, found the end"),
    }
}

/// An error while parsing, with its offset in the text, in bytes.
#[derive(Debug)]
pub(super) struct ParseError {
    pub(super) at: usize,
    kind: ErrorKind,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    /// The message names what was expected. `Error::new` adds what was found.
    Expected(&'static str),
    Refused(String),
}

impl ParseError {
    /// A syntax error at the offset `at`, where `what` was expected.
    // The grammar makes a syntax error at each alternative that does not match, and then drops the error. So making a
    // syntax error must be cheap.
    pub(super) fn expected(at: usize, what: &'static str) -> Self {
        Self { at, kind: ErrorKind::Syntax, reason: Reason::Expected(what) }
    }

    #[cold]
    pub(super) fn refused(at: usize, kind: ErrorKind, message: String) -> Self {
        Self { at, kind, reason: Reason::Refused(message) }
    }

    /// Adds to the error what was expected, unless an inner parser has done this.
    pub(super) fn or_expected(mut self, what: &'static str) -> Self {
        if let Reason::Expected(expected @ "") = &mut self.reason {
            *expected = what;
        }
        self
    }
}
