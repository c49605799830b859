//! The repetition of checks while another process may be writing the frame.

use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::check::check_report::Report;
use crate::code::FindingCode;
use crate::error::{Error, ErrorKind};
use crate::finding::first_error;
use crate::read::open::file_with_header;

/// The maximum number of checks. A check is repeated if the frame has errors, or changes during the check.
const ATTEMPTS: usize = 20;

/// The time between two checks. This time is longer than a writer needs to append one chunk, so two checks do not see
/// the same half-written state.
const INTERVAL: Duration = Duration::from_millis(10);

/// Repeats a check of the frame in a file until it finds no errors, or two checks agree and nothing was written between
/// them.
pub(super) fn repeat(path: &Path, mut once: impl FnMut() -> Result<Report, Error>) -> Result<Report, Error> {
    let mut before = None;
    for _ in 0..ATTEMPTS {
        let report = match once() {
            Err(error) if error.kind() == ErrorKind::Changing => {
                thread::sleep(INTERVAL);
                continue;
            }
            report => report?,
        };
        // `NotAFrame` is the only error for which the check is not repeated. A writer cannot cause it, because even an
        // unfinished frame begins with the magic bytes. In a folder of text files, repeated checks would cost 10 ms per
        // file.
        if first_error(&report.findings).is_none_or(|error| error.code() == FindingCode::NotAFrame) {
            return Ok(report);
        }
        // A writer in a loop can cause the same errors again, so two checks agree only if the time of the last write is
        // the same too.
        let state = Some((report.findings.clone(), modified(path)));
        if before == state {
            return Ok(report);
        }
        before = state;
        thread::sleep(INTERVAL);
    }
    Err(Error::changing(None))
}

/// The time of the last write to the file with the header, if the system knows it.
fn modified(path: &Path) -> Option<SystemTime> {
    file_with_header(path).ok()?.metadata().ok()?.modified().ok()
}
