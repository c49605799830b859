//! Without an allocator everything works except the text of errors that types raise.

#![cfg(not(feature = "alloc"))]

use b2nd_serde::{Entry, Error, ErrorKind, from_slice, to_slice};
use serde_derive::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Metalayer<'a> {
    version: u8,
    ndim: u8,
    shape: [u64; 1],
    chunkshape: [u32; 1],
    blockshape: [u32; 1],
    dtype_format: u8,
    dtype: &'a str,
}

#[test]
fn borrowing_types_go_both_ways() -> Result<(), Error> {
    let value = Metalayer {
        version: 0,
        ndim: 1,
        shape: [6],
        chunkshape: [4],
        blockshape: [2],
        dtype_format: 0,
        dtype: "|u1",
    };
    let mut buffer = [0; 64];
    let bytes = to_slice(&value, &mut buffer)?;
    assert_eq!(from_slice::<Metalayer>(bytes)?, value);
    Ok(())
}

#[test]
fn errors_keep_their_kind_and_place() {
    let bytes = b"\x95\0\x01\x91\xd3\xff\xff\xff\xff\xff\xff\xff\xff\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
    let error = from_slice::<(u8, u8, [u64; 1], [u32; 1], [u32; 1])>(bytes).unwrap_err();
    assert_eq!(error.to_string(), "byte 4: shape[0]: the type refuses the value");
    assert_eq!(
        (error.kind(), error.entry(), error.dimension()),
        (ErrorKind::Custom, Some(Entry::Shape), Some(0))
    );

    let error = from_slice::<(u8, u8, [i64; 1], [u32; 1], [u32; 1])>(&bytes[..16]).unwrap_err();
    assert_eq!(error.to_string(), "byte 14: expected 5 bytes for chunkshape[0], but the input ends after 2");
    let error = to_slice(&(0, 1, [u128::MAX], [1], [1]), &mut [0; 64]).unwrap_err();
    assert_eq!(error.to_string(), "shape[0] is wider than 64 bits, but must fit int64");
}
