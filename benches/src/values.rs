//! What is written and read: structs as a user would derive them.

use serde::{Deserialize, Serialize};

/// All entries, owned.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Vecs {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunkshape: Vec<i32>,
    pub blockshape: Vec<i32>,
    pub dtype_format: u8,
    pub dtype: String,
}

/// All entries without an allocation: `Shape` is `[u64; N]`, `Chunk` is `[u32; N]`.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Arrays<'a, Shape, Chunk> {
    pub version: u8,
    pub ndim: u8,
    pub shape: Shape,
    pub chunkshape: Chunk,
    pub blockshape: Chunk,
    pub dtype_format: u8,
    pub dtype: &'a str,
}

/// A long first dimension and short others: a geometry that every peer accepts, up to 16 dimensions.
fn dimensions<T: Copy>(ndim: u8, first: T, other: T) -> Vec<T> {
    (0..ndim).map(|i| if i == 0 { first } else { other }).collect()
}

impl Vecs {
    pub fn of_rank(ndim: u8) -> Self {
        Self {
            version: 0,
            ndim,
            shape: dimensions(ndim, 100_000, 3),
            chunkshape: dimensions(ndim, 1000, 2),
            blockshape: dimensions(ndim, 100, 1),
            dtype_format: 0,
            dtype: "<i4".into(),
        }
    }
}
