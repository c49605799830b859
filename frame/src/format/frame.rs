//! Parsing a frame, and the methods that need only its header.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::finding::{Finding, Place};
use crate::format::array::Array;
use crate::format::cursor::{Cursor, Part};
use crate::format::header::{self, Header, LengthError, Start};
use crate::format::section::{ARRAY_NAMES, Metalayer, Section, SectionRules, SharedBytes};
use crate::{Code, Error};

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
/// A frame that was [parsed](Frame::parse) from bytes has no reader: its type is `Frame<()>`, or `Frame` for short.
#[derive(Clone, Debug)]
pub struct Frame<R = ()> {
    pub(crate) header: Header,
    pub(crate) bytes: SharedBytes,
    pub(crate) section: Section,
    pub(crate) offset: u64,
    pub(crate) path: Option<PathBuf>,
    /// Whether it was opened with the path of a directory.
    pub(crate) by_directory: bool,
    pub(crate) reader: R,
}

impl Frame {
    /// Reads the header from the first bytes of a frame. There may be more bytes after it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Incomplete`](crate::ErrorKind::Incomplete) if more bytes are needed,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the bytes are not a frame, whatever may follow them.
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
        let start = Start::parse(prefix).map_err(|error| match error {
            LengthError::Incomplete(needed) => Error::incomplete(needed),
            LengthError::Malformed(finding) => Error::malformed(finding),
        })?;
        let bytes = prefix.get(..start.header_len).ok_or_else(|| Error::incomplete(start.header_len))?;
        let header = header::parse(bytes, start).map_err(Error::malformed)?;
        let bytes = Arc::new(bytes.to_vec());
        let section = section_of(&header, &bytes).map_err(Error::malformed)?;
        Ok(Self { header, bytes, section, offset: 0, path: None, by_directory: false, reader: () })
    }
}

/// The metalayers of a header.
fn section_of(header: &Header, bytes: &SharedBytes) -> Result<Section, Finding> {
    let (marker, end) = (Code::IndexMarker, Code::HeaderLength);
    let cursor = Cursor::new(bytes, Part { place: Place::Metalayers, start: 0, marker, end });
    Section::parse(&mut cursor.at(header.generation.head_len()), bytes, &SectionRules::HEADER)
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
        self.metalayers().iter().find(|layer| layer.name() == name)
    }

    /// The metalayer of the array: `b2nd`, else `caterva`; `None` if there is neither.
    #[must_use]
    pub fn array_metalayer(&self) -> Option<&Metalayer> {
        ARRAY_NAMES.into_iter().find_map(|name| self.metalayer(name))
    }

    /// The array; `None` if the frame has chunks but no array metalayer.
    ///
    /// # Errors
    ///
    /// If the metalayer of the array is malformed.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let array = frame.array()?.expect("an array");
    /// assert_eq!(array.meta().unwrap().blockshape(), [1, 2]);
    /// assert!(array.stale_tail().is_empty());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn array(&self) -> Result<Option<Array<'_>>, Error> {
        self.read_array().transpose().map_err(Error::malformed)
    }

    /// Whether there is an array that can be read.
    pub(crate) fn is_array(&self) -> bool {
        self.array().is_ok_and(|array| array.is_some())
    }

    pub(crate) fn read_array(&self) -> Option<Result<Array<'_>, Finding>> {
        self.array_metalayer().map(|layer| Array::read(layer, self.header.generation))
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

    /// The error that the file of the frame cannot be read.
    pub(crate) fn unreadable(&self, error: io::Error) -> Error {
        match self.path() {
            Some(path) => Error::io("read", path, error),
            None => Error::reading(error),
        }
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

    /// The same frame with a reader of another type, for code that takes frames from different places.
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
        let Self { header, bytes, section, offset, path, by_directory, reader } = self;
        Frame { header, bytes, section, offset, path, by_directory, reader: map(reader) }
    }
}
