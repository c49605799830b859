//! The text of a dtype, and the bytes before it.

use crate::entry::MAX_DTYPE_LEN;
use crate::error::{Error, TextFault};

/// The bytes before the text of the dtype: the marker, and the length.
pub(super) const STR32_HEADER: usize = 5;

/// Bytes as a dtype, which must be UTF-8 without NUL, of at most [`MAX_DTYPE_LEN`] bytes.
#[inline]
pub(crate) fn dtype(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes).ok().filter(|text| is_dtype(text))
}

/// The part of [`dtype`] that is not already true for every `str`.
#[inline]
pub(crate) fn is_dtype(text: &str) -> bool {
    text.len() <= MAX_DTYPE_LEN && !text.as_bytes().contains(&0)
}

/// The error for bytes that are not a dtype.
#[cold]
pub(crate) fn not_dtype(bytes: &[u8]) -> Error {
    TextFault::of(bytes).error()
}
