//! A struct as in the module `vecs`, but a tuple struct, whose fields have no names.

use b2nd_serde::{Error, from_slice, to_slice};
use serde::{Deserialize, Serialize};

use crate::vecs;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuple(u8, u8, Vec<i64>, Vec<i32>, Vec<i32>, u8, String);

impl From<vecs::Vecs> for Tuple {
    fn from(vecs: vecs::Vecs) -> Self {
        let vecs::Vecs { version, ndim, shape, chunkshape, blockshape, dtype_format, dtype } = vecs;
        Self(version, ndim, shape, chunkshape, blockshape, dtype_format, dtype)
    }
}

#[inline(never)]
pub fn write<'a>(value: &Tuple, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
    to_slice(value, buffer)
}

#[inline(never)]
pub fn read(bytes: &[u8]) -> Result<Tuple, Error> {
    from_slice(bytes)
}
