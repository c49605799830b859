//! The frame around the metalayer: a Blosc2 file, or its bytes.
//!
//! A frame begins with a header. At the end of the header are the *metalayers*: byte strings with names. An array has
//! one with the name `b2nd`, or with the former name `caterva`. Reading it needs neither the data nor the C library.
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
//! | in bytes that you have read yourself | [`Frame::parse`], [`Trailer::parse`] |
//! | in a `.b2z` or another zip file | [`zip_members`] |
//! | at an unknown place in an HDF5, ASDF or other file | [`scan`] |
//!
//! [`Frame::check`] finds what is wrong with a frame or unusual about it. [`check`] does this for a file, even if its
//! header cannot be read.
//!
//! [`Frame::edit`] changes a frame in its file: the shape within the last chunks, or the dtype or any metalayer if its
//! length stays the same. [`Rewrite`] converts an older frame to the present format, and adds a dtype if it has none.

// In the order of the methods on the page of `Frame`: what makes one, what reads it, what changes it.
mod find;

mod format;

mod check;

mod edit;

mod code;
mod dump;
mod error;
mod finding;
mod read;

pub use check::{Report, check};
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
pub use format::fields::{Field, Generation};
pub use format::flags::{Codec, Filter, FrameType, SplitMode};
pub use format::frame::Frame;
pub use format::header::Header;
pub use format::section::Metalayer;
pub use format::trailer::{Trailer, Vlmetalayer};
