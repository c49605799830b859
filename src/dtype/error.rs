//! Why a string is no dtype, and at which character.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use ecow::EcoString;

use super::literal::Literal;

/// Why a string is no dtype.
///
/// The text says at which character, counted from 0, what was expected and what was found.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, ParseErrorKind};
///
/// let error = "[('a', '<i4'), ('b', '<i3')]".parse::<Dtype>().unwrap_err();
/// assert_eq!(error.to_string(), "character 24: expected 1, 2, 4 or 8 bytes for 'i', found 3");
/// assert_eq!(error.kind(), ParseErrorKind::UnknownType);
/// assert_eq!(error.position(), Some(24));
/// assert_eq!(error.input(), "[('a', '<i4'), ('b', '<i3')]");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    kind: ParseErrorKind,
    position: Option<usize>,
    message: String,
    input: Box<str>,
}

/// Sorts of errors, for a program to act on.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, ParseErrorKind};
///
/// let error = "string".parse::<Dtype>().unwrap_err();
/// assert_eq!(error.kind(), ParseErrorKind::UnknownType);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The metalayer's `dtype_format` is not 0: the dtype is in a syntax other than NumPy's.
    UnknownFormat,
    /// The string is not written as Python writes the literal of a dtype.
    Syntax,
    /// A type string or name means no type that NumPy or `ml_dtypes` has.
    UnknownType,
    /// Two fields share a name or title.
    DuplicateField,
    /// Offsets, item size or alignment contradict each other, or a count does.
    Layout,
    /// An item would be larger than 2147483647 bytes, NumPy's limit and that of C-Blosc2.
    TooLarge,
    /// Dtypes are nested more than 16 deep, or a subarray has more than 64 dimensions.
    TooDeep,
}

impl ParseError {
    #[cold]
    pub(super) fn new(input: &str, problem: Problem) -> Self {
        let before = input.get(..problem.at).unwrap_or(input);
        let message = match problem.detail {
            Detail::Refused(message) => message,
            Detail::Expected(what) => expected(what, input.get(problem.at..).unwrap_or_default()),
        };
        Self(Box::new(Parts {
            kind: problem.kind,
            position: Some(before.chars().count()),
            message,
            input: input.into(),
        }))
    }

    #[cold]
    pub(crate) fn unknown_format(input: &str, dtype_format: u8) -> Self {
        Self(Box::new(Parts {
            kind: ParseErrorKind::UnknownFormat,
            position: None,
            message: format!("expected dtype_format 0 (NumPy), found {dtype_format}"),
            input: input.into(),
        }))
    }

    /// What sort of error it is.
    #[must_use]
    pub fn kind(&self) -> ParseErrorKind {
        self.0.kind
    }

    /// The character at fault, counted from 0; `None` if it is the dtype format.
    #[must_use]
    pub fn position(&self) -> Option<usize> {
        self.0.position
    }

    /// The whole string that was to be parsed.
    #[must_use]
    pub fn input(&self) -> &str {
        &self.0.input
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.0.position {
            write!(f, "character {position}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParseError")
            .field("kind", &self.0.kind)
            .field("position", &self.0.position)
            .field("message", &self.0.message)
            .field("input", &self.0.input)
            .finish()
    }
}

impl core::error::Error for ParseError {}

/// What was expected, and what is found there: the first character of the rest.
pub(super) fn expected(what: &str, rest: &str) -> String {
    match rest.chars().next() {
        Some(found) => format!("expected {what}, found {}", Literal(&EcoString::from(found))),
        None => format!("expected {what}, found the end"),
    }
}

/// An error on its way out, at a byte of the part that is being looked at.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) at: usize,
    kind: ParseErrorKind,
    detail: Detail,
}

#[derive(Debug)]
enum Detail {
    /// What was expected; what was found is in the input.
    Expected(&'static str),
    Refused(String),
}

impl Problem {
    /// A syntax error. Cheap, as the grammar makes and drops one wherever it has a choice.
    pub(super) fn expected(at: usize, what: &'static str) -> Self {
        Self { at, kind: ParseErrorKind::Syntax, detail: Detail::Expected(what) }
    }

    #[cold]
    pub(super) fn refused(at: usize, kind: ParseErrorKind, message: String) -> Self {
        Self { at, kind, detail: Detail::Refused(message) }
    }

    /// Says what was expected, unless it is said already.
    pub(super) fn or_expected(mut self, what: &'static str) -> Self {
        if let Detail::Expected(expected @ "") = &mut self.detail {
            *expected = what;
        }
        self
    }
}
