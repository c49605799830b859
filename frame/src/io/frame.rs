//! `Frame`: the header of a frame, and a reader for the rest.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::format::array::Array;
use crate::format::chunk_file::SPARSE_INDEX;
use crate::format::head::Head;
use crate::format::header::{Header, cut_short};
use crate::format::object_kind::ObjectKind;
use crate::format::section::Metalayer;
use crate::format::trailer::{self, Trailer};
use crate::io::source::{available, read_up_to};

/// The number of bytes of the first read of a trailer, enough if it has no long vlmetalayers.
const FIRST_READ: usize = 512;

/// A Blosc2 frame: its header with the metalayers, and a reader for the rest of it.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let mut frame = Frame::open("tests/data/vlmetalayers.b2nd")?;
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
    pub(crate) head: Head,
    pub(crate) offset: u64,
    pub(crate) path: Option<PathBuf>,
    /// Whether it was opened with the path of a directory.
    pub(crate) by_directory: bool,
    pub(crate) reader: R,
}

impl Frame<()> {
    /// Reads the header from the first bytes of a frame. There may be more bytes after it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Incomplete`](crate::ErrorKind::Incomplete) if more bytes are needed,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if no further bytes can make them a frame.
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
        Ok(Self { head: Head::parse(prefix)?, offset: 0, path: None, by_directory: false, reader: () })
    }
}

impl<R> Frame<R> {
    /// The values of the header, without the metalayers.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.head.header
    }

    /// The bytes of the header, with its metalayers.
    #[must_use]
    pub fn header_bytes(&self) -> &[u8] {
        &self.head.bytes
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
        self.head.metalayers()
    }

    /// The metalayer with this name; `None` if there is none. If several have the name, it is the first one.
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
        self.head.metalayer(name)
    }

    /// The metalayer of the array: `b2nd`, else `caterva`; `None` if there is neither.
    #[must_use]
    pub fn array_metalayer(&self) -> Option<&Metalayer> {
        self.head.array_metalayer()
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
    pub fn array(&self) -> Result<Option<Array<'_>>, Error> {
        self.head.array().map_err(Error::malformed)
    }

    /// The kind of object in the frame, as far as the header determines it.
    ///
    /// It is the class with which python-blosc2 opens the file, with two exceptions. python-blosc2 opens a
    /// [store](ObjectKind::EmbedStore) only by the extension `b2e`, `b2d` or `b2z`, and an array of Caterva as plain
    /// chunks.
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
        self.head.kind()
    }

    /// The offset of the frame in its file; 0 if it was parsed from bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The path of the file that was opened; for a sparse frame, that of `chunks.b2frame`. `None` if the frame was not
    /// opened by a path.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The directory of a sparse frame, if the frame was opened by its path.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.path().and_then(sparse_folder)
    }

    /// The error of reading the file of the frame.
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

    /// Replaces the reader, for code that takes frames from readers of several types.
    ///
    /// The new reader must have the same bytes. The frame keeps its [`path`](Self::path).
    ///
    /// ```
    /// use std::io::{Read, Seek};
    /// use b2nd_frame::Frame;
    ///
    /// trait Source: Read + Seek {}
    /// impl<R: Read + Seek> Source for R {}
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let mut frame: Frame<Box<dyn Source>> = frame.map_reader(|file| Box::new(file) as _);
    /// assert_eq!(frame.count_chunks()?.total(), 4);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn map_reader<S>(self, map: impl FnOnce(R) -> S) -> Frame<S> {
        let Self { head, offset, path, by_directory, reader } = self;
        Frame { head, offset, path, by_directory, reader: map(reader) }
    }
}

impl<R: Read + Seek> Frame<R> {
    /// Reads the trailer with the vlmetalayers.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) if the file cannot be read, [`Malformed`](crate::ErrorKind::Malformed) if no valid
    /// trailer is at the end of the frame, or if the file has become shorter since it was opened.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/vlmetalayers.b2nd")?;
    /// let trailer = frame.trailer()?;
    /// let names: Vec<_> = trailer.vlmetalayers().iter().map(|layer| layer.name()).collect();
    /// assert_eq!(names, ["unit", "note"]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn trailer(&mut self) -> Result<Trailer, Error> {
        let suffix = self.last_bytes(FIRST_READ)?;
        let parsed = Trailer::parse(self.header(), &suffix);
        let Some(needed) = parsed.as_ref().err().and_then(Error::needed) else { return parsed };
        let suffix = self.last_bytes(needed)?;
        // Between the two reads a writer has changed the trailer.
        if trailer::length(self.header(), &suffix)? != needed {
            return Err(Error::changing(None));
        }
        Trailer::parse_whole(self.header(), suffix).map_err(Error::malformed)
    }

    /// The last bytes of the frame, without bytes of the header.
    pub(crate) fn last_bytes(&mut self, length: usize) -> Result<Vec<u8>, Error> {
        let Header { frame_len, header_len, .. } = *self.header();
        let length = (length as u64).min(frame_len.saturating_sub(header_len as u64));
        self.read_range(frame_len.saturating_sub(length), length)
    }

    /// The number of bytes from the start of the frame to the end of the file.
    pub(crate) fn available(&mut self) -> Result<u64, Error> {
        available(&mut self.reader, self.offset).map_err(|error| self.unreadable(error))
    }

    /// Reads `length` bytes at an offset of the frame. An earlier end of the file is an error.
    pub(crate) fn read_range(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let start = self.offset.saturating_add(start);
        self.reader
            .seek(SeekFrom::Start(start))
            .and_then(|_| read_up_to(&mut self.reader, length, &mut bytes))
            .map_err(|error| self.unreadable(error))?;
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        // The file can have become shorter than the frame since it was opened.
        let frame_len = self.header().frame_len;
        match self.available()? {
            available if available < frame_len => Err(Error::malformed(cut_short("", frame_len, available))),
            // It has become longer again.
            _ => Err(Error::changing(None)),
        }
    }
}

/// The directory of the sparse frame whose header is in this file; `None` if the file has another name.
pub(crate) fn sparse_folder(path: &Path) -> Option<&Path> {
    path.ends_with(SPARSE_INDEX).then(|| folder_of(path))
}

/// The directory of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
