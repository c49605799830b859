//! The frame around the metalayer: a Blosc2 file, or its bytes.
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
//! its stored bytes. With the feature `decompress`, `Frame::slice` reads the items of a slice, and
//! `Chunks::decompressed` a whole chunk. With the feature `ndarray`, `Slice::read_array` returns an array.
//!
//! [`check`] finds the faults and oddities of the frame in a file, even if its header cannot be read. A [`Check`] can also
//! read the chunks.
//!
//! [`Frame::edit`] changes a frame in its file: the shape within the last chunks, or the dtype or any metalayer if its
//! length stays the same. [`Rewrite`] converts an older frame to the present format, adds a missing dtype, and converts between
//! sparse and contiguous frames. [`Salvage`] makes a new frame of the undamaged parts of a damaged one.
//!
//! [`FrameBuilder`] makes a new frame from an array's [`Meta`](b2nd_serde::Meta) and finished chunks: compressed by any Blosc2
//! compressor, uncompressed, or of a single value.
//!
//! # Limits of time and memory
//!
//! No input makes this crate panic. Time and memory are bounded by the size of the input, not by the sizes that its
//! bytes claim. In an undamaged frame each byte is read a few times at most.
//!
//! The entries of a chunk index can all point to the same bytes. A [`Check`] of chunks therefore stops when the sizes
//! in the headers it has read add up to twice the size of all chunks, and [reports this](Report::skipped). A look at a
//! header can read more bytes than the header has, so the check reads at most 64 times the bytes of a frame. Iterating
//! over [`Frame::chunks`] or [`Frame::dump_chunks`] takes a step for each entry, and reads its chunk again. A
//! compressed chunk index may expand to 64 MiB, or to 1024 times its size. An index of a single value has 40 bytes for
//! up to 268 million chunks; a check looks at it once.
//!
//! The memory per byte read, in addition to some 100 kB:
//!
//! | function | reads | memory per byte |
//! |---|---|---|
//! | [`from_slice`](b2nd_serde::from_slice()), [`from_reader`](b2nd_serde::from_reader()) | its input | 4, or the size of the value |
//! | [`dump::metalayer`](b2nd_serde::dump::metalayer()), [`dump_header`] | its input, up to the end of the header | 8 |
//! | [`Frame::dump_trailer`], [`Frame::dump_chunks`] | the trailer; the chunk index, and of each chunk the header and the offsets of its blocks | 8; a piece of at most 16 MiB |
//! | a [`Dtype`](b2nd_serde::dtype::Dtype) | its text | 64 |
//! | [`Frame::parse`] | its input, up to the end of the header | 4 |
//! | [`Frame::open`], [`read_at`](Frame::read_at), [`open_stable`](Frame::open_stable), [`edit`](Frame::edit) | the header, of at most 64 MiB; `open_stable` until its patience ends | 8 |
//! | [`Frame::trailer`], [`Trailer::parse`] | the trailer, of at most 256 MiB | 8 |
//! | [`Vlmetalayer::value`] | its chunk | if it is compressed: 1024 per byte, plus 1 MiB |
//! | `decode` of a metalayer | the metalayer | the size of the value |
//! | a [`check`] | header, trailer, chunk index, names and headers of chunk files; up to 20 times if opened by a path | 8, plus 4 per byte of offsets in the chunk index, of which at most 64 MiB are kept |
//! | [`Frame::chunks`], [`Frame::count_chunks`] | the chunk index, piece by piece | a piece of at most 16 MiB |
//! | [`Chunks::compressed`] | one chunk | 2 |
//! | `Chunks::decompressed` | one chunk | 1, and its decompressed size, at most 2 GiB |
//! | `Frame::slice` | the chunks of the slice, in pieces | the sum of: the size of the slice; for each thread one decompressed block (a whole chunk if it has a dictionary or the delta filter), which is at most 1024 per byte, 64 MiB or the size of the slice, whichever is largest; 8 per byte of a table of blocks |
//! | [`Check`] of [chunk headers](CheckDepth::ChunkHeaders) | as a `check`, and the header and the table of blocks of each chunk | as a `check`, and 192 MiB in all |
//! | [`Check`] of [chunk data](CheckDepth::ChunkData) | the whole frame, chunk by chunk | as above, and one chunk or vlmetalayer: 1024 per byte, or 64 MiB; the time grows with the decompressed size |
//! | [`Store::open`] | the names in a folder or zip file, the keys in its data, the trailers of tables | 16, and 16 MiB for the keys |
//! | `EmbeddedFrames` | the keys; then what is asked for | 16 MiB for the keys, and one chunk: 1024 per byte, or 64 MiB |
//! | [`scan`] | the file | 2 MiB in all |
//! | [`zip_members`], [`zip_member`] | the directory of the file, of at most 64 MiB, and headers of at most 1 MiB | 16 |
//! | [`ZipMember::check_bytes`] | one member | 64 kB in all |
//! | [`Rewrite`] | the whole frame, piece by piece | 8 for header and trailer; 8 for each chunk if the frame type changes |
//!
//! A [`FrameWriter`] takes 8 bytes for each chunk, or 16 KiB for a chunk whose number is far from all others, plus the
//! size of the metalayers.

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

/// The crate of the metalayer. With this re-export, a program needs only one dependency.
pub use b2nd_serde;
pub use check::report::{Report, Skipped};
pub use check::{Check, check};
pub use code::{CheckDepth, FindingCode, ParseFindingCodeError, Remedy, Severity};
pub use dump::dump_header;
pub use edit::change::Edit;
pub use edit::rewrite::Rewrite;
pub use error::{Error, ErrorKind};
#[cfg(feature = "decompress")]
pub use find::embedded::EmbeddedFrames;
pub use find::scan::{Scan, scan};
pub use find::store::{Store, is_store_folder};
pub use find::zip::{MemberContent, ZipMember, zip_member, zip_members};
pub use finding::{Finding, Place};
pub use format::array::{Array, has_objects};
pub use format::chunk::{ChunkHeader, SpecialValue};
pub use format::decompress::expansion_limit;
pub use format::fields::{Generation, HeaderField};
pub use format::flags::{Codec, Filter, FrameType, SplitMode};
pub use format::header::Header;
pub use format::index::{ChunkCounts, ChunkEntry, ChunkPlace};
pub use format::object_kind::ObjectKind;
pub use format::section::Metalayer;
pub use format::trailer::{Trailer, Vlmetalayer};
pub use io::chunks::Chunks;
pub use io::frame::Frame;
#[cfg(feature = "ndarray")]
pub use io::item::Item;
pub use io::open::is_sparse_frame;
#[cfg(feature = "decompress")]
pub use io::slice::Slice;
pub use salvage::from::Salvage;
pub use salvage::report::{ChunkRange, SalvageReport};
pub use write::builder::FrameBuilder;
pub use write::destination::NewFrame;
pub use write::writer::FrameWriter;

/// The examples of the README are tests; one needs `ndarray`.
#[cfg(all(doctest, feature = "ndarray"))]
#[doc = include_str!("../README.md")]
struct Readme;
