//! Why a frame cannot be changed.

use core::error;
use core::fmt;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use crate::frame::format::array::ArrayLayout;
use crate::{Layout, dtype, geometry};

/// Why a frame cannot be changed in place, or rewritten. No file has been touched.
///
/// ```
/// use b2nd_serde::frame::{ChangeError, Error, Frame};
///
/// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let error = frame.set_shape(&[5, 5]).unwrap_err();
/// assert!(matches!(error, Error::Change(ChangeError::OtherChunks { .. })));
/// assert_eq!(error.to_string(), "expected a shape of 4 chunks ([2, 2]), found [5, 5], which takes 6 ([3, 2])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// The frame was not opened by the path of its file, so it may stand within another file.
    NoPath,
    /// The frame is not its whole file, which may have a checksum of it, as a zip file has.
    PartOfFile {
        /// The length of the frame in bytes.
        frame_len: u64,
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// Another process holds the lock of the frame.
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// There is something at the path to which a frame should be copied.
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The frame holds no array.
    NoArray,
    /// The frame has no metalayer of this name.
    NoMetalayer {
        /// The name.
        name: String,
    },
    /// The value of a metalayer would get another length.
    Length {
        /// The name of the metalayer.
        name: String,
        /// The bytes that it has.
        expected: usize,
        /// The bytes that the new value has.
        found: usize,
    },
    /// Bytes of the metalayer are part of another one, or of the index.
    SharedBytes {
        /// The name.
        name: String,
    },
    /// The text of the dtype would get another length.
    DtypeLength {
        /// The bytes that it has.
        expected: usize,
        /// The bytes that the new text has.
        found: usize,
    },
    /// The array would need other chunks than there are. The product of a grid is its number of chunks.
    OtherChunks {
        /// The grid of chunks that is there.
        expected: Vec<u64>,
        /// The shape that is asked for.
        shape: Vec<i64>,
        /// The grid of chunks that it takes.
        found: Vec<u64>,
    },
    /// The array would have other chunk or block shapes than its data.
    OtherChunkshape {
        /// The chunk shape and block shape that are there.
        expected: [Vec<i32>; 2],
        /// Those of the new value.
        found: [Vec<i32>; 2],
    },
    /// The layout of the array's metalayer is one that is only read.
    ReadOnlyLayout {
        /// The layout.
        layout: ArrayLayout,
    },
    /// The new metalayer of the array has another layout, so that entries would be lost.
    OtherLayout {
        /// The layout that the array has.
        expected: Layout,
        /// The layout of the new metalayer.
        found: Layout,
    },
    /// The layout of the array's metalayer has no dtype: a rewrite has to be given one, and in place there is no room
    /// for it.
    NoDtype {
        /// The layout.
        layout: ArrayLayout,
    },
    /// The dtype is none.
    Dtype(dtype::Error),
    /// The items of the dtype are not of the size of those in the frame.
    ItemSize {
        /// The type size of the frame.
        expected: i32,
        /// The dtype.
        dtype: String,
        /// The size of its items.
        found: usize,
    },
    /// The array cannot have these numbers.
    Geometry(geometry::Error),
    /// A header of the first generation, `9c`, is not rewritten: it lacks what the present one needs.
    FirstGeneration,
    /// The trailer has the user metadata of C-Blosc2's beta releases, for which the present one has no place.
    UserMetadata {
        /// Its length in bytes.
        len: usize,
    },
    /// A number of the new header would be larger than the format allows.
    TooLarge,
    /// The one who asked for a rewrite has stopped it.
    Stopped,
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPath => {
                f.write_str("expected a frame that was opened by its path, found one of a reader")
            }
            Self::PartOfFile { frame_len, file_len } => {
                write!(
                    f,
                    "expected a frame that is its whole file, found one of {frame_len} bytes in {file_len}"
                )
            }
            Self::Locked { path } => write!(f, "another process holds the lock {}", path.display()),
            Self::Exists { path } => {
                write!(f, "{} exists already, and a copy replaces nothing", path.display())
            }
            Self::NoArray => f.write_str("the frame holds no array"),
            Self::NoMetalayer { name } => write!(f, "the frame has no metalayer {name}"),
            Self::Length { name, expected, found } => {
                write!(f, "expected {expected} bytes for metalayer {name}, found {found}")
            }
            Self::SharedBytes { name } => {
                write!(
                    f,
                    "expected metalayer {name} by itself, found it to share bytes with what is around it"
                )
            }
            Self::DtypeLength { expected, found } => {
                write!(f, "expected a dtype whose text has {expected} bytes, found {found}")
            }
            Self::OtherChunks { expected, shape, found } => {
                let count = |grid: &[u64]| grid.iter().map(|&chunks| u128::from(chunks)).product::<u128>();
                let (expected_count, found_count) = (count(expected), count(found));
                let noun = if expected_count == 1 { "chunk" } else { "chunks" };
                write!(f, "expected a shape of {expected_count} {noun} ({expected:?}), ")?;
                write!(f, "found {shape:?}, which takes {found_count} ({found:?})")
            }
            Self::OtherChunkshape { expected: [chunks, blocks], found: [other_chunks, other_blocks] } => {
                write!(f, "expected chunkshape {chunks:?} and blockshape {blocks:?}, which the data has, ")?;
                write!(f, "found {other_chunks:?} and {other_blocks:?}")
            }
            Self::ReadOnlyLayout { layout } => write!(f, "layout {layout} is only read, and never written"),
            Self::OtherLayout { expected, found } => write!(f, "expected layout {expected}, found {found}"),
            Self::NoDtype { layout } => {
                write!(f, "layout {layout} has no dtype, so a rewrite has to be given one")
            }
            Self::Dtype(error) => write!(f, "dtype: {error}"),
            Self::ItemSize { expected, dtype, found } => {
                write!(f, "expected a dtype of {expected} bytes, the typesize of the frame, ")?;
                write!(f, "found {dtype} of {found}")
            }
            Self::Geometry(error) => error.fmt(f),
            Self::FirstGeneration => {
                f.write_str("a header of 12 values (0x9c) is only read, and not rewritten")
            }
            Self::UserMetadata { len } => {
                write!(
                    f,
                    "the trailer has {len} bytes of user metadata, which a present one has no place for"
                )
            }
            Self::TooLarge => {
                f.write_str("a length or an offset in the header would be larger than the format allows")
            }
            Self::Stopped => f.write_str("stopped before the new file was whole; nothing of it is left"),
        }
    }
}

impl error::Error for ChangeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Dtype(error) => Some(error),
            Self::Geometry(error) => Some(error),
            _ => None,
        }
    }
}

impl From<dtype::Error> for ChangeError {
    fn from(error: dtype::Error) -> Self {
        Self::Dtype(error)
    }
}

impl From<geometry::Error> for ChangeError {
    fn from(error: geometry::Error) -> Self {
        Self::Geometry(error)
    }
}
