//! All causes of an error: invalid bytes, a value that cannot be written, a Rust type into which the metalayer cannot
//! be read, and failures of a buffer, reader or writer.

use core::fmt;

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, string::ToString};
#[cfg(feature = "std")]
use std::io;

use super::{Error, ErrorKind};
use crate::layout::{Entry, Layout, MAX_DTYPE_LEN};
use crate::marker::STR32_HEADER;

/// An integer of any type; `Wider` if 64 bits cannot hold it.
#[derive(Clone, Copy, PartialEq, Eq)]
// The integer is only kept for the message. A 128-bit integer would make every `Detail` larger.
pub(crate) enum Integer {
    Signed(i64),
    Unsigned(u64),
    Wider,
}

impl From<i128> for Integer {
    fn from(value: i128) -> Self {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Self::Signed(value),
            (_, Ok(value)) => Self::Unsigned(value),
            _ => Self::Wider,
        }
    }
}

impl From<u128> for Integer {
    fn from(value: u128) -> Self {
        u64::try_from(value).map_or(Self::Wider, Self::Unsigned)
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Wider => f.write_str("wider than 64 bits"),
        }
    }
}

/// The kinds of values in serde's data model that messages distinguish.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Bool,
    Integer,
    Float,
    Char,
    Str,
    Bytes,
    None,
    Unit,
    Enum,
    Sequence,
    Map,
    Struct,
}

impl ValueType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "a bool",
            Self::Integer => "an integer",
            Self::Float => "a float",
            Self::Char => "a char",
            Self::Str => "a string",
            Self::Bytes => "bytes",
            Self::None => "None",
            Self::Unit => "a unit",
            Self::Enum => "an enum",
            Self::Sequence => "a sequence",
            Self::Map => "a map",
            Self::Struct => "a struct",
        }
    }
}

/// Why bytes cannot be a dtype.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFault {
    /// The bytes are not UTF-8 from this offset on.
    NotUtf8 {
        at: usize,
    },
    Nul {
        at: usize,
    },
    TooLong {
        length: usize,
    },
}

impl TextFault {
    /// Checks the length of a dtype.
    #[inline]
    pub(crate) fn check_length(length: usize) -> Result<(), Self> {
        if length <= MAX_DTYPE_LEN { Ok(()) } else { Err(Self::TooLong { length }) }
    }

    /// Checks that a dtype, or the piece of a dtype that begins at byte `start`, has no NUL and does not end beyond
    /// `MAX_DTYPE_LEN`. UTF-8 is not checked here.
    // C-Blosc2 reads a dtype as a C string, which would end at the NUL.
    #[inline]
    pub(crate) fn check_piece(start: usize, piece: &[u8]) -> Result<(), Self> {
        if piece.contains(&0) {
            Err(Self::with_nul(start, piece))
        } else {
            Self::check_length(start + piece.len())
        }
    }

    /// The fault of a dtype that has a NUL in this piece. If the NUL is within the first `MAX_DTYPE_LEN` bytes, the
    /// fault is the NUL, else the length. So a dtype has the same kind of fault, whether it is checked whole or in
    /// pieces.
    #[cold]
    fn with_nul(start: usize, piece: &[u8]) -> Self {
        match piece.iter().take(MAX_DTYPE_LEN.saturating_sub(start)).position(|&byte| byte == 0) {
            Some(at) => Self::Nul { at: start + at },
            None => Self::TooLong { length: start + piece.len() },
        }
    }

    /// The fault of a dtype whose only fault is invalid UTF-8.
    #[cold]
    pub(crate) fn not_utf8(bytes: &[u8]) -> Self {
        let valid = core::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        Self::NotUtf8 { at: valid }
    }

    /// The offset of the invalid byte in a str32. If the text is too long, it is the offset of the length.
    pub(crate) fn offset(self) -> usize {
        match self {
            Self::NotUtf8 { at } | Self::Nul { at } => STR32_HEADER + at,
            Self::TooLong { .. } => 1,
        }
    }

    #[cold]
    pub(crate) fn error(self) -> Error {
        Error::new(Detail::Text(self))
    }
}

impl fmt::Display for TextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 { at } => write!(f, "must be UTF-8, but is not valid at its byte {at}"),
            Self::Nul { at } => write!(f, "must not contain a NUL, but has one at its byte {at}"),
            Self::TooLong { length } => {
                write!(f, "has {length} bytes, but must have at most {MAX_DTYPE_LEN}")
            }
        }
    }
}

/// Why a metalayer of a layout cannot be read into a Rust type, or why a value cannot be written in a layout.
#[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "some only come with `Meta`"))]
#[derive(Clone, Copy)]
pub(crate) enum LayoutFault {
    /// The Rust type takes another number of entries than the layout has.
    Takes { layout: Layout, takes: usize },
    /// The struct has no field for this entry, and takes fewer entries than the layout has.
    NoField { layout: Layout, takes: usize, entry: Entry },
    /// The Rust type takes more entries than the layout has, because it asked for another entry after the last one. How
    /// many entries it takes is not known.
    TakesMore { layout: Layout },
    /// The field names do not determine which fields take the entries of the layout.
    Unplaced { layout: Layout },
    /// The value has another number of entries than the layout.
    Gives { layout: Layout, gives: usize },
    /// No layout has this number of entries.
    NoLayout { gives: usize },
    /// The value is a sequence of unknown length, so its number of entries cannot select a layout.
    UnknownCount,
    /// A `Meta` has layout `value`, but the serializer was asked to write layout `asked`.
    OtherLayout { value: Layout, asked: Layout },
    /// The value lacks an entry of the layout. The error names this entry.
    Absent { layout: Layout },
    /// The value has an entry that the layout lacks. The error names this entry.
    Surplus { layout: Layout },
    /// The field has the name of one entry, but is in the position of another.
    FieldOrder { field: &'static str, layout: Layout },
    /// The field comes after the field of a later entry.
    FieldAfter { field: &'static str, layout: Layout },
    /// A user's own struct has the name and the fields of a `Meta`.
    NotAMeta,
}

impl LayoutFault {
    #[cold]
    pub(crate) fn error(self) -> Error {
        Error::new(Detail::Fit(self))
    }
}

/// A fault, without its place in the input.
#[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "some only come with `Meta` and `to_vec`"))]
pub(crate) enum Detail {
    /// The input ends before the end of a value.
    Truncated {
        needed: usize,
        left: usize,
    },
    /// The byte is not the marker that the entry needs. `ndim` is the expected number of dimensions of a vector.
    Marker {
        found: u8,
        ndim: u8,
    },
    /// No layout has this outer marker.
    Layout {
        found: u8,
    },
    /// The input is a whole Blosc2 frame, not only its metalayer.
    WholeFrame,
    /// The byte after the block shape is the first byte of neither a dtype nor a dtype format. `found` is this byte, or
    /// `None` if the input ends after the block shape.
    SixthEntry {
        found: Option<u8>,
    },
    /// A vector to be written does not have `ndim` dimensions.
    Dimensions {
        found: usize,
        ndim: u8,
    },
    /// A vector to be written has more than `ndim` dimensions. The exact number is not known, because the serializer
    /// counts at most `ndim` + 1 dimensions.
    MoreDimensions {
        ndim: u8,
    },
    /// The Rust type takes another number of dimensions than the vector in the input has.
    TakesDimensions {
        takes: usize,
        ndim: usize,
    },
    /// An integer does not fit its entry.
    OutOfRange(Integer),
    Text(TextFault),
    Trailing {
        count: usize,
    },
    /// The Rust type or the value does not fit the layout.
    Fit(LayoutFault),
    /// The Rust type takes a kind of value that cannot be read at this place.
    UnsupportedType(ValueType),
    /// A value of this kind cannot be written at this place.
    UnsupportedValue(ValueType),
    BufferTooSmall {
        needed: usize,
        given: usize,
    },
    /// The `Serialize` of the value ignored an error in one of its entries.
    IgnoredError,
    /// The `Serialize` of the value wrote another number of bytes when called a second time.
    Unstable,
    #[cfg(feature = "std")]
    Reader(io::Error),
    #[cfg(feature = "std")]
    Writer(io::Error),
    /// An error that the type's own `Serialize` or `Deserialize` raised.
    Custom(CustomText),
}

/// The text of an error that the type's own `Serialize` or `Deserialize` raised. Without the feature `alloc`, the text
/// is lost.
// `is_length` is a flag, not a second variant of `Detail`. A second variant that owns a text on the heap would add 100
// instructions to each read of a metalayer into `Vec`s.
pub(crate) struct CustomText {
    /// Whether the error was raised with serde's `invalid_length`.
    pub(super) is_length: bool,
    #[cfg(feature = "alloc")]
    text: Box<str>,
}

impl CustomText {
    pub(super) fn new(message: impl fmt::Display, is_length: bool) -> Self {
        #[cfg(not(feature = "alloc"))]
        let _ = message;
        Self {
            is_length,
            #[cfg(feature = "alloc")]
            text: message.to_string().into_boxed_str(),
        }
    }
}

impl fmt::Display for CustomText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "alloc")]
        return f.write_str(&self.text);
        #[cfg(not(feature = "alloc"))]
        f.write_str("the type rejects the value")
    }
}

/// The bytes that follow the first byte of a Blosc2 frame: a string of 8 bytes with its marker. The first byte of a
/// frame is the marker of an array.
const FRAME_MAGIC: &[u8] = b"\xa8b2frame\0";

/// The error for an integer that does not fit its entry.
#[cold]
pub(crate) fn out_of_range(value: impl Into<Integer>) -> Error {
    Error::new(Detail::OutOfRange(value.into()))
}

impl Detail {
    /// The fault if no layout begins with `found`, the first byte of the input. `rest` holds the bytes after it.
    #[cold]
    pub(crate) fn no_layout(found: u8, rest: &[u8]) -> Self {
        // The input may be a whole file, not only its metalayer. Passing a whole file is a likely mistake, so it has
        // its own message.
        if rest.starts_with(FRAME_MAGIC) { Self::WholeFrame } else { Self::Layout { found } }
    }

    /// The kind of an error with this fault in this entry.
    pub(super) fn kind(&self, entry: Option<Entry>) -> ErrorKind {
        match self {
            Self::Truncated { .. } | Self::SixthEntry { found: None } => ErrorKind::UnexpectedEnd,
            Self::Marker { .. } => ErrorKind::Marker,
            Self::Layout { .. } | Self::WholeFrame | Self::SixthEntry { .. } => ErrorKind::Layout,
            Self::Dimensions { .. } | Self::MoreDimensions { .. } | Self::TakesDimensions { .. } => {
                ErrorKind::DimensionCount
            }
            Self::OutOfRange(_) if entry == Some(Entry::Ndim) => ErrorKind::Rank,
            Self::OutOfRange(_) => ErrorKind::OutOfRange,
            Self::Text(TextFault::NotUtf8 { .. }) => ErrorKind::Utf8,
            Self::Text(TextFault::Nul { .. }) => ErrorKind::Nul,
            Self::Text(TextFault::TooLong { .. }) => ErrorKind::DtypeLength,
            Self::Trailing { .. } => ErrorKind::TrailingBytes,
            Self::Fit(LayoutFault::FieldOrder { .. } | LayoutFault::FieldAfter { .. }) => {
                ErrorKind::FieldOrder
            }
            Self::UnsupportedType(_) | Self::UnsupportedValue(_) | Self::Fit(LayoutFault::NotAMeta) => {
                ErrorKind::UnsupportedType
            }
            Self::Fit(_) => ErrorKind::EntryCount,
            Self::BufferTooSmall { .. } => ErrorKind::BufferTooSmall,
            #[cfg(feature = "std")]
            Self::Reader(_) | Self::Writer(_) => ErrorKind::Io,
            Self::Unstable | Self::IgnoredError | Self::Custom(_) => ErrorKind::Custom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_piece_gives_the_first_fault_of_the_whole_dtype() {
        const LAST: usize = MAX_DTYPE_LEN - 1;
        let too_long = || Err(TextFault::TooLong { length: MAX_DTYPE_LEN + 1 });
        for (start, piece, checked) in [
            (0, &b""[..], Ok(())),
            (0, b"<i4", Ok(())),
            (0, b"<\0i\0", Err(TextFault::Nul { at: 1 })),
            (5, b"8\0", Err(TextFault::Nul { at: 6 })),
            (LAST, b"4", Ok(())),
            (LAST, b"42", too_long()),
            // In the first of these two dtypes, the NUL is the last byte within the limit. In the second, the NUL is
            // the first byte beyond the limit.
            (LAST, b"\x002", Err(TextFault::Nul { at: LAST })),
            (LAST, b"4\0", too_long()),
            (MAX_DTYPE_LEN, b"", Ok(())),
            (MAX_DTYPE_LEN, b"\0", too_long()),
        ] {
            assert!(TextFault::check_piece(start, piece) == checked, "{piece:?} at {start}");
        }
    }
}
