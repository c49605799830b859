//! Checks of a frame: what is wrong with it, or unusual.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::vec::Vec;

use crate::frame::finding::{Code, Finding};
use crate::frame::read::available;
use crate::frame::{Error, Frame};

mod agreement;
mod body;
mod chunk_files;
mod chunk_headers;
mod entries;
mod header;
mod stable;

pub(crate) use agreement::of_array as agreement;
pub(crate) use chunk_headers::{Rules, wrong_table};

/// How many bytes of the header are compared at a time.
const PIECE: usize = 1 << 16;

/// The result of [`check`]: the frame, and what is wrong with it or unusual.
///
/// ```
/// use b2nd_serde::frame::check;
///
/// let report = check("tests/data/rank16.b2nd")?;
/// let frame = report.frame.expect("a header that can be read");
/// assert_eq!(frame.array()?.expect("an array").shape().len(), 16);
/// assert_eq!(report.findings[0].code().name(), "high-rank");
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// The frame. `None` if its header cannot be read; the only finding then says why.
    pub frame: Option<Frame<File>>,
    /// All errors and warnings.
    pub findings: Vec<Finding>,
}

/// Checks the frame in a file, or in the directory of a sparse frame.
///
/// A file that is not a frame, or whose header cannot be read, is reported as a finding, not as an error. In a sparse frame, the chunk
/// files are checked too. No more files are opened than there are in the directory, however many chunks the index claims.
/// A compressed chunk index is only read with the feature `decompress`.
///
/// The chunk files of a sparse frame are checked too, if the chunk index can be read. Most indexes are compressed,
/// which needs the feature `decompress`. A damaged index cannot make the check expensive: at most 64 MiB of it are
/// decompressed, and at most 64 files are opened that are not in the directory.
///
/// A frame that another process is writing can look broken for a moment. If there is an error, the frame is therefore
/// checked again every 10 milliseconds, until two checks agree and nothing was written between them.
///
/// # Errors
///
/// If the file cannot be read. [`ErrorKind::Changing`](crate::frame::ErrorKind::Changing) if in 20 checks no two in a
/// row agree.
///
/// ```
/// use b2nd_serde::frame::{Code, Finding, check};
///
/// assert_eq!(check("tests/data/int32_3x5.b2nd")?.findings, []);
///
/// let report = check("Cargo.toml")?;
/// assert!(report.frame.is_none());
/// assert_eq!(report.findings[0].code(), Code::NotAFrame);
///
/// for finding in check("tests/data/squeezed.caterva")?.findings {
///     println!("{}: {finding}\nWhat to do: {}", finding.severity(), finding.code().advice());
/// }
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<Report, Error> {
    stable::check(path.as_ref())
}

impl<R> Frame<R> {
    /// Checks the header by itself, and whether it agrees with the array's metalayer. The file is not read.
    ///
    /// [`check`](Self::check) does the same, and also checks what follows the header.
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
    /// Checks the frame: the header, the chunk index, the trailer, and the length of the file. The chunks are not read:
    /// [`check_chunks`](Self::check_chunks) does that.
    ///
    /// The frame is checked once. If another process may be writing it, use the function [`check`], which repeats the
    /// check.
    ///
    /// # Errors
    ///
    /// If the file cannot be read. [`ErrorKind::Changing`](crate::frame::ErrorKind::Changing) if the header in the file
    /// has changed since the frame was read.
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
        match body::check(self) {
            Ok(body) => findings.extend(body),
            // The file has become shorter, which the check of its length reports.
            Err(error) if error.is_about(Code::Truncated) => {}
            Err(error) => return Err(error),
        }
        let available = available(&mut self.reader, self.offset).map_err(|error| self.unreadable(error))?;
        findings.extend(header::against_file(self, available));
        if self.is_unchanged()? { Ok(findings) } else { Err(Error::changing(None)) }
    }

    /// Whether the header in the file is still the one of this frame.
    fn is_unchanged(&mut self) -> Result<bool, Error> {
        let bytes = self.bytes.clone();
        let mut position = 0;
        for piece in bytes.chunks(PIECE) {
            match self.bytes_at(position, piece.len() as u64) {
                Ok(bytes) if bytes == piece => {}
                Err(error) if !error.is_about(Code::Truncated) => return Err(error),
                _ => return Ok(false),
            }
            position += piece.len() as u64;
        }
        Ok(true)
    }
}
