//! Finds frames in zip files, in stores, in the compressed data of stores, and at any offset of other files.

// Each module imports only from the modules above it.
pub(crate) mod scan;

pub(crate) mod zip;

#[cfg(feature = "decompress")]
pub(crate) mod embedded;

pub(crate) mod member;

pub(crate) mod store;
