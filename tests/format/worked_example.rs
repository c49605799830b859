//! The worked example of the draft specification, byte for byte: S=[3,5] C=[2,3] B=[1,2], dtype `<i4`.

use b2nd_serde::{Error, from_slice, serialized_size, to_slice};
use serde_derive::{Deserialize, Serialize};

const BYTES: [u8; 53] = [
    0x97, 0x00, 0x02, //
    0x92, 0xd3, 0, 0, 0, 0, 0, 0, 0, 3, 0xd3, 0, 0, 0, 0, 0, 0, 0, 5, //
    0x92, 0xd2, 0, 0, 0, 2, 0xd2, 0, 0, 0, 3, //
    0x92, 0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2,    //
    0x00, //
    0xdb, 0, 0, 0, 3, 0x3c, 0x69, 0x34,
];

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Metalayer<'a> {
    version: u8,
    ndim: u8,
    shape: [u64; 2],
    chunkshape: [u32; 2],
    blockshape: [u32; 2],
    dtype_format: u8,
    dtype: &'a str,
}

const EXAMPLE: Metalayer<'static> = Metalayer {
    version: 0,
    ndim: 2,
    shape: [3, 5],
    chunkshape: [2, 3],
    blockshape: [1, 2],
    dtype_format: 0,
    dtype: "<i4",
};

#[test]
fn the_example_is_written_byte_for_byte() -> Result<(), Error> {
    let mut buffer = [0xff; 64];
    assert_eq!(to_slice(&EXAMPLE, &mut buffer)?, BYTES);
    assert_eq!(serialized_size(&EXAMPLE)?, BYTES.len());
    Ok(())
}

#[test]
fn the_example_is_read_field_for_field() -> Result<(), Error> {
    assert_eq!(from_slice::<Metalayer>(&BYTES)?, EXAMPLE);
    Ok(())
}

#[test]
fn the_dtype_borrows_from_the_input() -> Result<(), Error> {
    let bytes = BYTES;
    let metalayer: Metalayer = from_slice(&bytes)?;
    assert_eq!(metalayer.dtype.as_ptr(), bytes[50..].as_ptr());
    Ok(())
}
