//! The header of a frame: from its bytes to values and back, and the rules for them. Nothing is read from a file here.

// Each module imports only from those above it.
pub(crate) mod fields;

pub(crate) mod flags;

pub(crate) mod frame_header;

pub(crate) mod header_builder;

pub(crate) mod section;

pub(crate) mod array;

pub(crate) mod object_kind;

pub(crate) mod frame;

pub(crate) mod array_rules;

pub(crate) mod header_rules;
