//! Errors with their addresses, for people and for `--json`.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::address::{Address, Inside, Location};
use crate::code;
use crate::problem::Problem;
use crate::waiting::HasProblem;

impl Location<'_> {
    pub(crate) fn failure(self, error: impl Into<Problem>) -> Failure {
        let mut error: Problem = error.into();
        // The output for the failure begins with the path of this location. So the message names the file that caused
        // the error only if the path of that file is different.
        if let Some((file, message)) = error.file.as_deref()
            && file != self.path
        {
            error.message = message.as_str().into();
        }
        Failure { address: Box::new(self.into()), error }
    }
}

impl Address {
    /// The path of this address, for a command that changes or writes the file there. Refuses an address that is not a
    /// path, such as a member of a zip file.
    pub(crate) fn into_path(self) -> Result<PathBuf, Failure> {
        if self.inside == Inside::Whole {
            return Ok(self.path);
        }
        let message = "this command writes only to a file or folder; `b2nd rewrite` copies a frame out of a member, an offset, a URL or standard input";
        Err(self.location().failure(Problem::new(code::INVALID_INPUT, message)))
    }
}

/// An error with the address of its file.
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

impl HasProblem for Failure {
    fn problem(&self) -> Option<&Problem> {
        Some(&self.error)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use b2nd_frame::Frame;

    use super::*;

    #[test]
    fn a_message_names_the_file_that_it_is_about_unless_the_failure_does() {
        let error = Frame::open("none.chunk").unwrap_err();
        let message = |path: &str| Location::new(Path::new(path)).failure(&error).to_string();
        let reason = error.io_error().unwrap().to_string();
        assert_eq!(message("none.chunk"), format!("none.chunk: {reason}"));
        assert_eq!(message("array.b2nd"), format!("array.b2nd: cannot read none.chunk: {reason}"));
    }
}
