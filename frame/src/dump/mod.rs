//! Annotated bytes of a frame.

// Each module imports only from those above it.
mod value;

mod annotator;

mod header;

mod chunks;

mod trailer;

pub use header::dump_header;
