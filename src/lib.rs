//! The B2ND metalayer as a serde data format.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod de;
#[cfg(feature = "alloc")]
pub mod dtype;
mod dump;
mod error;
#[cfg(feature = "frame")]
pub mod frame;
pub mod geometry;
mod layout;
#[cfg(feature = "alloc")]
mod meta;
mod ser;
mod wire;

#[cfg(feature = "std")]
pub use de::from_reader;
pub use de::{Deserializer, from_slice, take_from_slice};
#[cfg(feature = "alloc")]
pub use dump::DumpRow;
pub use dump::{Dump, dump};
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
