//! Saves the undamaged parts of a damaged frame into a new frame.

// Each module imports only from those above it.
pub(crate) mod report;

mod damaged_file;

mod order;

mod header;

mod survey;

mod scan;

mod job;

pub(crate) mod from;
