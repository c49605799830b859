//! The result of a check.

use core::fmt;

use crate::chunk::entry::ChunkCounts;
use crate::finding::{Finding, counted};
use crate::header::frame::Frame;

/// The result of a check: the findings about a frame, the counts of its chunks, and the parts of the check that were
/// skipped.
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
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The frame, if the check was given a path and opened the frame itself. `None` if the caller opened the frame, or
    /// if the header cannot be read. In the second case, the report has one finding, which gives the reason.
    pub frame: Option<Frame>,
    /// All errors and warnings.
    pub findings: Vec<Finding>,
    /// The numbers of stored and special chunks. `None` if the chunk index was not read, or cannot be read.
    pub counts: Option<ChunkCounts>,
    /// The parts of the check that were skipped. `findings` does not contain the errors that these parts would find.
    pub skipped: Vec<Skipped>,
}

impl Report {
    pub(crate) fn new(findings: Vec<Finding>) -> Self {
        Self { findings, ..Self::default() }
    }
}

/// A part of a check that was skipped. Either this crate cannot read the bytes (other readers may), or the bytes are
/// not available, or chunks share bytes, or there are too many chunks. [`why`](Self::why) has the reason.
///
/// ```
/// use b2nd_frame::{Check, CheckDepth, Frame, SkippedPart};
///
/// // The bytes of a sparse frame, without the files of its chunks.
/// let file = std::fs::File::open("tests/data/sparse.b2nd/chunks.b2frame")?;
/// let report = Check::new(CheckDepth::ChunkHeaders).run(&Frame::read_at(file, 0)?)?;
/// assert_eq!((report.skipped[0].part, report.skipped[0].count), (SkippedPart::Chunks, None));
/// assert_eq!(
///     report.skipped[0].to_string(),
///     "chunks not checked: the chunk files of a sparse frame are read only from a folder; open the frame by its path",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The part that was skipped.
    pub part: SkippedPart,
    /// The number of chunks or vlmetalayers, if it is known.
    pub count: Option<u64>,
    /// The reason. If chunks or values were skipped for different reasons, this is the first reason.
    pub why: String,
}

/// The part of a check that was [`Skipped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkippedPart {
    /// All checks of the skipped chunks.
    Chunks,
    /// The decompression of the skipped chunks. Their headers were checked.
    Data,
    /// The comparison of the skipped chunks with other chunks, which finds bytes that two chunks share.
    SharedBytes,
    /// The values of the skipped vlmetalayers.
    Values,
}

impl SkippedPart {
    /// The name of the part: `chunks`, `data`, `shared-bytes` or `values`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Data => "data",
            Self::SharedBytes => "shared-bytes",
            Self::Values => "values",
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, count, why } = self;
        let (noun, what) = match part {
            SkippedPart::Chunks => ("chunk", "checked"),
            SkippedPart::Data => ("chunk", "decompressed"),
            SkippedPart::SharedBytes => ("chunk", "compared with the others"),
            SkippedPart::Values => ("value", "checked"),
        };
        let counted = count.map_or_else(|| format!("{noun}s"), |count| counted(count, noun));
        write!(f, "{counted} not {what}: {why}")
    }
}
