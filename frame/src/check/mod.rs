//! Checks of a frame.

use core::ops::ControlFlow;
use std::path::Path;

use crate::code::{CheckDepth, FindingCode};
use crate::error::Error;
use crate::finding::Finding;
use crate::header::array_rules;
use crate::header::frame::Frame;
use crate::header::header_rules;
use crate::progress::Progress;
use crate::queue::MAX_THREADS;
use crate::read::lock::has_writer;
use crate::read::open::open_frame;
use crate::source::ReadAt;
use check_report::Report;

// Each module imports only from the modules above it in this list.
pub(crate) mod check_report;

pub(crate) mod chunk_data;
pub(crate) mod chunk_files;
mod chunk_findings;
pub(crate) mod unowned;

pub(crate) mod chunk_walk;
mod index_check;

mod frame_check;

mod repeated_check;
mod vlmeta_values;

/// A check of a frame, with its depth and progress callback.
///
/// The function [`check`] is a short form of `Check::default().run_path(path)`. It does not read the data of the
/// chunks.
///
/// A frame that another process is writing can look broken for a moment. A check [by path](Self::run_path) that finds
/// an error is therefore repeated every 10 milliseconds, until there is no error, or until two checks agree and nothing
/// was written between them. So a damaged frame is read at least twice. A check that finds only warnings is repeated
/// too if a file of the frame was written in the last second. After such a recent write, at least 60 milliseconds must
/// pass without another write, because a writer can pause between two writes.
///
/// While a writer of this crate has the frame open (`ArrayUpdate`), a check reports neither bytes after the frame nor
/// chunk files without an entry in the index: they may belong to a commit that is not finished.
///
/// At most 20 findings about chunks are reported per code. If the chunk index is damaged, the chunks after the damage
/// are not checked, because only the index records where they are.
///
/// # Damage that a check cannot find
///
/// Blosc2 has no checksums, so a check finds only contradictions. (The members of a zip file do have a checksum, which
/// [`ZipMember::check_bytes`](crate::ZipMember::check_bytes) compares.) A check cannot find
///
/// - damage in compressed bytes that the codec does not detect, except a page of zeros
///   ([`LostPage`](FindingCode::LostPage)), and any damage in uncompressed bytes;
/// - a wrong dtype that has the right item size, and a wrong shape that has the right number of chunks;
/// - a wrong shape or chunk shape of an array without items;
/// - wrong values in metalayers that do not describe the array, and wrong parameters in the header that apply only to
///   new chunks, such as the codec;
/// - a mix of old and new data, left by a writer that was killed while it changed an array in place;
/// - data that was never written. If a writer was killed while it created or extended an array, the missing chunks read
///   as zeros. [`NoData`](FindingCode::NoData) and [`NeverWritten`](FindingCode::NeverWritten) warn of this, but such
///   an array can be intended. There is no warning if a stored chunk follows a special chunk, for example a chunk of
///   zeros. Most writers store the chunks in order, so the writer was still alive after that special chunk, and
///   probably intended it.
///
/// `docs/EVIDENCE.md` in the repository shows how much damage a check finds if each byte of a header is changed, and if
/// writers are killed.
///
/// ```
/// use b2nd_frame::{Check, CheckDepth, FindingCode};
///
/// // Chunk 1 of this file begins at byte 229. Bytes 12 to 15 of the chunk are its length; the last of them is the
/// // highest byte.
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("damaged.b2nd");
/// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// file[229 + 15] = 0x40;
/// std::fs::write(&path, file)?;
///
/// assert_eq!(Check::new(CheckDepth::Frame).run_path(&path)?.findings, []);
/// let report = Check::new(CheckDepth::ChunkHeaders).run_path(&path)?;
/// assert_eq!(report.findings[0].code(), FindingCode::ChunkHeader);
/// assert_eq!(
///     report.findings[0].message(),
///     "chunk 1 has 1073741888 bytes, but at most 192 are left for it"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is checked without `run` or `run_path`"]
#[derive(Debug, Default)]
pub struct Check<'p> {
    depth: CheckDepth,
    threads: usize,
    progress: Progress<'p>,
}

/// Checks the frame in a file, or in the directory of a sparse frame. The data of the chunks is not read; a [`Check`]
/// can read it.
///
/// A file that is not a frame, or a header that cannot be read, gives a finding, not an error. In a sparse frame, the
/// check also verifies that all chunk files exist and are complete. For this, it must read the chunk index. Most
/// indexes are compressed, and to read these, this crate needs the feature `decompress`. A damaged index cannot make
/// the check expensive: at most 64 files that do not exist are looked up one by one.
///
/// # Errors
///
/// The errors of [`Check::run_path`].
///
/// ```
/// use b2nd_frame::{FindingCode, check};
///
/// assert_eq!(check("tests/data/int32_3x5.b2nd")?.findings, []);
///
/// let report = check("Cargo.toml")?;
/// assert!(report.frame.is_none());
/// assert_eq!(report.findings[0].code(), FindingCode::NotAFrame);
///
/// for finding in check("tests/data/squeezed.caterva")?.findings {
///     println!("{}: {finding}\nWhat to do: {}", finding.severity(), finding.code().advice());
/// }
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<Report, Error> {
    Check::default().run_path(path)
}

impl<'p> Check<'p> {
    /// A check of this depth.
    pub fn new(depth: CheckDepth) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Sets the number of threads that decompress, from 1 to 256; other numbers are clamped. The default is 1. The
    /// calling thread is one of them, and only it reads the file. The report does not depend on the number of threads.
    /// Up to two stored chunks for each thread are in memory, but together at most 64 MiB plus one chunk.
    ///
    /// ```
    /// use b2nd_frame::{Check, CheckDepth};
    ///
    /// let report = Check::new(CheckDepth::ChunkData).threads(4).run_path("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(report.findings, []);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.min(MAX_THREADS), ..self }
    }

    /// Sets a progress callback. After each chunk, the callback receives the number of chunks checked so far. While a
    /// long chunk index is read, it receives 0 from time to time. With several threads, some of the counted chunks may
    /// not be decompressed yet. The callback can stop the check with an error of the kind
    /// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped). If the check is repeated, the numbers start again.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use b2nd_frame::{Check, CheckDepth, ErrorKind};
    ///
    /// let mut chunks = 0;
    /// let check = Check::new(CheckDepth::ChunkHeaders).on_progress(|done| {
    ///     chunks = done;
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(check.run_path("tests/data/int32_3x5.b2nd")?.findings, []);
    /// assert_eq!(chunks, 4);
    ///
    /// let check = Check::new(CheckDepth::ChunkHeaders).on_progress(|_| ControlFlow::Break(()));
    /// assert_eq!(check.run_path("tests/data/int32_3x5.b2nd").unwrap_err().kind(), ErrorKind::Stopped);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn on_progress(mut self, report: impl FnMut(u64) -> ControlFlow<()> + Send + 'p) -> Self {
        self.progress = Progress::new(report);
        self
    }

    /// Checks the frame in a file, or in the directory of a sparse frame. If another process may be writing the frame,
    /// the check is repeated, up to 20 times in all.
    ///
    /// # Errors
    ///
    /// - [`Io`] if a file cannot be read.
    /// - [`Changing`] if each of 20 checks had findings or noticed a change, and no two checks in a row agreed.
    /// - [`Stopped`] if the callback of [`on_progress`](Self::on_progress) stopped the check.
    ///
    /// [`Io`]: crate::ErrorKind::Io
    /// [`Changing`]: crate::ErrorKind::Changing
    /// [`Stopped`]: crate::ErrorKind::Stopped
    pub fn run_path(mut self, path: impl AsRef<Path>) -> Result<Report, Error> {
        let path = path.as_ref();
        repeated_check::repeat(path, || self.open_and_run(path))
    }

    fn open_and_run(&mut self, path: &Path) -> Result<Report, Error> {
        let frame = match open_frame(path) {
            Ok(frame) => frame,
            Err(error) => return Ok(Report::new([error.into_finding()?].into())),
        };
        // A small file is read again, as a whole, into memory. So the check needs only two reads and no seek: one read
        // for the header, and one for the file. Otherwise, it would need four to six reads.
        let report = match frame.in_memory()? {
            Some(small) => self.once(&small)?,
            None => self.once(&frame)?,
        };
        Ok(Report { frame: Some(frame), ..report })
    }

    /// Checks an open frame once.
    ///
    /// # Errors
    ///
    /// The errors of [`run_path`](Self::run_path). [`Changing`](crate::ErrorKind::Changing) here means that the file
    /// was written during the check, or that its header has changed since this frame was opened. For a sparse frame, it
    /// can also mean that a commit has replaced the frame since it was opened.
    ///
    /// ```
    /// use b2nd_frame::{Check, CheckDepth, Frame};
    ///
    /// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// file[229 + 3] = 8;
    /// let mut frame = Frame::read_at(file, 0)?;
    /// let report = Check::new(CheckDepth::ChunkHeaders).run(&frame)?;
    /// assert_eq!(report.findings[0].message(), "chunk 1 has items of 8 bytes, but must have 4");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<R: ReadAt>(mut self, frame: &Frame<R>) -> Result<Report, Error> {
        self.once(frame)
    }

    fn once<R: ReadAt>(&mut self, frame: &Frame<R>) -> Result<Report, Error> {
        // The copy of a small file in memory has no version, so take the version of the file when the frame was opened.
        let version = frame.reader.version().or_else(|| frame.version.clone());
        let mut report = check_header(frame);
        match frame_check::check(frame, &mut self.progress, &mut report) {
            // If the file is shorter than the frame, the check continues: the check of the length below reports this.
            Err(error) if error.is_about(FindingCode::Truncated) => {}
            done => done?,
        }
        let available = frame.available()?;
        report.findings.extend(header_rules::file_length(frame.header(), frame.offset() > 0, available));
        if self.depth >= CheckDepth::ChunkHeaders {
            chunk_walk::check(frame, self.depth, self.threads, &mut self.progress, &mut report)?;
        }
        if self.depth >= CheckDepth::ChunkData {
            vlmeta_values::check(frame, &mut report)?;
        }
        leave_out_commit(frame, &mut report);
        // This must be the last step. If a writer has changed the frame during the check, the findings may be about a
        // mix of two states, so the result is an error.
        frame.check_version(version.as_ref()).map(|()| report)
    }
}

/// If a writer holds the lock of the frame, removes findings about bytes after the frame, or about chunk files without
/// an entry. A commit may have written them: it writes the new chunks first, and makes them valid only with its last
/// step.
fn leave_out_commit<R>(frame: &Frame<R>, report: &mut Report) {
    let written_by_commit =
        if frame.header().is_sparse() { FindingCode::UnownedBytes } else { FindingCode::LongerFile };
    let is_of_commit = |finding: &Finding| finding.code() == written_by_commit;
    if report.findings.iter().any(is_of_commit) && frame.path().is_some_and(has_writer) {
        report.findings.retain(|finding| !is_of_commit(finding));
    }
}

/// Checks the header, and its agreement with the array's metalayer.
pub(crate) fn check_header<R>(frame: &Frame<R>) -> Report {
    let mut findings = header_rules::check(frame);
    findings.extend(array_rules::check(frame));
    Report::new(findings)
}
