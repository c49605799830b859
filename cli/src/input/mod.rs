//! Input: addresses, the files that they name, and the frames in these files.

mod address;
mod buffer;
mod json;
mod selection;
mod values;

mod bytes;
mod failure;

mod source;

mod items;
mod list;
mod npy;
mod target;
mod view;

mod filter;
mod targets;
mod visit;

mod paths;
mod store;

pub(crate) use address::{Address, FRAME, Inside, Location, given, given_all, path_hex};
pub(crate) use buffer::zeroed;
pub(crate) use bytes::{Bytes, MAX_LEN, from_text, lines, open_or_stdin, read_bytes};
pub(crate) use failure::Failure;
pub(crate) use filter::ArrayFilter;
pub(crate) use items::{Constant, Items, PartsToRead, index_in};
pub(crate) use json::json_value;
pub(crate) use npy::Npy;
pub(crate) use paths::{Paths, pair_or_paths};
pub(crate) use selection::{Selected, Selection};
pub(crate) use source::{Place, Positioned, Reader, ZIP_FILE, ZIP_ON_STDIN, begins_as_zip, is_zip};
pub(crate) use store::{files_in, is_part, store_at, store_of_files, visit_files, visit_table};
pub(crate) use target::{Found, Target, find_table};
pub(crate) use targets::Stores;
pub(crate) use values::{Numbers, Offered, dtype_as_stored, dtype_parser};
pub(crate) use view::{ShownValues, View};
pub(crate) use visit::{CountChunks, Visit, is_passed_over};
