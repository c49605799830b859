//! A serde data format for the B2ND metalayer: the bytes in a [Blosc2] file that hold the shape, chunk shape, block
//! shape and dtype of an N-dimensional array. The crate [`b2nd-frame`] finds, checks and changes metalayers in files,
//! and writes new files.
//!
//! Serialize and deserialize a metalayer with a struct of your own:
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Meta {
//!     version: u8,
//!     ndim: u8,
//!     shape: Vec<u64>,
//!     chunkshape: Vec<u32>,
//!     blockshape: Vec<u32>,
//!     dtype_format: u8,
//!     dtype: String,
//! }
//!
//! let meta = Meta {
//!     version: 0,
//!     ndim: 2,
//!     shape: vec![3, 5],
//!     chunkshape: vec![2, 3],
//!     blockshape: vec![1, 2],
//!     dtype_format: 0,
//!     dtype: "<i4".into(),
//! };
//! let bytes = [
//!     0x97, 0x00, 0x02, // seven entries, version 0, two dimensions
//!     0x92, 0xd3, 0, 0, 0, 0, 0, 0, 0, 3, 0xd3, 0, 0, 0, 0, 0, 0, 0, 5, // shape 3, 5
//!     0x92, 0xd2, 0, 0, 0, 2, 0xd2, 0, 0, 0, 3, // chunkshape 2, 3
//!     0x92, 0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2, // blockshape 1, 2
//!     0x00, 0xdb, 0, 0, 0, 3, b'<', b'i', b'4', // dtype format 0, NumPy's dtype <i4
//! ];
//! # #[cfg(feature = "alloc")]
//! assert_eq!(b2nd_serde::to_vec(&meta)?, bytes);
//! assert_eq!(b2nd_serde::from_slice::<Meta>(&bytes)?, meta);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
//! # The format
//!
//! A metalayer is MessagePack in which every number has a fixed width, so a number can be changed without moving the
//! bytes after it. All numbers are big-endian. In the table, markers are hexadecimal and counts are decimal.
//!
//! | entry | bytes | values |
//! |---|---|---|
//! | outer array | `90` + number of entries | `97`, `96` or `95`: see [`Layout`] |
//! | `version` | positive fixint, one byte | 0 to 127; 0 in every known file |
//! | `ndim` | positive fixint | 0 to 16 |
//! | `shape` | `90` + ndim, then ndim times `d3` and 8 bytes | int64 |
//! | `chunkshape` | `90` + ndim, then ndim times `d2` and 4 bytes | int32 |
//! | `blockshape` | `90` + ndim, then ndim times `d2` and 4 bytes | int32 |
//! | `dtype_format` | positive fixint | 0 to 127; 0 is NumPy's syntax, and no other is known |
//! | `dtype` | `db`, a length of 4 bytes, text | UTF-8 without NUL, at most 2147483647 bytes |
//!
//! For 16 dimensions, the marker of a shape is `0x90` + 16 = `0xa0`. In MessagePack, the byte `0xa0` is an empty
//! string. But C-Blosc2 writes and reads `0xa0` as the marker of 16 dimensions, and the draft specification of the
//! format prescribes this marker.
//!
//! An ordinary MessagePack writer cannot write a metalayer, because such a writer chooses the shortest form of each
//! value. When C-Blosc2 reads a metalayer, it relies on the fixed widths and ignores nearly every marker. This crate
//! writes the fixed widths, and checks every marker when it reads. [`dump`] shows what each byte of a metalayer means.
//!
//! When a metalayer is read or written, its entries, markers, widths and counts are checked, but not the meaning of its
//! numbers. For example, a negative dimension is accepted. [`Geometry`] checks that the numbers are consistent, and
//! computes the chunk and the block of an item.
//!
//! # Which layout
//!
//! The current layout is `B2nd`, with seven entries. The table at [`Layout`] shows the first byte of each layout, its
//! entries, and the programs that wrote it.
//!
//! When writing, the number of entries of the value selects the layout: 7 is `B2nd`, 6 is `B2ndSix`, 5 is `Caterva`.
//! With `to_vec_with_layout` and [`Serializer::with_layout`] the caller selects the layout.
//!
//! **A struct that forgets `dtype_format` has six entries, so it is written as `B2ndSix`, which no release of C-Blosc2
//! opens.** Only this crate reads `B2ndSix`. C-Blosc2 3 does not open an array of layout `Caterva` either. Write seven
//! entries, unless you write for old programs.
//!
//! When reading, the bytes of the metalayer determine the layout. Usually, the Rust type must take as many entries as
//! the layout has. But a struct with seven fields also reads layouts with fewer entries. A struct with six fields also
//! reads layout `Caterva`, if five of the fields have the names of the entries of `Caterva`. A field whose entry is
//! missing becomes `None` or its `default`. If the field is not an `Option` and has no `default`, the error is "missing
//! field". So one struct can read and write all layouts:
//!
//! ```
//! # use serde::{Deserialize, Serialize};
//! #[derive(Serialize, Deserialize)]
//! struct Meta {
//!     version: u8,
//!     ndim: u8,
//!     shape: [u64; 1],
//!     chunkshape: [u32; 1],
//!     blockshape: [u32; 1],
//!     #[serde(skip_serializing_if = "Option::is_none")]
//!     dtype_format: Option<u8>,
//!     #[serde(skip_serializing_if = "Option::is_none")]
//!     dtype: Option<String>,
//! }
//!
//! let caterva = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
//! let meta: Meta = b2nd_serde::from_slice(caterva)?;
//! assert_eq!((meta.shape, meta.dtype.as_deref()), ([6], None));
//! # #[cfg(feature = "alloc")]
//! assert_eq!(b2nd_serde::to_vec(&meta)?, caterva);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
#![cfg_attr(
    feature = "alloc",
    doc = "[`Meta`] is a ready-made struct for all layouts. It writes every metalayer back byte for byte as it was read."
)]
//!
//! The position of a field, not its name, determines its entry, so two fields in the wrong order would be swapped
//! silently. To prevent this, a field that has the name of an entry must be in the position of that entry. The name of
//! a field determines its entry only if a struct reads a layout with fewer entries than the struct has fields. `chunks`
//! and `chunk_shape` count as names of `chunkshape`, `blocks` and `block_shape` as names of `blockshape`.
//!
//! # Serde's data model
//!
//! The encoding of a value depends on its position, not on its Rust type. [`data_model`] has a table of the types that
//! each position accepts.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | | | `no_std`, no allocation: reading and writing slices, [`dims`], [`dump`], [`Shapes`], [`Geometry`] |
//! | `alloc` | yes | `to_vec`, `to_vec_with_layout`, `Meta`, and the text of errors that types raise themselves |
//! | `std` | yes | `to_writer`, `from_reader`, `From<Error> for std::io::Error` |
//! | `dtype` | | the module `dtype`: parse NumPy's dtype strings, `Meta::parse_dtype`, items as serde data; includes `alloc` |
//!
//! The crate needs Rust 1.85 or later. `alloc`, which the other features include, also needs atomic compare-and-swap,
//! because a long dtype of a `Meta` is reference-counted. The targets thumbv6m and riscv32imc do not have this
//! instruction, so `alloc` does not compile for them.
//!
//! [Blosc2]: https://www.blosc.org/pages/blosc-in-depth/
//! [`b2nd-frame`]: https://docs.rs/b2nd-frame
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// A module imports only from modules above it; `.ci/order` checks this.
mod marker;

mod layout;

mod error;
mod macros;
mod shapes;
mod wire;

mod metalayer;

pub mod data_model;
mod de;
pub mod dims;
mod ser;

pub mod dump;
pub mod geometry;

#[cfg(feature = "dtype")]
pub mod dtype;

#[cfg(feature = "alloc")]
mod meta;

#[cfg(feature = "std")]
pub use de::from_reader;
pub use de::{Deserializer, from_slice, take_from_slice};
#[cfg(feature = "dtype")]
pub use dtype::Dtype;
pub use error::{Error, ErrorKind};
pub use geometry::Geometry;
pub use layout::{Entry, Layout, MAX_NDIM, ParseLayoutError};
#[cfg(feature = "alloc")]
pub use meta::Meta;
#[cfg(feature = "std")]
pub use ser::to_writer;
pub use ser::{Serializer, serialized_size, to_slice};
#[cfg(feature = "alloc")]
pub use ser::{to_vec, to_vec_with_layout};
pub use shapes::Shapes;

/// Compiles and runs the examples of the README as tests.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
struct Readme;

// Values and errors can be passed to other threads (`Send` and `Sync`). A new private field could make a type lose
// these traits unnoticed, so the compiler checks them here.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}

    is_send_and_sync::<Error>();
    is_send_and_sync::<Serializer<'_>>();
    is_send_and_sync::<Deserializer<'_>>();
    is_send_and_sync::<Geometry>();
    is_send_and_sync::<geometry::Error>();
    #[cfg(feature = "alloc")]
    is_send_and_sync::<Meta>();
    #[cfg(feature = "dtype")]
    is_send_and_sync::<Dtype>();
    #[cfg(feature = "dtype")]
    is_send_and_sync::<dtype::Error>();
    #[cfg(feature = "dtype")]
    is_send_and_sync::<dtype::items::ItemError>();
};
