//! Annotated bytes of a frame.

mod value_rows;

mod annotator;

mod header_rows;

mod chunk_rows;

mod trailer_rows;

pub use header_rows::dump_header;
