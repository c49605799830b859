//! Frames that another process may be writing: they are read again until two reads agree.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::check::{Check, Report, agreement};
use crate::find::lock::{SharedLock, is_over};
use crate::find::open::{PAUSE, file_with_header};
use crate::finding::{Code, Finding, Severity};
use crate::{Error, ErrorKind, Frame};

/// How often a frame is checked at most, if it has errors or changes meanwhile.
const ATTEMPTS: usize = 20;

/// The time between two checks. A writer that appends chunks needs less for each.
const INTERVAL: Duration = Duration::from_millis(10);

/// Checks the frame in a file until it has no errors, or two checks agree and nothing was written between them.
pub(super) fn check(path: &Path, check: &mut Check<'_>) -> Result<Report, Error> {
    let mut before = None;
    for _ in 0..ATTEMPTS {
        let report = match once(path, check) {
            Err(error) if error.kind() == ErrorKind::Changing => {
                thread::sleep(INTERVAL);
                continue;
            }
            report => report?,
        };
        // A writer can cause any error for a moment, but not this one: every frame begins with the magic bytes.
        let is_final = |finding: &Finding| finding.code() == Code::NotAFrame;
        if first_error(&report.findings).is_none_or(is_final) {
            return Ok(report);
        }
        // A writer in a loop can cause the same errors again, so the time of the last write must be the same too.
        let state = Some((report.findings.clone(), modified(path)));
        if before == state {
            return Ok(report);
        }
        before = state;
        thread::sleep(INTERVAL);
    }
    Err(Error::changing(None))
}

fn once(path: &Path, check: &mut Check<'_>) -> Result<Report, Error> {
    match look(path)? {
        Ok(mut frame) => {
            // A small file is read once more as a whole, instead of each part of it and then the header again.
            let report = match frame.in_memory()? {
                Some(mut small) => {
                    let Report { findings, counts, unchecked, .. } = check.once(&mut small)?;
                    Report { frame: None, findings, counts, unchecked }
                }
                None => check.once(&mut frame)?,
            };
            Ok(Report { frame: Some(frame), ..report })
        }
        Err(finding) => {
            Ok(Report { frame: None, findings: [finding].into(), counts: None, unchecked: [].into() })
        }
    }
}

/// The frame in a file, or what is wrong with its header.
fn look(path: &Path) -> Result<Result<Frame<File>, Finding>, Error> {
    match Frame::open(path) {
        Ok(frame) => Ok(Ok(frame)),
        Err(error) => error.into_finding().map(Err),
    }
}

fn first_error(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.severity() == Severity::Error)
}

/// When the file with the header was last written, if the system knows.
fn modified(path: &Path) -> Option<SystemTime> {
    file_with_header(path).ok()?.metadata().ok()?.modified().ok()
}

impl Frame<File> {
    /// Reads the header of a frame that another process may be writing. It reads until two reads agree, and the array's
    /// metalayer agrees with the header.
    ///
    /// A single read can give a half-written shape or, more often, a shape whose chunks are not all there yet. If the
    /// frame has a `.b2lock` file, which C-Blosc2 creates if locking is on, its shared lock is held meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Changing`] if this takes longer than `patience`: another process is writing, or was interrupted.
    /// [`check`](crate::check()) can tell which. [`ErrorKind::Locked`] if another process holds the lock for as
    /// long. Otherwise as [`open`](Self::open).
    ///
    /// ```
    /// use std::time::Duration;
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open_stable("tests/data/int32_3x5.b2nd", Duration::from_secs(1))?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn open_stable(path: impl AsRef<Path>, patience: Duration) -> Result<Self, Error> {
        let path = path.as_ref();
        // A patience without an end has no deadline.
        let deadline = Instant::now().checked_add(patience);
        // The type of the frame decides which file is the lock, and no writer changes it. If the header cannot be read
        // yet, a directory must be a sparse frame.
        let is_sparse = Self::open(path).map_or(path.is_dir(), |frame| frame.header().is_sparse());
        let file = file_with_header(path)?;
        let _lock = SharedLock::take(&file, is_sparse, deadline)?;
        let mut before: Option<Self> = None;
        loop {
            let is_first;
            let error = match look(path) {
                Ok(Ok(frame)) => {
                    let error = frame.disagreement();
                    let is_same = before.as_ref().is_some_and(|before| before.bytes == frame.bytes);
                    if is_same && error.is_none() {
                        return Ok(frame);
                    }
                    is_first = before.replace(frame).is_none();
                    error
                }
                Ok(Err(finding)) if finding.code() == Code::NotAFrame => {
                    return Err(Error::malformed(finding));
                }
                Ok(Err(finding)) => {
                    (before, is_first) = (None, false);
                    Some(finding)
                }
                Err(error) if error.kind() == ErrorKind::Changing => {
                    (before, is_first) = (None, false);
                    None
                }
                Err(error) => return Err(error),
            };
            match error {
                // If nobody writes, a second read is enough, whatever `patience` is.
                None if is_first => {}
                error if is_over(deadline) => return Err(Error::changing(error)),
                _ => thread::sleep(PAUSE),
            }
        }
    }

    /// The first error in the array's metalayer, or in its agreement with the header.
    fn disagreement(&self) -> Option<Finding> {
        match self.read_array()? {
            Ok(array) => first_error(&agreement(&array, self.header())).cloned(),
            Err(finding) => Some(finding),
        }
    }
}
