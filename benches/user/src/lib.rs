//! Programs that read and write a metalayer. Each module is compiled separately, and has its own structs.
//!
//! No function is inlined into the code that measures it. So each figure is for one function alone.

pub mod arrays;
pub mod frame;
pub mod meta;
pub mod once;
pub mod own_names;
pub mod rows;
pub mod tuple;
pub mod vecs;
