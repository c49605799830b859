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
//! [`Frame::edit`] changes a frame in its file: the shape within the last chunks, the dtype, any metalayer, as far as
//! they keep their length. [`Rewrite`] makes a frame of the present format out of an older one, with a dtype where it had
//! none.

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

use serde::Deserialize;

use crate::take_from_slice;
pub use check::{Report, check};
pub use code::{Code, ParseCodeError, Severity};
pub use dump::{Dump, dump};
pub use edit::change::Edit;
pub use edit::rewrite::Rewrite;
pub use error::{Error, ErrorKind};
pub use find::open::is_sparse_frame;
pub use find::scan::{Scan, scan};
pub use find::zip::{Content, Member, zip_members};
pub use finding::{Finding, Place};
pub use format::array::{Array, ArrayLayout};
use format::cursor::{Rules, Walk};
pub use format::fields::{Codec, Field, Filter, FrameType, Generation, SplitMode};
pub use format::header::Header;
use format::header::{self, Unknown};
pub use format::section::Metalayer;
use format::section::{Kind, Part, Section};
pub use format::trailer::{Trailer, Vlmetalayer};

/// The names of an array's metalayer, the present one first.
const ARRAY_NAMES: [&str; 2] = ["b2nd", "caterva"];

/// The names of a metalayer that says that other frames are in the data: of an embed store, and of one in a dictionary
/// or tree store.
const EMBED_NAMES: [&str; 3] = ["b2embed", "b2dict", "b2tree"];

/// The most metalayers that a header has.
const MAX_METALAYERS: u16 = 16;

/// A Blosc2 frame: what its header says, and the reader for the rest of it.
///
/// A frame that was [parsed](Frame::parse) from bytes has no reader, and its type is `Frame<()>` or short `Frame`.
#[derive(Clone, Debug)]
pub struct Frame<R = ()> {
    header: Header,
    bytes: Part,
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
        let length = header::length(prefix).map_err(|unknown| match unknown {
            Unknown::Needs(needed) => Error::incomplete(needed),
            Unknown::Refused(finding) => Error::malformed(finding),
        })?;
        let bytes = prefix.get(..length).ok_or_else(|| Error::incomplete(length))?;
        let header = header::parse(bytes).map_err(Error::malformed)?;
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
fn section_of(header: &Header, bytes: &Part) -> Result<Section, Finding> {
    let (marker, end) = (Code::IndexMarker, Code::HeaderLength);
    let mut walk = Walk::new(bytes, Rules { place: Place::Metalayers, start: 0, marker, end });
    walk.position = header.position(Field::Metalayers).map_or(0, |position| position.start);
    let kind = Kind {
        count: Code::MetalayerCount,
        offset: Code::MetalayerOffset,
        length: Code::MetalayerLength,
        max_count: MAX_METALAYERS,
    };
    Section::parse(&mut walk, bytes, &kind)
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

    /// The metalayer that makes the frame an array: `b2nd`, else `caterva`.
    #[must_use]
    pub fn array_metalayer(&self) -> Option<&Metalayer> {
        ARRAY_NAMES.into_iter().find_map(|name| self.find(name))
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
        EMBED_NAMES.into_iter().any(|name| self.find(name).is_some())
    }

    /// Reads a metalayer into a type: that of an array in this crate's format, any other as `MessagePack`. `None` if
    /// there is none of this name.
    ///
    /// Bytes behind the value are passed over, as writers leave them when a value becomes shorter.
    ///
    /// # Errors
    ///
    /// If the metalayer is not of that type.
    ///
    /// ```
    /// # #[derive(serde_derive::Deserialize)]
    /// # #[allow(dead_code)]
    /// struct Short {
    ///     version: u8,
    ///     ndim: u8,
    ///     shape: [u64; 2],
    ///     chunkshape: [u32; 2],
    ///     blockshape: [u32; 2],
    ///     dtype_format: u8,
    ///     dtype: String,
    /// }
    /// use b2nd_serde::frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let array: Short = frame.metalayer("b2nd")?.expect("an array");
    /// assert_eq!((array.shape, array.dtype.as_str()), ([3, 5], "<i4"));
    /// assert_eq!(frame.metalayer::<String>("b2o")?, None);
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn metalayer<'f, T: Deserialize<'f>>(&'f self, name: &str) -> Result<Option<T>, Error> {
        let Some(layer) = self.find(name) else { return Ok(None) };
        if ARRAY_NAMES.contains(&name) {
            let array = take_from_slice(layer.bytes());
            return array.map(|(value, _)| Some(value)).map_err(|error| Error::decode(name, error));
        }
        rmp_serde::from_slice(layer.bytes()).map(Some).map_err(|error| Error::decode(name, error))
    }

    fn find(&self, name: &str) -> Option<&Metalayer> {
        self.section.metalayers.iter().find(|layer| layer.name() == name)
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
