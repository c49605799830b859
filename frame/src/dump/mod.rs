//! Annotated bytes of a frame.

mod annotator;
mod chunks;
mod header;
mod trailer;
mod value;

pub use header::dump_header;
