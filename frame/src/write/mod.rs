//! New frames: their headers and their files.

// Each module imports only from the modules above it in this list.
pub(crate) mod frame_plan;

pub(crate) mod destination;

pub(crate) mod file_attributes;

pub(crate) mod output;

pub(crate) mod frame_writer;

#[cfg(feature = "compress")]
pub(crate) mod array_writer;

#[cfg(feature = "compress")]
mod row_writer;

pub(crate) mod frame_builder;

#[cfg(all(feature = "compress", feature = "ndarray"))]
pub(crate) mod whole_array;
