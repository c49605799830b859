//! What must not share its process with other tests: counts of allocations, and processes that are killed.

mod allocation;
mod bounds;
#[cfg(feature = "std")]
#[path = "../common/mod.rs"]
mod common;
mod full_disk;
mod killed;
mod killed_writing;
mod rewrite_stopped;
mod writes;
