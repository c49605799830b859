//! Why a frame cannot be read, or cannot be changed.

use core::error;
use core::fmt;
use std::boxed::Box;
use std::io;
use std::string::String;

use super::finding::{Code, Finding};
use crate::frame::edit::change_error::ChangeError;

/// Why a frame cannot be read, or cannot be changed.
///
/// ```
/// use b2nd_serde::frame::{Code, Frame};
///
/// let error = Frame::parse(b"\x89HDF\r\n\x1a\n").unwrap_err();
/// assert_eq!(error.to_string(), "not a Blosc2 frame: no b2frame magic at byte 2");
/// assert_eq!(error.code(), Some(Code::NotAFrame));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    Io(io::Error),
    /// The part of the frame that is asked for needs more bytes than were given.
    Incomplete {
        /// Bytes that a next attempt needs at least.
        needed: usize,
    },
    /// The frame breaks a rule without which it cannot be read.
    Refused(Box<Finding>),
    /// A metalayer, or a vlmetalayer, is not of the type that is asked for, or cannot be decompressed.
    Decode {
        /// Its name.
        name: String,
        /// What its format or its chunk says to it.
        source: Box<dyn error::Error + Send + Sync>,
    },
    /// The frame was changed while it was read, or since.
    Changing(
        /// What is wrong with it as it is now. Where it stays so, the change has been broken off.
        Option<Box<Finding>>,
    ),
    /// The frame cannot be changed so, and is as it was.
    Change(ChangeError),
}

impl Error {
    pub(crate) fn decode(name: &str, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        Self::Decode { name: name.into(), source: source.into() }
    }

    /// The code of the rule that the frame breaks, if that is the reason.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Refused(finding) => Some(finding.code()),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Incomplete { needed } => write!(f, "incomplete: {needed} bytes are needed"),
            Self::Refused(finding) => finding.fmt(f),
            Self::Decode { name, source } => write!(f, "metalayer {name}: {source}"),
            Self::Changing(None) => f.write_str("changing: another process is writing the frame"),
            Self::Changing(Some(finding)) => write!(f, "changing, or left half-changed: {finding}"),
            Self::Change(error) => error.fmt(f),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Decode { source, .. } => Some(source.as_ref()),
            Self::Change(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Finding> for Error {
    fn from(finding: Finding) -> Self {
        Self::Refused(finding.into())
    }
}

impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Self {
        Self::Change(error)
    }
}
