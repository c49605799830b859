//! The B2ND metalayer as a serde data format: the bytes that tell any reader of a [Blosc2] N-dimensional array its
//! shape, chunks, blocks and dtype.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
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
//! let bytes = [
//!     0x97, 0x00, 0x02, // seven entries, version 0, two dimensions
//!     0x92, 0xd3, 0, 0, 0, 0, 0, 0, 0, 3, 0xd3, 0, 0, 0, 0, 0, 0, 0, 5, // shape 3, 5
//!     0x92, 0xd2, 0, 0, 0, 2, 0xd2, 0, 0, 0, 3, // chunkshape 2, 3
//!     0x92, 0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2, // blockshape 1, 2
//!     0x00, 0xdb, 0, 0, 0, 3, b'<', b'i', b'4', // NumPy's dtype <i4
//! ];
//! let meta: Meta = b2nd_serde::from_slice(&bytes)?;
//! assert_eq!((meta.shape, meta.dtype.as_str()), (vec![3, 5], "<i4"));
//! # let meta: Meta = b2nd_serde::from_slice(&bytes)?;
//! # #[cfg(feature = "alloc")]
//! assert_eq!(b2nd_serde::to_vec(&meta)?, bytes);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
//! # The format
//!
//! A metalayer is MessagePack with every width fixed, so that a value can change without a byte moving. All numbers
//! are big-endian.
//!
//! | entry | bytes | values |
//! |---|---|---|
//! | outer array | `90` + number of entries | `97`, `96` or `95`: see [`Layout`] |
//! | `version` | positive fixint, one byte | 0 to 127; 0 in every file ever written |
//! | `ndim` | positive fixint | 0 to 16 |
//! | `shape` | `90` + ndim, then ndim times `d3` and 8 bytes | int64 |
//! | `chunkshape` | `90` + ndim, then ndim times `d2` and 4 bytes | int32 |
//! | `blockshape` | `90` + ndim, then ndim times `d2` and 4 bytes | int32 |
//! | `dtype_format` | positive fixint | 0 to 127; 0 is NumPy's syntax, and no other is known |
//! | `dtype` | `db`, a length of 4 bytes, text | UTF-8 without NUL, at most 2147483647 bytes |
//!
//! Of 16 dimensions the marker is `90` + 16 = `a0`, which is an empty string to a MessagePack reader, but what C-Blosc2
//! writes and reads and the draft specification of the format prescribes.
//!
//! An ordinary MessagePack writer chooses the shortest form of each value, and so cannot write a metalayer; C-Blosc2
//! passes over nearly every marker when it reads, and takes the widths from the positions. This crate writes the fixed
//! widths, and when reading holds every marker against them. [`dump`] shows what each byte of a metalayer says.
//!
//! Reading and writing check entries, markers, widths and counts, but not the meaning: a negative dimension is
//! accepted. [`Geometry`] checks that the numbers work together, and says in which chunk and block an item lies.
//!
//! # Which layout
//!
//! The number of entries of a value selects the [`Layout`] that it is written in: 7 is [`Layout::B2nd`],
//! 6 [`Layout::B2ndSix`], 5 [`Layout::Caterva`]; [`Serializer::with_layout`] asks for one. Reading, the first byte
//! tells, and a type that takes another number of entries is refused. But a struct of seven fields takes a shorter
//! layout by the names of its fields, and absent entries become `None`, the `default`, or "missing field". So one
//! struct serves all layouts:
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
    doc = "The ready-made struct is [`Meta`]. It keeps the layout, and writes every accepted input back byte for byte."
)]
//!
//! Fields are placed by their order. So that two of them in the wrong order are not swapped in silence, a field with
//! the name of an entry, or named `chunks`, `chunk_shape`, `blocks` or `block_shape`, has to stand at that entry.
//!
//! # Serde's data model
//!
//! The position of an entry decides how it is encoded, not its Rust type. What the layout has no place for is an
//! error that says so.
//!
//! | type | as the metalayer | as an integer entry, or a dimension | as a dimension vector | as the dtype |
//! |---|---|---|---|---|
//! | `bool` | error | error | error | error |
//! | `i8` `i16` `i32` `i64` `i128` | error | if the value fits | error | error |
//! | `u8` `u16` `u32` `u64` `u128` | error | if the value fits | error | error |
//! | `f32` `f64` | error | error | error | error |
//! | `char` | error | error | error | error |
//! | string | error | error | error | without NUL |
//! | byte array | error | error | error | UTF-8 without NUL |
//! | option: none | error | error | error | error |
//! | option: some | its content | its content | its content | its content |
//! | unit, unit struct | error | error | error | error |
//! | newtype struct | its content | its content | its content | its content |
//! | seq | of 7, 6 or 5 entries | error | of ndim integers | error |
//! | tuple, tuple struct | of 7, 6 or 5 entries | error | of ndim integers | error |
//! | struct | of 7, 6 or 5 entries | error | error | error |
//! | map | error | error | error | error |
//! | unit, newtype, tuple and struct variants | error | error | error | error |
//!
//! Both ways: what cannot be written cannot be read either, but for `&[u8]`, which reads a dtype. Like a `Vec<u8>` it is
//! a sequence to serde, and needs `serde_bytes` to be written as a dtype. A type that displays itself (`collect_str`) is
//! a string. `flatten` makes a map of a struct. `untagged` enums are what their variants are; they keep what they read
//! before they try a variant, so there an integer may become a float. `deserialize_any` gives a sequence of entries, so
//! a `serde_json::Value` is an array that is written back in the same layout.
//!
//! # Features
//!
//! | feature | default | what it brings |
//! |---|---|---|
//! | | | `no_std`, no allocation: [`to_slice`], [`from_slice`], [`take_from_slice`], [`serialized_size`], [`dump`], [`Shapes`], [`Geometry`] |
//! | `alloc` | yes | `to_vec`, `to_extend`, `Meta`, the text of errors that types raise |
//! | `std` | yes | `to_writer`, `from_reader`, `From<Error> for std::io::Error` |
//! | `dtype` | | the module `dtype`: what NumPy's dtype strings mean, `Meta::parse_dtype` |
//! | `frame` | | the module `frame`: find the metalayer in a file |
//! | `decompress` | | what is compressed beside the data: values of vlmetalayers, and the chunk index for `check` |
//!
//! All but the first row need a machine with atomic compare-and-swap, which thumbv6m and riscv32imc have not, as short
//! strings are shared. WebAssembly has no locks: there a frame is read in spite of a lock file beside it, but not changed.
//!
//! [Blosc2]: https://www.blosc.org/pages/blosc-in-depth/
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// In the order in which they import each other, which is the order in which documentation lists the methods of `Meta`.
mod marker;

mod error;
mod layout;
mod shapes;
mod wire;

mod de;
mod ser;

pub mod dump;
#[cfg(feature = "alloc")]
mod meta;

pub mod geometry;

#[cfg(feature = "dtype")]
pub mod dtype;

#[cfg(feature = "frame")]
pub mod frame;

#[cfg(feature = "std")]
pub use de::from_reader;
pub use de::{Deserializer, from_slice, take_from_slice};
#[cfg(feature = "dtype")]
pub use dtype::Dtype;
pub use error::{Error, ErrorKind, Result};
pub use geometry::Geometry;
pub use layout::{Entry, Layout};
#[cfg(feature = "alloc")]
pub use meta::Meta;
#[cfg(feature = "std")]
pub use ser::to_writer;
pub use ser::{Serializer, serialized_size, to_slice};
#[cfg(feature = "alloc")]
pub use ser::{to_extend, to_vec};
pub use shapes::Shapes;

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "frame"))]
#[doc = include_str!("../README.md")]
struct Readme;
