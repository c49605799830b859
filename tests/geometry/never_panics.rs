//! `Geometry::new` does not panic, whatever the numbers are, and no method of an accepted geometry panics.

use std::cell::Cell;
use std::hint::black_box;

use b2nd_serde::geometry::Position;
use b2nd_serde::{Geometry, Shapes};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

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

/// The numbers of one dimension in the shape, in the chunk shape and in the block shape. One of the three numbers can
/// be large, or all three, but they are chosen so that `Geometry::new` accepts them in most cases.
fn axis() -> impl Strategy<Value = (i64, i32, i32)> {
    let large = || narrow().prop_map(|items| items.saturating_abs().max(1));
    let all_large = (large(), 1..4_i64, 1..3_i32).prop_map(|(items, chunks, blocks)| {
        (i64::from(items) * chunks, items, items / blocks + items % blocks)
    });
    prop_oneof![
        8 => all_large,
        8 => (1..9_i64, 1..6_i32, 1..4_i32),
        2 => (0..4_i64, 1..3_i32, 1..3_i32),
        2 => (wide().prop_map(i64::saturating_abs), 1..3_i32, 1..3_i32),
        1 => (1..4_i64, large(), 1..3_i32),
        1 => (1..4_i64, 1..3_i32, large()),
        1 => (Just(0), Just(0), narrow().prop_map(i32::saturating_abs)),
        1 => (Just(0), large(), 1..3_i32),
        1 => (Just(0), 1..3_i32, large()),
    ]
}

/// An argument for a method of `Geometry`: a small number, any number, or a number near a limit.
fn question() -> impl Strategy<Value = u64> {
    prop_oneof![0..10_u64, wide().prop_map(|number| u64::from_ne_bytes(number.to_ne_bytes())), any::<u64>()]
}

/// The maximum number of items that are tested at the start of an iterator. The same number of random numbers, from the
/// list `questions`, select further items. The last item is tested too.
const SOME: usize = 3;

/// Calls every method of a geometry, with the questions as arguments.
fn ask(geometry: &Geometry, questions: &[u64], shape: &[i64], typesize: usize) {
    ask_for_counts(geometry, typesize);
    ask_for_items(geometry, questions, typesize);
    ask_for_positions(geometry, questions, typesize);
    ask_for_chunks(geometry, questions, typesize);
    ask_for_resizes(geometry, questions, shape);
}

fn ask_for_counts(geometry: &Geometry, typesize: usize) {
    let product = |dimensions: &[u64]| -> Option<u128> {
        if dimensions.contains(&0) {
            return Some(0);
        }
        let mut factors = dimensions.iter().copied().map(u128::from);
        factors.try_fold(1_u128, u128::checked_mul)
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
    let extended = product(&geometry.extended_shape());
    assert!(extended.is_some_and(|items| items <= i64::MAX.unsigned_abs().into()), "{geometry:?}");
    assert!((0.0..=1.0).contains(&geometry.padding()), "{geometry:?}");
    black_box(geometry.chunk_nbytes(typesize).is_ok());
}

/// Calls the methods that have a coordinate as their argument: with coordinates from the questions, and with those of
/// the first and of the last item.
fn ask_for_items(geometry: &Geometry, questions: &[u64], typesize: usize) {
    let last: Vec<u64> = geometry.shape().iter().map(|items| items.saturating_sub(1)).collect();
    let first = vec![0; geometry.ndim()];
    for coordinate in [questions, &questions[..geometry.ndim()], &first, &last] {
        let Some(position) = geometry.position(coordinate) else {
            continue;
        };
        let found = geometry.coordinate(position);
        assert_eq!(found.as_deref(), Some(coordinate), "{geometry:?}");
        if let Some(byte) = geometry.byte_offset(position, typesize) {
            let found = geometry.position_at(position.chunk, byte, typesize);
            assert!(typesize == 0 || found == Some(position), "{geometry:?}");
        }
    }
    assert_eq!(geometry.position(&last).is_some(), geometry.nitems() > 0, "{geometry:?}");
}

/// Calls the methods that have a position as their argument: with positions from the questions, and with the last
/// chunk, block or item.
fn ask_for_positions(geometry: &Geometry, questions: &[u64], typesize: usize) {
    for numbers in questions.chunks_exact(3) {
        for chunk in [numbers[0], geometry.nchunks().wrapping_sub(1), geometry.nchunks()] {
            for block in [numbers[1], geometry.nblocks().wrapping_sub(1)] {
                for item in [numbers[2], geometry.block_nitems().wrapping_sub(1)] {
                    let position = Position { chunk, block, item };
                    black_box(geometry.coordinate(position));
                    black_box(geometry.byte_offset(position, typesize));
                }
            }
            let byte = usize::try_from(numbers[2]).unwrap_or(usize::MAX);
            black_box(geometry.position_at(chunk, byte, typesize));
        }
    }
}

/// Some items of a walk: the first items, the last item, and the items whose numbers are in `questions`.
fn some<I: Iterator + Clone>(walk: &I, questions: &[u64]) -> Vec<I::Item> {
    let count = walk.clone().count();
    assert_eq!(walk.size_hint().0, count);
    let mut items: Vec<_> = walk.clone().take(SOME).chain(walk.clone().last()).collect();
    assert_eq!(items.len(), count.min(SOME) + count.min(1));
    for &question in questions.iter().take(SOME) {
        let far = usize::try_from(question).unwrap_or(usize::MAX);
        // A walk can be longer than `usize::MAX`. Then `count` returns `usize::MAX`, although the walk has more items.
        if far < usize::MAX || count < usize::MAX {
            assert_eq!(walk.clone().nth(far).is_some(), far < count);
        }
        items.extend(far.checked_rem(count).and_then(|far| walk.clone().nth(far)));
    }
    items
}

/// Tests some chunks of a slice and of the array, with some of their blocks and runs.
fn ask_for_chunks(geometry: &Geometry, questions: &[u64], typesize: usize) {
    let cut = |(&items, cuts): (&u64, &[u64])| {
        if cuts[0] % 2 == 0 {
            return 0..items;
        }
        let (a, b) = (cuts[0] % (items + 1), cuts[1] % (items + 1));
        a.min(b)..a.max(b)
    };
    let slice: Vec<_> = geometry.shape().iter().zip(questions.chunks_exact(2)).map(cut).collect();
    let anything: Vec<_> = questions.chunks_exact(2).map(|cuts| cuts[0]..cuts[1]).collect();
    black_box(geometry.chunks_in(&anything).is_ok());
    black_box(geometry.chunks_in(&anything[..geometry.ndim()]).is_ok());
    let steps: Vec<_> = questions.iter().cycle().take(geometry.ndim()).copied().collect();
    black_box(geometry.chunks_in_steps(&anything, &steps).is_ok());
    let in_slice = geometry.chunks_in(&slice).expect("the slice is within the array");
    // Half of the steps are short.
    let steps: Vec<_> =
        steps.iter().map(|&step| if step % 2 == 0 { step / 2 % 4 + 1 } else { step }).collect();
    let in_steps = geometry.chunks_in_steps(&slice, &steps).expect("no step is 0");

    let last = geometry.chunk(geometry.nchunks().wrapping_sub(1));
    assert_eq!(last.is_some(), geometry.nitems() > 0, "{geometry:?}");
    let chunks = [in_slice, in_steps, geometry.chunks()];
    for chunk in chunks.iter().flat_map(|chunks| some(chunks, questions)).chain(last) {
        black_box((chunk.number(), chunk.extent().nitems(), chunk.whole()));
        for block in some(&chunk.blocks(), questions) {
            black_box((block.number(), block.extent().shape(), block.byte_offset(typesize)));
            for run in some(&block.runs(), questions) {
                black_box((run.source(typesize), run.target(typesize)));
            }
        }
    }
}

fn ask_for_resizes(geometry: &Geometry, questions: &[u64], shape: &[i64]) {
    for shape in [shape, shape.get(..geometry.ndim()).unwrap_or_default()] {
        let Ok(resize) = geometry.resize(shape) else {
            continue;
        };
        let (before, after) = (geometry.nchunks(), resize.after().nchunks());
        assert!(before == after || resize.changes_chunks(), "{resize:?}");
        let mut kept = some(&resize.kept_chunks(), questions).into_iter();
        assert!(kept.all(|numbers| numbers.0 < before && numbers.1 < after), "{resize:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn geometry_new_accepts_or_rejects_any_numbers(
        shape in prop::collection::vec(wide(), 0..18),
        chunkshape in prop::collection::vec(narrow(), 0..18),
        blockshape in prop::collection::vec(narrow(), 0..18),
        questions in prop::collection::vec(question(), 33),
    ) {
        let ndim = shape.len().min(chunkshape.len()).min(blockshape.len());
        if let Err(error) = Geometry::new(Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape }) {
            prop_assert!(!error.to_string().is_empty());
        }
        match Geometry::new(Shapes { shape: &shape[..ndim], chunkshape: &chunkshape[..ndim], blockshape: &blockshape[..ndim] }) {
            Ok(geometry) => ask(&geometry, &questions, &shape, 8),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// Three shapes that `Geometry::new` accepts: some of the dimensions of `axes`.
fn accepted(axes: Vec<(i64, i32, i32)>) -> (Vec<i64>, Vec<i32>, Vec<i32>) {
    // Adds the dimensions one by one, and skips each that would make the shapes invalid.
    let (mut shape, mut chunkshape, mut blockshape) = (vec![], vec![], vec![]);
    for (items, chunk, block) in axes {
        shape.push(items);
        chunkshape.push(chunk);
        blockshape.push(block);
        let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
        if Geometry::new(shapes).is_err() {
            shape.pop();
            chunkshape.pop();
            blockshape.pop();
        }
    }
    (shape, chunkshape, blockshape)
}

#[test]
fn geometry_methods_do_not_panic_for_accepted_shapes() {
    let inputs = (
        prop::collection::vec(axis(), 0..=16),
        prop::collection::vec(question(), 33),
        prop::collection::vec(prop_oneof![0..9_i64, wide()], 16),
        prop_oneof![Just(0), 1..300_usize, Just(usize::MAX)],
    );
    let (dimensions, items) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&inputs, |(axes, questions, new_shape, typesize)| {
        let (mut shape, mut chunkshape, mut blockshape) = accepted(axes);
        // If `Geometry::new` accepts some dimensions in one order, it accepts them in every order. In the reverse
        // order, a dimension of 0 can come after dimensions whose product overflows.
        for _ in 0..2 {
            let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
            let geometry = Geometry::new(shapes).expect("accepted dimensions");
            ask(&geometry, &questions, &new_shape, typesize);
            items.set(items.get() + u32::from(geometry.nitems() > 1));
            shape.reverse();
            chunkshape.reverse();
            blockshape.reverse();
        }
        dimensions.set(dimensions.get() + shape.len());
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        dimensions.get() >= 1000 && items.get() >= 20,
        "{dimensions:?} dimensions, {items:?} arrays of several items"
    );
}
