//! An error with its code, and with the finding that caused it, if any.

use std::fmt;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use b2nd_frame::{Error, ErrorKind, Finding, FindingCode};
use serde::Serialize;

use crate::code;
use crate::text;

/// An error of reading or writing, as users see it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Problem {
    #[serde(rename = "kind")]
    pub(crate) code: &'static str,
    /// The offset of the error in the frame or in the input bytes.
    pub(crate) offset: Option<u64>,
    pub(crate) message: Box<str>,
    /// The finding that caused the error.
    #[serde(skip)]
    pub(crate) finding: Option<Box<Finding>>,
    /// The file that caused the error, and a message for output that does not begin with the path of this file. Output
    /// that begins with this path has `message` instead.
    #[serde(skip)]
    pub(crate) file: Option<Box<(PathBuf, String)>>,
    /// A hint at the end of the message, with the punctuation before it.
    #[serde(skip)]
    pub(crate) hint: Option<&'static str>,
}

impl Problem {
    pub(crate) fn new(code: &'static str, message: impl Into<Box<str>>) -> Self {
        Self { code, offset: None, message: message.into(), finding: None, file: None, hint: None }
    }

    /// Records the file that has this problem, if none is recorded, so that a failure can show the path of that file.
    /// The message does not change.
    pub(crate) fn at(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| Box::new((file.into(), self.message.to_string())));
        self
    }

    /// The problem that no file can be created in `folder`, because there is no folder at this path; `None` if there is
    /// a folder.
    pub(crate) fn no_folder(folder: &Path) -> Option<Self> {
        let why = if folder.exists() { "not a folder" } else { "no such folder" };
        let message = || format!("cannot create a file in {}: {why}", folder.display());
        (!folder.is_dir()).then(|| Self::new(code::IO, message()))
    }

    /// Whether the input is not a frame at all.
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
            if let Some(problem) = inside(reason) {
                return problem;
            }
            // The failure usually shows this path, so the message has only the reason.
            let file = error.path().map(|path| Box::new((path.into(), with_sources(error))));
            return Self { file, ..Self::new(code::IO, with_sources(reason)) };
        }
        let code = match (error.kind(), error.finding()) {
            (ErrorKind::Malformed, Some(finding)) => return finding.clone().into(),
            (ErrorKind::Decode, _) => return Self::new(code::DECODE, with_sources(error)),
            (ErrorKind::Changing, _) => code::CHANGING,
            (ErrorKind::Locked, _) => code::LOCKED,
            (ErrorKind::InvalidInput, _) => code::INVALID_INPUT,
            (ErrorKind::Unsupported, _) => code::UNSUPPORTED,
            (ErrorKind::TooLarge, _) => code::TOO_LARGE,
            (ErrorKind::ArrayUnknown, _) => code::ARRAY_UNKNOWN,
            (ErrorKind::OrderUnknown, _) => code::ORDER_UNKNOWN,
            (ErrorKind::Exists, _) => code::EXISTS,
            (ErrorKind::Stopped, _) => code::STOPPED,
            _ => return Self::new(code::MALFORMED, with_sources(error)),
        };
        let problem = Self::new(code, error.to_string());
        match error.path() {
            Some(path) => problem.at(path),
            None => problem,
        }
    }
}

/// The problem inside an I/O error. The readers of objects and of frames in the data of a store can return only I/O
/// errors. So they put the problem into an I/O error.
fn inside(error: &io::Error) -> Option<Problem> {
    let inner = error.get_ref()?;
    let of_store = || inner.downcast_ref::<Error>().map(Problem::from);
    inner.downcast_ref::<Problem>().cloned().or_else(of_store)
}

/// An iterator over an error, its source, the source of that source, and so on.
pub(crate) fn sources<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// The messages of an error and of all its sources, separated by colons.
pub(crate) fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    sources(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        inside(&error).unwrap_or_else(|| Self::new(code::IO, error.to_string()))
    }
}

impl std::error::Error for Problem {}

/// The message with the offset, safe to print on a terminal.
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
