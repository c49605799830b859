//! Reads an opened frame: its bytes, its chunks, and the lock file beside it.

// Each module imports only from the modules above it.
pub(crate) mod byte_ranges;

pub(crate) mod open;

pub(crate) mod lock;

pub(crate) mod frame_state;

pub(crate) mod chunk_file_bytes;

pub(crate) mod trailer;

pub(crate) mod chunks;

pub(crate) mod blocks;

#[cfg(feature = "decompress")]
mod decompressed;

pub(crate) mod stable_read;
