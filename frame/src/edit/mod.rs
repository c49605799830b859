//! Frames that change: in place, and into new files.

pub(crate) mod canonical;
pub(crate) mod change;
pub(crate) mod rewrite;
