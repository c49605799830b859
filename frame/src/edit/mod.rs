//! Code that changes a frame in its file, or writes the changed frame to a new file.

// Each module imports only from the modules above it in this list.
mod writer_lock;

mod commit;

pub(crate) mod change;

pub(crate) mod attributes;
mod rewritten;

mod locked_file;

pub(crate) mod rewrite;

#[cfg(feature = "compress")]
mod pending_chunks;

#[cfg(feature = "compress")]
mod old_chunks;

#[cfg(feature = "compress")]
mod read_back;

#[cfg(feature = "compress")]
pub(crate) mod array_update;

#[cfg(all(feature = "compress", feature = "ndarray"))]
mod ndarray_update;
