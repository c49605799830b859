//! Parses, builds and checks the header of a frame, without reading from a file.

// Each module imports only from the modules above it.
pub(crate) mod fields;

pub(crate) mod flags;

pub(crate) mod frame_header;

pub(crate) mod header_builder;

pub(crate) mod section;

pub(crate) mod array_header;

pub(crate) mod object_kind;

pub(crate) mod frame;

pub(crate) mod array_rules;

pub(crate) mod header_rules;
