//! Tests with chunks that C-Blosc2 and C-Blosc compressed, and with damaged chunks. The tests in
//! `lab/interop/chunk_data.rs` compare thousands of other chunks with C-Blosc2.

#[cfg(feature = "compress")]
mod compress;
#[cfg(feature = "decompress")]
mod damage;
#[cfg(feature = "decompress")]
mod data;
mod header;
mod lost_page;
