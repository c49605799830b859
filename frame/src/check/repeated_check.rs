//! The repetition of checks while another process may be writing the frame.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::thread;

use crate::check::check_report::Report;
use crate::chunk_file::sparse_folder;
use crate::code::FindingCode;
use crate::error::{Error, ErrorKind};
use crate::file_version::FileStamp;
use crate::finding::first_error;
use crate::read::frame_state::{EQUAL_LOOKS, INTERVAL, is_recent};
use crate::read::open::file_with_header;

/// The maximum number of checks.
const ATTEMPTS: usize = 20;

/// Repeats a check of the frame in a file until it finds nothing, or two checks agree and nothing was written between
/// them. If a check finds only warnings, and the files were not written recently, it is not repeated.
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
        // A writer cannot cause `NotAFrame`, because even an unfinished frame begins with the magic bytes. So a file
        // that is not a frame is not checked again. In a folder of text files, a second check would cost 10 ms per
        // file.
        let is_certain = report.findings.iter().all(|finding| finding.code() == FindingCode::NotAFrame);
        if is_certain {
            return Ok(report);
        }
        let files = FrameFiles::of(path);
        if first_error(&report.findings).is_none() && !files.are_recent {
            return Ok(report);
        }
        // A writer that changes the frame in a loop can cause the same findings again, so two checks agree only if the
        // files have the same versions too.
        let state = Some((report.findings.clone(), files.versions));
        if before == state {
            return Ok(report);
        }
        before = state;
        wait(path, &files);
    }
    Err(Error::changing(None))
}

/// Waits until a writer that pauses between two writes has probably written again. The wait ends early if the files
/// have changed.
// On a busy system, a writer can wait for the processor between two writes. The wait compares only the versions of the
// files, because another check could read the whole file.
fn wait(path: &Path, files: &FrameFiles) {
    thread::sleep(INTERVAL);
    let more = if files.are_recent { EQUAL_LOOKS - 1 } else { 0 };
    for _ in 0..more {
        if FrameFiles::of(path).versions != files.versions {
            break;
        }
        thread::sleep(INTERVAL);
    }
}

/// The versions of a frame's files, taken without reading the files.
struct FrameFiles {
    /// A hash of the versions of all files.
    versions: u64,
    /// Whether one of the files was written recently.
    are_recent: bool,
}

impl FrameFiles {
    fn of(path: &Path) -> Self {
        let mut files = Self { versions: 0, are_recent: false };
        let Ok(header) = file_with_header(path) else { return files };
        files.add(&header);
        // C-Blosc2 overwrites a chunk file in place, and the index only later. So the chunk files count too.
        let folder = sparse_folder(&header).and_then(|folder| fs::read_dir(folder).ok());
        folder.into_iter().flatten().flatten().for_each(|entry| files.add(&entry.path()));
        files
    }

    fn add(&mut self, path: &Path) {
        let Ok(metadata) = fs::metadata(path) else { return };
        let mut hasher = DefaultHasher::new();
        (path, FileStamp::of(&metadata)).hash(&mut hasher);
        // The sum does not depend on the order of the files in the directory.
        self.versions = self.versions.wrapping_add(hasher.finish());
        self.are_recent |= is_recent(&metadata);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;
    use std::time::{Duration, Instant, SystemTime};

    use super::*;
    use crate::check::{Check, CheckDepth};
    use crate::chunk_file::name;
    use crate::finding::{Finding, Place};

    fn report_of(code: FindingCode) -> Report {
        Report::new([Finding::new(code, Place::File)].into())
    }

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

    #[test]
    fn repeat_checks_once_more_if_a_chunk_file_is_overwritten_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir("tests/data/sparse.b2nd").unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        let mut nchecks = 0;
        repeat(folder.path(), || {
            nchecks += 1;
            if nchecks == 2 {
                fs::write(folder.path().join(name(0)), "").unwrap();
            }
            Ok(report_of(FindingCode::ChunkFile))
        })
        .unwrap();
        assert_eq!(nchecks, 3);
    }

    #[test]
    fn repeat_checks_a_recent_file_again_after_some_time_even_without_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        let checks = |written: SystemTime| {
            fs::copy("tests/data/int32_3x5.b2nd", &path).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
            let mut times = Vec::new();
            let warning = || {
                times.push(Instant::now());
                Ok(report_of(FindingCode::LongerFile))
            };
            repeat(&path, warning).unwrap();
            times
        };
        assert_eq!(checks(SystemTime::now() - Duration::from_secs(3600)).len(), 1);
        // On a slow machine, the check can begin so late that the file is not recent any more. In that case, try again.
        let times = loop {
            let start = Instant::now();
            let times = checks(SystemTime::now());
            if start.elapsed() < Duration::from_secs(1) {
                break times;
            }
        };
        assert_eq!(times.len(), 2);
        assert!(times[1] - times[0] >= Duration::from_millis(60), "{times:?}");
    }
}
