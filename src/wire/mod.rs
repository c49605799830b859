//! Fixed-width MessagePack: how each value is read from bytes and written to bytes.
//!
//! Integers are big-endian, and each has a marker of its own before it.

// Each module imports only from those above it.
mod integer;
mod text;

mod input;

mod buffer;
mod output;

mod metalayer;

#[cfg(feature = "alloc")]
pub(crate) use buffer::NewBytes;
pub(crate) use buffer::{After, Buffer, NoRoom};
pub(crate) use input::Input;
pub(crate) use integer::{FixedInt, Items};
pub(crate) use metalayer::{Metalayer, bytes_before};
pub(crate) use output::{Output, Slots};
pub(crate) use text::{dtype, is_dtype, not_dtype};
