//! Findings: faults and oddities of a frame, for programs and people to read.

use core::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::code::{FindingCode, Severity};

/// A fault or an oddity of a frame, with its place and the numbers that show it.
///
/// It serializes as a struct of `code`, `severity`, `place`, `chunk`, `offset`, `expected`, `found` and `message`.
///
/// ```
/// use b2nd_frame::{Check, FindingCode, Frame, Severity};
///
/// // `nbytes`, the size of all chunks, is 128 in this file. Change it to 48.
/// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// file[37] = 48;
/// let mut frame = Frame::read_at(file, 0)?;
/// let findings = Check::default().run(&frame)?.findings;
///
/// let finding = &findings[0];
/// assert_eq!(finding.code(), FindingCode::InterruptedResize);
/// assert_eq!(finding.code().to_string(), "interrupted-resize");
/// assert_eq!(finding.severity(), Severity::Error);
/// assert_eq!(finding.offset(), Some(30));
/// assert_eq!((finding.expected(), finding.found()), (Some(128), Some(48)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    code: FindingCode,
    place: Place,
    chunk: Option<u64>,
    offset: Option<u64>,
    /// The first number is the expected one or the limit. The second is the number in the file.
    numbers: Option<(i128, i128)>,
    text: String,
}

/// The part of a frame that a finding is about.
///
/// ```
/// use b2nd_frame::{Frame, Place};
///
/// let frame = Frame::open("tests/data/rank16.b2nd")?;
/// assert_eq!(frame.check_header().findings[0].place(), Place::Array);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// The file that contains the frame.
    File,
    /// The header, up to its metalayers.
    Header,
    /// The metalayers of the header: their index and their contents.
    Metalayers,
    /// The content of the array's metalayer.
    Array,
    /// A chunk.
    Chunk,
    /// The chunk index.
    ChunkIndex,
    /// The trailer, with its vlmetalayers.
    Trailer,
}

impl Place {
    /// The name of the place, such as `chunk-index`. Serde serializes a place as this name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Header => "header",
            Self::Metalayers => "metalayers",
            Self::Array => "array",
            Self::Chunk => "chunk",
            Self::ChunkIndex => "chunk-index",
            Self::Trailer => "trailer",
        }
    }
}

/// Prints the place as a part of a sentence, such as `the chunk index`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "the file",
            Self::Header => "the header",
            Self::Metalayers => "the metalayers",
            Self::Array => "the array's metalayer",
            Self::Chunk => "a chunk",
            Self::ChunkIndex => "the chunk index",
            Self::Trailer => "the trailer",
        })
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Finding {
    pub(crate) fn new(code: FindingCode, place: Place) -> Self {
        Self { code, place, chunk: None, offset: None, numbers: None, text: String::new() }
    }

    /// A finding about a whole file, for programs with their own checks, such as a check of a store's members.
    ///
    /// The code determines the severity and the advice, so choose a code whose [meaning](FindingCode::meaning) applies
    /// to the file, such as [`FindingCode::UnclosedTable`] or [`FindingCode::ActiveObject`]. Codes about the bytes of a
    /// frame, such as [`FindingCode::ChunkHeader`], do not fit, because this finding has neither an offset nor a chunk.
    ///
    /// ```
    /// use b2nd_frame::{FindingCode, Finding, Place};
    ///
    /// let finding = Finding::of_file(FindingCode::UnclosedTable, "the number of rows is missing");
    /// assert_eq!((finding.place(), finding.offset()), (Place::File, None));
    /// assert_eq!(finding.to_string(), "the number of rows is missing");
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn of_file(code: FindingCode, message: impl Into<String>) -> Self {
        Self::new(code, Place::File).text(message.into())
    }

    pub(crate) fn in_chunk(self, number: u64) -> Self {
        Self { chunk: Some(number), ..self }
    }

    pub(crate) fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    // The numbers are `i128`, because a length in a damaged file can be negative or very large. An `i128` can hold
    // every `i64` and every `u64`.
    pub(crate) fn numbers(self, expected: impl TryInto<i128>, found: impl TryInto<i128>) -> Self {
        Self { numbers: expected.try_into().ok().zip(found.try_into().ok()), ..self }
    }

    pub(crate) fn text(self, text: String) -> Self {
        Self { text, ..self }
    }

    /// Changes the text of a finding so that it says that the new frame would have this error. The offset is removed,
    /// because it is an offset in the new frame, which the caller does not get after an error.
    pub(crate) fn in_new_frame(self) -> Self {
        let text = format!("the new frame would have this error: {}", self.text);
        Self { offset: None, text, ..self }
    }

    /// The code, which identifies the kind of fault or oddity.
    #[must_use]
    pub fn code(&self) -> FindingCode {
        self.code
    }

    /// The severity, which depends only on the code.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// The part of the frame that the finding is about.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// The number of the chunk in the order of the data. The chunks can have another order in the file. If the finding
    /// is about several chunks, this is the number of the first of them. `None` if the finding is not about particular
    /// chunks.
    ///
    /// ```
    /// use b2nd_frame::{Check, CheckDepth, Frame};
    ///
    /// // Chunk 1 of this file begins at byte 229. Bytes 12 to 15 of a chunk record its length.
    /// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// file[229 + 15] = 0x40;
    /// let mut frame = Frame::read_at(file, 0)?;
    /// let report = Check::new(CheckDepth::ChunkHeaders).run(&frame)?;
    /// assert_eq!(report.findings[0].chunk(), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn chunk(&self) -> Option<u64> {
        self.chunk
    }

    /// The offset of the first wrong byte, counted from the start of the frame; `None` if the finding is not about
    /// particular bytes.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// The expected number, or the limit; `None` if the finding is not about a number.
    #[must_use]
    pub fn expected(&self) -> Option<i128> {
        Some(self.numbers?.0)
    }

    /// The number in the file; `None` if the finding is not about a number.
    #[must_use]
    pub fn found(&self) -> Option<i128> {
        Some(self.numbers?.1)
    }

    /// The message, without the offset that `Display` adds in front of it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.text
    }
}

/// Prints the offset and the message, without the code.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(offset) = self.offset {
            write!(f, "byte {offset} of the frame: ")?;
        }
        f.write_str(&self.text)
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Finding", 8)?;
        object.serialize_field("code", &self.code())?;
        object.serialize_field("severity", &self.severity())?;
        object.serialize_field("place", &self.place())?;
        object.serialize_field("chunk", &self.chunk())?;
        object.serialize_field("offset", &self.offset())?;
        object.serialize_field("expected", &self.expected())?;
        object.serialize_field("found", &self.found())?;
        object.serialize_field("message", self.message())?;
        object.end()
    }
}

/// The first error among findings.
pub(crate) fn first_error(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.severity() == Severity::Error)
}

/// A number and its noun. The noun gets a plural `s` unless the number is 1.
pub(crate) fn counted<N: Copy + fmt::Display + From<u8> + PartialEq>(count: N, noun: &str) -> String {
    let end = if count == 1.into() { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// A name, escaped for a message, because a name in a damaged file can contain line breaks.
// This is a wrapper and not an escaped `String`, so that a name is escaped only if a message is formatted.
pub(crate) struct Escaped<'n>(pub(crate) &'n str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_debug().fmt(f)
    }
}
