//! What went wrong, at which entry, at which byte.

use core::fmt;

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, string::ToString};
#[cfg(feature = "std")]
use std::io;

use serde::de::{Expected, Unexpected};

use crate::layout::Entry;
use detail::{NO_INDEX, NO_OFFSET, Parts};

mod detail;

pub(crate) use detail::{Detail, Integer, Length, ValueType};

/// The result of reading or writing a metalayer.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a metalayer could not be read or written.
///
/// The text names what was expected, what was found and where: the byte, counted from the start of the input, when
/// reading, and the entry. With the feature `alloc` an error is one word; without, it is a value of 16 bytes that
/// keeps everything but the text of an error of the type's own.
///
/// ```
/// use b2nd_serde::{Entry, ErrorKind, from_slice};
///
/// // The first dimension of the chunk shape as an int64.
/// let bytes = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x04\x91\xd3\0\0\0\0\0\0\0\x02\x91\xd2\0\0\0\x01";
/// let error = from_slice::<serde_json::Value>(bytes).unwrap_err();
/// assert_eq!(error.to_string(), "byte 14: expected int32 (0xd2) for chunkshape[0], found int64 (0xd3)");
/// assert_eq!(error.kind(), ErrorKind::Marker);
/// assert_eq!(error.entry(), Some(Entry::Chunkshape));
/// assert_eq!(error.index(), Some(0));
/// assert_eq!(error.offset(), Some(14));
/// ```
pub struct Error(Repr);

#[cfg(feature = "alloc")]
type Repr = Box<Boxed>;
#[cfg(not(feature = "alloc"))]
type Repr = Parts;

#[cfg(feature = "alloc")]
struct Boxed {
    parts: Parts,
    cause: Cause,
}

/// What only a heap can hold.
#[cfg(feature = "alloc")]
enum Cause {
    None,
    Message(Box<str>),
    #[cfg(feature = "std")]
    Io(io::Error),
}

/// Sorts of errors, for a program to act on.
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
    /// A byte is not the marker that the entry has in this format.
    Marker,
    /// The first byte, or after `96` the byte behind `blockshape`, is that of no layout.
    Layout,
    /// `ndim` is over 16.
    Rank,
    /// A dimension vector has another number of dimensions than `ndim` says, or than the type takes.
    DimensionCount,
    /// An integer does not fit the width of its entry.
    OutOfRange,
    /// The dtype is not UTF-8.
    Utf8,
    /// The dtype has a NUL in it, where C would end it.
    Nul,
    /// The dtype is longer than 2147483647 bytes.
    DtypeLength,
    /// Bytes are left behind the metalayer.
    TrailingBytes,
    /// The type has another number of entries than the layout.
    EntryCount,
    /// A field stands where the layout has another entry.
    FieldOrder,
    /// A kind of value that the layout has no place for, such as a map or a float.
    UnsupportedType,
    /// The buffer is shorter than the metalayer.
    BufferTooSmall,
    /// The reader or writer failed.
    Io,
    /// An error of the type itself: its `Serialize` or `Deserialize` refused the value.
    Custom,
}

impl Error {
    #[cold]
    pub(crate) fn new(detail: Detail) -> Self {
        let parts = Parts { offset: NO_OFFSET, entry: None, index: NO_INDEX, detail };
        #[cfg(feature = "alloc")]
        return Self(Box::new(Boxed { parts, cause: Cause::None }));
        #[cfg(not(feature = "alloc"))]
        Self(parts)
    }

    #[cfg(feature = "std")]
    #[cold]
    pub(crate) fn io(error: io::Error) -> Self {
        let mut this = Self::new(Detail::Io);
        this.0.cause = Cause::Io(error);
        this
    }

    /// An error raised by the type that is read or written.
    #[cold]
    fn custom(message: impl fmt::Display) -> Self {
        #[cfg(feature = "alloc")]
        {
            let mut this = Self::new(Detail::Custom);
            this.0.cause = Cause::Message(message.to_string().into_boxed_str());
            this
        }
        #[cfg(not(feature = "alloc"))]
        {
            // Without a heap there is no place for the text.
            let _ = message;
            Self::new(Detail::Custom)
        }
    }

    fn parts(&self) -> &Parts {
        #[cfg(feature = "alloc")]
        return &self.0.parts;
        #[cfg(not(feature = "alloc"))]
        &self.0
    }

    fn parts_mut(&mut self) -> &mut Parts {
        #[cfg(feature = "alloc")]
        return &mut self.0.parts;
        #[cfg(not(feature = "alloc"))]
        &mut self.0
    }

    /// Adds the entry, unless the error names one.
    #[cold]
    pub(crate) fn in_entry(mut self, entry: Entry) -> Self {
        self.parts_mut().entry.get_or_insert(entry);
        self
    }

    /// Adds the dimension, unless the error names an entry.
    #[cold]
    #[inline(never)]
    pub(crate) fn at_index(mut self, index: usize) -> Self {
        let parts = self.parts_mut();
        if parts.entry.is_none() {
            parts.index = u8::try_from(index).unwrap_or(NO_INDEX);
        }
        self
    }

    /// Adds the entry and the dimension, unless the error names an entry.
    #[cold]
    pub(crate) fn in_dimension(self, entry: Entry, index: usize) -> Self {
        self.at_index(index).in_entry(entry)
    }

    /// Adds the place in the input, unless the error names one.
    #[cold]
    pub(crate) fn at(mut self, offset: usize) -> Self {
        let parts = self.parts_mut();
        if parts.offset == NO_OFFSET {
            parts.offset = u32::try_from(offset).unwrap_or(NO_OFFSET);
        }
        self
    }

    /// What is displayed, without the place in the input.
    pub(crate) fn message(&self) -> impl fmt::Display {
        Message(self)
    }

    /// What sort of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.parts().detail.kind()
    }

    /// The entry that is at fault, if one is.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        self.parts().entry
    }

    /// The dimension within the entry, counted from 0, if one is at fault.
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        let index = self.parts().index;
        (index != NO_INDEX).then_some(usize::from(index))
    }

    /// The byte of the input at which the error was found, counted from 0; `None` when writing.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        let offset = self.parts().offset;
        (offset != NO_OFFSET).then_some(offset as usize)
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
        let parts = self.0.parts();
        match parts.detail {
            #[cfg(feature = "std")]
            Detail::Io => match &self.0.0.cause {
                Cause::Io(error) => error.fmt(f),
                _ => f.write_str("input/output error"),
            },
            Detail::Custom => {
                if parts.entry.is_some() {
                    write!(f, "{}: ", parts.place())?;
                }
                #[cfg(feature = "alloc")]
                if let Cause::Message(message) = &self.0.0.cause {
                    return f.write_str(message);
                }
                f.write_str("the type refuses the value")
            }
            _ => parts.message(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("entry", &self.entry())
            .field("index", &self.index())
            .field("offset", &self.offset())
            .field("message", &format_args!("{self}"))
            .finish()
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        #[cfg(feature = "std")]
        if let Cause::Io(error) = &self.0.cause {
            return Some(error);
        }
        None
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

    // As the defaults, but not inlined: a type reads a vector without a call only if all this stays out of its way.

    #[cold]
    #[inline(never)]
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid type: {found}, expected {expected}"))
    }

    #[cold]
    #[inline(never)]
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid value: {found}, expected {expected}"))
    }

    #[cold]
    #[inline(never)]
    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid length {found}, expected {expected}"))
    }
}

/// An error of a reader or writer is handed back as it was; of the others, a cut input is `UnexpectedEof`, the rest
/// `InvalidData`.
#[cfg(feature = "std")]
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::UnexpectedEnd => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        match *error.0 {
            Boxed { cause: Cause::Io(inner), .. } => inner,
            boxed => io::Error::new(kind, Error(Box::new(boxed))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Parts>() <= 16, "{}", size_of::<Parts>());
        #[cfg(feature = "alloc")]
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
        #[cfg(not(feature = "alloc"))]
        assert!(size_of::<Error>() <= 16);
    }
}
