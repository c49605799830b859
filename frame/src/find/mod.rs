//! Frames in zip files and stores, in their compressed data, and at any place of other files.

// Each module imports only from the modules above it.
pub(crate) mod scan;

pub(crate) mod zip;

pub(crate) mod store;

#[cfg(feature = "decompress")]
pub(crate) mod embedded;
