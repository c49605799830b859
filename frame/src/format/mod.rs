//! The bytes of a frame: from bytes to values, and back. Nothing is read from a file here. The crate's page has the
//! picture of a whole frame, and each module the picture of its part.

// Each module imports only from those above it.
pub(crate) mod marker;

pub(crate) mod token;

pub(crate) mod cursor;

// The header.
pub(crate) mod fields;
pub(crate) mod flags;

pub(crate) mod header;
pub(crate) mod header_builder;

pub(crate) mod section;

pub(crate) mod array;
pub(crate) mod object_kind;

// The chunks.
pub(crate) mod chunk;

pub(crate) mod decompress;

pub(crate) mod chunk_file;
pub(crate) mod hole;
pub(crate) mod salvage_note;

// What follows the chunks.
pub(crate) mod index;

pub(crate) mod embed_list;

pub(crate) mod trailer;

// All of them together.
pub(crate) mod frame;
