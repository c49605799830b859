//! The input of the grammar, and the error of its parsers.

use winnow::ModalResult;
use winnow::error::{AddContext, ParserError};
use winnow::stream::{LocatingSlice, Location, Stream};

use super::error::ParseError;

/// The text of a dtype with a read position.
pub(super) type DtypeText<'a> = LocatingSlice<&'a str>;
/// The result of a parser of the grammar.
pub(super) type ParseResult<T> = ModalResult<T, ParseError>;

impl ParserError<DtypeText<'_>> for ParseError {
    type Inner = Self;

    /// An error without a description of what was expected. The `context` of the parser adds the description.
    fn from_input(input: &DtypeText<'_>) -> Self {
        Self::expected(input.current_token_start(), "")
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

impl AddContext<DtypeText<'_>, &'static str> for ParseError {
    fn add_context(
        self,
        _input: &DtypeText<'_>,
        _start: &<DtypeText<'_> as Stream>::Checkpoint,
        expected: &'static str,
    ) -> Self {
        self.or_expected(expected)
    }
}
