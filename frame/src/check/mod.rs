//! Checks of a frame: what is wrong with it, or unusual.

use core::fmt;
use core::ops::ControlFlow;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use crate::finding::{Code, Finding};
use crate::read::available;
use crate::{ChunkCounts, Error, Frame};

mod agreement;
mod body;
mod chunk_data;
mod chunk_files;
mod chunk_headers;
mod entries;
mod header;
mod stable;

pub(crate) use agreement::of_array as agreement;
pub(crate) use chunk_headers::{Rules, wrong_alone, wrong_special, wrong_table};

/// How many bytes of the header are compared at a time.
const PIECE: usize = 1 << 16;

/// How much of a frame a [`Check`] reads. Each depth has all that those before it have.
///
/// ```
/// use b2nd_frame::Depth;
///
/// assert!(Depth::Frame < Depth::ChunkHeaders && Depth::ChunkHeaders < Depth::ChunkData);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Depth {
    /// The header, the chunk index, the trailer, and the length of the file. In a sparse frame, whether the chunk files
    /// are there and whole.
    #[default]
    Frame,
    /// The header of every chunk: its sizes against those of the frame, where its blocks begin, and whether it shares
    /// bytes with another chunk. It takes a small read for each chunk.
    ChunkHeaders,
    /// The data of every chunk, which is decompressed and thrown away. This needs the feature `decompress`.
    ChunkData,
}

/// A check of a frame: how deep it goes, and who is told of its progress.
///
/// [`check`] and [`Frame::check`] are its short forms, which do not read the chunks.
///
/// A frame that another process is writing can look broken for a moment. If there is an error, a frame that is checked
/// [by its path](Self::path) is therefore checked again every 10 milliseconds, until two checks agree and nothing was
/// written between them. So a damaged frame is read twice.
///
/// Of chunks, at most 20 findings of each code are reported one by one. If the chunk index is damaged, the chunks are not
/// checked, as it is not known where they are.
///
/// # What leaves no trace
///
/// Blosc2 has no checksums, so a check sees only what does not fit together. It cannot see
///
/// - damage within the compressed bytes of a chunk that its codec does not notice, and any in bytes that are not
///   compressed;
/// - another dtype with items of the same size, and another shape with as many chunks along each dimension;
/// - another shape or chunk shape of an array without items;
/// - other values of metalayers, of the codec and of other parameters that only new chunks would have;
/// - data that is partly old and partly new, because a writer was killed while it changed an array in place;
/// - data that was never written. Where a writer that creates or appends was killed, its chunks read as zeros.
///   [`NoData`](Code::NoData) and [`NeverWritten`](Code::NeverWritten) warn of it, but an array can be meant so, and a killed
///   writer of data that has chunks of zeros itself is missed.
///
/// The repository has the counts: `docs/DAMAGE_HEADER.md` of every change of a byte in a header, `docs/DAMAGE.md` of those in
/// the headers of chunks, `docs/KILLED.md` of killed writers.
///
/// ```
/// use b2nd_frame::{Check, Code, Depth};
///
/// // Chunk 1 of this file begins at byte 229, and its length is 12 bytes later.
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("damaged.b2nd");
/// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// file[229 + 15] = 0x40;
/// std::fs::write(&path, file)?;
///
/// assert_eq!(Check::new(Depth::Frame).path(&path)?.findings, []);
/// let report = Check::new(Depth::ChunkHeaders).path(&path)?;
/// assert_eq!(report.findings[0].code(), Code::ChunkHeader);
/// assert_eq!(
///     report.findings[0].message(),
///     "chunk 1 has 1073741888 bytes, but at most 192 are left for it"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is checked without `path` or `frame`"]
#[derive(Default)]
pub struct Check<'p> {
    depth: Depth,
    progress: Progress<'p>,
}

impl fmt::Debug for Check<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("depth", &self.depth).finish_non_exhaustive()
    }
}

/// Who is told of the number of chunks that are done.
#[derive(Default)]
struct Progress<'p>(Option<Box<dyn FnMut(u64) -> ControlFlow<()> + 'p>>);

impl Progress<'_> {
    fn show(&mut self, done: u64) -> Result<(), Error> {
        match self.0.as_mut().map(|report| report(done)) {
            Some(ControlFlow::Break(())) => Err(Error::stopped()),
            _ => Ok(()),
        }
    }
}

/// The result of a [`Check`]: the frame, and what is wrong with it or unusual.
///
/// ```
/// use b2nd_frame::check;
///
/// let report = check("tests/data/rank16.b2nd")?;
/// let frame = report.frame.expect("a header that can be read");
/// assert_eq!(frame.array()?.expect("an array").shape().len(), 16);
/// assert_eq!(report.findings[0].code().name(), "high-rank");
/// assert_eq!(report.counts.expect("a chunk index that can be read").total(), 2);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<R = File> {
    /// The frame. `None` if its header cannot be read; the only finding then says why.
    pub frame: Option<Frame<R>>,
    /// All errors and warnings.
    pub findings: Vec<Finding>,
    /// How many chunks are stored, and how many have one value instead. `None` if the chunk index cannot be read.
    pub counts: Option<ChunkCounts>,
    /// What this crate was asked to check and did not, so that it may be right or wrong.
    pub unchecked: Vec<Unchecked>,
}

/// What was not checked of chunks, because this crate cannot read them and other readers may, or because they are too many.
///
/// ```
/// use b2nd_frame::{Aspect, Check, Depth, Frame};
///
/// // The bytes of a sparse frame, without the files of its chunks.
/// let file = std::fs::File::open("tests/data/sparse.b2nd/chunks.b2frame")?;
/// let report = Check::new(Depth::ChunkHeaders).frame(Frame::read_at(file, 0)?)?;
/// assert_eq!(report.unchecked[0].what, Aspect::Chunks);
/// assert_eq!(
///     report.unchecked[0].to_string(),
///     "chunks not checked: the chunk files of a sparse frame are read only from a folder: open it by its path",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unchecked {
    /// What was not checked.
    pub what: Aspect,
    /// Of how many chunks; `None` if that is not known.
    pub chunks: Option<u64>,
    /// Why; if there are several chunks, of one of them.
    pub why: String,
}

/// What a [`Check`] can leave out.
///
/// ```
/// assert_eq!(b2nd_frame::Aspect::SharedBytes.name(), "shared-bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Aspect {
    /// Everything: nothing of these chunks was looked at.
    Chunks,
    /// The data: it was not decompressed, while the headers were checked.
    Data,
    /// Whether the chunks share bytes with others.
    SharedBytes,
}

impl Aspect {
    /// Its name: `chunks`, `data` or `shared-bytes`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Data => "data",
            Self::SharedBytes => "shared-bytes",
        }
    }
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chunks {
            None => f.write_str("chunks")?,
            Some(1) => f.write_str("1 chunk")?,
            Some(count) => write!(f, "{count} chunks")?,
        }
        f.write_str(match self.what {
            Aspect::Chunks => " not checked: ",
            Aspect::Data => " not decompressed: ",
            Aspect::SharedBytes => " not compared with the others: ",
        })?;
        f.write_str(&self.why)
    }
}

/// Checks the frame in a file, or in the directory of a sparse frame. The chunks are not read: a [`Check`] can do that too.
///
/// A file that is not a frame, or whose header cannot be read, is reported as a finding, not as an error. In a sparse frame,
/// the chunk files are checked too, if the chunk index can be read. Most indexes are compressed, which needs the feature
/// `decompress`. A damaged index cannot make the check expensive: at most 64 files are opened that are not in the directory.
///
/// # Errors
///
/// As [`Check::path`].
///
/// ```
/// use b2nd_frame::{Code, Finding, check};
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
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<Report, Error> {
    Check::default().path(path)
}

impl<'p> Check<'p> {
    /// A check of this depth.
    pub fn new(depth: Depth) -> Self {
        Self { depth, progress: Progress::default() }
    }

    /// Calls a function after each chunk with the number of chunks that are done. The function can stop the check, which
    /// gives an error of the kind [`ErrorKind::Stopped`](crate::ErrorKind::Stopped). If the check is repeated, it
    /// counts from 1 again.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use b2nd_frame::{Check, Depth, ErrorKind};
    ///
    /// let mut chunks = 0;
    /// let check = Check::new(Depth::ChunkHeaders).on_progress(|done| {
    ///     chunks = done;
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(check.path("tests/data/int32_3x5.b2nd")?.findings, []);
    /// assert_eq!(chunks, 4);
    ///
    /// let check = Check::new(Depth::ChunkHeaders).on_progress(|_| ControlFlow::Break(()));
    /// assert_eq!(check.path("tests/data/int32_3x5.b2nd").unwrap_err().kind(), ErrorKind::Stopped);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn on_progress(mut self, report: impl FnMut(u64) -> ControlFlow<()> + 'p) -> Self {
        self.progress = Progress(Some(Box::new(report)));
        self
    }

    /// Checks the frame in a file, or in the directory of a sparse frame, and again as long as somebody writes it.
    ///
    /// # Errors
    ///
    /// - [`Io`] if a file cannot be read.
    /// - [`Changing`] if in 20 checks no two in a row agree.
    /// - [`Stopped`] if the function of [`on_progress`](Self::on_progress) stopped it.
    ///
    /// [`Io`]: crate::ErrorKind::Io
    /// [`Changing`]: crate::ErrorKind::Changing
    /// [`Stopped`]: crate::ErrorKind::Stopped
    pub fn path(mut self, path: impl AsRef<Path>) -> Result<Report, Error> {
        stable::check(path.as_ref(), &mut self)
    }

    /// Checks a frame that has been read, once, and returns it in the report.
    ///
    /// # Errors
    ///
    /// As [`path`](Self::path), but [`Changing`](crate::ErrorKind::Changing) if the header in the file is no
    /// longer the one of this frame.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::{Check, Code, Depth, Frame};
    ///
    /// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// file[229 + 3] = 8;
    /// let frame = Frame::read_at(Cursor::new(file), 0)?;
    /// let report = Check::new(Depth::ChunkHeaders).frame(frame)?;
    /// assert_eq!(report.findings[0].message(), "chunk 1 has items of 8 bytes, but must have 4");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn frame<R: Read + Seek>(mut self, mut frame: Frame<R>) -> Result<Report<R>, Error> {
        let report = self.once(&mut frame)?;
        Ok(Report { frame: Some(frame), ..report })
    }

    /// The report without the frame.
    fn once<R: Read + Seek>(&mut self, frame: &mut Frame<R>) -> Result<Report<R>, Error> {
        let mut report =
            Report { frame: None, findings: frame.check_header(), counts: None, unchecked: Vec::new() };
        match body::check(frame, &mut report) {
            // The file has become shorter, which the check of its length reports.
            Err(error) if error.is_about(Code::Truncated) => {}
            done => done?,
        }
        let available =
            available(&mut frame.reader, frame.offset).map_err(|error| frame.unreadable(error))?;
        report.findings.extend(header::against_file(frame, available));
        if self.depth >= Depth::ChunkHeaders {
            chunk_headers::check(frame, self.depth, &mut self.progress, &mut report)?;
        }
        if frame.is_unchanged()? { Ok(report) } else { Err(Error::changing(None)) }
    }
}

impl<R> Frame<R> {
    /// Checks the header by itself, and whether it agrees with the array's metalayer. The file is not read.
    ///
    /// [`check`](Self::check) does the same, and also checks what follows the header.
    ///
    /// ```
    /// use b2nd_frame::{Code, Frame};
    ///
    /// let frame = Frame::open("tests/data/rank16.b2nd")?;
    /// assert_eq!(frame.check_header()[0].code(), Code::HighRank);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn check_header(&self) -> Vec<Finding> {
        let mut findings = header::check(self);
        findings.extend(agreement::check(self));
        findings
    }
}

impl<R: Read + Seek> Frame<R> {
    /// Checks the frame once: the header, the chunk index, the trailer, and the length of the file. The chunks are not
    /// read: a [`Check`] can do that too.
    ///
    /// If another process may be writing the frame, use the function [`check`], which repeats the check.
    ///
    /// # Errors
    ///
    /// As [`Check::frame`].
    ///
    /// ```
    /// use b2nd_frame::{Code, Frame, Severity};
    ///
    /// let findings = Frame::open("tests/data/squeezed.caterva")?.check()?;
    /// let codes: Vec<Code> = findings.iter().map(|finding| finding.code()).collect();
    /// assert_eq!(codes, [Code::OldLayout, Code::StaleTail]);
    /// assert!(findings.iter().all(|finding| finding.severity() == Severity::Warning));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn check(&mut self) -> Result<Vec<Finding>, Error> {
        Ok(Check::default().once(self)?.findings)
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
