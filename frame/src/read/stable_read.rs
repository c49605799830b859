//! Reading the header of a frame that another process may be writing.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::code::FindingCode;
use crate::error::{Error, ErrorKind};
use crate::finding::{Finding, first_error};
use crate::header::array_rules::agreement;
use crate::header::frame::Frame;
use crate::read::lock::{PAUSE, is_over, share_sidecar};
use crate::read::open::{file_with_header, open_frame};

/// Reads the header of a frame that another process may be writing. Returns a header if two reads in a row give the
/// same bytes and the header agrees with the array; until then, reads again for at most `patience`.
pub(crate) fn open_stable(path: &Path, patience: Duration) -> Result<Frame, Error> {
    // If the clock cannot represent the deadline, the reads have no limit.
    let deadline = Instant::now().checked_add(patience);
    // The name of the lock file depends on the frame type, which no writer changes. If the header cannot be read yet,
    // the path decides: a directory is a sparse frame, and a file is a contiguous frame.
    let is_sparse = open_frame(path).map_or(path.is_dir(), |frame| frame.header().is_sparse());
    let file = file_with_header(path)?;
    let _lock = share_sidecar(&file, is_sparse, deadline)?;
    let mut before: Option<Frame> = None;
    loop {
        let (frame, error) = match open_frame(path) {
            Ok(frame) => {
                let error = disagreement(&frame);
                let is_same = before.as_ref().is_some_and(|before| before.bytes == frame.bytes);
                if is_same && error.is_none() {
                    return Ok(frame);
                }
                (Some(frame), error)
            }
            Err(error) if error.is_about(FindingCode::NotAFrame) => return Err(error),
            Err(error) if error.kind() == ErrorKind::Changing => (None, None),
            Err(error) => (None, Some(error.into_finding()?)),
        };
        let is_first = before.is_none() && frame.is_some();
        before = frame;
        match error {
            // After the first successful read, read again at once, even with a patience of 0. If no writer is at
            // work, the second read gives the same bytes.
            None if is_first => {}
            error if is_over(deadline) => return Err(Error::changing(error)),
            _ => thread::sleep(PAUSE),
        }
    }
}

/// The first error about the array's metalayer: the metalayer cannot be read, or its numbers are not valid or
/// contradict the header. Warnings do not count.
fn disagreement(frame: &Frame) -> Option<Finding> {
    match frame.read_array() {
        Ok(array) => first_error(&agreement(&array?, frame.header())).cloned(),
        Err(finding) => Some(finding),
    }
}
