//! `Meta`, the library's own struct.

use b2nd_serde::{Error, Meta, from_slice, to_slice};

#[inline(never)]
pub fn read(bytes: &[u8]) -> Result<Meta, Error> {
    from_slice(bytes)
}

#[inline(never)]
pub fn write<'a>(value: &Meta, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
    to_slice(value, buffer)
}
