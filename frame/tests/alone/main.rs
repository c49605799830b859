//! What must not share its process with other tests: memory that is counted, and processes that are killed.

mod bounds;
mod full_disk;
mod killed;
mod killed_writing;
mod rewrite_stopped;
mod writes;
