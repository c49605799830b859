//! The format: what is written, what is read, what is refused and how it is said.

#[cfg(feature = "alloc")]
#[path = "../common/mod.rs"]
mod common;
mod data_model;
mod dims;
mod errors;
mod messagepack;
mod meta;
mod one_struct;
mod properties;
mod snapshots;
mod two_ways;
mod types;
mod without_alloc;
mod worked_example;
