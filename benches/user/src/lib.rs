//! Programs that read and write a metalayer. Each module is compiled separately, and has its own structs.
//!
//! No function is inlined into its measurement, so a figure is for the function alone.

pub mod arrays;
pub mod frame;
pub mod meta;
pub mod once;
pub mod own_names;
pub mod rows;
pub mod tuple;
pub mod vecs;
