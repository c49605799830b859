//! What must hold for each part of a frame, whoever asks: each rule once. Nothing is read here.

// Each module imports only from those above it.
pub(crate) mod array;
pub(crate) mod header;

pub(crate) mod blocks;

pub(crate) mod chunk;

pub(crate) mod index;
pub(crate) mod messagepack;

pub(crate) mod trailer;
