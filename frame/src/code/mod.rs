//! The codes of findings: their properties and their table.

use core::error;
use core::fmt;
use core::str::FromStr;

use serde::{Serialize, Serializer};

/// The severity of a finding.
///
/// ```
/// use b2nd_frame::{FindingCode, Severity};
///
/// assert!(Severity::Error > Severity::Warning);
/// assert_eq!(FindingCode::Truncated.severity().to_string(), "error");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// The file is unusual, but readable.
    Warning,
    /// The file violates a rule that readers must enforce.
    Error,
}

impl Severity {
    /// The severity as text: `warning` or `error`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The depth of a [`Check`](crate::Check). Each depth includes the depths before it.
///
/// ```
/// use b2nd_frame::CheckDepth;
///
/// assert!(CheckDepth::Frame < CheckDepth::ChunkHeaders && CheckDepth::ChunkHeaders < CheckDepth::ChunkData);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CheckDepth {
    /// The header, the chunk index, the trailer, and the length of the file. In a sparse frame, the check also verifies
    /// that all chunk files exist and are complete.
    #[default]
    Frame,
    /// The header of every chunk, which must agree with the header of the frame, and the offsets of the blocks in every
    /// chunk. The check also finds bytes that two chunks share, and bytes that belong to no chunk. It reads the first
    /// bytes of each chunk.
    ChunkHeaders,
    /// The data of every chunk and the values of vlmetalayers. The check decompresses and then discards them, which
    /// needs the feature `decompress`.
    ChunkData,
}

/// The operation that repairs a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// A [`Rewrite`](crate::Rewrite).
    Rewrite,
    /// An [`Edit`](crate::Edit), for which you must know the right value.
    Edit,
    /// A [`Salvage`](crate::Salvage), which saves the undamaged parts.
    Salvage,
}

/// Converts the remedy in a row of the table of codes into an `Option`; `-` means `None`.
macro_rules! remedy {
    (-) => {
        None
    };
    ($remedy:ident) => {
        Some(Remedy::$remedy)
    };
}

/// Generates the enum and its methods from one table. A row has the variant, the name, the severity, the lowest depth
/// of a check that finds the code, the remedy, the meaning, the cause and the advice.
macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $depth:ident $remedy:tt $meaning:literal $cause:tt $advice:literal)*) => {
        /// The code of a finding: a violated rule, or something unusual.
        ///
        /// The name of a code does not change between releases. [`Display`](core::fmt::Display),
        /// [`FromStr`](core::str::FromStr) and serde use the name.
        ///
        /// ```
        /// use b2nd_frame::{FindingCode, Severity};
        ///
        /// let code: FindingCode = "interrupted-resize".parse()?;
        /// assert_eq!(code, FindingCode::InterruptedResize);
        /// assert_eq!(code.severity(), Severity::Error);
        /// println!("{}\nWhat to do: {}", code.meaning(), code.advice());
        /// # Ok::<(), b2nd_frame::ParseFindingCodeError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingCode {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning)]
                ///
                #[doc = concat!("What to do: ", $advice)]
                ///
                #[doc = concat!("Depth: [`", stringify!($depth), "`](CheckDepth::", stringify!($depth), ").")]
                $variant,
            )*
        }

        impl FindingCode {
            /// All codes. Codes about the same part of a frame follow one another.
            ///
            /// ```
            /// use b2nd_frame::FindingCode;
            ///
            /// assert!(FindingCode::ALL.contains(&FindingCode::Truncated));
            /// ```
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name of the code, such as `interrupted-resize`. The name does not change between releases.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The severity of findings with this code.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$variant => Severity::$severity,)*
                }
            }

            /// The lowest [`CheckDepth`] at which a check finds the code.
            ///
            /// ```
            /// use b2nd_frame::{CheckDepth, FindingCode};
            ///
            /// assert_eq!(FindingCode::Truncated.depth(), CheckDepth::Frame);
            /// assert_eq!(FindingCode::ChunkOverlap.depth(), CheckDepth::ChunkHeaders);
            /// ```
            #[must_use]
            pub fn depth(self) -> CheckDepth {
                match self {
                    $(Self::$variant => CheckDepth::$depth,)*
                }
            }

            /// The operation that repairs a frame with this finding; `None` if this crate has no such operation.
            ///
            /// ```
            /// use b2nd_frame::{FindingCode, Remedy};
            ///
            /// assert_eq!(FindingCode::OldLayout.remedy(), Some(Remedy::Rewrite));
            /// assert_eq!(FindingCode::ChunkData.remedy(), Some(Remedy::Salvage));
            /// assert_eq!(FindingCode::HighRank.remedy(), None);
            /// ```
            #[must_use]
            pub fn remedy(self) -> Option<Remedy> {
                match self {
                    $(Self::$variant => remedy!($remedy),)*
                }
            }

            /// The fault or oddity, in a sentence or two.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }

            /// The usual cause, in a sentence.
            ///
            /// ```
            /// use b2nd_frame::FindingCode;
            ///
            /// assert!(FindingCode::Truncated.cause().starts_with("A copy or download was stopped"));
            /// ```
            #[must_use]
            pub fn cause(self) -> &'static str {
                match self {
                    $(Self::$variant => $cause,)*
                }
            }

            /// The advice for the owner of the file, in a sentence or two.
            #[must_use]
            pub fn advice(self) -> &'static str {
                match self {
                    $(Self::$variant => $advice,)*
                }
            }
        }
    };
}

// This line must come after the macro `codes`, which the module `table` calls.
mod table;

pub use table::FindingCode;

impl FindingCode {
    /// Whether a finding with this code makes the sizes of the frame uncertain: a number that determines these sizes is
    /// invalid, or two such numbers contradict each other.
    ///
    /// ```
    /// use b2nd_frame::FindingCode;
    ///
    /// assert!(FindingCode::InterruptedResize.makes_sizes_uncertain());
    /// assert!(!FindingCode::ChunkData.makes_sizes_uncertain());
    /// ```
    #[must_use]
    pub fn makes_sizes_uncertain(self) -> bool {
        matches!(self, Self::Sizes | Self::InvalidShape | Self::ChunksizeMismatch | Self::InterruptedResize)
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for FindingCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for FindingCode {
    type Err = ParseFindingCodeError;

    fn from_str(name: &str) -> Result<Self, ParseFindingCodeError> {
        let code = Self::ALL.iter().find(|code| code.name() == name);
        code.copied().ok_or_else(|| ParseFindingCodeError { name: name.into() })
    }
}

/// The error of parsing a text that is not the name of a [`FindingCode`].
///
/// ```
/// use b2nd_frame::FindingCode;
///
/// let error = "truncate".parse::<FindingCode>().unwrap_err();
/// assert_eq!(error.to_string(), "`truncate` is not the code of a finding");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFindingCodeError {
    name: String,
}

impl fmt::Display for ParseFindingCodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not the code of a finding", self.name)
    }
}

impl error::Error for ParseFindingCodeError {}
