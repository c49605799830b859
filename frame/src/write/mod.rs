//! New frames: their headers, and the files that they are written into.

// Each module imports only from those above it.
pub(crate) mod index;

pub(crate) mod plan;

pub(crate) mod destination;

pub(crate) mod output;

pub(crate) mod writer;

pub(crate) mod builder;
