//! Parses, builds and checks the trailer of a frame.

// Each module imports only from the modules above it.
pub(crate) mod embed_list;

pub(crate) mod salvage_note;

pub(crate) mod frame_trailer;

pub(crate) mod packed_tensor;

pub(crate) mod derived_layers;

pub(crate) mod trailer_rules;
