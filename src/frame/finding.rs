//! What is wrong or odd about a frame, as a program and a person can read it.

use core::fmt;
use std::string::String;

pub use super::code::Code;

/// One thing that is wrong or odd about a frame: what, where, and the numbers that show it.
///
/// ```
/// use b2nd_serde::frame::{Code, Frame, Severity};
///
/// // The number of bytes of all chunks, of a file that is fine: 4 chunks of 48 bytes.
/// let mut file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// file[37] = 48;
/// let mut frame = Frame::read_at(std::io::Cursor::new(file), 0)?;
/// let findings = frame.check()?;
///
/// let finding = &findings[0];
/// assert_eq!(finding.code(), Code::InterruptedResize);
/// assert_eq!(finding.code().name(), "interrupted-resize");
/// assert_eq!(finding.severity(), Severity::Error);
/// assert_eq!(finding.offset(), Some(30));
/// assert_eq!((finding.expected(), finding.found()), (Some(128), Some(48)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    code: Code,
    place: Place,
    offset: Option<u64>,
    expected: Option<i128>,
    found: Option<i128>,
    text: String,
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file is odd, and can be read.
    Warning,
    /// The file breaks a rule that a reader has to enforce.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// The part of a frame that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// The file that the frame is in.
    File,
    /// The header, up to its metalayers.
    Header,
    /// The metalayers of the header: their index and their contents.
    Metalayers,
    /// The content of the array's metalayer.
    Array,
    /// The chunk index.
    ChunkIndex,
    /// The trailer, with its vlmetalayers.
    Trailer,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "the file",
            Self::Header => "the header",
            Self::Metalayers => "the metalayers",
            Self::Array => "the array's metalayer",
            Self::ChunkIndex => "the chunk index",
            Self::Trailer => "the trailer",
        })
    }
}

impl Finding {
    pub(crate) fn new(code: Code, place: Place) -> Self {
        Self { code, place, offset: None, expected: None, found: None, text: String::new() }
    }

    pub(crate) fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    pub(crate) fn numbers(self, expected: impl Number, found: impl Number) -> Self {
        Self { expected: Some(expected.wide()), found: Some(found.wide()), ..self }
    }

    pub(crate) fn text(self, text: String) -> Self {
        Self { text, ..self }
    }

    /// What is displayed, without the place in the frame.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.text
    }

    /// What it is.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// How much it weighs, which its code decides.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// The part of the frame that it is about.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// The byte that is at fault, counted from the start of the frame, if one is.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// The number that should be there or, where the text says so, its limit.
    #[must_use]
    pub fn expected(&self) -> Option<i128> {
        self.expected
    }

    /// The number that is there.
    #[must_use]
    pub fn found(&self) -> Option<i128> {
        self.found
    }
}

/// The place and the numbers in a sentence; without the code.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(offset) = self.offset {
            write!(f, "byte {offset} of the frame: ")?;
        }
        f.write_str(&self.text)
    }
}

/// Any integer that a frame has.
pub(crate) trait Number {
    fn wide(self) -> i128;
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Number for $type {
            #[allow(clippy::cast_lossless, reason = "of all these types")]
            fn wide(self) -> i128 {
                self as i128
            }
        })*
    };
}

numbers! { u8 u16 u32 u64 usize i16 i32 i64 i128 }
