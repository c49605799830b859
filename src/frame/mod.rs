//! The frame around the metalayer: a file of Blosc2, or the bytes of one.
//!
//! A frame begins with a header, of which the *metalayers* are the last value: named byte strings, among them `b2nd`
//! (or `caterva`, its former name) for an array. Reading it needs neither the data nor the C library.
//!
//! ```
//! use b2nd_serde::frame::Frame;
//!
//! let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
//! let array = frame.array()?.expect("an array");
//! assert_eq!(array.shape(), [3, 5]);
//! assert_eq!(array.dtype(), Some("<i4"));
//! # Ok::<(), b2nd_serde::frame::Error>(())
//! ```
//!
//! | where the frame is | what finds it |
//! |---|---|
//! | a file, or the directory of a sparse frame | [`Frame::open`] |
//! | the same, while another process writes it | [`Frame::open_stable`] |
//! | in another file, at a known offset | [`Frame::read_at`] |
//! | bytes that a program fetches by itself | [`Frame::parse`], [`Trailer::parse`] |
//! | a `.b2z` or another zip file | [`zip_members`] |
//! | somewhere in an HDF5, ASDF or any other file | [`scan`] |
//!
//! [`Frame::check`] says what is wrong or odd about a frame, and [`check`] does so for a file whose header cannot be
//! read either.
//!
//! Of a frame that was opened by its path, what keeps its length can be changed in place: the shape within the last
//! chunks ([`Frame::set_shape`]), the dtype ([`Frame::set_dtype`]), any metalayer ([`Frame::set_metalayer`]).
//! [`rewrite`] makes a frame of the present format out of an older one, with a dtype where it had none.

mod check;
mod code;
mod dump;
mod edit;
mod error;
mod find;
mod finding;
mod format;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use check::{Report, check};
pub use code::{Code, ParseCodeError, Severity};
pub use dump::{HeaderDump, dump_header};
pub use edit::rewrite::{rewrite, rewrite_with_progress};
pub use error::{Error, ErrorKind};
pub use find::open::is_sparse_frame;
pub use find::scan::{Scan, scan};
pub use find::zip::{Content, Member, zip_members};
pub use finding::{Finding, Place};
pub use format::array::{Array, ArrayLayout};
use format::cursor::{Cursor, Rules};
pub use format::fields::{Field, Generation};
pub use format::flags::{Codec, Filter, FrameType, SplitMode};
pub use format::header::Header;
use format::header::{self, LengthError, Start};
pub use format::section::Metalayer;
use format::section::{Section, SectionRules, SharedBytes};
pub use format::trailer::{Trailer, Vlmetalayer};

/// The names of an array's metalayer, the present one first.
const ARRAY_NAMES: [&str; 2] = ["b2nd", "caterva"];

/// The names of a metalayer that says that other frames are in the data: of an embed store, and of one in a dictionary
/// or tree store.
const EMBED_NAMES: [&str; 3] = ["b2embed", "b2dict", "b2tree"];

/// A Blosc2 frame: what its header says, and the reader for the rest of it.
///
/// A frame that was [parsed](Frame::parse) from bytes has no reader, and its type is `Frame<()>` or short `Frame`.
#[derive(Clone, Debug)]
pub struct Frame<R = ()> {
    header: Header,
    bytes: SharedBytes,
    section: Section,
    offset: u64,
    path: Option<PathBuf>,
    /// Whether it was opened by the directory that the file is in.
    by_directory: bool,
    reader: R,
}

impl Frame {
    /// Reads the header from the first bytes of a frame. More bytes than the header do no harm.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Incomplete`] if more bytes are needed, [`ErrorKind::Malformed`] if the bytes are not a frame.
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

    fn with_reader<R>(self, reader: R) -> Frame<R> {
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
    /// What the header says, but for the metalayers.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes of the header, metalayers included.
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

    /// The array that the frame holds; `None` if it is none, but just chunks.
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

    fn read_array(&self) -> Option<Result<Array<'_>, Finding>> {
        self.array_metalayer().map(|layer| Array::read(layer, self.header.generation))
    }

    /// Whether it is an embed store of python-blosc2, `embed.b2e`: an array of bytes in which other frames are. They are
    /// compressed, and closed to this crate.
    #[must_use]
    pub fn is_embed_store(&self) -> bool {
        EMBED_NAMES.into_iter().any(|name| self.metalayer(name).is_some())
    }

    /// Where the frame begins in its file, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The file that was opened: of a sparse frame, the one with the header.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The reader that was given, or the file.
    pub fn into_reader(self) -> R {
        self.reader
    }
}
