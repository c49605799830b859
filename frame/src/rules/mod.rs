//! The rules for each part of a frame, in one place for checks, readers and writers. These modules read no files.

// Each module imports only from those above it.
pub(crate) mod array;
pub(crate) mod header;

pub(crate) mod chunk;

pub(crate) mod index;
pub(crate) mod messagepack;

pub(crate) mod trailer;
