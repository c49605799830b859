//! The repetition of checks while another process may be writing the frame.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::check::check_report::Report;
use crate::code::FindingCode;
use crate::error::{Error, ErrorKind};
use crate::file_version::FileVersion;
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
        // A writer in a loop can cause the same errors again, so two checks agree only if the file has the same version
        // too.
        let state = Some((report.findings.clone(), version(path)));
        if before == state {
            return Ok(report);
        }
        before = state;
        thread::sleep(INTERVAL);
    }
    Err(Error::changing(None))
}

/// The version of the file with the header; `None` if there is no such file.
fn version(path: &Path) -> Option<FileVersion> {
    Some(FileVersion::from(&file_with_header(path).ok()?.metadata().ok()?))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};

    use super::*;
    use crate::check::{Check, CheckDepth};

    #[test]
    fn repeat_checks_once_more_if_another_file_of_the_same_time_takes_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["a.b2nd", "other"].map(|name| folder.path().join(name));
        let mut bytes = fs::read("tests/data/int32_3x5.b2nd").unwrap();
        bytes[229 + 15] = 0x40;
        for file in [&path, &other] {
            fs::write(file, &bytes).unwrap();
        }
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        File::options().write(true).open(&other).unwrap().set_modified(time).unwrap();
        let findings = Check::new(CheckDepth::ChunkHeaders).run_path(&path).unwrap().findings;
        assert!(first_error(&findings).is_some());
        let mut nchecks = 0;
        repeat(&path, || {
            nchecks += 1;
            if nchecks == 2 {
                fs::rename(&other, &path).unwrap();
            }
            Ok(Report::new(findings.clone()))
        })
        .unwrap();
        assert_eq!(nchecks, 3);
    }
}
