//! Saves the undamaged parts of a damaged frame into a new frame.

// Each module imports only from those above it.
pub(crate) mod report;

mod array;
mod damaged_file;
mod layers;
mod values;

mod metadata;

mod parts;

mod trailer;

mod order;

mod survey;

mod walk;

mod scan;

mod verify;

mod job;

pub(crate) mod from;
