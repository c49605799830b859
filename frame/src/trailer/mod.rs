//! The trailer of a frame: from its bytes to values and back, and the rules for it.

// Each module imports only from those above it.
pub(crate) mod embed_list;

pub(crate) mod salvage_note;

pub(crate) mod frame_trailer;

pub(crate) mod trailer_rules;
