//! A frame as its header shows it: parsing, and what a frame answers without its reader.

use std::path::Path;
use std::sync::Arc;

use crate::frame::finding::{Finding, Place};
use crate::frame::format::array::Array;
use crate::frame::format::cursor::{Cursor, Rules};
use crate::frame::format::header::{self, Header, LengthError, Start};
use crate::frame::format::section::{Metalayer, Section, SectionRules, SharedBytes};
use crate::frame::{ARRAY_NAMES, Code, Error, Frame};

impl Frame {
    /// Reads the header from the first bytes of a frame. There may be more bytes after it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Incomplete`](crate::frame::ErrorKind::Incomplete) if more bytes are needed,
    /// [`ErrorKind::Malformed`](crate::frame::ErrorKind::Malformed) if the bytes are not a frame.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
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

    pub(crate) fn with_reader<R>(self, reader: R) -> Frame<R> {
        let Self { header, bytes, section, offset, path, by_directory, reader: () } = self;
        Frame { header, bytes, section, offset, path, by_directory, reader }
    }
}

/// The metalayers of a header.
fn section_of(header: &Header, bytes: &SharedBytes) -> Result<Section, Finding> {
    let (marker, end) = (Code::IndexMarker, Code::HeaderLength);
    let cursor = Cursor::new(bytes, Rules { place: Place::Metalayers, start: 0, marker, end });
    Section::parse(&mut cursor.at(header.generation.head_len()), bytes, &SectionRules::HEADER)
}

impl<R> Frame<R> {
    /// What the header says, without the metalayers.
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
    #[must_use]
    pub fn metalayers(&self) -> &[Metalayer] {
        &self.section.metalayers
    }

    /// The metalayer of this name; `None` if there is none. Of several, it is the first one.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.metalayer("b2nd").expect("an array").bytes().len(), 53);
    /// assert!(frame.metalayer("b2o").is_none());
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    #[must_use]
    pub fn metalayer(&self, name: &str) -> Option<&Metalayer> {
        self.metalayers().iter().find(|layer| layer.name() == name)
    }

    /// The metalayer of the array: `b2nd`, or `caterva` if there is no `b2nd`.
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
    /// use b2nd_serde::frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let array = frame.array()?.expect("an array");
    /// assert_eq!(array.meta().unwrap().blockshape(), [1, 2]);
    /// assert!(array.stale_tail().is_empty());
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn array(&self) -> Result<Option<Array<'_>>, Error> {
        self.read_array().transpose().map_err(Error::malformed)
    }

    pub(crate) fn read_array(&self) -> Option<Result<Array<'_>, Finding>> {
        self.array_metalayer().map(|layer| Array::read(layer, self.header.generation))
    }

    /// The offset of the frame in its file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The path of the file that was opened; for a sparse frame, of the file with the header.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Gives back the reader, or the file.
    pub fn into_reader(self) -> R {
        self.reader
    }
}
