//! The error of reading or writing a metalayer. It names the wrong entry and, when reading, the offset of the wrong byte.

use core::fmt;
use core::iter::successors;

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
#[cfg(feature = "std")]
use std::io;

use serde::de::Expected;

use crate::layout::Entry;
use message::Located;

mod detail;

mod message;

use detail::CustomText;
pub(crate) use detail::{Detail, LayoutFault, TextFault, ValueType, out_of_range};

/// The error of reading or writing a metalayer.
///
/// The text names what was expected, what was found, and the entry. The text of an error of reading also has the offset
/// of the wrong byte, counted from the start of the input.
///
/// With the feature `alloc` an error has the size of a pointer. Without this feature an error is larger, and the text
/// of an error that a type's own `Serialize` or `Deserialize` raises is lost.
///
/// ```
/// use b2nd_serde::{Entry, ErrorKind, from_slice};
///
/// // The first dimension of the chunk shape as an int64.
/// let bytes = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x04\x91\xd3\0\0\0\0\0\0\0\x02\x91\xd2\0\0\0\x01";
/// let error = from_slice::<serde_json::Value>(bytes).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "byte 14: expected int32 (0xd2) for chunkshape[0], found int64 (0xd3)"
/// );
/// assert_eq!(error.kind(), ErrorKind::Marker);
/// assert_eq!(error.entry(), Some(Entry::Chunkshape));
/// assert_eq!(error.dimension(), Some(0));
/// assert_eq!(error.offset(), Some(14));
/// ```
pub struct Error(Inner);

// A box, because a larger error makes every `Result` that contains it larger. Without an allocator, an `Error` contains
// the `Located` itself. A `Located` of 16 bytes was tried. It made writing faster without an allocator, but it made
// reading slower with an allocator.
#[cfg(feature = "alloc")]
type Inner = Box<Located>;
#[cfg(not(feature = "alloc"))]
type Inner = Located;

/// The kind of an [`Error`], for a program to act on.
///
/// ```
/// use b2nd_serde::{ErrorKind, from_slice};
///
/// let error = from_slice::<serde_json::Value>(b"\x97\x00").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::UnexpectedEnd);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends within the metalayer.
    UnexpectedEnd,
    /// A byte is not the marker that its entry needs.
    Marker,
    /// No layout begins with the first byte of the metalayer. Or the first byte is `0x96`, the first byte of two
    /// layouts, but the byte after `blockshape` fits neither of the two.
    Layout,
    /// The number of dimensions is not 0 to 16.
    Rank,
    /// The number of dimensions of a vector is not `ndim`, or not the number that the Rust type takes.
    DimensionCount,
    /// An integer does not fit its entry, for example a `version` above 127.
    OutOfRange,
    /// A dtype that is not UTF-8 cannot be read as text, or bytes that are not UTF-8 cannot be written as a dtype.
    Utf8,
    /// The dtype contains a NUL, which ends a string in C.
    Nul,
    /// The dtype is longer than 2147483647 bytes.
    DtypeLength,
    /// Bytes are left after the metalayer. [`take_from_slice`](crate::take_from_slice) returns them instead.
    TrailingBytes,
    /// The Rust type or the value has another number of entries than the layout.
    EntryCount,
    /// A field of a struct has the name of one entry, but is in the position of another. Or the field comes after a
    /// field that has the name of a later entry.
    FieldOrder,
    /// The Rust type or the value is of a kind that cannot be in this position, such as a map or a float. Or a struct of
    /// your own has the name and the fields of a `Meta`.
    UnsupportedType,
    /// The buffer is shorter than the metalayer. [`Error::needed_len`] is the length of the metalayer.
    BufferTooSmall,
    /// The reader or writer failed.
    Io,
    /// The type's own `Serialize` or `Deserialize` raised an error, ignored an error, or gave another result when it
    /// was called again.
    Custom,
}

impl Error {
    #[cold]
    pub(crate) fn new(detail: Detail) -> Self {
        let located = Located { offset: None, entry: None, dimension: None, version: 0, detail };
        #[cfg(feature = "alloc")]
        return Self(Box::new(located));
        #[cfg(not(feature = "alloc"))]
        Self(located)
    }

    /// An error that the type's own `Serialize` or `Deserialize` raised.
    #[cold]
    fn custom(message: impl fmt::Display) -> Self {
        Self::new(Detail::Custom(CustomText::new(message, false)))
    }

    /// Whether a type's own `Deserialize` raised the error with serde's `invalid_length`.
    pub(crate) fn is_custom_length(&self) -> bool {
        matches!(&self.0.detail, Detail::Custom(text) if text.is_length)
    }

    /// Why the bytes cannot be a dtype; `None` for any other error.
    pub(crate) fn text_fault(&self) -> Option<TextFault> {
        if let Detail::Text(fault) = self.0.detail { Some(fault) } else { None }
    }

    // The next methods add the place of an error. Each function that passes on an error calls one of these methods. A
    // place that is already set is kept. So the error has the place that the innermost function added.

    /// Adds the entry, unless the error names an entry already.
    #[cold]
    pub(crate) fn in_entry(mut self, entry: Entry) -> Self {
        self.0.entry.get_or_insert(entry);
        self
    }

    /// Adds the dimension, unless the error names an entry already. The dimension is always added before the entry, so
    /// if an error names an entry, its place is complete.
    #[cold]
    #[inline(never)]
    pub(crate) fn at_dimension(mut self, dimension: usize) -> Self {
        if self.0.entry.is_none() {
            self.0.dimension = u8::try_from(dimension).ok();
        }
        self
    }

    /// Adds the entry and the dimension, unless the error names an entry already.
    #[cold]
    pub(crate) fn in_dimension(self, entry: Entry, dimension: usize) -> Self {
        self.at_dimension(dimension).in_entry(entry)
    }

    /// Adds the offset in the input, unless the error has an offset already.
    #[cold]
    pub(crate) fn at(mut self, offset: usize) -> Self {
        self.0.offset = self.0.offset.or(u32::try_from(offset).ok());
        self
    }

    /// Adds the version of the invalid metalayer.
    #[cold]
    pub(crate) fn of_version(mut self, version: u8) -> Self {
        self.0.version = version;
        self
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.detail.kind(self.0.entry)
    }

    /// The invalid entry; `None` if the error is not about a single entry.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        self.0.entry
    }

    /// The invalid dimension, counted from 0; `None` if the error is not about a single dimension.
    #[must_use]
    pub fn dimension(&self) -> Option<usize> {
        self.0.dimension.map(usize::from)
    }

    /// The offset of the byte at which the error was found, counted from the start of the input. It is `None` in four
    /// cases: the error occurred when writing, the reader failed, the offset is 2^32 or more, or the Rust type rejected
    /// the metalayer after its entries were read, as with `#[serde(try_from)]`.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.0.offset.map(|offset| offset as usize)
    }

    /// The version of the invalid metalayer; `None` if it is 0 or could not be read. This crate knows only the rules of
    /// version 0. So a metalayer with another version may be valid by the rules of its own version.
    ///
    /// ```
    /// // The second byte is version 1. The last byte is an array marker that version 0 does not have.
    /// let error = b2nd_serde::from_slice::<serde_json::Value>(&[0x97, 1, 1, 0xdc]).unwrap_err();
    /// assert_eq!(error.version(), Some(1));
    /// ```
    #[must_use]
    pub fn version(&self) -> Option<u8> {
        Some(self.0.version).filter(|&version| version != 0)
    }

    /// The length of the metalayer in bytes, if the buffer was too small for it; `None` for every other error.
    ///
    /// ```
    /// let value = (0, 1, [6], [4], [2], 0, "|u1");
    /// let mut buffer = vec![0; 10];
    /// let error = b2nd_serde::to_slice(&value, &mut buffer).unwrap_err();
    /// assert_eq!(error.needed_len(), Some(34));
    ///
    /// buffer.resize(34, 0);
    /// b2nd_serde::to_slice(&value, &mut buffer)?;
    /// # Ok::<(), b2nd_serde::Error>(())
    /// ```
    #[must_use]
    pub fn needed_len(&self) -> Option<usize> {
        if let Detail::BufferTooSmall { needed, .. } = self.0.detail { Some(needed) } else { None }
    }

    /// The text without the offset, for a program that shows the offset separately.
    ///
    /// ```
    /// let error = b2nd_serde::from_slice::<serde_json::Value>(&[0x97, 0, 17]).unwrap_err();
    /// assert_eq!(error.to_string(), "byte 2: ndim is 17, but must be 0 to 16");
    /// assert_eq!(error.message().to_string(), "ndim is 17, but must be 0 to 16");
    /// ```
    #[must_use]
    pub fn message(&self) -> impl fmt::Display {
        Message(self)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(offset) = self.offset() {
            write!(f, "byte {offset}: ")?;
        }
        self.message().fmt(f)
    }
}

/// The text of an error without the place in the input.
struct Message<'e>(&'e Error);

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.message(f)
    }
}

/// Prints the message and the messages of its sources, because `unwrap` and a `main` that returns an error show the
/// `Debug` text. `{:#?}` prints the fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "{self}")?;
            let mut sources = successors(core::error::Error::source(self), |error| error.source());
            return sources.try_for_each(|source| write!(f, ": {source}"));
        }
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("entry", &self.entry())
            .field("dimension", &self.dimension())
            .field("offset", &self.offset())
            .field("message", &format_args!("{self}"))
            .finish()
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.0.detail {
            #[cfg(feature = "std")]
            Detail::Reader(error) | Detail::Writer(error) => Some(error),
            _ => None,
        }
    }
}

impl serde::ser::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::custom(message)
    }
}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::custom(message)
    }

    #[cold]
    fn missing_field(field: &'static str) -> Self {
        Self::custom(format_args!(
            "missing field `{field}`: the metalayer has no such entry, so the field must be an `Option` or have a `default`"
        ))
    }

    #[cold]
    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        let text = CustomText::new(format_args!("invalid length {found}, expected {expected}"), true);
        Self::new(Detail::Custom(text))
    }
}

/// Returns the error of a reader or writer unchanged. Any other error is wrapped: as `UnexpectedEof` if the input ends
/// too early, else as `InvalidData`.
#[cfg(feature = "std")]
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::UnexpectedEnd => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        // The error of the reader or writer is returned without a wrapper, so its kind and its OS code are not lost.
        match *error.0 {
            Located { detail: Detail::Reader(inner) | Detail::Writer(inner), .. } => inner,
            located => io::Error::new(kind, Error(Box::new(located))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(feature = "alloc", target_pointer_width = "64"))]
    #[test]
    fn message_is_one_of_reading_after_4_gib() {
        use alloc::string::ToString;

        let error =
            Error::new(Detail::UnsupportedType(ValueType::Float)).in_entry(Entry::Version).at(1 << 32);
        assert_eq!(error.offset(), None);
        assert_eq!(error.to_string(), "version is an integer, but the type takes a float");
    }

    #[test]
    fn error_is_small() {
        #[cfg(feature = "alloc")]
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
        #[cfg(not(feature = "alloc"))]
        assert!(size_of::<Error>() <= 40, "{}", size_of::<Error>());
    }
}
