//! A struct as in the module `vecs`, but with the field names of python-blosc2.

use b2nd_serde::{Error, from_slice, take_from_slice, to_slice};
use serde::{Deserialize, Serialize};

use crate::vecs;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnNames {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunks: Vec<i32>,
    pub blocks: Vec<i32>,
    pub dtype_format: u8,
    pub dtype: String,
}

impl From<vecs::Vecs> for OwnNames {
    fn from(vecs: vecs::Vecs) -> Self {
        Self {
            version: vecs.version,
            ndim: vecs.ndim,
            shape: vecs.shape,
            chunks: vecs.chunkshape,
            blocks: vecs.blockshape,
            dtype_format: vecs.dtype_format,
            dtype: vecs.dtype,
        }
    }
}

#[inline(never)]
pub fn write<'a>(value: &OwnNames, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
    to_slice(value, buffer)
}

#[inline(never)]
pub fn read(bytes: &[u8]) -> Result<OwnNames, Error> {
    from_slice(bytes)
}

#[inline(never)]
pub fn read_prefix(bytes: &[u8]) -> Result<(OwnNames, &[u8]), Error> {
    take_from_slice(bytes)
}
