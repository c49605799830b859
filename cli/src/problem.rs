//! Why something cannot be read, with a code, and a finding if it is one.

use std::fmt;
use std::io;
use std::iter;
use std::path::PathBuf;

use b2nd_frame::{Error, ErrorKind, Finding, FindingCode};
use serde::Serialize;

use crate::text;

/// Why something cannot be read.
#[derive(Clone, Serialize)]
pub(crate) struct Problem {
    #[serde(rename = "kind")]
    pub(crate) code: &'static str,
    /// The byte of the frame, or of the bytes that were given.
    pub(crate) offset: Option<u64>,
    pub(crate) message: Box<str>,
    /// The finding, if the problem is one.
    #[serde(skip)]
    pub(crate) finding: Option<Box<Finding>>,
    /// The file that it is about, and a message that names it, if the failure does not.
    #[serde(skip)]
    pub(crate) file: Option<Box<(PathBuf, String)>>,
    /// What to try instead, with the punctuation before it.
    #[serde(skip)]
    pub(crate) hint: Option<&'static str>,
}

impl Problem {
    pub(crate) fn new(code: &'static str, message: impl Into<Box<str>>) -> Self {
        Self { code, offset: None, message: message.into(), finding: None, file: None, hint: None }
    }

    /// Whether what was read is something else.
    pub(crate) fn is_not_a_frame(&self) -> bool {
        self.finding.as_ref().is_some_and(|finding| finding.code() == FindingCode::NotAFrame)
    }
}

impl From<Finding> for Problem {
    fn from(finding: Finding) -> Self {
        let problem = Self::new(finding.code().name(), finding.message());
        Self { offset: finding.offset(), finding: Some(finding.into()), ..problem }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        (&error).into()
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        if let Some(reason) = error.io_error() {
            let file = error.path().map(|path| Box::new((path.into(), with_sources(error))));
            return Self { file, ..Self::new("io", with_sources(reason)) };
        }
        let code = match (error.kind(), error.finding()) {
            (ErrorKind::Malformed, Some(finding)) => return finding.clone().into(),
            (ErrorKind::Decode, _) => return Self::new("decode", with_sources(error)),
            (ErrorKind::Changing, _) => "changing",
            (ErrorKind::Locked, _) => "locked",
            (ErrorKind::Refused, _) => "refused",
            (ErrorKind::Exists, _) => "exists",
            (ErrorKind::Stopped, _) => "stopped",
            _ => return Self::new("malformed", with_sources(error)),
        };
        Self::new(code, error.to_string())
    }
}

/// An error, and its sources.
pub(crate) fn sources<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// The message of an error, and those of its sources.
pub(crate) fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    sources(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
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
