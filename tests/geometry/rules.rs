//! Geometries that are valid or invalid by the rules of the draft specification, and the error messages for the invalid
//! geometries.

use b2nd_serde::geometry::{Error, ErrorKind};
use b2nd_serde::{Entry, Geometry, Shapes};

const MAX: i64 = i64::MAX;
const CHUNK_MAX: i32 = i32::MAX;
const TERA: i64 = 1 << 40;

type Vectors<'a> = (&'a [i64], &'a [i32], &'a [i32]);

/// Shape, chunk shape, block shape, and the number of chunks.
const ACCEPTED: &[(Vectors, u64)] = &[
    // Ordinary shapes, and arrays without dimensions.
    ((&[6, 8], &[4, 5], &[2, 3]), 4),
    ((&[], &[], &[]), 1),
    ((&[1; 16], &[1; 16], &[1; 16]), 1),
    // A chunk larger than the array, a block larger than the chunk.
    ((&[4], &[8], &[2]), 1),
    ((&[8], &[4], &[6]), 2),
    ((&[1], &[CHUNK_MAX], &[CHUNK_MAX]), 1),
    // Arrays without items. Some of them have a chunk shape with items, and some a chunk shape without items.
    ((&[0], &[5], &[2]), 0),
    ((&[0], &[0], &[0]), 0),
    ((&[0], &[0], &[1]), 0),
    ((&[0], &[0], &[CHUNK_MAX]), 0),
    ((&[3, 0], &[3, 0], &[3, 0]), 0),
    ((&[3, 0, 4], &[1, 1, 1], &[1, 1, 1]), 0),
    // Shapes with the largest numbers that are valid.
    ((&[MAX], &[1], &[1]), MAX as u64),
    ((&[MAX], &[7], &[2]), MAX as u64 / 7),
    ((&[MAX - 1], &[7], &[2]), MAX as u64 / 7),
    ((&[1 << 62, 1], &[1, 1], &[1, 4]), 1 << 62),
    ((&[CHUNK_MAX as i64], &[CHUNK_MAX], &[1]), 1),
    ((&[CHUNK_MAX as i64], &[CHUNK_MAX], &[(1 << 30) + 1]), 1),
    ((&[2, 2], &[CHUNK_MAX, 1], &[1, CHUNK_MAX]), 2),
    // If one factor is zero, the product is zero, however large the factors before and after it are.
    ((&[0, TERA, TERA], &[1, 1, 1], &[1, 1, 1]), 0),
    ((&[TERA, TERA, 0], &[1, 1, 1], &[1, 1, 1]), 0),
    ((&[0, 0, 0], &[65536, 65536, 0], &[1, 1, 0]), 0),
    ((&[0, 0, 0], &[0, 65536, 65536], &[0, 1, 1]), 0),
    ((&[0, 0, 0], &[0, 0, 0], &[65536, 65536, 0]), 0),
];

/// Shape, chunk shape, block shape, and the message.
const REFUSED: &[(Vectors, ErrorKind, &str)] = &[
    ((&[1; 17], &[1; 17], &[1; 17]), ErrorKind::Rank, "ndim is 17, but must be at most 16"),
    ((&[3, 5], &[2], &[1, 2]), ErrorKind::DimensionCount, "chunkshape has 1 dimension, but ndim is 2"),
    ((&[3, 5], &[2, 3], &[1, 2, 3]), ErrorKind::DimensionCount, "blockshape has 3 dimensions, but ndim is 2"),
    ((&[-1], &[1], &[1]), ErrorKind::Negative, "shape[0] is -1, but must be at least 0"),
    (
        (&[i64::MIN], &[1], &[1]),
        ErrorKind::Negative,
        "shape[0] is -9223372036854775808, but must be at least 0",
    ),
    ((&[3, 5], &[2, -3], &[1, 2]), ErrorKind::Negative, "chunkshape[1] is -3, but must be at least 0"),
    (
        (&[3, 5], &[2, 3], &[i32::MIN, 2]),
        ErrorKind::Negative,
        "blockshape[0] is -2147483648, but must be at least 0",
    ),
    (
        (&[4], &[0], &[0]),
        ErrorKind::Zero,
        "chunkshape[0] is 0, but shape[0] is 4: a dimension that is not empty needs chunks of at least 1",
    ),
    (
        (&[0, 4], &[2, 0], &[1, 0]),
        ErrorKind::Zero,
        "chunkshape[1] is 0, but shape[1] is 4: a dimension that is not empty needs chunks of at least 1",
    ),
    (
        (&[4], &[2], &[0]),
        ErrorKind::Zero,
        "blockshape[0] is 0, but chunkshape[0] is 2: a chunk that is not empty needs blocks of at least 1",
    ),
    // The draft specification allows these shapes, but C-Blosc2 and this crate do not.
    (
        (&[0], &[5], &[0]),
        ErrorKind::Zero,
        "blockshape[0] is 0, but chunkshape[0] is 5: a chunk that is not empty needs blocks of at least 1",
    ),
    (
        (&[TERA, TERA], &[1, 1], &[1, 1]),
        ErrorKind::Overflow,
        "shape[1] is 1099511627776: 1099511627776 x 1099511627776 items are more than 9223372036854775807 (int64)",
    ),
    (
        (&[MAX], &[2], &[1]),
        ErrorKind::Overflow,
        "shape[0] is 9223372036854775807: rounded up to whole chunks of 2, it is more than 9223372036854775807 (int64)",
    ),
    // Each dimension, rounded up to whole chunks, must fit in 63 bits, even if another dimension is zero.
    (
        (&[0, MAX], &[0, 2], &[0, 1]),
        ErrorKind::Overflow,
        "shape[1] is 9223372036854775807: rounded up to whole chunks of 2, it is more than 9223372036854775807 (int64)",
    ),
    (
        (&[1 << 62, 1], &[1, 4], &[1, 1]),
        ErrorKind::Overflow,
        "shape[1], rounded up to whole chunks, is 4: 4611686018427387904 x 4 items are more than 9223372036854775807 (int64)",
    ),
    (
        (&[1, 1], &[65536, 32768], &[1, 1]),
        ErrorKind::Overflow,
        "chunkshape[1] is 32768: 65536 x 32768 items are more than 2147483647 (int32)",
    ),
    (
        (&[1, 1], &[1, 1], &[65536, 65536]),
        ErrorKind::Overflow,
        "blockshape[1] is 65536: 65536 x 65536 items are more than 2147483647 (int32)",
    ),
    // The array has no items, but the chunk shape is invalid.
    (
        (&[0, 1], &[65536, 65536], &[1, 1]),
        ErrorKind::Overflow,
        "chunkshape[1] is 65536: 65536 x 65536 items are more than 2147483647 (int32)",
    ),
];

#[test]
fn geometry_new_accepts_what_the_rules_allow() {
    for &((shape, chunkshape, blockshape), nchunks) in ACCEPTED {
        match Geometry::new(Shapes { shape, chunkshape, blockshape }) {
            Ok(geometry) => assert_eq!(geometry.nchunks(), nchunks, "{geometry:?}"),
            Err(error) => panic!("{shape:?} {chunkshape:?} {blockshape:?}: {error}"),
        }
    }
}

#[test]
fn geometry_new_rejects_with_the_rule_the_dimension_and_the_numbers() {
    for &((shape, chunkshape, blockshape), kind, message) in REFUSED {
        let error = Geometry::new(Shapes { shape, chunkshape, blockshape }).expect_err(message);
        assert_eq!(error.to_string(), message);
        assert_eq!(error.kind(), kind, "{message}");
        // The message names the place that `entry` and `dimension` return.
        let place = match (error.entry(), error.dimension()) {
            (Some(entry), Some(dimension)) => format!("{entry}[{dimension}]"),
            (Some(entry), None) => entry.to_string(),
            (None, _) => panic!("{message}"),
        };
        assert!(message.contains(&place), "{place}: {message}");
    }
}

#[test]
fn geometry_with_a_chunkshape_of_0_has_no_parts() -> Result<(), Error> {
    for block in [0, 1, 7] {
        let geometry =
            Geometry::new(Shapes { shape: &[0, 3], chunkshape: &[0, 2], blockshape: &[block, 2] })?;
        assert_eq!(geometry.extended_shape(), [0, 4]);
        assert_eq!(geometry.padded_chunk(), [0, 2]);
        assert_eq!(geometry.grid_of_chunks(), [0, 2]);
        assert_eq!(geometry.blocks_per_chunk(), [0, 1]);
        assert_eq!((geometry.nitems(), geometry.nchunks(), geometry.nblocks()), (0, 0, 0));
        assert_eq!((geometry.chunk_nitems(), geometry.padded_chunk_nitems()), (0, 0));
        assert!(geometry.padding().abs() < f64::EPSILON);
    }
    Ok(())
}

#[test]
fn chunk_nbytes_of_an_empty_array_is_not_0() -> Result<(), Error> {
    let geometry = Geometry::new(Shapes { shape: &[0], chunkshape: &[5], blockshape: &[2] })?;
    assert_eq!((geometry.chunk_nitems(), geometry.padded_chunk_nitems()), (5, 6));
    assert_eq!(geometry.chunk_nbytes(4)?, 24);
    assert_eq!((geometry.nchunks(), geometry.chunks().count()), (0, 0));
    assert_eq!(geometry.position(&[0]), None);
    Ok(())
}

#[test]
fn geometry_without_dimensions_has_one_item_in_one_block_of_one_chunk() -> Result<(), Error> {
    let geometry = Geometry::new(Shapes { shape: &[], chunkshape: &[], blockshape: &[] })?;
    assert_eq!(geometry.ndim(), 0);
    let position = geometry.position(&[]).expect("there is an item");
    assert_eq!((position.chunk, position.block, position.item), (0, 0, 0));
    assert_eq!(geometry.coordinate(position).as_deref(), Some(&[][..]));
    let runs: Vec<_> = geometry
        .chunks_in(&[])?
        .flat_map(|chunk| chunk.blocks())
        .flat_map(|block| block.runs())
        .map(|run| (run.source(8), run.target(8)))
        .collect();
    assert_eq!(runs, [(Some(0..8), Some(0..8))]);
    assert!(!geometry.resize(&[])?.changes_chunks());
    Ok(())
}

#[test]
fn chunk_nbytes_rejects_more_than_blosc2_can_hold() -> Result<(), Error> {
    let fits =
        Geometry::new(Shapes { shape: &[1], chunkshape: &[2_147_483_615], blockshape: &[2_147_483_615] })?;
    assert_eq!(fits.chunk_nbytes(1)?, 2_147_483_615);
    let over =
        Geometry::new(Shapes { shape: &[1], chunkshape: &[2_147_483_616], blockshape: &[2_147_483_616] })?;
    let error = over.chunk_nbytes(1).expect_err("a byte too many");
    assert_eq!(error.kind(), ErrorKind::ChunkSize);
    assert_eq!((error.entry(), error.dimension()), (Some(Entry::Chunkshape), None));
    assert_eq!(
        error.to_string(),
        "chunkshape: a chunk has 2147483616 items of 1 byte, padding included, but can hold at most 2147483615 bytes"
    );
    assert!(fits.chunk_nbytes(usize::MAX).is_err());
    assert_eq!(fits.chunk_nbytes(0)?, 0);
    Ok(())
}

#[test]
fn position_finds_the_last_item_of_the_largest_array() -> Result<(), Error> {
    let last = MAX.unsigned_abs() - 1;
    let geometry = Geometry::new(Shapes { shape: &[MAX], chunkshape: &[7], blockshape: &[4] })?;
    assert_eq!(geometry.nitems(), last + 1);
    let position = geometry.position(&[last]).expect("there is an item");
    // Chunks have 7 items, and blocks 4. 2^63 modulo 7 is 1, so item 2^63 - 2 of the array is item 6 of its chunk. Item
    // 6 is the third item of the second block.
    assert_eq!((position.chunk, position.block, position.item), (last / 7, 1, 2));
    assert_eq!(geometry.coordinate(position).as_deref(), Some(&[last][..]));
    assert_eq!(geometry.position(&[last + 1]), None);
    let chunk = geometry.chunks_in(std::slice::from_ref(&(last..last + 1)))?.next().expect("a chunk");
    assert_eq!(chunk.number(), last / 7);
    assert!(chunk.extent().ranges().eq(std::iter::once(last..last + 1)));
    Ok(())
}

#[test]
fn chunks_in_rejects_a_slice_outside_the_array() -> Result<(), Error> {
    let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    let message = |slice: &[std::ops::Range<u64>]| {
        let error = geometry.chunks_in(slice).expect_err("a slice outside of the array");
        assert_eq!(error.entry(), None);
        (error.to_string(), error.kind(), error.dimension())
    };
    #[expect(clippy::reversed_empty_ranges, reason = "the promise is about these")]
    let backward = 4..2;
    assert_eq!(
        message(&[0..1, backward]),
        ("slice[1] starts at 4, after its stop at 2".into(), ErrorKind::Slice, Some(1))
    );
    assert_eq!(
        message(&[0..4, 0..5]),
        ("slice[0] stops at 4, but shape[0] is 3".into(), ErrorKind::Slice, Some(0))
    );
    assert_eq!(
        message(&[0..1, 0..1, 0..1]),
        ("the slice has 3 dimensions, but ndim is 2".into(), ErrorKind::DimensionCount, None)
    );
    assert_eq!(geometry.chunks_in(&[3..3, 0..5])?.count(), 0);
    let error = geometry.chunks_in_steps(&[0..3, 0..5], &[1, 0]).unwrap_err();
    assert_eq!((error.kind(), error.dimension()), (ErrorKind::Slice, Some(1)));
    let error = geometry.chunks_in_steps(&[0..3, 0..5], &[1]).unwrap_err();
    assert_eq!(error.to_string(), "the slice has 1 dimension, but ndim is 2");
    Ok(())
}

#[test]
fn resize_rejects_shapes_by_the_same_rules() -> Result<(), Error> {
    let geometry = Geometry::new(Shapes { shape: &[0, 5], chunkshape: &[0, 3], blockshape: &[0, 2] })?;
    let message = |shape: &[i64]| geometry.resize(shape).expect_err("no shape").to_string();
    assert_eq!(
        message(&[1, 5]),
        "chunkshape[0] is 0, but shape[0] is 1: a dimension that is not empty needs chunks of at least 1"
    );
    assert_eq!(message(&[0, -5]), "shape[1] is -5, but must be at least 0");
    assert_eq!(message(&[0]), "shape has 1 dimension, but ndim is 2");
    assert_eq!(
        message(&[0, MAX]),
        "shape[1] is 9223372036854775807: rounded up to whole chunks of 3, it is more than 9223372036854775807 (int64)"
    );
    Ok(())
}

#[test]
fn geometry_debug_shows_the_shapes_and_error_debug_the_message() -> Result<(), Error> {
    let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    assert_eq!(format!("{geometry:?}"), "Geometry { shape: [3, 5], chunkshape: [2, 3], blockshape: [1, 2] }");
    let error = geometry.resize(&[3, -5]).expect_err("a negative shape");
    assert_eq!(
        format!("{error:#?}"),
        "Error {\n    kind: Negative,\n    entry: Some(\n        Shape,\n    ),\n    \
         dimension: Some(\n        1,\n    ),\n    message: shape[1] is -5, but must be at least 0,\n}"
    );
    assert_eq!(format!("{error:?}"), "shape[1] is -5, but must be at least 0");
    Ok(())
}

#[test]
fn dimensions_compare_with_slices_and_arrays() -> Result<(), Error> {
    let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
    let shape = geometry.shape();
    for (other, is_equal) in [(&[3, 5][..], true), (&[3, 6], false), (&[3], false), (&[3, 5, 1], false)] {
        assert_eq!(shape == *other, is_equal, "{other:?}");
    }
    assert!(shape == [3, 5] && shape != [3]);
    Ok(())
}

#[test]
fn geometry_and_its_error_are_small() {
    assert!(size_of::<Error>() <= 24, "{}", size_of::<Error>());
    assert!(size_of::<Geometry>() <= 272, "{}", size_of::<Geometry>());
}

#[cfg(feature = "alloc")]
#[test]
fn meta_geometry_rejects_an_unknown_version() -> Result<(), Box<dyn std::error::Error>> {
    use b2nd_serde::{Meta, from_slice, to_vec};

    let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?;
    assert_eq!(
        meta.geometry()?,
        Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?
    );

    let mut bytes = to_vec(&meta)?;
    bytes[1] = 127;
    let error = from_slice::<Meta>(&bytes)?.geometry().expect_err("version 127");
    assert_eq!(error.kind(), ErrorKind::Version);
    assert_eq!(error.entry(), Some(Entry::Version));
    assert_eq!(error.to_string(), "version is 127, but only version 0 is known");
    Ok(())
}
