//! `Frame`: the header of a frame, and a reader for the rest. Its public methods are in `frame_methods.rs`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::chunk_file::sparse_folder;
use crate::error::Error;
use crate::file_version::FileVersion;
use crate::finding::Finding;
use crate::header::array_header::ArrayHeader;
use crate::header::frame_header::Header;
use crate::header::section::{Section, SharedBytes};

/// A Blosc2 frame: its header with the metalayers, and a reader for the rest of it.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let frame = Frame::open("tests/data/vlmetalayers.b2nd")?;
/// let array = frame.array()?.expect("an array");
/// assert_eq!((array.shape(), array.dtype()), (&[6][..], Some("<f8")));
/// assert_eq!(frame.header().typesize, 8);
/// assert_eq!(frame.trailer()?.vlmetalayer("unit").expect("a unit").decode::<String>()?, "kelvin");
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
///
/// A frame that was [parsed](Frame::parse) from bytes has no reader: its type is `Frame<()>`.
#[derive(Clone, Debug)]
pub struct Frame<R = File> {
    pub(crate) header: Header,
    pub(crate) bytes: SharedBytes,
    pub(crate) section: Section,
    pub(crate) offset: u64,
    pub(crate) path: Option<PathBuf>,
    /// Whether the frame was opened with the path of a directory.
    pub(crate) by_directory: bool,
    /// A time after the file at `path` was opened and before it was read. For a new file, a time before its rename.
    pub(crate) opened: Option<SystemTime>,
    /// The version of the reader before its first read; `None` if it is not known.
    pub(crate) version: Option<FileVersion>,
    pub(crate) reader: R,
}

impl<R> Frame<R> {
    /// Reads the array from its metalayer; `None` if the frame has no array. The error is the finding for an invalid
    /// metalayer.
    pub(crate) fn read_array(&self) -> Result<Option<ArrayHeader<'_>>, Finding> {
        self.array_metalayer().map(|layer| ArrayHeader::read(layer, self.header.generation)).transpose()
    }

    /// Whether the frame has an array whose metalayer can be read.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self.read_array(), Ok(Some(_)))
    }

    /// The directory of the file `chunks.b2frame`. `None` if the frame was opened by a path with another file name, or
    /// not by a path. The result does not depend on the frame type.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.path().and_then(sparse_folder)
    }

    /// Converts an error of the reader to an [`Error`], with the path of the frame.
    pub(crate) fn unreadable(&self, error: io::Error) -> Error {
        Error::reading(error).at(self.path())
    }
}
