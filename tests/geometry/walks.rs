//! A walk counts, skips and reaches its end in constant time, however long it is. The results are the same as with
//! single steps.

use std::fmt::Debug;
use std::ops::Range;

use b2nd_serde::geometry::{Error, ErrorKind};
use b2nd_serde::{Geometry, Shapes};
use proptest::prelude::*;

/// Counts, skips and reaches the end with single steps, and compares the results with those of the walk's methods.
fn assert_as_by_steps<I>(walk: I)
where
    I: Iterator + Clone,
    I::Item: PartialEq + Clone + Debug,
{
    let mut rest = walk.clone();
    let steps: Vec<_> = rest.by_ref().collect();
    assert!(rest.next().is_none(), "it goes on behind its end");
    for (passed, item) in steps.iter().enumerate() {
        // Calls `nth` to reach `item`: from the start of the walk, from half way to `item`, and from directly before
        // `item`.
        for from in [0, passed / 2, passed] {
            let mut walk = walk.clone();
            for _ in 0..from {
                walk.next();
            }
            let left = steps.len() - from;
            assert_eq!(walk.size_hint(), (left, Some(left)));
            assert_eq!(walk.clone().count(), left);
            assert_eq!(walk.clone().last().as_ref(), steps.last());
            assert_eq!(walk.nth(passed - from).as_ref(), Some(item), "{passed} from {from}");
            assert_eq!(walk.next().as_ref(), steps.get(passed + 1));
        }
    }
    let mut walk = walk;
    assert_eq!(walk.clone().nth(usize::MAX), None);
    assert_eq!(walk.nth(steps.len()), None);
    assert_eq!((walk.size_hint(), walk.next()), ((0, Some(0)), None));
    assert_eq!((walk.clone().count(), walk.last()), (0, None));
}

/// Small dimensions, some of them 0, with few chunks and blocks. Each dimension has two lengths, for the time before
/// and after a resize.
fn small() -> impl Strategy<Value = Vec<((i64, i64), (i32, i32))>> {
    prop::collection::vec(((0..6_i64, 0..6_i64), (1..4_i32, 1..4_i32)), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunks_blocks_runs_and_kept_chunks_go_as_by_steps(axes in small(), steps in [1..4_u64, 1..4, 1..4]) {
        let (shapes, parts): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
        let (shape, new_shape): (Vec<_>, Vec<_>) = shapes.into_iter().unzip();
        let (chunkshape, blockshape): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let geometry = Geometry::new(Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape }).expect("the vectors follow the rules");
        assert_as_by_steps(geometry.chunks());
        let slice: Vec<_> = geometry.shape().iter().map(|&items| items / 3..items).collect();
        let in_slice = geometry.chunks_in(&slice).expect("the slice is within the array");
        let in_steps = geometry.chunks_in_steps(&slice, &steps[..slice.len()]).expect("no step is 0");
        assert_as_by_steps(in_steps.clone());
        for chunk in geometry.chunks().take(2).chain(in_slice).chain(in_steps) {
            assert_as_by_steps(chunk.blocks());
            for block in chunk.blocks().take(2) {
                assert_as_by_steps(block.runs());
            }
        }
        let resize = geometry.resize(&new_shape).expect("the shape follows the rules");
        assert_as_by_steps(resize.kept_chunks());
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn chunks_and_kept_chunks_count_skip_and_end_at_once() -> Result<(), Error> {
    const CHUNKS: u64 = 1 << 62;
    const FAR: usize = 1 << 40;
    let count = 1_usize << 62;
    let far = FAR as u64;

    let geometry =
        Geometry::new(Shapes { shape: &[1 << 31, 1 << 31], chunkshape: &[1, 1], blockshape: &[1, 1] })?;
    assert_eq!(geometry.chunks().count(), count);
    assert_eq!(geometry.chunks().last().map(|chunk| chunk.number()), Some(CHUNKS - 1));
    assert_eq!(geometry.chunks().nth(FAR).map(|chunk| chunk.number()), Some(far));
    let mut rest = geometry.chunks().skip(FAR);
    assert_eq!(rest.next().map(|chunk| chunk.number()), Some(far));
    assert_eq!(rest.count(), count - FAR - 1);
    assert_eq!(geometry.chunks().step_by(FAR).nth(1000), geometry.chunk(1000 * far));

    // This resize removes the last row of chunks, and adds a column of chunks on the right. It keeps all chunks except
    // those of the last row.
    let resize = geometry.resize(&[(1 << 31) - 1, (1 << 31) + 1])?;
    let (row, column) = (1_u64 << 31, (1_u64 << 31) - 1);
    assert_eq!(resize.kept_chunks().count() as u64, CHUNKS - row);
    assert_eq!(resize.kept_chunks().nth(FAR), Some((far, far + far / row)));
    assert_eq!(resize.kept_chunks().last(), Some((CHUNKS - row - 1, CHUNKS - row - 1 + column - 1)));

    // The first resize removes all chunks. The second resize adds the same number of new chunks, and keeps none.
    let all_gone = geometry.resize(&[0, 1 << 31])?;
    assert!(all_gone.changes_chunks());
    let all_new = all_gone.after().resize(&[1 << 31, 1 << 31])?;
    assert_eq!((all_new.kept_chunks().count(), all_new.kept_chunks().last()), (0, None));
    Ok(())
}

#[test]
fn blocks_and_runs_know_their_length() -> Result<(), Error> {
    // The maximum number of items in a chunk.
    let geometry =
        Geometry::new(Shapes { shape: &[i32::MAX.into()], chunkshape: &[i32::MAX], blockshape: &[1] })?;
    let chunk = geometry.chunk(0).expect("a chunk");
    assert_eq!(chunk.blocks().len(), 0x7fff_ffff);
    assert_eq!(chunk.blocks().last().map(|block| block.number()), Some(0x7fff_fffe));
    let geometry = Geometry::new(Shapes {
        shape: &[i32::MAX.into(), 2],
        chunkshape: &[i32::MAX, 1],
        blockshape: &[i32::MAX, 1],
    })?;
    let block = geometry.chunk(1).and_then(|chunk| chunk.blocks().next()).expect("a block");
    assert_eq!(block.runs().len(), 0x7fff_ffff);
    let last = block.runs().last().expect("a run");
    assert_eq!(last.start().as_ref(), [0x7fff_fffe, 1]);
    assert_eq!(
        (last.source(1), last.target(1)),
        (Some(0x7fff_fffe..0x7fff_ffff), Some(0xffff_fffd..0xffff_fffe))
    );
    Ok(())
}

#[test]
fn block_byte_offset_is_the_end_of_the_blocks_before_it() -> Result<(), Error> {
    let geometry = Geometry::new(Shapes { shape: &[6, 6], chunkshape: &[4, 4], blockshape: &[2, 2] })?;
    let chunk = geometry.chunk(0).expect("a chunk");
    let bytes: Vec<_> = chunk.blocks().map(|block| block.byte_offset(8)).collect();
    assert_eq!(bytes, [Some(0), Some(32), Some(64), Some(96)]);
    let last = chunk.blocks().last().expect("a block");
    assert_eq!(last.byte_offset(usize::MAX), None);
    Ok(())
}

#[test]
fn runs_go_on_as_long_as_nothing_lies_between() -> Result<(), Error> {
    type Case<'a> = (&'a [i64], &'a [i32], &'a [i32], usize, u64);
    /// Shape, chunk shape, block shape, then the number of runs of the first block, and the items of each run.
    const CASES: &[Case] = &[
        // A dimension of one item, at the end or in the middle, does not split a run.
        (&[1000, 1000, 1], &[100, 100, 1], &[100, 100, 1], 100, 100),
        (&[1000, 1, 1000], &[100, 1, 100], &[100, 1, 100], 100, 100),
        (&[1, 1, 1000], &[1, 1, 100], &[1, 1, 50], 1, 50),
        // If the rows of a block are as long as the rows of the array, several rows of the block are one run.
        (&[6, 5, 4], &[3, 5, 4], &[2, 5, 4], 1, 40),
        (&[6, 5, 4], &[3, 5, 4], &[2, 3, 4], 2, 12),
        (&[6, 5, 4], &[3, 5, 3], &[2, 5, 3], 10, 3),
        // A row of the block is longer than a row of the array, so there is padding between the rows.
        (&[6, 5, 4], &[3, 5, 4], &[2, 5, 5], 10, 4),
        (&[6, 5, 4], &[3, 5, 5], &[2, 5, 5], 10, 4),
    ];
    for &(shape, chunkshape, blockshape, runs, nitems) in CASES {
        let geometry = Geometry::new(Shapes { shape, chunkshape, blockshape })?;
        let block = geometry.chunk(0).and_then(|chunk| chunk.blocks().next()).expect("a block");
        assert_eq!(block.runs().len(), runs, "{geometry:?}");
        assert!(block.runs().all(|run| run.nitems() == nitems), "{geometry:?}");
    }
    // A run ends at each item of a dimension with a step, even if the next run follows directly in the block and in the
    // slice: here the second and the third run.
    let runs = |shape: &[i64], parts: &[i32], slice: &[Range<u64>], steps: &[u64]| -> Result<Vec<_>, Error> {
        let geometry = Geometry::new(Shapes { shape, chunkshape: parts, blockshape: parts })?;
        let block = geometry.chunks_in_steps(slice, steps)?.next().and_then(|chunk| chunk.blocks().next());
        Ok(block
            .expect("a block")
            .runs()
            .map(|run| (run.source(1).unwrap(), run.target(1).unwrap()))
            .collect())
    };
    let found = runs(&[2, 3], &[2, 3], &[0..2, 0..3], &[1, 2])?;
    assert_eq!(found, [(0..1, 0..1), (2..3, 1..2), (3..4, 2..3), (5..6, 3..4)]);
    let found = runs(&[2, 3, 2], &[2, 3, 2], &[0..2, 0..3, 0..2], &[1, 2, 1])?;
    assert_eq!(found, [(0..2, 0..2), (4..6, 2..4), (6..8, 4..6), (10..12, 6..8)]);
    Ok(())
}

#[test]
fn gather_and_scatter_reject_items_without_bytes() {
    let geometry =
        Geometry::new(Shapes { shape: &[1 << 40], chunkshape: &[1 << 20], blockshape: &[1] }).unwrap();
    let chunk = geometry.chunk(0).unwrap();
    // Items of 0 bytes need no bytes, so the empty buffers are long enough. Only the type size is refused.
    for copied in [chunk.gather(&[], 0, &mut []), chunk.scatter(&[], 0, &mut [])] {
        let error = copied.unwrap_err();
        assert_eq!((error.kind(), error.entry(), error.dimension()), (ErrorKind::TypeSize, None, None));
        assert_eq!(error.to_string(), "the type size is 0, but must be at least 1");
    }
}

#[test]
fn gather_and_scatter_name_the_buffer_that_is_too_short() {
    let geometry =
        Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }).unwrap();
    let chunk = geometry.chunk(3).unwrap();
    let cases = [
        (1, 15, "the chunk has 1 byte, but a whole chunk has 8"),
        // Only 2 items of this chunk are in the array. They are the first 2 bytes of the chunk, so the chunk may end
        // after them, without its padding.
        (2, 15, ""),
        (8, 14, "the array has 14 bytes, but a whole array has 15"),
        (0, 0, "the array has 0 bytes, but a whole array has 15"),
    ];
    for (chunk_len, array_len, says) in cases {
        let (mut in_chunk, mut in_array) = ([0; 8], [0; 15]);
        let (in_chunk, in_array) = (&mut in_chunk[..chunk_len], &mut in_array[..array_len]);
        for copied in [chunk.gather(in_array, 1, in_chunk), chunk.scatter(in_chunk, 1, in_array)] {
            assert_eq!(copied.err().map_or(String::new(), |error| error.to_string()), says);
            assert!(copied.err().is_none_or(|error| error.kind() == ErrorKind::BufferTooSmall));
        }
    }
    // A slice of two items of 4 bytes.
    let chunk = geometry.chunks_in(&[1..2, 3..5]).unwrap().next().unwrap();
    let error = chunk.scatter(&[0; 32], 4, &mut [0; 7]).unwrap_err();
    assert_eq!(error.to_string(), "the array has 7 bytes, but a whole array has 8");
    let error = chunk.scatter(&[0; 23], 4, &mut [0; 8]).unwrap_err();
    assert_eq!(error.to_string(), "the chunk has 23 bytes, but a whole chunk has 32");
}
