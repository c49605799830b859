//! The frame around the metalayer: a file of Blosc2, or the bytes of one.
//!
//! A frame begins with a header, of which the *metalayers* are the last value: named byte strings, among them `b2nd`
//! (or `caterva`, its former name) for an array. Reading it needs neither the data nor the C library.
//!
//! ```
//! use b2nd_serde::frame::Frame;
//!
//! let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
//! let meta = frame.array().expect("an array")?;
//! assert_eq!(meta.shape(), [3, 5]);
//! assert_eq!(meta.dtype(), Some("<i4"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod header;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use crate::{Meta, take_from_slice};
pub use error::Error;
use header::Header;

/// Bytes of the first read: they hold the header of every ordinary array.
const FIRST_READ: usize = 512;

/// The file of a sparse frame that has the header.
const SPARSE_INDEX: &str = "chunks.b2frame";

/// The names of an array's metalayer, the present one first.
const ARRAY_NAMES: [&str; 2] = ["b2nd", "caterva"];

/// A Blosc2 frame: what its header says.
///
/// Of the header's fields, those that describe an array are here. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Frame {
    header: Header,
}

/// A metalayer of a frame: bytes with a name.
///
/// ```
/// use b2nd_serde::frame::Frame;
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let metalayer = &frame.metalayers()[0];
/// assert_eq!((metalayer.name(), metalayer.offset(), metalayer.bytes().len()), ("b2nd", 112, 53));
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metalayer {
    name: String,
    offset: usize,
    bytes: Vec<u8>,
}

impl Metalayer {
    /// The name; bytes of it that are not UTF-8 are replaced.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its first byte stands, counted from the start of the frame.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The content.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Frame {
    /// Reads the header of a frame in a file, or in the directory of a sparse frame.
    ///
    /// One read of 512 bytes, and a second one where the header is longer.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is no frame, or is shorter than its frame.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.typesize(), 4);
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let sparse = path.is_dir().then(|| path.join(SPARSE_INDEX));
        let mut file = File::open(sparse.as_deref().unwrap_or(path))?;
        let length = file.metadata()?.len();

        let mut prefix = Vec::with_capacity(FIRST_READ);
        read_up_to(&mut file, FIRST_READ, &mut prefix)?;
        let parsed = match Self::parse(&prefix) {
            Err(Error::Incomplete { needed }) => {
                read_up_to(&mut file, needed, &mut prefix)?;
                Self::parse(&prefix)
            }
            parsed => parsed,
        };
        let expected = match &parsed {
            Ok(frame) => frame.frame_len(),
            Err(Error::Incomplete { needed }) => *needed as u64,
            Err(_) => return parsed,
        };
        if expected > length {
            return Err(Error::Truncated { expected, found: length });
        }
        parsed
    }

    /// Reads the header from the first bytes of a frame. More bytes than the header do no harm.
    ///
    /// # Errors
    ///
    /// [`Error::Incomplete`] says how many bytes it takes; the other errors, that they are no frame.
    ///
    /// ```
    /// use b2nd_serde::frame::{Error, Frame};
    ///
    /// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// assert!(matches!(Frame::parse(&file[..100]), Err(Error::Incomplete { needed: 165 })));
    /// assert_eq!(Frame::parse(&file[..165])?.header_len(), 165);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(prefix: &[u8]) -> Result<Self, Error> {
        header::parse(prefix).map(|header| Self { header })
    }

    /// The length of the header.
    #[must_use]
    pub fn header_len(&self) -> usize {
        self.header.length
    }

    /// The length of the frame; for a sparse one, of its file with the header.
    #[must_use]
    pub fn frame_len(&self) -> u64 {
        self.header.frame_len
    }

    /// Whether it is a sparse frame: a directory with a file for each chunk.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.header.is_sparse
    }

    /// The size of all chunks when decompressed, with the padding of an array's edge chunks.
    #[must_use]
    pub fn nbytes(&self) -> i64 {
        self.header.nbytes
    }

    /// The size of all chunks as they are stored.
    #[must_use]
    pub fn cbytes(&self) -> i64 {
        self.header.cbytes
    }

    /// The size of an item.
    #[must_use]
    pub fn typesize(&self) -> i32 {
        self.header.typesize
    }

    /// All metalayers, in the order of the header.
    #[must_use]
    pub fn metalayers(&self) -> &[Metalayer] {
        &self.header.metalayers
    }

    /// The metalayer that makes the frame an array: `b2nd`, else `caterva`.
    #[must_use]
    pub fn array_metalayer(&self) -> Option<&Metalayer> {
        ARRAY_NAMES.into_iter().find_map(|name| self.metalayers().iter().find(|layer| layer.name == name))
    }

    /// What the array's metalayer says; `None` for a frame without one.
    ///
    /// Bytes behind the metalayer are passed over: some writers left old ones there.
    ///
    /// # Errors
    ///
    /// If the metalayer is malformed; offsets count from its [start](Metalayer::offset).
    #[must_use]
    pub fn array(&self) -> Option<crate::Result<Meta>> {
        self.array_metalayer().map(|layer| take_from_slice(layer.bytes()).map(|(meta, _)| meta))
    }
}

/// Reads on until so many bytes are there, or the file ends.
fn read_up_to(file: &mut File, length: usize, bytes: &mut Vec<u8>) -> Result<(), Error> {
    let more = length.saturating_sub(bytes.len());
    file.take(more as u64).read_to_end(bytes)?;
    Ok(())
}
