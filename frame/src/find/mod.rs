//! Finds frames: in files, directories and zip files, and anywhere in other files.

pub(crate) mod chunk_file;
pub(crate) mod lock;
pub(crate) mod open;
pub(crate) mod scan;
pub(crate) mod store;
pub(crate) mod zip;
