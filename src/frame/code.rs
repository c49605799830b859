//! The stable codes of findings: what each one means, and what to do about it.

use core::error;
use core::fmt;
use core::str::FromStr;
use std::string::String;

use serde::{Serialize, Serializer};

/// How serious a finding is.
///
/// ```
/// use b2nd_serde::frame::{Code, Severity};
///
/// assert!(Severity::Error > Severity::Warning);
/// assert_eq!(Code::Truncated.severity().to_string(), "error");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file is unusual, but readable.
    Warning,
    /// The file breaks a rule that readers must enforce.
    Error,
}

impl Severity {
    /// The name: `warning` or `error`.
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

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $meaning:literal $advice:literal)*) => {
        /// What a finding is about: a rule that a frame breaks, or something unusual.
        ///
        /// Its name stays the same from release to release. [`Display`](fmt::Display), [`FromStr`] and serde use it.
        ///
        /// ```
        /// use b2nd_serde::frame::{Code, Severity};
        ///
        /// let code: Code = "interrupted-resize".parse()?;
        /// assert_eq!(code, Code::InterruptedResize);
        /// assert_eq!(code.severity(), Severity::Error);
        /// println!("{}\nWhat to do: {}", code.meaning(), code.advice());
        /// # Ok::<(), b2nd_serde::frame::ParseCodeError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning)]
                ///
                #[doc = concat!("What to do: ", $advice)]
                $variant,
            )*
        }

        impl Code {
            /// All codes, in the order of the parts of a frame.
            ///
            /// ```
            /// use b2nd_serde::frame::Code;
            ///
            /// assert!(Code::ALL.contains(&Code::Truncated));
            /// ```
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name, which stays the same from release to release.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// How serious findings of this code are.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$variant => Severity::$severity,)*
                }
            }

            /// What it means, in a sentence or two.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }

            /// What to do about it.
            #[must_use]
            pub fn advice(self) -> &'static str {
                match self {
                    $(Self::$variant => $advice,)*
                }
            }
        }
    };
}

codes! {
    // The file and the header.
    NotAFrame "not-a-frame" Error
        "The magic bytes of a frame are not there."
        "Look whether the file is another format. The frames in a zip file can be listed, and a scan finds those in any file."
    Truncated "truncated" Error
        "The file ends before the frame does, as its header says."
        "Fetch the file again; what is missing is not in it."
    LongerFile "longer-file" Warning
        "The file goes on behind the frame."
        "Nothing, if something else was appended on purpose: no reader looks there."
    TooLong "too-long" Error
        "The header is longer than 64 MiB, or the trailer than 256 MiB, or the header of a frame in a zip file than 1 MiB: more than is made room for because a file says so. Real ones take some KiB."
        "Look whether the file is damaged. Where it really is so long, read it with C-Blosc2."
    ZipMember "zip-member" Error
        "What a zip file says of a member cannot be: its local header is damaged, or its bytes are those of another member too."
        "Fetch the file again; a scan finds the frames in it."
    HeaderMarker "header-marker" Error
        "A value of the header has the marker of another type, so the header is damaged or of an unknown generation."
        "Restore the header from another copy; the data may still be whole."
    HeaderLength "header-length" Error
        "header_len is shorter than the values of a header, or longer than the frame."
        "Restore the header from another copy."
    FrameVersion "frame-version" Error
        "The version of the format is above 3, the last one known."
        "Read it with a newer C-Blosc2; what is said of it here may be wrong."
    FrameType "frame-type" Error
        "The frame is neither contiguous nor sparse, which the whole byte says and not half of it; or a directory has a frame that says it is contiguous, or a file of another name one that says it is sparse."
        "Put the file where it came from: chunks.b2frame belongs in its directory."
    OldFrame "old-frame" Warning
        "The header is one of the two generations before C-Blosc2 2.0.0-rc1, which C-Blosc2 opens no more."
        "Rewrite the file."
    FilterCount "filter-count" Error
        "The header counts more than 6 filters."
        "Restore the header from another copy."
    UnknownFilter "unknown-filter" Warning
        "A filter for new chunks has a number below 160 that is not known to be given to any."
        "Read it with a newer C-Blosc2, which knows the filter, or restore the header from another copy: the one that does not know it opens no such file."
    Typesize "typesize" Error
        "The size of an item is 0 or negative."
        "Restore the header from another copy."
    Sizes "sizes" Error
        "nbytes, cbytes or chunksize is negative where there are chunks."
        "Restore the header from another copy."

    // The metalayers.
    MetalayerCount "metalayer-count" Error
        "The header has more than 16 metalayers."
        "Restore the header from another copy."
    IndexMarker "index-marker" Error
        "In the index of metalayers, or before a content, another marker stands than de, a fixstr, d2 or c6."
        "Restore the header from another copy."
    MetalayerOffset "metalayer-offset" Error
        "A metalayer's offset points out of the header."
        "Restore the header from another copy."
    MetalayerLength "metalayer-length" Error
        "A metalayer's length is negative or leaves the header."
        "Restore the header from another copy."
    IndexSize "index-size" Warning
        "The size of the index of metalayers is not the distance to their list. Readers pass over it."
        "Nothing; whoever wrote the file may want to know."
    MetalayerList "metalayer-list" Warning
        "The list of metalayers does not begin with dc and their number, or their contents do not follow each other up to the end of the header. Readers pass over it."
        "Nothing, if the metalayers read well; whoever wrote the file may want to know."
    DuplicateMetalayer "duplicate-metalayer" Warning
        "Two metalayers have the same name. Readers take the first."
        "Look which one is meant."

    // The array's metalayer: its bytes.
    ArrayMarker "array-marker" Error
        "A byte of the array's metalayer is not the marker that the format has there."
        "Restore the metalayer from another copy, or write it anew: chunks and blocks can be worked out from the sizes in the header."
    ArrayTruncated "array-truncated" Error
        "The array's metalayer ends before its entries do."
        "Restore the metalayer from another copy."
    Rank "rank" Error
        "The array has more than 16 dimensions."
        "Restore the metalayer from another copy."
    DtypeLength "dtype-length" Error
        "The length of the dtype is negative, or leaves the metalayer."
        "Restore the metalayer from another copy."
    DtypeText "dtype-text" Error
        "The dtype is not UTF-8, or has a NUL in it."
        "Write the dtype anew; the data is not touched by it."
    StaleTail "stale-tail" Warning
        "Old bytes are left behind the array's metalayer, as python-blosc2 2.1 to 3.10 and python-caterva 0.5 to 0.7 did when they squeezed an array."
        "Nothing; a rewrite takes them away."
    OldLayout "old-layout" Warning
        "The array's metalayer has a layout that C-Blosc2 writes no more. A file with metalayer caterva is bytes without a shape to C-Blosc2 since version 3, and nothing of C-Blosc2 reads b2nd-six."
        "Rewrite the file."

    // The array's metalayer: its meaning.
    ArrayVersion "array-version" Error
        "The array's metalayer has a version other than 0, whose rules are not known."
        "Read it with a newer version of b2nd-serde."
    NegativeDimension "negative-dimension" Error
        "A dimension is negative."
        "Restore the metalayer from another copy."
    ZeroBlock "zero-block" Error
        "A block has no items along a dimension in which the chunk has some."
        "Restore the metalayer from another copy."
    ZeroChunk "zero-chunk" Error
        "A chunk has no items along a dimension in which the array has some."
        "Restore the metalayer from another copy."
    Overflow "overflow" Error
        "A number of items does not fit: that of the array int64, that of a chunk or block int32."
        "Restore the metalayer from another copy."
    ChunkTooLarge "chunk-too-large" Error
        "A decompressed chunk has more bytes than Blosc2 can hold, about 2 GiB."
        "Restore the metalayer from another copy; such a chunk cannot have been written."
    UnsetBlockshape "unset-blockshape" Warning
        "Caterva 0.2 and 0.3 did not set the block shape; the chunks are not cut into blocks."
        "Take the chunk shape for the block shape, as a rewrite does."
    HighRank "high-rank" Warning
        "The array has more than 8 dimensions. Readers before C-Blosc2 2.21.3 crash on it."
        "See that all readers are newer."

    // Metalayer and frame held against each other.
    ZeroChunksize "zero-chunksize" Error
        "chunksize is 0, though the array has items: a reader would divide by it."
        "Restore the header from another copy, or write product(P) x typesize there."
    ChunksizeMismatch "chunksize-mismatch" Error
        "chunksize is not the bytes of a chunk of the array, padded to whole blocks: metalayer and data disagree about the chunks."
        "Do not trust the shape. If the array was squeezed by python-caterva, put the dimensions that were taken away back."
    EmptyChunksize "empty-chunksize" Warning
        "The array has no items, and chunksize is neither the bytes of a chunk nor -1."
        "Nothing, until the array grows."
    BlocksizeMismatch "blocksize-mismatch" Error
        "blocksize is not the bytes of a block of the array: metalayer and data disagree about the blocks."
        "Do not trust the block shape."
    InterruptedResize "interrupted-resize" Error
        "nbytes, the size of all chunks, does not fit the grid of chunks of the array: a resize was killed half-way, or goes on right now. C-Blosc2 opens such a file, with wrong or zeroed data."
        "Look again, in case a writer is at work. Then restore the file from another copy; or take what is left: the chunks that are there are those of another shape. Resize the array to that shape only if you know it."
    DtypeMismatch "dtype-mismatch" Warning
        "The item size of the dtype is not the type size of the frame, which alone rules the layout of the data."
        "Take the items as opaque bytes, or write a dtype of that size."
    UnknownDtype "unknown-dtype" Warning
        "The dtype is none of NumPy's or ml_dtypes', so what the items are is not known."
        "Take the items as opaque bytes, or write the dtype anew; the data is not touched by it."
    UnknownDtypeFormat "unknown-dtype-format" Warning
        "The dtype is in another format than 0, which is NumPy's and the only one that is known."
        "Take the items as opaque bytes, or read them with the program that wrote the file."

    // The chunk index and the trailer.
    ChunkIndexPlace "chunk-index-place" Error
        "The chunk index, which header_len and cbytes say where to find, is not there, or runs into the trailer."
        "Restore the file from another copy; a scan of the chunks can rebuild the index."
    ChunkIndexCount "chunk-index-count" Error
        "The chunk index has another number of chunks than nbytes and chunksize."
        "Look again, in case a writer is at work. Then restore the file from another copy."
    ChunkIndexGap "chunk-index-gap" Warning
        "The chunk index does not reach the trailer: there are bytes between them. C-Blosc2 reads such a file."
        "A copy made by C-Blosc2 takes the gap away."
    ChunkOffset "chunk-offset" Error
        "The chunk index, where it can be read because it is not compressed, has an offset outside of the chunks, which C-Blosc2 refuses, or the same one twice, for which it reads the same data twice."
        "Restore the file from another copy; a scan of the chunks can rebuild the index."
    ChunkFile "chunk-file" Error
        "A chunk of a sparse frame has no file in its directory, or one that is not whole. C-Blosc2 cannot read that chunk, and does not open the frame where it is the first one."
        "Copy the directory again, whole; what is missing is not in it."
    TrailerMarker "trailer-marker" Error
        "A byte of the trailer is not the marker that the format has there."
        "Restore the file from another copy. C-Blosc2 does not open a file without its trailer; what the array is can be read without."
    TrailerLength "trailer-length" Error
        "The length of the trailer is less than that of an empty one, or more than the frame has behind its header."
        "Restore the file from another copy. C-Blosc2 does not open a file without its trailer; what the array is can be read without."
    TrailerPlace "trailer-place" Error
        "The frame has no chunks, and its trailer does not stand right behind the header, where a reader looks for it."
        "Restore the file from another copy."
    VlmetalayerFlag "vlmetalayer-flag" Warning
        "The header says that there are vlmetalayers and the trailer has none, or the other way round."
        "Nothing; readers look at the trailer."
    VlmetalayerCount "vlmetalayer-count" Error
        "The trailer has more than 8192 vlmetalayers."
        "Restore the file from another copy."
    VlmetalayerOffset "vlmetalayer-offset" Error
        "A vlmetalayer's offset points out of the trailer."
        "Restore the file from another copy."
    VlmetalayerLength "vlmetalayer-length" Error
        "A vlmetalayer's length is negative or leaves the trailer."
        "Restore the file from another copy."
    VlmetalayerChunk "vlmetalayer-chunk" Warning
        "A vlmetalayer is no Blosc2 chunk, or one of another length. Its value cannot be read."
        "Write the vlmetalayer anew."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for Code {
    type Err = ParseCodeError;

    fn from_str(name: &str) -> Result<Self, ParseCodeError> {
        let code = Self::ALL.iter().find(|code| code.name() == name);
        code.copied().ok_or_else(|| ParseCodeError { name: name.into() })
    }
}

/// A text that is not the name of a [`Code`].
///
/// ```
/// use b2nd_serde::frame::Code;
///
/// let error = "truncate".parse::<Code>().unwrap_err();
/// assert_eq!(error.to_string(), "`truncate` is not the code of a finding");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseCodeError {
    name: String,
}

impl fmt::Display for ParseCodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not the code of a finding", self.name)
    }
}

impl error::Error for ParseCodeError {}
