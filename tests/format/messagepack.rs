//! The differences between this format and ordinary MessagePack.

#![cfg(feature = "alloc")]

use crate::common::{Seven, seven};
use b2nd_serde::{ErrorKind, from_slice, to_vec};

/// The entries of a metalayer of this rank.
fn of_rank(ndim: u8) -> Seven {
    let count = ndim.into();
    Seven {
        ndim,
        shape: vec![300_000_000_000; count],
        chunkshape: vec![70_000; count],
        blockshape: vec![-1; count],
        ..seven()
    }
}

#[test]
fn a_messagepack_reader_reads_what_we_write() {
    for ndim in 0..=15 {
        let bytes = to_vec(&of_rank(ndim)).unwrap();
        assert_eq!(rmp_serde::from_slice::<Seven>(&bytes).unwrap(), of_rank(ndim), "rank {ndim}");
    }
}

#[test]
fn sixteen_dimensions_are_no_array_to_a_messagepack_reader() {
    let bytes = to_vec(&of_rank(16)).unwrap();
    assert_eq!(bytes[3], 0xa0, "the marker of an empty string");
    assert!(rmp_serde::from_slice::<Seven>(&bytes).is_err());
    assert_eq!(from_slice::<Seven>(&bytes).unwrap(), of_rank(16));
}

#[test]
fn a_messagepack_writer_is_not_enough() {
    let shortest = rmp_serde::to_vec(&seven()).unwrap();
    let fixed = to_vec(&seven()).unwrap();
    assert_eq!((shortest.len(), fixed.len()), (17, 53));

    // An ordinary writer uses the shortest form of each value, so the length depends on the values. A reader of B2ND
    // expects a fixed width at each position.
    assert_eq!(shortest[..6], [0x97, 0, 2, 0x92, 3, 5]);
    let error = from_slice::<Seven>(&shortest).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 4: expected int64 (0xd3) for shape[0], found positive fixint 3 (0x03)"
    );
    assert_eq!(error.kind(), ErrorKind::Marker);
}
