//! The frame around the metalayer: a Blosc2 file, or its bytes.
//!
//! ```text
//! 0                      header     values at fixed bytes: lengths, codec, filters; then the metalayers: byte strings with
//!                                   names. That of an array is `b2nd`: shape, chunk shape, block shape and dtype
//! header_len             chunks     one after the other, each with a header of its own and its blocks
//! header_len + cbytes    index      where each chunk is, or which value all of its items have
//!                        trailer    the vlmetalayers, which can change their length; the length of the trailer
//! frame_len
//! ```
//!
//! A *sparse* frame is a directory: each chunk is a file, and `chunks.b2frame` has the rest. To read the shape and the
//! dtype of an array takes the header alone, and not the C library.
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
//! | where the frame is | what finds it |
//! |---|---|
//! | a file, or the directory of a sparse frame | [`Frame::open`] |
//! | the same, while another process writes it | [`Frame::open_stable`] |
//! | in another file, at a known offset | [`Frame::read_at`] |
//! | in bytes that you have read yourself | [`Frame::parse`], [`Trailer::parse`] |
//! | in a `.b2z` or another zip file | [`zip_members`], [`zip_member`] |
//! | in a store of python-blosc2, a `.b2d` or `.b2z` | [`Store::open`] |
//! | at an unknown place in an HDF5, ASDF or other file | [`scan`] |
//!
//! [`Frame::kind`] says what a frame holds: an array, or one of the other objects of python-blosc2.
//! [`Frame::chunks`] says where each chunk is, [`Chunks::header`] how it is compressed, and [`Chunks::compressed`] reads it.
//! With the feature `decompress`, `Frame::slice` reads the items of a slice, and `Chunks::decompressed` a whole chunk; with the
//! feature `ndarray`, `Slice::read_array` makes an array of them.
//!
//! [`check`] finds what is wrong with the frame in a file or unusual about it, even if its header cannot be read. A [`Check`]
//! reads the chunks too.
//!
//! [`Frame::edit`] changes a frame in its file: the shape within the last chunks, or the dtype or any metalayer if its
//! length stays the same. [`Rewrite`] converts an older frame to the present format, and adds a dtype if it has none; it also
//! makes a sparse frame of a contiguous one, and back.
//!
//! [`FrameBuilder`] makes a new frame from an array's [`Meta`](b2nd_serde::Meta) and chunks that are ready: compressed by any
//! Blosc2 compressor, stored as they are, or all of one value.
//!
//! # What bytes can cost
//!
//! No input makes this crate panic, and time and memory are bounded by the bytes that are there, whatever they claim. In a
//! frame without damage, each byte is read a few times at most. The entries of a chunk index can all point at the same bytes:
//! a [`Check`] of chunks ends when those that it has looked at claim twice the bytes of all, and [says so](Report::skipped);
//! it reads at most 64 times the bytes of a frame. To go through [`Frame::chunks`] or [`Frame::dump_chunks`] takes a step for
//! each entry, and what it points at is read again. A compressed chunk index may have 64 MiB, or 1024 bytes for each of its
//! own. One of a single value has 40 bytes for up to 268 million chunks: a check looks at it once. The memory for each byte,
//! besides some 100 kB:
//!
//! | what | reads | memory for each byte |
//! |---|---|---|
//! | [`from_slice`](b2nd_serde::from_slice()), [`from_reader`](b2nd_serde::from_reader()) | all that it is given | 4, or what the type keeps of it |
//! | [`dump::metalayer`](b2nd_serde::dump::metalayer()), [`dump_header`] | what it is given, up to the end of the header | 8 |
//! | [`Frame::dump_trailer`], [`Frame::dump_chunks`] | the trailer; the chunk index, and of each chunk the header and where its blocks begin | 8; a piece of at most 16 MiB |
//! | a [`Dtype`](b2nd_serde::dtype::Dtype) | its text | 64 |
//! | [`Frame::parse`] | what it is given, up to the end of the header | 4 |
//! | [`Frame::open`], [`read_at`](Frame::read_at), [`open_stable`](Frame::open_stable), [`edit`](Frame::edit) | the header, of at most 64 MiB; `open_stable` until its patience ends | 8 |
//! | [`Frame::trailer`], [`Trailer::parse`] | the trailer, of at most 256 MiB | 8 |
//! | [`Vlmetalayer::value`] | its chunk | 1024 and 1 MiB, if it is compressed |
//! | `decode` of a metalayer | the metalayer | what the type keeps of it |
//! | a [`check`] | header, trailer, chunk index, the names and headers of chunk files; of a path up to 20 times | 8; 4 times the offsets in the chunk index, of which 64 MiB are kept |
//! | [`Frame::chunks`], [`Frame::count_chunks`] | the chunk index, piece by piece | a piece of at most 16 MiB |
//! | [`Chunks::compressed`] | one chunk | 2 |
//! | `Chunks::decompressed` | one chunk | 1, and the size that the chunk has decompressed, at most 2 GiB |
//! | `Frame::slice` | the chunks of the slice, in pieces | what is asked for; for each thread a block, or of a chunk with a dictionary or the delta filter all of it: 1024 for each of its bytes, 64 MiB, or what is asked for; 8 for each byte of a table of blocks |
//! | [`Check`] of [chunk headers](CheckDepth::ChunkHeaders) | that, and the header and the table of blocks of each chunk | that, and 192 MiB in all |
//! | [`Check`] of [chunk data](CheckDepth::ChunkData) | the whole frame, chunk by chunk | that, and one chunk or vlmetalayer: 1024 for each of its bytes, or 64 MiB; the time grows with the decompressed size |
//! | [`Store::open`] | the names in a folder or zip file, the keys in its data, the trailers of tables | 16, and 16 MiB for the keys |
//! | [`scan`] | the file | 2 MiB in all |
//! | [`zip_members`], [`zip_member`] | the directory of the file, of at most 64 MiB, and headers of at most 1 MiB | 16 |
//! | [`ZipMember::check_bytes`] | one member | 64 kB in all |
//! | [`Rewrite`] | the whole frame, piece by piece | 8 for header and trailer; 8 for each chunk if the frame type changes |
//!
//! A [`FrameWriter`] takes 8 bytes for each chunk that it is given, or 16 KiB for one whose number is far from those of others, and
//! the metalayers that it is given.

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

/// The crate of the metalayer, for those who depend on this one alone.
pub use b2nd_serde;
pub use check::report::{Report, Skipped};
pub use check::{Check, check};
pub use code::{CheckDepth, FindingCode, ParseFindingCodeError, Remedy, Severity};
pub use dump::dump_header;
pub use edit::change::Edit;
pub use edit::rewrite::Rewrite;
pub use error::{Error, ErrorKind};
pub use find::scan::{Scan, scan};
pub use find::store::{Store, is_store_folder};
pub use find::zip::{MemberContent, ZipMember, zip_member, zip_members};
pub use finding::{Finding, Place};
pub use format::array::{Array, has_objects};
pub use format::chunk::{ChunkHeader, SpecialValue};
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
