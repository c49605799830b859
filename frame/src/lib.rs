//! Reads, checks, changes, salvages and writes frames, the file format of Blosc2.
//!
//! ```text
//! 0                      header     values at fixed bytes: lengths, codec, filters; then the metalayers, named byte
//!                                   strings; the metalayer of an array, `b2nd`, has its shape, chunk shape, block
//!                                   shape and dtype
//! header_len             chunks     one after the other, each with a header of its own and its blocks
//! header_len + cbytes    index      the place of each chunk, or the single value of its items
//!                        trailer    the vlmetalayers, which can change their length; the length of the trailer
//! frame_len
//! ```
//!
//! A *sparse* frame is a directory: each chunk is a file, and `chunks.b2frame` has the rest. The shape and the dtype of
//! an array are in the header. This crate reads frames without the C library.
//!
//! ```
//! use b2nd_frame::Frame;
//!
//! let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
//! let array = frame.array()?.expect("an array");
//! assert_eq!(array.shape(), [3, 5]);
//! assert_eq!(array.dtype(), Some("<i4"));
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! | place of the frame | function |
//! |---|---|
//! | a file, or the directory of a sparse frame | [`Frame::open`] |
//! | the same, while another process writes it | [`Frame::open_stable`] |
//! | another file, at a known offset | [`Frame::read_at`] |
//! | bytes that you have read yourself | [`Frame::parse`], [`Trailer::parse`] |
//! | a `.b2z` or another zip file | [`zip_members`], [`zip_member`] |
//! | a store of python-blosc2, a `.b2d` or `.b2z` | [`Store::open`] |
//! | the compressed data of a store, a `.b2e` or `embed.b2e` | `EmbeddedFrames` |
//! | an unknown place in an HDF5, ASDF or other file | [`scan`] |
//!
//! [`Frame::kind`] is the kind of object in a frame: an array, or another object of python-blosc2. [`Frame::chunks`]
//! iterates over the places of the chunks, [`Chunks::header`] reads the header of a chunk, and [`Chunks::compressed`]
//! its stored bytes. `Frame::slice` reads the items of a slice, as bytes or as an array of the crate `ndarray`, and
//! `Chunks::decompressed` a whole chunk.
//!
//! [`check`] finds the faults and oddities of the frame in a file, even if its header cannot be read. A [`Check`] can
//! also read the chunks.
//!
//! [`Frame::edit`] changes a frame in its file: the shape within the last chunks, or the dtype or any metalayer if its
//! length stays the same. [`Rewrite`] converts an older frame to the present format, adds a missing dtype, and converts
//! between sparse and contiguous frames. [`Salvage`] makes a new frame of the undamaged parts of a damaged one.
//!
//! [`FrameBuilder`] makes a new frame from an array's [`Meta`](b2nd_serde::Meta). An `ArrayWriter` takes its items by
//! regions and compresses them; `write_array` does so for an array of the crate ndarray. A [`FrameWriter`] takes finished
//! chunks: of any Blosc2 compressor, uncompressed, or of a single value.
//!
//! # Features
//!
//! | feature | lowest Rust | adds |
//! |---|---|---|
//! | | 1.85 | all but the rows below |
//! | `decompress` | 1.89 | compressed chunk indexes and vlmetalayers; `Frame::slice`, `Chunks::decompressed`, `EmbeddedFrames`, [`CheckDepth::ChunkData`] |
//! | `compress` | 1.89 | `ArrayWriter`; it includes `decompress` |
//! | `ndarray` | 1.89 | `Slice::read_array`, and with `compress` `write_array`; it includes `decompress` |
//!
//! No feature is on by default. Without `decompress`, a frame with a compressed chunk index can be opened, but its
//! chunks cannot be read: most writers compress the index.
//!
//! # Limits of time and memory
//!
//! No input makes this crate panic. Time and memory are bounded by the length of the input, not by the sizes that the
//! input claims. The page [`costs`] has the memory of each function.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

// Each module imports only from those above it.
mod code;

mod finding;

mod error;

mod progress;

mod format;

mod rules;

mod io;

mod find;

mod check;

mod write;

mod edit;

mod salvage;

mod dump;

#[cfg(doc)]
pub mod cookbook;

#[cfg(doc)]
pub mod costs;

/// The crate of the chunks.
pub use b2nd_chunk;
pub use b2nd_chunk::{ChunkHeader, Codec, Filter, SpecialValue, SplitMode};
/// The crate of the metalayer. With this re-export, a program needs only one dependency.
pub use b2nd_serde;
pub use check::report::{Report, Skipped, SkippedPart};
pub use check::{Check, check};
pub use code::{CheckDepth, FindingCode, ParseFindingCodeError, Remedy, Severity};
pub use dump::dump_header;
pub use edit::change::Edit;
pub use edit::rewrite::Rewrite;
#[cfg(feature = "compress")]
pub use edit::update::ArrayUpdate;
pub use error::{Error, ErrorKind};
#[cfg(feature = "decompress")]
pub use find::embedded::EmbeddedFrames;
pub use find::scan::{Scan, scan};
pub use find::store::{Store, is_store_folder};
pub use find::zip::{MemberContent, ZipMember, zip_member, zip_members};
pub use finding::{Finding, Place};
pub use format::array::Array;
pub use format::chunk_file::SPARSE_INDEX;
pub use format::decompress::expansion_limit;
pub use format::fields::{Generation, HeaderField};
pub use format::flags::FrameType;
pub use format::frame::Frame;
pub use format::header::Header;
pub use format::index::{ChunkCounts, ChunkEntry, ChunkPlace};
pub use format::object_kind::ObjectKind;
pub use format::section::Metalayer;
pub use format::trailer::{Trailer, Vlmetalayer};
pub use io::chunks::Chunks;
#[cfg(feature = "ndarray")]
pub use io::item::Item;
pub use io::open::is_sparse_frame;
#[cfg(feature = "decompress")]
pub use io::pieces::Pieces;
#[cfg(feature = "decompress")]
pub use io::plan::SlicePlan;
#[cfg(feature = "decompress")]
pub use io::rows::Rows;
#[cfg(feature = "decompress")]
pub use io::slice::Slice;
#[cfg(feature = "decompress")]
pub use io::subscripts::Subscripts;
pub use salvage::from::{Fill, Salvage};
pub use salvage::report::{AssumedOrder, ChunkRange, LostMetalayer, Restored, SalvageReport};
#[cfg(feature = "compress")]
pub use write::array::ArrayWriter;
pub use write::builder::FrameBuilder;
pub use write::destination::NewFrame;
#[cfg(all(feature = "compress", feature = "ndarray"))]
pub use write::items::write_array;
pub use write::writer::FrameWriter;

/// The examples of the README are tests; one needs `ndarray`.
#[cfg(all(doctest, feature = "ndarray"))]
#[doc = include_str!("../README.md")]
struct Readme;
