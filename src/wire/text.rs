//! The text of a dtype, and the bytes before it.

use crate::entry::MAX_DTYPE_LEN;
use crate::error::{Error, TextFault};

/// The number of bytes before the text of the dtype: the marker `db` and 4 bytes of length.
pub(super) const STR32_HEADER: usize = 5;

/// The text of a dtype, if the bytes are UTF-8 without NUL and at most [`MAX_DTYPE_LEN`] long.
#[inline]
pub(crate) fn dtype(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes).ok().filter(|text| is_dtype(text))
}

/// Whether a text is a dtype: the rules of [`dtype`] that not every `str` meets.
// C-Blosc2 reads a dtype as a C string, which would end at the NUL.
#[inline]
pub(crate) fn is_dtype(text: &str) -> bool {
    text.len() <= MAX_DTYPE_LEN && !text.as_bytes().contains(&0)
}

/// The error for bytes that are not a dtype.
// Separate from the check, which runs for every metalayer and should have no code for messages.
#[cold]
pub(crate) fn not_dtype(bytes: &[u8]) -> Error {
    TextFault::of(bytes).error()
}
