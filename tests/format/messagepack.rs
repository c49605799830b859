//! Ordinary MessagePack readers read metalayers of up to 15 dimensions.

#![cfg(feature = "alloc")]

use crate::common::{Seven, seven};
use b2nd_serde::{from_slice, to_vec};

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
fn rmp_serde_reads_what_to_vec_writes() {
    for ndim in 0..=15 {
        let bytes = to_vec(&of_rank(ndim)).unwrap();
        assert_eq!(rmp_serde::from_slice::<Seven>(&bytes).unwrap(), of_rank(ndim), "rank {ndim}");
    }
}

#[test]
fn rmp_serde_does_not_read_sixteen_dimensions_of_to_vec() {
    let bytes = to_vec(&of_rank(16)).unwrap();
    assert_eq!(bytes[3], 0xa0, "the marker of an empty string");
    assert!(rmp_serde::from_slice::<Seven>(&bytes).is_err());
    assert_eq!(from_slice::<Seven>(&bytes).unwrap(), of_rank(16));
}
