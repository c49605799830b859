//! Where frames are: in files, directories, zip files, anywhere in other files.

pub(crate) mod lock;
pub(crate) mod open;
pub(crate) mod scan;
pub(crate) mod zip;
