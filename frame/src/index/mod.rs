//! The chunk index of a frame: its rules, its reader and its writer. The type of its entries, `ChunkEntry`, is in the
//! module `chunk`.

// Each module imports only from the modules above it.
pub(crate) mod index_rules;

pub(crate) mod index_reader;

pub(crate) mod index_writer;
