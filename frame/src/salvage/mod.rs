//! Saves the undamaged parts of a damaged frame into a new frame.

// Each module imports only from the modules above it in this list.
pub(crate) mod salvage_report;

mod damaged_file;

mod recorded_holes;

mod chunk_header;

mod order;

mod header_repair;

mod header_length;

mod survey;

mod chunk_runs;

mod inferred_places;

mod header_scan;

mod saved_frame;

pub(crate) mod options;
