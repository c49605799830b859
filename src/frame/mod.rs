//! The frame around the metalayer: a Blosc2 file, or its bytes.
//!
//! A frame begins with a header, whose last value are the *metalayers*: byte strings with names. An array has one that is
//! called `b2nd`, or by its former name `caterva`. Reading it needs neither the data nor the C library.
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
//! [`Frame::chunks`] says where each chunk is, and [`Chunks::header`] how it is compressed.
//!
//! [`Frame::check`] says what is wrong or odd about a frame, and [`check`] does so for a file whose header cannot be
//! read either.
//!
//! [`Frame::edit`] changes a frame in its file: the shape within the last chunks, the dtype, any metalayer, as far as
//! they keep their length. [`Rewrite`] makes a frame of the present format out of an older one, with a dtype where it had
//! none.

// In the order of the methods on the page of `Frame`: what makes one, what reads it, what changes it.
mod find;

mod format;

mod chunks;

mod check;

mod edit;

mod code;
mod dump;
mod error;
mod finding;

use std::path::PathBuf;

pub use check::{Report, check};
pub use chunks::{ChunkCounts, ChunkEntry, ChunkPlace, Chunks};
pub use code::{Code, ParseCodeError, Severity};
pub use dump::{HeaderDump, dump_header};
pub use edit::change::Edit;
pub use edit::rewrite::Rewrite;
pub use error::{Error, ErrorKind};
pub use find::open::is_sparse_frame;
pub use find::scan::{Scan, scan};
pub use find::zip::{Content, Member, zip_members};
pub use finding::{Finding, Place};
pub use format::array::{Array, ArrayLayout};
pub use format::chunk::{ChunkHeader, Special};
pub use format::fields::{Field, Generation};
pub use format::flags::{Codec, Filter, FrameType, SplitMode};
pub use format::header::Header;
pub use format::section::Metalayer;
use format::section::{Section, SharedBytes};
pub use format::trailer::{Trailer, Vlmetalayer};

/// The names of an array's metalayer, the present one first.
const ARRAY_NAMES: [&str; 2] = ["b2nd", "caterva"];

/// The names of the metalayer of a store, whose data holds other frames: an embed store, or one in a dictionary or tree
/// store.
const EMBED_NAMES: [&str; 3] = ["b2embed", "b2dict", "b2tree"];

/// A Blosc2 frame: its header with the metalayers, and a reader for the rest of it.
///
/// ```
/// use b2nd_serde::frame::Frame;
///
/// let mut frame = Frame::open("tests/data/vlmetalayers.b2nd")?;
/// let array = frame.array()?.expect("an array");
/// assert_eq!((array.shape(), array.dtype()), (&[6][..], Some("<f8")));
/// assert_eq!(frame.header().typesize, 8);
/// assert_eq!(frame.trailer()?.vlmetalayer("unit").expect("a unit").decode::<String>()?, "kelvin");
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
///
/// A frame that was [parsed](Frame::parse) from bytes has no reader: its type is `Frame<()>`, or `Frame` for short.
#[derive(Clone, Debug)]
pub struct Frame<R = ()> {
    header: Header,
    bytes: SharedBytes,
    section: Section,
    offset: u64,
    path: Option<PathBuf>,
    /// Whether it was opened by the path of its directory.
    by_directory: bool,
    reader: R,
}
