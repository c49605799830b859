//! Tests that need a separate process, because they measure memory or kill processes.

mod bounds;
mod full_disk;
mod killed;
#[cfg(feature = "compress")]
mod killed_update;
mod killed_writing;
mod rewrite_stopped;
#[cfg(feature = "compress")]
mod update_bounds;
mod writes;
