//! Functions that the benchmarks share.

pub mod machine;
pub mod prefix;
