//! Code that changes a frame in its file, or writes the changed frame to a new file.

// Each module imports only from the modules above it in this list.
mod table_column;

#[cfg(not(windows))]
mod header_lock;
#[cfg(windows)]
#[path = "header_lock_windows.rs"]
mod header_lock;

mod writer_lock;

mod read_back;

mod commit;
mod old_chunks;

mod new_trailer;

pub(crate) mod change;

mod rewritten;

mod rewrite_job;

pub(crate) mod rewrite;

#[cfg(feature = "compress")]
mod pending_chunks;

#[cfg(feature = "compress")]
pub(crate) mod array_update;

#[cfg(feature = "compress")]
mod array_commit;

#[cfg(all(feature = "compress", feature = "ndarray"))]
mod ndarray_update;
