//! The chunks of Blosc2.

#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "decompress")]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(feature = "decompress")]
mod filters;
