//! Compresses data of many kinds, and decompresses it with zrip. The chunks that C-Blosc2
//! decompresses in `lab/interop/compressed.rs` have such frames, too.

mod data;
mod memory;
mod output;
