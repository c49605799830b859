//! Frames that change: in place, and into new files.

// Each module imports only from those above it.
pub(crate) mod change;

pub(crate) mod attributes;
mod rewritten;

mod job;

pub(crate) mod rewrite;
