//! New frames: their headers, and the files that they are written into.

// Each module imports only from those above it.
pub(crate) mod index;

pub(crate) mod plan;

pub(crate) mod destination;

pub(crate) mod output;

pub(crate) mod writer;

#[cfg(feature = "compress")]
pub(crate) mod array;

#[cfg(feature = "compress")]
mod rows;

pub(crate) mod builder;

#[cfg(all(feature = "compress", feature = "ndarray"))]
pub(crate) mod items;
