//! Allocations never depend on a length that the input claims.

#![cfg(feature = "std")]

use std::ops::Range;

use allocation_counter::measure;
use b2nd_serde::{Geometry, Meta, Shapes, from_reader, from_slice, serialized_size, to_slice, to_vec};
use common::{Seven, long_dtype, meta_of_rank, seven};
use serde_json::Value;

#[path = "../common/mod.rs"]
mod common;

/// The maximum number of bytes that are allocated at the same time during a call.
fn peak(run: impl FnOnce()) -> u64 {
    measure(run).bytes_max
}

#[test]
fn from_slice_allocates_nothing_for_a_dtype_that_is_not_there() {
    let mut bytes = to_vec(&seven()).unwrap();
    bytes[46..50].copy_from_slice(&i32::MAX.to_be_bytes());
    assert!(peak(|| assert!(from_slice::<Meta>(&bytes).is_err())) < 1000);
    assert!(peak(|| assert!(from_slice::<Seven>(&bytes).is_err())) < 1000);
    assert!(peak(|| assert!(from_slice::<Value>(&bytes).is_err())) < 10_000);
    assert!(peak(|| assert!(from_reader::<_, Meta>(&bytes[..]).is_err())) < 1000);
}

#[test]
fn from_slice_allocates_in_proportion_to_its_input() {
    let long = to_vec(&meta_of_rank(16, &long_dtype())).unwrap();
    let most = 4 * long.len() as u64;
    assert!(peak(|| drop(from_slice::<Meta>(&long).unwrap())) < most);
    assert!(peak(|| drop(from_slice::<Seven>(&long).unwrap())) < most);
}

#[test]
fn from_slice_and_to_slice_allocate_nothing() {
    type Borrowing<'a> = (u8, u8, [u64; 2], [u32; 2], [u32; 2], u8, &'a str);
    let bytes = to_vec(&seven()).unwrap();
    let value: Borrowing = from_slice(&bytes).unwrap();
    let mut buffer = [0; 64];
    assert_eq!(peak(|| assert!(from_slice::<Borrowing>(&bytes).is_ok())), 0);
    assert_eq!(peak(|| assert!(to_slice(&value, &mut buffer).is_ok())), 0);

    // A `Meta` stores up to four dimensions and 15 bytes of dtype inline.
    assert_eq!(peak(|| drop(from_slice::<Meta>(&bytes).unwrap())), 0);
}

#[test]
fn to_vec_allocates_twice_only_for_a_long_dtype() {
    for ndim in [0, 1, 16] {
        for (dtype, count) in [("|u1", 1), (&long_dtype(), 2)] {
            let meta = meta_of_rank(ndim, dtype);
            let length = serialized_size(&meta).unwrap() as u64;
            let to_vec = measure(|| drop(to_vec(&meta).unwrap()));
            assert_eq!(to_vec.count_total, count, "{ndim}, {dtype}");
            assert!(to_vec.bytes_total < length + 400, "{ndim}, {dtype}");
        }
    }
}

#[test]
fn from_slice_allocates_each_vector_once_at_its_length() {
    for ndim in [1, 3, 8, 16] {
        let bytes = to_vec(&meta_of_rank(ndim, "<i4")).unwrap();
        let read = measure(|| drop(from_slice::<Seven>(&bytes).unwrap()));
        let dimensions = u64::from(ndim) * (8 + 4 + 4);
        assert_eq!((read.count_total, read.bytes_total), (4, dimensions + 3), "{ndim}");
        // If a `Meta` has more than four dimensions, it has one allocation for all three shapes.
        let read = measure(|| drop(from_slice::<Meta>(&bytes).unwrap()));
        let most = if ndim > 4 { (1, 16 * (8 + 4 + 4)) } else { (0, 0) };
        assert_eq!((read.count_total, read.bytes_total), most, "{ndim}");
    }
}

#[test]
fn geometry_allocates_nothing() {
    const SLICE: [Range<u64>; 16] = [const { 1..4 }; 16];
    for ndim in [0, 1, 2, 16] {
        let everything = || {
            let geometry = Geometry::new(Shapes {
                shape: &[5; 16][..ndim],
                chunkshape: &[3; 16][..ndim],
                blockshape: &[2; 16][..ndim],
            })
            .unwrap();
            let chunks = geometry.chunks().take(3).chain(geometry.chunks_in(&SLICE[..ndim]).unwrap().take(3));
            let runs = chunks.flat_map(|chunk| chunk.blocks().take(3)).flat_map(|block| block.runs().take(3));
            assert!(runs.map(|run| run.nitems()).sum::<u64>() > 0);
            let position = geometry.position(&[4; 16][..ndim]).unwrap();
            assert_eq!(geometry.coordinate(position).unwrap().as_ref(), &[4; 16][..ndim]);
            let resize = geometry.resize(&[2; 16][..ndim]).unwrap();
            assert_eq!(resize.kept_chunks().take(3).count(), 1);
            assert_eq!(resize.changes_chunks(), ndim > 0);
            assert!(geometry.resize(&[1; 17]).is_err());
        };
        assert_eq!(measure(everything).count_total, 0, "{ndim}");
    }
}
