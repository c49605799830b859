//! Reads, checks, changes, repairs and writes the files of Blosc2 N-dimensional arrays (`.b2nd`), without the C library.
//!
//! This example reads a slice:
//!
//! ```
//! # #[cfg(feature = "ndarray")] {
//! use b2nd_frame::Array;
//! let array = Array::open("tests/data/int32_3x5.b2nd")?;
//! let items = array.slice(&[1..3, 2..5]).read_array::<i32>()?;
//! # assert_eq!(items, ndarray::array![[7, 8, 9], [12, 13, 14]].into_dyn());
//! # }
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! This example writes an array, and appends a row:
//!
//! ```
//! # #[cfg(all(feature = "compress", feature = "ndarray"))] {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("new.b2nd");
//! use b2nd_frame::{ArrayUpdate, write_array};
//! use ndarray::array;
//!
//! write_array(&path, array![[1, 2, 3], [4, 5, 6]].view())?;
//! let mut update = ArrayUpdate::open(&path)?;
//! update.append_array(0, array![[7, 8, 9]].view())?;
//! update.flush()?;
//! # assert_eq!(b2nd_frame::Array::open(&path)?.whole().read_array::<i32>()?.sum(), 45);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This example reads the shape and dtype. It needs no feature:
//!
//! ```
//! # use b2nd_frame::Frame;
//! let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
//! let array = frame.array()?.expect("an array");
//! assert_eq!((array.shape(), array.dtype()), (&[3, 5][..], Some("<i4")));
//! # Ok::<(), b2nd_frame::Error>(())
//! ```
//!
//! # What to call
//!
//! Each function below has an example on its page, and the [`cookbook`] has recipes. A *frame* consists of a header,
//! chunks and a trailer, in the format of Blosc2. Usually a frame is a file, but a *sparse* frame is a directory.
//!
//! | to open | call |
//! |---|---|
//! | a file, or the directory of a sparse frame | [`Frame::open`] |
//! | the same, while another process writes it | [`Frame::open_stable`] |
//! | a file on a server, from its first bytes | [`Frame::parse`] |
//! | bytes that your program fetches, in async code or a browser | [`KnownRanges`] |
//! | the array of a file or a frame, to read its items | `Array::open`, `Array::new`, `Array::with_trailer` |
//! | a frame at a known offset of another file | [`Frame::read_at`] |
//! | a frame in an HDF5, ASDF or other file | [`scan`] |
//! | a member of a `.b2z` or another zip file | [`zip_member`], [`zip_members`] |
//! | the arrays in a store of python-blosc2: a folder `.b2d` or a zip file `.b2z` | [`Store::open`] |
//! | the arrays in the compressed data of a store: a `.b2e` or `embed.b2e` | `EmbeddedFrames` |
//!
//! | to read | call |
//! |---|---|
//! | shape, chunk shape, block shape and dtype | [`Frame::array`] |
//! | the class with which python-blosc2 opens the frame | [`Frame::kind`] |
//! | the items of a slice, decompressed | `Array::open`, then `Array::slice` or `Array::whole`, then `read`, `read_into`, `read_array`, `read_as` or `read_rows` |
//! | a slice that does not fit in memory | `Slice::pieces`, `Slice::rows` |
//! | a slice from a server, or in async code: the byte ranges to request | `Slice::plan` |
//! | the array that `save_array`, `save_tensor` or `pack_tensor` of python-blosc2 wrote | `Array::open`, [`Trailer::packed_tensor`] |
//! | the attributes of the array: vlmetalayers | `Array::attributes`, [`Frame::trailer`] |
//! | the places of the chunks, and their bytes | [`Frame::chunks`], [`Chunks::compressed`], `Chunks::decompressed` |
//! | the faults and oddities of a file | [`check`]; [`Check`] also reads the chunks |
//! | the meaning of each byte | [`dump_header`], [`Frame::dump_trailer`], [`Frame::dump_chunks`] |
//!
//! | to write | call |
//! |---|---|
//! | a new file from an array of the crate ndarray | `write_array` |
//! | a new file, region by region | [`FrameBuilder`], `ArrayWriter` |
//! | a new file of finished chunks, from any Blosc2 compressor | [`FrameBuilder`], [`FrameWriter`] |
//! | changes to the items, shape and vlmetalayers of a file | `ArrayUpdate` |
//! | another dtype, another shape within the last chunks | [`Frame::edit`] |
//! | a copy of an old file in the current format | [`Rewrite`] |
//! | a new frame from the undamaged parts of a damaged frame | [`Salvage`] |
//!
//! # The format
//!
//! ```text
//! 0                    header   values at fixed offsets, such as lengths
//!                               and codec; then the metalayers, which are
//!                               named byte strings: `b2nd` records shape,
//!                               chunk shape, block shape and dtype
//! header_len           chunks   one after the other, each with its own
//!                               header and its blocks
//! header_len + cbytes  index    the place of each chunk, or the single
//!                               value of its items
//!                      trailer  the vlmetalayers: metalayers whose length
//!                               can change
//! frame_len
//! ```
//!
//! In a sparse frame, each chunk is a file, and the file `chunks.b2frame` holds the rest of the frame.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | everything that the other rows do not list |
//! | `decompress` | compressed chunk indexes and vlmetalayers; `Array`, `Chunks::decompressed`, `EmbeddedFrames`, [`CheckDepth::ChunkData`] |
//! | `compress` | `ArrayWriter`, `ArrayUpdate`; it includes `decompress` |
//! | `ndarray` | `Slice::read_array`, and `write_array` and the methods of `ArrayUpdate` for arrays if `compress` is on too; it includes `decompress` |
//!
//! All features are on by default. Most writers compress the chunk index. Without `decompress`, a frame with a compressed
//! index can be opened, but its chunks cannot be read.
//!
//! # Limits of time and memory
//!
//! No input makes this crate panic. Time and memory are bounded by the length of the input, not by the sizes that the
//! input claims. The page [`costs`] lists the memory that each function takes.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

// Each module imports only from the modules above it.
mod code;

mod finding;

mod error;

mod progress;

mod queue;

mod spans;

mod chunk_file;

mod file_version;

mod source;

mod known_ranges;

mod messagepack;

mod header;

mod chunk;

mod index;

mod trailer;

mod read;

#[cfg(feature = "decompress")]
mod slice;

mod find;

mod check;

mod write;

mod edit;

mod salvage;

mod dump;

mod frame_methods;

#[cfg(feature = "decompress")]
mod array_methods;

#[cfg(doc)]
pub mod cookbook;

#[cfg(doc)]
pub mod costs;

/// The crate that reads and writes single chunks.
pub use b2nd_chunk;
pub use b2nd_chunk::{ChunkHeader, Codec, Filter, SpecialValue, SplitMode};
/// The crate for the metalayer. With this re-export, a program needs only one dependency.
pub use b2nd_serde;
pub use check::check_report::{Report, Skipped, SkippedPart};
pub use check::{Check, check};
pub use chunk::entry::{ChunkCounts, ChunkEntry, ChunkPlace};
pub use code::{CheckDepth, FindingCode, ParseFindingCodeError, Remedy, Severity};
pub use dump::dump_header;
#[cfg(feature = "compress")]
pub use edit::array_update::ArrayUpdate;
/// Only for the command `b2nd`. Any release can change this function, and everything else that the documentation hides.
#[doc(hidden)]
#[cfg(feature = "compress")]
pub use edit::array_update::check_appended_shape;
pub use edit::change::Edit;
pub use edit::rewrite::Rewrite;
pub use error::{Error, ErrorKind};
pub use file_version::FileVersion;
#[cfg(feature = "decompress")]
pub use find::embedded::EmbeddedFrames;
pub use find::member::MemberSource;
pub use find::scan::{Scan, scan};
pub use find::store::Store;
pub use find::zip::{MemberContent, ZipMember, zip_member, zip_members};
pub use finding::{Finding, Place};
pub use header::array_header::ArrayHeader;
pub use header::fields::{Generation, HeaderField};
pub use header::flags::FrameType;
pub use header::frame::Frame;
pub use header::frame_header::Header;
pub use header::object_kind::ObjectKind;
pub use header::section::Metalayer;
pub use known_ranges::KnownRanges;
pub use read::chunks::Chunks;
pub use read::open::is_sparse_frame;
pub use salvage::options::{Fill, Salvage};
pub use salvage::salvage_report::{AssumedOrder, ChunkRange, MetalayerNote, Restored, SalvageReport};
#[cfg(feature = "decompress")]
pub use slice::array::Array;
#[cfg(feature = "decompress")]
pub use slice::item::Item;
#[cfg(feature = "decompress")]
pub use slice::pieces::Pieces;
#[cfg(feature = "decompress")]
pub use slice::plan::SlicePlan;
#[cfg(feature = "decompress")]
pub use slice::rows::Rows;
#[cfg(feature = "decompress")]
pub use slice::slice_reader::Slice;
#[cfg(feature = "decompress")]
pub use slice::subscripts::Subscripts;
pub use source::{BYTES_PER_ROUND_TRIP, ReadAt, Seekable};
pub use trailer::frame_trailer::{Trailer, Vlmetalayer};
pub use trailer::packed_tensor::PackedTensor;
#[cfg(feature = "compress")]
pub use write::array_writer::ArrayWriter;
pub use write::destination::NewFrame;
pub use write::frame_builder::FrameBuilder;
pub use write::frame_writer::FrameWriter;
#[cfg(all(feature = "compress", feature = "ndarray"))]
pub use write::whole_array::write_array;
#[doc(hidden)]
pub use {
    chunk::expansion::expansion_limit, chunk_file::SPARSE_INDEX, find::store::is_store_folder,
    read::lock::has_locks, write::destination::write_new_file,
};
/// The crates that define types of items (`half`, `num_complex`) and of arrays (`ndarray`).
#[cfg(feature = "ndarray")]
pub use {half, ndarray, num_complex};

/// Runs the examples of the README as tests. One of the examples needs the feature `ndarray`.
#[cfg(all(doctest, feature = "ndarray"))]
#[doc = include_str!("../README.md")]
struct Readme;
