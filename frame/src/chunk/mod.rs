//! A chunk in a frame: its entry in the chunk index, its expansion limit, and the rules for the chunk.

// Each module imports only from the modules above it.
pub(crate) mod special_item;

pub(crate) mod expansion;

pub(crate) mod hole;

pub(crate) mod entry;

pub(crate) mod chunk_rules;
