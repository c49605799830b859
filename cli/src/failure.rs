//! What went wrong with a file, for people and for `--json`.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::iter;
use std::path::PathBuf;

use b2nd_frame::{Error, ErrorKind, Finding};
use serde::Serialize;

use crate::address::{Address, Location};
use crate::text;

impl Location<'_> {
    pub(crate) fn failure(self, error: impl Into<Problem>) -> Failure {
        let mut error: Problem = error.into();
        // The failure shows its own path.
        if let Some((file, action)) = error.file.take().map(|file| *file)
            && file != self.path
        {
            error.message = format!("{action}: {}", error.message).into();
        }
        Failure { address: Box::new(self.into()), error }
    }
}

/// What went wrong with a file.
#[derive(Serialize)]
pub(crate) struct Failure {
    #[serde(flatten)]
    pub(crate) address: Box<Address>,
    pub(crate) error: Problem,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.address.location(), self.error)
    }
}

/// Why something cannot be read.
#[derive(Clone, Serialize)]
pub(crate) struct Problem {
    pub(crate) kind: &'static str,
    /// The byte of the frame, or of the bytes that were given.
    pub(crate) offset: Option<u64>,
    pub(crate) message: Box<str>,
    /// The finding, if the problem is one.
    #[serde(skip)]
    pub(crate) finding: Option<Box<Finding>>,
    /// The file that it is about, and what could not be done with it, until both are in the message or left out.
    #[serde(skip)]
    pub(crate) file: Option<Box<(PathBuf, String)>>,
    /// What to try instead, with the punctuation before it.
    #[serde(skip)]
    pub(crate) hint: Option<&'static str>,
}

impl Problem {
    pub(crate) fn new(kind: &'static str, message: impl Into<Box<str>>) -> Self {
        Self { kind, offset: None, message: message.into(), finding: None, file: None, hint: None }
    }
}

impl From<Finding> for Problem {
    fn from(finding: Finding) -> Self {
        let (kind, offset) = (finding.code().name(), finding.offset());
        let problem = Self::new(kind, finding.message());
        Self { offset, finding: Some(finding.into()), ..problem }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        (&error).into()
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        match (error.kind(), error.finding(), error.source()) {
            (ErrorKind::Malformed, Some(finding), _) => finding.clone().into(),
            (ErrorKind::Io, _, Some(source)) => {
                let file = error.path().map(|path| Box::new((path.into(), error.to_string())));
                Self { file, ..Self::new("io", with_sources(source)) }
            }
            (ErrorKind::Io, ..) => Self::new("io", error.to_string()),
            (ErrorKind::Changing, ..) => Self::new("changing", error.to_string()),
            (ErrorKind::Locked, ..) => Self::new("locked", error.to_string()),
            (ErrorKind::Refused, ..) => Self::new("refused", error.to_string()),
            (ErrorKind::Exists, ..) => Self::new("exists", error.to_string()),
            (ErrorKind::Stopped, ..) => Self::new("stopped", error.to_string()),
            (ErrorKind::Decode, ..) => Self::new("decode", with_sources(error)),
            _ => Self::new("malformed", with_sources(error)),
        }
    }
}

/// The message of an error, and those of its sources.
pub(crate) fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let messages =
        iter::successors(Some(error), |error: &&(dyn std::error::Error + 'static)| (*error).source())
            .map(ToString::to_string);
    messages.collect::<Vec<_>>().join(": ")
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::new("io", error.to_string())
    }
}

/// The message with its byte, safe to print on a terminal.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match (&self.finding, self.offset) {
            (Some(finding), _) => finding.to_string(),
            (None, Some(offset)) => format!("byte {offset}: {}", self.message),
            (None, None) => self.message.to_string(),
        };
        f.write_str(&text::clean(&message))?;
        self.hint.map_or(Ok(()), |hint| f.write_str(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use b2nd_frame::Frame;
    use std::path::Path;

    #[test]
    fn a_message_names_the_file_that_it_is_about_unless_the_failure_does() {
        let error = Frame::open("none.chunk").unwrap_err();
        let message = |path: &str| Location::of(Path::new(path)).failure(&error).to_string();
        let reason = error.source().unwrap().to_string();
        assert_eq!(message("none.chunk"), format!("none.chunk: {reason}"));
        assert_eq!(message("array.b2nd"), format!("array.b2nd: cannot read none.chunk: {reason}"));
    }
}
