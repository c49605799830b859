//! Annotated bytes of a frame.

mod value;

mod annotator;

mod header;

mod chunks;

mod trailer;

pub use header::dump_header;
