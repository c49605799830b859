//! A struct that owns all entries. Its fields have the names of the format. Several functions read and write it.

use b2nd_serde::{Error, from_slice, take_from_slice, to_slice, to_vec};
use serde::{Deserialize, Serialize};

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

impl Vecs {
    /// A metalayer of this rank, up to 16. In each of its shapes, the first dimension is long and the others are short.
    /// So even at rank 16, a chunk has less than 2 GiB, the limit of Blosc2.
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

fn dimensions<T: Copy>(ndim: u8, first: T, other: T) -> Vec<T> {
    (0..ndim).map(|i| if i == 0 { first } else { other }).collect()
}

#[inline(never)]
pub fn write<'a>(value: &Vecs, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
    to_slice(value, buffer)
}

#[inline(never)]
pub fn write_vec(value: &Vecs) -> Result<Vec<u8>, Error> {
    to_vec(value)
}

#[inline(never)]
pub fn read(bytes: &[u8]) -> Result<Vecs, Error> {
    from_slice(bytes)
}

#[inline(never)]
pub fn read_prefix(bytes: &[u8]) -> Result<(Vecs, &[u8]), Error> {
    take_from_slice(bytes)
}
