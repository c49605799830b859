//! All reading of frames: opening them, their chunk index and chunks, and the lock beside them.

// Each module imports only from those above it.
pub(crate) mod source;

pub(crate) mod open;

pub(crate) mod index;

pub(crate) mod chunks;

pub(crate) mod blocks;

#[cfg(feature = "decompress")]
pub(crate) mod subscripts;

#[cfg(feature = "decompress")]
mod selection;

#[cfg(feature = "decompress")]
mod shared_slice;

#[cfg(feature = "decompress")]
mod piece;

#[cfg(feature = "decompress")]
mod stored_chunk;

#[cfg(feature = "decompress")]
mod waves;

#[cfg(feature = "decompress")]
pub(crate) mod threads;

#[cfg(feature = "decompress")]
mod decompressed;

#[cfg(feature = "decompress")]
pub(crate) mod slice;

#[cfg(feature = "decompress")]
pub(crate) mod plan;

#[cfg(feature = "decompress")]
pub(crate) mod pieces;

#[cfg(feature = "decompress")]
pub(crate) mod rows;

#[cfg(feature = "ndarray")]
pub(crate) mod item;

pub(crate) mod lock;

pub(crate) mod stable;
