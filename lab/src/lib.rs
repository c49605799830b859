//! Shared parts of the tests of several packages: real files, generated frames, and the conformance vectors.

#![allow(missing_docs, clippy::missing_panics_doc, clippy::must_use_candidate, reason = "for the tests here")]

mod files;
mod frames;
#[cfg(feature = "rows")]
mod rows;
pub mod vectors;

pub use files::*;
pub use frames::*;
#[cfg(feature = "rows")]
pub use rows::*;

/// All entries of a metalayer, each in the most common Rust type.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Seven {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunkshape: Vec<i32>,
    pub blockshape: Vec<i32>,
    pub dtype_format: u8,
    pub dtype: String,
}
