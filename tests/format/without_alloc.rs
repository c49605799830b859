//! Without an allocator, everything works (see `tests/byte_for_byte.rs`), except that errors raised by a type lose
//! their text.

#![cfg(not(feature = "alloc"))]

use b2nd_serde::{Entry, ErrorKind, from_slice, to_slice};

#[test]
fn from_slice_and_to_slice_keep_the_kind_and_place_of_an_error_without_alloc() {
    let bytes = b"\x95\0\x01\x91\xd3\xff\xff\xff\xff\xff\xff\xff\xff\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
    let error = from_slice::<(u8, u8, [u64; 1], [u32; 1], [u32; 1])>(bytes).unwrap_err();
    assert_eq!(error.to_string(), "byte 4: shape[0]: the type rejects the value");
    assert_eq!(
        (error.kind(), error.entry(), error.dimension()),
        (ErrorKind::Custom, Some(Entry::Shape), Some(0))
    );

    let error = from_slice::<(u8, u8, [i64; 1], [u32; 1], [u32; 1])>(&bytes[..16]).unwrap_err();
    assert_eq!(error.to_string(), "byte 14: expected 5 bytes for chunkshape[0], but the input ends after 2");
    let error = to_slice(&(0, 1, [u128::MAX], [1], [1]), &mut [0; 64]).unwrap_err();
    assert_eq!(error.to_string(), "shape[0] is wider than 64 bits, but must fit int64");
}
