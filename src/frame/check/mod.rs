//! What is wrong or odd about a frame.

use std::io::{Read, Seek};
use std::path::Path;
use std::vec;
use std::vec::Vec;

use super::finding::Finding;
use super::open::available;
use super::{Error, Frame};

mod agreement;
mod body;
mod header;

pub(super) use agreement::of_array as agreement;

/// How often a frame is checked that changes while it is checked.
const ATTEMPTS: usize = 5;

/// Checks the frame in a file, or in the directory of a sparse frame, as it is now.
///
/// That the file is no frame, or that its header cannot be read, is a finding like any other.
///
/// # Errors
///
/// If the file cannot be read, or changed each time that it was read.
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
    let path = path.as_ref();
    for _ in 0..ATTEMPTS {
        match Frame::open(path).and_then(|mut frame| frame.check()) {
            Err(Error::Changing(_)) => {}
            Err(Error::Refused(finding)) => return Ok(vec![*finding]),
            findings => return findings,
        }
    }
    Err(Error::Changing(None))
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
    /// Holds the frame against the format, its parts against each other, and against its file. The data is not read.
    ///
    /// The header is not checked once more: a frame that was read has one that is well-formed.
    ///
    /// # Errors
    ///
    /// If the file cannot be read. [`Error::Changing`] if the header is not what it was when this frame was read, so that
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
        let now = self.bytes_at(0, self.bytes.len() as u64)?;
        if now == *self.bytes { Ok(findings) } else { Err(Error::Changing(None)) }
    }
}
