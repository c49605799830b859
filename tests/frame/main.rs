//! The frame: finding, reading, checking and changing it.

mod change;
mod check;
mod chunk_data;
mod chunk_files;
mod chunk_headers;
mod chunk_vectors;
mod chunks;
#[cfg(feature = "frame")]
#[path = "../common/mod.rs"]
mod common;
mod dump;
mod failing;
mod frame_type;
mod inside;
mod kind;
mod magic;
mod peers;
mod reading;
mod rewrite;
mod store;
mod vectors;
mod writing;
