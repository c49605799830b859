//! What is wrong or odd about a frame.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};
use std::vec;
use std::vec::Vec;

use crate::frame::find::open::{available, file_with_header};
use crate::frame::finding::{Finding, Severity};
use crate::frame::{Error, ErrorKind, Frame};

mod agreement;
mod body;
pub(crate) mod chunk_files;
mod header;
mod stable;

pub(crate) use agreement::of_array as agreement;

/// Bytes of the header that are read once more at a time.
const PIECE: usize = 1 << 16;

/// How often a frame is checked that changes while it is checked, or has errors.
const ATTEMPTS: usize = 20;

/// How long a frame with errors is left alone before it is checked once more. A writer that grows an array by chunks
/// takes less for each one.
const INTERVAL: Duration = Duration::from_millis(10);

/// Checks the frame in a file, or in the directory of a sparse frame, as it is now.
///
/// That the file is no frame, or that its header cannot be read, is a finding like any other. Of a sparse frame, the
/// chunk files have to be there, as far as the chunk index can be read: mostly that takes the feature `decompress`.
///
/// What another process is writing looks broken in between. So a frame with an error is checked again after 10
/// milliseconds, until two checks agree and nothing was written between them.
///
/// # Errors
///
/// If the file cannot be read. [`ErrorKind::Changing`] if no two of 20 checks agreed: another process is writing it.
///
/// ```
/// use b2nd_serde::frame::{Code, check};
///
/// assert_eq!(check("tests/data/int32_3x5.b2nd")?, []);
/// assert_eq!(check("Cargo.toml")?[0].code(), Code::NotAFrame);
///
/// for finding in check("tests/data/rank16.b2nd")? {
///     assert_eq!(finding.to_string(), "byte 112 of the frame: the array has 16 dimensions, more than 8");
///     assert_eq!(finding.code().advice(), "See that all readers are newer.");
/// }
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<Vec<Finding>, Error> {
    match Frame::open_checked(path) {
        Ok((_, findings)) => Ok(findings),
        Err(error) => Ok(vec![error.into_finding()?]),
    }
}

impl Frame<File> {
    /// Reads the header of a frame in a file, or in the directory of a sparse frame, with what [`check`] finds.
    ///
    /// # Errors
    ///
    /// As [`check`], and if the file is no frame or its header cannot be read.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// let (frame, findings) = Frame::open_checked("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.header().typesize, 4);
    /// assert_eq!(findings, []);
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn open_checked(path: impl AsRef<Path>) -> Result<(Self, Vec<Finding>), Error> {
        let path = path.as_ref();
        let mut before = None;
        for _ in 0..ATTEMPTS {
            let checked = Self::open(path).and_then(|mut frame| {
                let findings = frame.check()?;
                Ok((frame, findings))
            });
            let findings = match &checked {
                Ok((_, findings)) => findings.clone(),
                Err(error) => match (error.kind(), error.finding()) {
                    (ErrorKind::Malformed, Some(finding)) => vec![finding.clone()],
                    (ErrorKind::Changing, _) => {
                        thread::sleep(INTERVAL);
                        continue;
                    }
                    _ => return checked,
                },
            };
            if findings.iter().all(|finding| finding.severity() != Severity::Error) {
                return checked;
            }
            // A writer that does the same again and again leaves the same behind, but at another time.
            let seen = Some((findings, modified(path)));
            if before == seen {
                return checked;
            }
            before = seen;
            thread::sleep(INTERVAL);
        }
        Err(Error::changing(None))
    }
}

/// When the file with the header was written to, where the system knows.
fn modified(path: &Path) -> Option<SystemTime> {
    file_with_header(path).ok()?.metadata().ok()?.modified().ok()
}

impl<R> Frame<R> {
    /// Holds the header against the format, and its parts against each other. Nothing is read: what stands behind the
    /// header, and the length of the file, [`check`](Self::check) looks at.
    ///
    /// ```
    /// use b2nd_serde::frame::{Code, Frame};
    ///
    /// let frame = Frame::open("tests/data/rank16.b2nd")?;
    /// assert_eq!(frame.check_header()[0].code(), Code::HighRank);
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    #[must_use]
    pub fn check_header(&self) -> Vec<Finding> {
        let mut findings = header::check(self);
        findings.extend(agreement::check(self));
        findings
    }
}

impl<R: Read + Seek> Frame<R> {
    /// Holds the frame against the format, its parts against each other, and against its file, or files. The data is not
    /// read.
    ///
    /// The header is not checked once more: a frame that was read has one that is well-formed. It is looked at once: where
    /// another process may be writing the file, [`check`] looks again.
    ///
    /// # Errors
    ///
    /// If the file cannot be read. [`ErrorKind::Changing`] if the header is not what it was when this frame was read, so that
    /// nothing can be said.
    ///
    /// ```
    /// use b2nd_serde::frame::{Code, Frame, Severity};
    ///
    /// let findings = Frame::open("tests/data/squeezed.caterva")?.check()?;
    /// let codes: Vec<Code> = findings.iter().map(|finding| finding.code()).collect();
    /// assert_eq!(codes, [Code::OldLayout, Code::StaleTail]);
    /// assert!(findings.iter().all(|finding| finding.severity() == Severity::Warning));
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn check(&mut self) -> Result<Vec<Finding>, Error> {
        let mut findings = self.check_header();
        findings.extend(body::check(self)?);
        let available = available(&mut self.reader, self.offset)?;
        findings.extend(header::against_file(self, available));
        if self.is_as_it_was()? { Ok(findings) } else { Err(Error::changing(None)) }
    }

    /// Whether the header in the file is still the one that was read.
    fn is_as_it_was(&mut self) -> Result<bool, Error> {
        let bytes = self.bytes.clone();
        let mut position = 0;
        for piece in bytes.chunks(PIECE) {
            if self.bytes_at(position, piece.len() as u64)? != piece {
                return Ok(false);
            }
            position += piece.len() as u64;
        }
        Ok(true)
    }
}
