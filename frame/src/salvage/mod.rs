//! What can be saved of a damaged frame, in a new one.

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
