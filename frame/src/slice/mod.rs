//! Slices of arrays: the selected items, their byte ranges, and their values.
//!
//! The settings of a `Slice` and `read` are in `slice_reader.rs`, and `read_into` is in `item.rs`. Each other method is
//! in the file that is named after its result.

// Each module imports only from the modules above it.
pub(crate) mod subscripts;

mod cache;

mod scratch;

mod window;

mod linear;

mod selected_chunk;

pub(crate) mod shared_array;

mod selection;

mod shared_slice;

mod copy_task;

mod chunk_limit;

mod block_groups;

mod index_pages;

mod waves;

mod threads;

pub(crate) mod array;

pub(crate) mod slice_reader;

pub(crate) mod item;

pub(crate) mod plan;

pub(crate) mod pieces;

pub(crate) mod rows;

#[cfg(feature = "ndarray")]
pub(crate) mod ndarray_items;
