//! What programs do with a metalayer. Each module is compiled apart, and has its own structs.
//!
//! No function is inlined into what measures it, so a figure is that of the function as it stands here.

pub mod arrays;
pub mod frame;
pub mod meta;
pub mod once;
pub mod own_names;
pub mod tuple;
pub mod vecs;
