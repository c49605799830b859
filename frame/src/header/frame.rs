//! `Frame`: the header of a frame, and a reader with which other modules read the rest.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::chunk_file::sparse_folder;
use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::header::array_header::ArrayHeader;
use crate::header::frame_header::{self, Header, Start};
use crate::header::object_kind::{ObjectKind, metalayer_kind};
use crate::header::section::{ARRAY_NAMES, Metalayer, Section, SectionRules, SharedBytes};
use crate::messagepack::cursor::{Cursor, Part};

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
    /// The time after the file at `path` was opened, and before it was read.
    pub(crate) opened: Option<SystemTime>,
    pub(crate) reader: R,
}

impl Frame<()> {
    /// Reads the header from the first bytes of a frame. The bytes may go on after the header.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Incomplete`](crate::ErrorKind::Incomplete) if more bytes are needed,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the bytes cannot be the start of a frame.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(Frame::parse(&file[..100]).unwrap_err().needed(), Some(165));
    /// assert_eq!(Frame::parse(&file[..165])?.header().header_len, 165);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(prefix: &[u8]) -> Result<Self, Error> {
        let start = Start::parse(prefix)?;
        let bytes = prefix.get(..start.header_len).ok_or_else(|| Error::incomplete(start.header_len))?;
        let header = frame_header::parse(bytes, start).map_err(Error::malformed)?;
        let bytes = Arc::new(bytes.to_vec());
        let cursor = Cursor::new(
            &bytes,
            Part { place: Place::Metalayers, start: 0, code: FindingCode::DamagedHeader },
        );
        let mut cursor = cursor.at(header.generation.head_len());
        let section = Section::parse(&mut cursor, &bytes, &SectionRules::HEADER).map_err(Error::malformed)?;
        Ok(Self {
            header,
            bytes,
            section,
            offset: 0,
            path: None,
            by_directory: false,
            opened: None,
            reader: (),
        })
    }
}

impl<R> Frame<R> {
    /// The values of the header, without the metalayers.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes of the header, with its metalayers.
    #[must_use]
    pub fn header_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All metalayers, in the order of the header.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/peers/lazy_expression.b2nd")?;
    /// let names: Vec<&str> = frame.metalayers().iter().map(|layer| layer.name()).collect();
    /// assert_eq!(names, ["b2nd", "b2o"]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn metalayers(&self) -> &[Metalayer] {
        &self.section.metalayers
    }

    /// The first metalayer with this name; `None` if there is none.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.metalayer("b2nd").expect("an array").bytes().len(), 53);
    /// assert!(frame.metalayer("b2o").is_none());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn metalayer(&self, name: &str) -> Option<&Metalayer> {
        self.metalayers().iter().find(|layer| layer.name() == name)
    }

    /// The metalayer of the array: `b2nd`, else `caterva`; `None` if there is neither.
    #[must_use]
    pub fn array_metalayer(&self) -> Option<&Metalayer> {
        ARRAY_NAMES.into_iter().find_map(|name| self.metalayer(name))
    }

    /// The array; `None` if the frame has no array metalayer.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if the metalayer of the array violates the format.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let array = frame.array()?.expect("an array");
    /// assert_eq!(array.meta().blockshape(), [1, 2]);
    /// assert!(array.stale_tail().is_empty());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn array(&self) -> Result<Option<ArrayHeader<'_>>, Error> {
        self.read_array().map_err(Error::malformed)
    }

    /// Reads the array as [`array`](Self::array) does, but returns a finding as the error.
    pub(crate) fn read_array(&self) -> Result<Option<ArrayHeader<'_>>, Finding> {
        self.array_metalayer().map(|layer| ArrayHeader::read(layer, self.header.generation)).transpose()
    }

    /// Whether the frame has an array whose metalayer can be read.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self.read_array(), Ok(Some(_)))
    }

    /// The kind of object in the frame, as far as the header determines it.
    ///
    /// If python-blosc2 can open the frame, it makes an object of this kind, with two exceptions. It opens a
    /// [store](ObjectKind::EmbedStore) as a store only if the path has the extension `b2e`, `b2d` or `b2z`. And it
    /// opens an array of Caterva as plain chunks.
    ///
    /// ```
    /// use b2nd_frame::{Frame, ObjectKind};
    ///
    /// assert_eq!(Frame::open("tests/data/int32_3x5.b2nd")?.kind(), ObjectKind::NDArray);
    /// assert_eq!(Frame::open("tests/data/peers/object_array.b2frame")?.kind(), ObjectKind::ObjectArray);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> ObjectKind {
        match metalayer_kind(self.metalayers()) {
            Some((kind, _)) => kind,
            None if self.array_metalayer().is_some() => ObjectKind::NDArray,
            None => ObjectKind::SChunk,
        }
    }

    /// The offset of the frame in its file; 0 if it was parsed from bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The path of the file that was opened; for a sparse frame, the path of `chunks.b2frame`. `None` if the frame was
    /// not opened by a path.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The directory of the file `chunks.b2frame`. `None` if the frame was opened by a path with another file name, or
    /// not by a path. The frame type is not tested.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.path().and_then(sparse_folder)
    }

    /// Converts an error of the reader to an [`Error`], with the path of the frame.
    pub(crate) fn unreadable(&self, error: io::Error) -> Error {
        Error::reading(error).at(self.path())
    }

    /// Returns the reader or file of the frame.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let frame_len = frame.header().frame_len;
    /// assert_eq!(frame.into_reader().metadata()?.len(), frame_len);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_reader(self) -> R {
        self.reader
    }

    /// The source of the frame's bytes.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert!(frame.reader().metadata()?.is_file());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Replaces the reader, for code that needs one type for frames with different readers.
    ///
    /// The new reader must have the same bytes. The frame keeps its [`path`](Self::path).
    ///
    /// ```
    /// use b2nd_frame::{Frame, ReadAt};
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let frame: Frame<Box<dyn ReadAt>> = frame.map_reader(|file| Box::new(file) as _);
    /// assert_eq!(frame.count_chunks()?.total(), 4);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn map_reader<S>(self, map: impl FnOnce(R) -> S) -> Frame<S> {
        let Self { header, bytes, section, offset, path, by_directory, opened, reader } = self;
        Frame { header, bytes, section, offset, path, by_directory, opened, reader: map(reader) }
    }
}
