//! The input of the grammar, and the error of its parsers.

use winnow::ModalResult;
use winnow::error::{AddContext, ParserError};
use winnow::stream::{LocatingSlice, Location, Stream};

use super::error::ParseError;

pub(super) type Input<'a> = LocatingSlice<&'a str>;
pub(super) type Parsed<T> = ModalResult<T, ParseError>;

impl ParserError<Input<'_>> for ParseError {
    type Inner = Self;

    /// An error without an expectation. The `context` of the parser adds it.
    fn from_input(input: &Input<'_>) -> Self {
        Self::expected(input.current_token_start(), "")
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

impl AddContext<Input<'_>, &'static str> for ParseError {
    fn add_context(
        self,
        _input: &Input<'_>,
        _start: &<Input<'_> as Stream>::Checkpoint,
        expected: &'static str,
    ) -> Self {
        self.or_expected(expected)
    }
}
