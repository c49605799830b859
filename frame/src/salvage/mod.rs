//! Saves the undamaged parts of a damaged frame into a new frame.

// Each module imports only from those above it.
pub(crate) mod report;

mod array;
mod layers;
mod source;
mod values;

mod metadata;

mod layout;

mod trailer;

mod order;

mod survey;
mod verify;

mod job;

pub(crate) mod from;
