//! Programs that read and write a metalayer. Each module is compiled apart, and has its own structs.
//!
//! No function is inlined into its measurement, so a figure is that of the function alone.

pub mod arrays;
pub mod frame;
pub mod meta;
pub mod once;
pub mod own_names;
pub mod rows;
pub mod tuple;
pub mod vecs;
