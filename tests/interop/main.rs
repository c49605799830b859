//! This crate held against C-Blosc2 and python-blosc2: `tests/interop/run` installs them.

mod change;
#[cfg(feature = "frame")]
#[path = "../common/mod.rs"]
mod common;
mod frame;
mod kinds;
mod metalayer;
mod vectors;
