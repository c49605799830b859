//! The bytes of a frame: header, metalayers, chunk headers, trailer.

pub(crate) mod array;
pub(crate) mod chunk;
pub(crate) mod cursor;
pub(crate) mod fields;
pub(crate) mod flags;
pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod index;
pub(crate) mod kind;
pub(crate) mod marker;
pub(crate) mod section;
pub(crate) mod trailer;
