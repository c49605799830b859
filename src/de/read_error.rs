//! The errors of the two ways to read: one with a message and a place, one without any content.

use core::fmt;

use serde::de;

use crate::entry::Entry;
use crate::error::{Detail, Error};
use crate::layout::Layout;
use crate::wire::{FixedInt, bytes_before};

/// The error of one of the two ways to read.
pub(super) trait ReadError: de::Error {
    /// Whether the metalayer is known to have no negative dimension.
    const NEVER_NEGATIVE: bool;

    fn new(detail: Detail) -> Self;

    /// Adds the dimension, unless the error names an entry.
    fn at_dimension(self, dimension: usize) -> Self;

    /// Adds the entry and its byte, in a metalayer that begins at `start`.
    fn in_entry(self, entry: Entry, layout: Layout, ndim: u8, start: usize) -> Self;
}

impl ReadError for Error {
    const NEVER_NEGATIVE: bool = false;

    #[cold]
    fn new(detail: Detail) -> Self {
        Self::new(detail)
    }

    #[cold]
    fn at_dimension(self, dimension: usize) -> Self {
        self.at_dimension(dimension)
    }

    /// The byte is that of the dimension if the error names one, else the first byte of the entry.
    #[cold]
    fn in_entry(self, entry: Entry, layout: Layout, ndim: u8, start: usize) -> Self {
        let width = if entry == Entry::Shape { i64::WIDTH } else { i32::WIDTH };
        let within = self.dimension().map_or(0, |dimension| 1 + dimension * width);
        self.in_entry(entry).at(start + bytes_before(entry, layout, ndim) + within)
    }
}

/// The type does not fit an ordinary metalayer. The caller reads the metalayer again, the general way, to get the
/// reason.
// Zero-sized, so a `Result` with it is no larger than its value, arrays stay in registers, and the fast way builds no
// message.
#[derive(Debug)]
pub(super) struct Misfit;

impl ReadError for Misfit {
    const NEVER_NEGATIVE: bool = true;

    #[inline]
    fn new(_detail: Detail) -> Self {
        Self
    }

    #[inline]
    fn at_dimension(self, _dimension: usize) -> Self {
        self
    }

    #[inline]
    fn in_entry(self, _entry: Entry, _layout: Layout, _ndim: u8, _start: usize) -> Self {
        self
    }
}

impl de::Error for Misfit {
    #[inline]
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type does not fit the metalayer")
    }
}

impl core::error::Error for Misfit {}
