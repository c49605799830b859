//! The default chunk and block shapes.

use std::ops::Range;

use b2nd_serde::{Geometry, Shapes};
#[cfg(feature = "alloc")]
use b2nd_serde::{MAX_NDIM, Meta};
use proptest::prelude::*;

fn chunks_and_blocks(shape: &[u64], typesize: usize) -> (Vec<u64>, Vec<u64>) {
    let blockshape = Geometry::default_blockshape(shape, typesize);
    (Geometry::default_chunkshape(shape, &blockshape, typesize).to_vec(), blockshape.to_vec())
}

fn product(shape: &[u64]) -> u64 {
    shape.iter().product()
}

#[test]
fn default_chunkshape_and_default_blockshape_are_as_in_the_documented_table() {
    let numbers = |cell: &str| -> Vec<u64> {
        let cell = cell.trim().trim_start_matches("\\[").trim_end_matches("\\]");
        cell.split(", ").map(|number| number.parse().unwrap()).collect()
    };
    let rows =
        include_str!("../../src/geometry/default.rs").lines().filter(|line| line.contains("/// | \\["));
    let mut count = 0;
    for row in rows {
        let [_, shape, typesize, chunkshape, blockshape, _] = *row.split('|').collect::<Vec<_>>() else {
            panic!("{row}");
        };
        let found = chunks_and_blocks(&numbers(shape), typesize.trim().parse().unwrap());
        assert_eq!(found, (numbers(chunkshape), numbers(blockshape)), "{row}");
        count += 1;
    }
    assert_eq!(count, 8);
}

#[cfg(feature = "alloc")]
#[test]
fn with_default_shapes_names_too_many_dimensions() {
    let error = Meta::with_default_shapes(&[2; MAX_NDIM + 1], 1, "|u1").unwrap_err();
    assert_eq!(error.to_string(), "ndim is 17, but must be 0 to 16");
}

fn shapes(ndim: Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    let items = prop_oneof![2 => 0..5_u64, 3 => 1..200_u64, 3 => 0..5_000_u64, 1 => 0..1_u64 << 40];
    prop::collection::vec(items, ndim)
}

proptest! {
    #[test]
    fn default_chunkshape_and_default_blockshape_are_valid_and_within_their_targets(
        shape in prop_oneof![3 => shapes(0..5), 1 => shapes(0..17)],
        typesize in prop_oneof![5 => 1..20_usize, 2 => 20..5_000_usize, 1 => 1..1_usize << 24],
    ) {
        let (chunkshape, blockshape) = chunks_and_blocks(&shape, typesize);
        let nbytes = |shape: &[u64]| product(shape) * typesize as u64;
        // A block has at most 128 KiB, unless it has only one item, which is larger.
        prop_assert!(product(&blockshape) == 1 || nbytes(&blockshape) <= 1 << 17);
        let whole_blocks: Vec<u64> =
            chunkshape.iter().zip(&blockshape).map(|(chunk, block)| chunk.next_multiple_of(*block)).collect();
        prop_assert!(whole_blocks == blockshape || nbytes(&whole_blocks) <= 1 << 22);
        for ((items, chunk), block) in shape.iter().zip(&chunkshape).zip(&blockshape) {
            prop_assert!(*block >= 1 && block <= chunk && (*items == 0 || chunk <= items));
            prop_assert!(chunk % block == 0 || chunk == items);
        }
        // The default chunk and block shapes are valid, unless the shape of the array has too many items.
        let nitems = shape.iter().try_fold(1_u64, |product, &items| product.checked_mul(2 * items.max(1)));
        if nitems.is_some_and(|nitems| nitems < 1 << 62) {
            let shape: Vec<i64> = shape.iter().map(|&items| i64::try_from(items).unwrap()).collect();
            let [chunkshape, blockshape]: [Vec<i32>; 2] = [chunkshape, blockshape]
                .map(|items| items.into_iter().map(|items| i32::try_from(items).unwrap()).collect());
            let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
            prop_assert!(Geometry::new(shapes).is_ok());
        }
    }
}
