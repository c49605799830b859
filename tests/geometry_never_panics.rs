//! Whatever the numbers, `Geometry::new` answers, and what it accepts answers every question.

use std::hint::black_box;

use b2nd_serde::Geometry;
use b2nd_serde::geometry::Position;
use proptest::prelude::*;

fn wide() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(0),
        1..10_i64,
        (0..63_u32).prop_map(|bits| 1 << bits),
        (i64::MAX - 3..=i64::MAX),
        (i64::MIN..=i64::MIN + 3),
        any::<i64>(),
    ]
}

fn narrow() -> impl Strategy<Value = i32> {
    prop_oneof![
        Just(0),
        1..10_i32,
        (0..31_u32).prop_map(|bits| 1 << bits),
        (i32::MAX - 3..=i32::MAX),
        (i32::MIN..=i32::MIN + 3),
        any::<i32>(),
    ]
}

/// Dimensions that have a chance to be accepted, for all their size.
fn axis() -> impl Strategy<Value = (i64, i32, i32)> {
    prop_oneof![
        2 => (0..4_i64, 1..3_i32, 1..3_i32),
        2 => (wide().prop_map(|items| items.saturating_abs()), 1..3_i32, 1..3_i32),
        1 => (1..4_i64, narrow().prop_map(|items| items.saturating_abs().max(1)), 1..3_i32),
        1 => (1..4_i64, 1..3_i32, narrow().prop_map(|items| items.saturating_abs().max(1))),
        1 => (Just(0), Just(0), narrow().prop_map(i32::saturating_abs)),
        1 => (Just(0), narrow().prop_map(|items| items.saturating_abs().max(1)), 1..3_i32),
        1 => (Just(0), 1..3_i32, narrow().prop_map(|items| items.saturating_abs().max(1))),
    ]
}

/// Numbers to ask for, among which are those at the edge of a geometry.
fn question() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..10_u64,
        wide().prop_map(|number| u64::from_ne_bytes(number.to_ne_bytes())),
        any::<u64>()
    ]
}

/// Asks everything there is to ask, without a walk over more than some chunks, blocks and runs.
fn ask(geometry: &Geometry, questions: &[u64], shape: &[i64], typesize: usize) {
    const SOME: usize = 3;
    let product = |dimensions: &[u64]| -> Option<u128> {
        if dimensions.contains(&0) {
            return Some(0);
        }
        dimensions
            .iter()
            .try_fold(1_u128, |product, &items| product.checked_mul(items.into()))
    };
    let counts = [
        (geometry.shape(), geometry.nitems()),
        (geometry.grid_of_chunks(), geometry.nchunks()),
        (geometry.chunkshape(), geometry.chunk_nitems()),
        (geometry.padded_chunk(), geometry.padded_chunk_nitems()),
        (geometry.blocks_per_chunk(), geometry.nblocks()),
        (geometry.blockshape(), geometry.block_nitems()),
    ];
    for (dimensions, count) in counts {
        assert_eq!(product(&dimensions), Some(count.into()), "{geometry:?}");
    }
    assert!(product(&geometry.extended_shape()).is_some_and(|items| items <= i64::MAX.unsigned_abs().into()));
    assert!((0.0..=1.0).contains(&geometry.padding()), "{geometry:?}");
    black_box(geometry.chunk_nbytes(typesize).is_ok());
    black_box(format!("{geometry:?}"));

    // Random coordinates and positions, and those of the first and last item.
    let last: Vec<u64> = geometry
        .shape()
        .iter()
        .map(|items| items.saturating_sub(1))
        .collect();
    let first = vec![0; geometry.ndim()];
    for coordinate in [
        questions,
        questions.get(..geometry.ndim()).unwrap_or_default(),
        &first,
        &last,
    ] {
        if let Some(position) = geometry.position(coordinate) {
            assert_eq!(
                geometry.coordinate(position).as_deref(),
                Some(coordinate),
                "{geometry:?}"
            );
            if let Some(byte) = geometry.byte_offset(position, typesize) {
                assert!(
                    typesize == 0 || geometry.position_at(position.chunk, byte, typesize) == Some(position)
                );
            }
        }
    }
    let has_items = geometry.nitems() > 0;
    assert_eq!(geometry.position(&last).is_some(), has_items, "{geometry:?}");
    for numbers in questions.chunks_exact(3) {
        let (chunk, block, item) = (numbers[0], numbers[1], numbers[2]);
        for chunk in [chunk, geometry.nchunks().wrapping_sub(1), geometry.nchunks()] {
            for block in [block, geometry.nblocks().wrapping_sub(1)] {
                for item in [item, geometry.block_nitems().wrapping_sub(1)] {
                    let position = Position { chunk, block, item };
                    black_box(geometry.coordinate(position));
                    black_box(geometry.byte_offset(position, typesize));
                }
            }
            let byte = usize::try_from(item).unwrap_or(usize::MAX);
            black_box(geometry.position_at(chunk, byte, typesize));
            black_box(geometry.chunk(chunk).map(|chunk| chunk.extent()));
        }
    }

    let cut = |(&items, cuts): (&u64, &[u64])| {
        let at = |cut: u64| items.checked_add(1).map_or(0, |items| cut % items);
        at(cuts[0]).min(at(cuts[1]))..at(cuts[0]).max(at(cuts[1]))
    };
    let slice: Vec<_> = geometry
        .shape()
        .iter()
        .zip(questions.chunks_exact(2))
        .map(cut)
        .collect();
    let slices = [
        geometry.chunks_in(&slice),
        geometry.chunks_in(&[questions[0]..questions[1]]),
    ];
    let last_chunk = geometry.chunk(geometry.nchunks().wrapping_sub(1));
    assert_eq!(last_chunk.is_some(), has_items, "{geometry:?}");
    let chunks = slices
        .into_iter()
        .flatten()
        .chain([geometry.chunks()])
        .flat_map(|chunks| chunks.take(SOME));
    for chunk in chunks.chain(last_chunk) {
        black_box((
            chunk.number(),
            chunk.extent().nitems(),
            chunk.blocks().size_hint(),
        ));
        for block in chunk.blocks().take(SOME) {
            black_box((
                block.number(),
                block.extent().shape(),
                block.byte_offset(typesize),
            ));
            for run in block.runs().take(SOME) {
                black_box((run.source(typesize), run.target(typesize)));
            }
        }
    }

    for shape in [shape, shape.get(..geometry.ndim()).unwrap_or_default()] {
        if let Ok(resize) = geometry.resize(shape) {
            black_box(resize.changes_chunks());
            black_box((
                resize.new_chunks().take(SOME).max(),
                resize.gone_chunks().take(SOME).max(),
            ));
            assert!(
                resize.kept_chunks().take(SOME).all(|(before, after)| {
                    before < geometry.nchunks() && after < resize.after().nchunks()
                })
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_numbers_are_a_geometry_or_an_error(
        shape in prop::collection::vec(wide(), 0..18),
        chunkshape in prop::collection::vec(narrow(), 0..18),
        blockshape in prop::collection::vec(narrow(), 0..18),
        questions in prop::collection::vec(question(), 33),
    ) {
        let ndim = shape.len().min(chunkshape.len()).min(blockshape.len());
        let _ = Geometry::new(&shape, &chunkshape, &blockshape).map_err(|error| error.to_string());
        match Geometry::new(&shape[..ndim], &chunkshape[..ndim], &blockshape[..ndim]) {
            Ok(geometry) => ask(&geometry, &questions, &shape, 8),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn what_is_accepted_answers_every_question(
        axes in prop::collection::vec(axis(), 0..=16),
        questions in prop::collection::vec(question(), 33),
        new_shape in prop::collection::vec(prop_oneof![0..9_i64, wide()], 16),
        typesize in prop_oneof![Just(0), 1..300_usize, Just(usize::MAX)],
    ) {
        // As many dimensions as are accepted together.
        let (mut shape, mut chunkshape, mut blockshape) = (vec![], vec![], vec![]);
        for (items, chunk, block) in axes {
            shape.push(items);
            chunkshape.push(chunk);
            blockshape.push(block);
            if Geometry::new(&shape, &chunkshape, &blockshape).is_err() {
                shape.pop();
                chunkshape.pop();
                blockshape.pop();
            }
        }
        // What is accepted in one order is accepted in any: so a zero comes to stand behind what it makes harmless.
        for _ in 0..2 {
            let geometry = Geometry::new(&shape, &chunkshape, &blockshape);
            ask(&geometry.expect("accepted dimensions"), &questions, &new_shape, typesize);
            shape.reverse();
            chunkshape.reverse();
            blockshape.reverse();
        }
    }
}
