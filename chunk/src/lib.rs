//! The chunks of Blosc2.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

#[cfg(feature = "decompress")]
extern crate alloc;
#[cfg(test)]
extern crate std;

// Each module imports only from those above it.
mod codec;
mod filter;

pub mod header;

mod error;

pub mod blocks;
mod rules;

#[cfg(feature = "decompress")]
mod filters;

#[cfg(feature = "decompress")]
mod blosclz;
#[cfg(feature = "decompress")]
mod codecs;
#[cfg(feature = "decompress")]
mod decompressor;

pub use codec::Codec;
#[cfg(feature = "decompress")]
pub use decompressor::Decompressor;
pub use error::{Error, ErrorKind};
pub use filter::Filter;
pub use header::{ChunkHeader, SpecialValue};
