//! The format: writing, reading, and errors with their messages.

#[cfg(feature = "alloc")]
#[path = "../common/mod.rs"]
mod common;
mod data_model;
mod dims;
mod errors;
mod messagepack;
mod meta;
mod one_struct;
mod other_formats;
mod properties;
mod two_ways;
mod types;
mod without_alloc;
