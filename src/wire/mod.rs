//! Fixed-width MessagePack, read from bytes and written to bytes.
//!
//! Integers are big-endian, and each has its own marker before it:
//!
//! ```text
//! 92           d3 00 00 00 00 00 00 00 03   d3 00 00 00 00 00 00 00 05     an int64 vector: 3, 5
//! 92           d2 00 00 00 02               d2 00 00 00 03                 an int32 vector: 2, 3
//! db 00 00 00 03   3c 69 34                                                a dtype: <i4
//! ```

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
