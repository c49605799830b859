//! Annotated bytes of a frame.

mod value_rows;

mod annotator;

mod header_rows;

pub(crate) mod chunk_rows;

pub(crate) mod trailer_rows;

pub use header_rows::dump_header;
