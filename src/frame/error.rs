//! Why a frame cannot be read.

use std::{fmt, io};

/// Why a frame cannot be read.
///
/// Offsets are bytes from the start of the frame.
///
/// ```
/// use b2nd_serde::frame::{Error, Frame};
///
/// let error = Frame::parse(b"\x89HDF\r\n\x1a\n").unwrap_err();
/// assert!(matches!(error, Error::NotAFrame));
/// assert_eq!(error.to_string(), "not a Blosc2 frame: no b2frame magic at byte 2");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    Io(io::Error),
    /// The magic bytes of a frame are not there.
    NotAFrame,
    /// The header needs more bytes than were given.
    Incomplete {
        /// Bytes from the start of the frame that a next attempt needs at least.
        needed: usize,
    },
    /// The file ends before the frame does.
    Truncated {
        /// Bytes of the frame or, where they are not all there, of its header.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// A byte of the header is not what the format has there.
    Malformed {
        /// Where.
        offset: usize,
        /// What the format has there.
        expected: &'static str,
        /// What is there.
        found: u8,
    },
    /// The header has more than the 16 metalayers that a frame can have.
    TooManyMetalayers {
        /// Where their number stands.
        offset: usize,
        /// Their number.
        found: u16,
    },
    /// A length or offset in the header points out of the header.
    OutOfHeader {
        /// Where the length or offset stands.
        offset: usize,
        /// What it is of.
        what: &'static str,
        /// Its value.
        value: i64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotAFrame => f.write_str("not a Blosc2 frame: no b2frame magic at byte 2"),
            Self::Incomplete { needed } => write!(f, "the frame's header needs {needed} bytes"),
            Self::Truncated { expected, found } => {
                write!(f, "cut short: the frame takes {expected} bytes, the file has {found}")
            }
            Self::Malformed { offset, expected, found } => {
                write!(f, "byte {offset} of the frame: expected {expected}, found {found:#04x}")
            }
            Self::TooManyMetalayers { offset, found } => {
                write!(f, "byte {offset} of the frame: {found} metalayers, more than 16")
            }
            Self::OutOfHeader { offset, what, value } => {
                write!(f, "byte {offset} of the frame: {what} {value} is out of the header")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
