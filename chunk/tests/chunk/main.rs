//! Chunks that C-Blosc2 and C-Blosc compressed, and damaged chunks. `lab/interop/chunk_data.rs` compares thousands of
//! other chunks with C-Blosc2.

#[cfg(feature = "compress")]
mod compress;
#[cfg(feature = "decompress")]
mod damage;
#[cfg(feature = "decompress")]
mod data;
mod header;
