//! New frames: their headers, and the files that they are written into.

pub(crate) mod builder;
pub(crate) mod place;
pub(crate) mod sink;
pub(crate) mod writer;
