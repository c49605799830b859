//! Compares geometries with the formulas of the draft specification. These formulas are computed in wide integers,
//! which do not overflow.

use b2nd_serde::geometry::Position;
use b2nd_serde::{Geometry, Shapes};

use crate::choices::Choices;

/// Enough bytes for 18 dimensions with four numbers each, and for the other choices. Most numbers need one byte.
const COUNT: usize = 120;

pub fn seeds() -> Vec<Vec<u8>> {
    crate::seeds::choices(COUNT, &[])
}

pub fn run(data: &[u8]) {
    let (mut choices, _) = Choices::split(data, data.len());
    if choices.flag() { wide(&mut choices) } else { small(&mut choices) }
}

fn product(factors: impl Iterator<Item = i128> + Clone) -> Option<i128> {
    if factors.clone().any(|factor| factor == 0) {
        return Some(0);
    }
    factors.into_iter().try_fold(1_i128, i128::checked_mul)
}

fn round_up(items: i128, part: i128) -> i128 {
    if part == 0 { 0 } else { (items + part - 1) / part * part }
}

/// Asserts that `Geometry::new` accepts shapes that follow the rules of the draft specification, and refuses all
/// others. The shapes have any numbers.
fn wide(choices: &mut Choices<'_>) {
    let ndim = choices.below(19);
    let number = |choices: &mut Choices<'_>| match choices.byte() {
        byte @ 0..120 => i64::from(byte % 10),
        byte @ 120..200 => 1_i64.wrapping_shl(byte.into()).wrapping_add(i64::from(byte % 3) - 1),
        200..230 => i64::from_ne_bytes(choices.wide().to_ne_bytes()),
        230..250 => 1,
        byte => i64::MAX - i64::from(byte % 4),
    };
    #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
    let narrow = |choices: &mut Choices<'_>| number(choices) as i32;
    let shape: Vec<i64> = (0..ndim).map(|_| number(choices)).collect();
    let chunkshape: Vec<i32> = (0..ndim).map(|_| narrow(choices)).collect();
    let blockshape: Vec<i32> = (0..ndim).map(|_| narrow(choices)).collect();
    let made = Geometry::new(Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape });

    let axes = || {
        shape.iter().zip(&chunkshape).zip(&blockshape).map(|((&s, &c), &b)| (s.into(), c.into(), b.into()))
    };
    let rules =
        |(s, c, b): (i128, i128, i128)| s >= 0 && c >= 0 && b >= 0 && (s == 0 || c > 0) && (c == 0 || b > 0);
    let at_most = |count: Option<i128>, most: i128| count.is_some_and(|count| count <= most);
    let keeps = ndim <= 16
        && axes().all(rules)
        && axes().all(|(s, c, _)| round_up(s, c) <= i64::MAX.into())
        && at_most(product(axes().map(|(s, c, _)| round_up(s, c))), i64::MAX.into())
        && at_most(product(axes().map(|(_, c, _)| c)), i32::MAX.into())
        && at_most(product(axes().map(|(_, _, b)| b)), i32::MAX.into())
        && at_most(product(axes().map(|(_, c, b)| round_up(c, b))), i64::MAX.into());
    assert_eq!(made.is_ok(), keeps, "{shape:?} {chunkshape:?} {blockshape:?}: {made:?}");
    let Ok(geometry) = made else { return };
    assert_eq!(Some(geometry.nitems().into()), product(axes().map(|(s, _, _)| s)));
    let last: Vec<u64> = shape.iter().map(|items| items.unsigned_abs().saturating_sub(1)).collect();
    let position = geometry.position(&last);
    assert_eq!(position.is_some(), geometry.nitems() > 0);
    if let Some(position) = position {
        assert_eq!(geometry.coordinate(position).as_deref(), Some(&last[..]));
        assert_eq!(geometry.chunks().last().map(|chunk| chunk.number()), Some(geometry.nchunks() - 1));
    }
    let any = Position { chunk: choices.wide(), block: choices.wide(), item: choices.wide() };
    if let Some(coordinate) = geometry.coordinate(any) {
        assert_eq!(geometry.position(&coordinate), Some(any));
    }
    let other: Vec<i64> = (0..ndim).map(|_| number(choices)).collect();
    if let Ok(resize) = geometry.resize(&other) {
        let kept = resize.kept_chunks().nth(1 << 10);
        assert!(kept.is_none_or(|(old, new)| old < geometry.nchunks() && new < resize.after().nchunks()));
    }
}

/// All coordinates of a shape, in C order.
fn coordinates(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![vec![]], |all, &items| {
        all.iter().flat_map(|start| (0..items).map(move |x| [&start[..], &[x]].concat())).collect()
    })
}

fn linear(x: impl Iterator<Item = u64>, of: impl Iterator<Item = u64>) -> u64 {
    x.zip(of).fold(0, |sum, (x, of)| sum * of + x)
}

fn survives_being_cut_into_chunks(geometry: &Geometry, shape: &[u64], typesize: usize) {
    let nitems = usize::try_from(geometry.nitems()).expect("small");
    let array: Vec<u8> = (1..=251).cycle().take(nitems * typesize).collect();
    let mut back = vec![0; array.len()];
    for chunk in geometry.chunks() {
        let mut bytes = vec![0; geometry.chunk_nbytes(typesize).expect("small")];
        chunk.gather(&array, typesize, &mut bytes).expect("room");
        for (number, item) in bytes.chunks_exact(typesize).enumerate() {
            let position =
                geometry.position_at(chunk.number(), number * typesize, typesize).expect("in the chunk");
            let expected =
                geometry.coordinate(position).map(|x| linear(x.iter().copied(), shape.iter().copied()));
            let expected = expected.map(|at| usize::try_from(at).expect("small") * typesize);
            assert_eq!(
                item,
                expected.map_or(&[0; 5][..typesize], |at| &array[at..at + typesize]),
                "{geometry:?}"
            );
        }
        chunk.scatter(&bytes, typesize, &mut back).expect("room");
    }
    assert_eq!(array, back, "{geometry:?}");
}

/// Asserts that every item of a small array has the position that the formulas give. Also asserts that the items keep
/// their values if they are copied into chunks and back.
fn small(choices: &mut Choices<'_>) {
    let ndim = choices.below(4);
    let mut numbers =
        |from: u64, count| (0..ndim).map(|_| from + choices.below(count) as u64).collect::<Vec<u64>>();
    let (shape, chunks, blocks, other) = (numbers(0, 8), numbers(1, 6), numbers(1, 6), numbers(0, 10));
    let typesize = 1 + choices.below(5);
    let narrow =
        |numbers: &[u64]| numbers.iter().map(|&x| i32::try_from(x).expect("small")).collect::<Vec<_>>();
    let signed =
        |numbers: &[u64]| numbers.iter().map(|&x| i64::try_from(x).expect("small")).collect::<Vec<_>>();
    let geometry = Geometry::new(Shapes {
        shape: &signed(&shape),
        chunkshape: &narrow(&chunks),
        blockshape: &narrow(&blocks),
    });
    let geometry = geometry.expect("the rules are kept");

    let grid = |shape: &[u64]| shape.iter().zip(&chunks).map(|(s, c)| s.div_ceil(*c)).collect::<Vec<_>>();
    let in_chunk: Vec<u64> = chunks.iter().zip(&blocks).map(|(c, b)| c.div_ceil(*b)).collect();
    assert_eq!((&*geometry.grid_of_chunks(), &*geometry.blocks_per_chunk()), (&*grid(&shape), &*in_chunk));
    for x in coordinates(&shape) {
        let chunk = x.iter().zip(&chunks).map(|(x, c)| x / c);
        let rest = || x.iter().zip(&chunks).map(|(x, c)| x % c).zip(&blocks);
        let position = Position {
            chunk: linear(chunk, grid(&shape).into_iter()),
            block: linear(rest().map(|(r, b)| r / b), in_chunk.iter().copied()),
            item: linear(rest().map(|(r, b)| r % b), blocks.iter().copied()),
        };
        assert_eq!(geometry.position(&x), Some(position), "{geometry:?} {x:?}");
        assert_eq!(geometry.coordinate(position).as_deref(), Some(&x[..]), "{geometry:?}");
        let byte = usize::try_from(position.block * geometry.block_nitems() + position.item).expect("small")
            * typesize;
        assert_eq!(geometry.byte_offset(position, typesize), Some(byte));
        assert_eq!(geometry.position_at(position.chunk, byte + typesize - 1, typesize), Some(position));
    }

    survives_being_cut_into_chunks(&geometry, &shape, typesize);

    // A resize keeps the chunks whose coordinates in the grid of chunks exist both before and after it.
    let resize = geometry.resize(&signed(&other)).expect("the rules are kept");
    let (before, after) = (coordinates(&grid(&shape)), coordinates(&grid(&other)));
    let is_empty = |shape: &[u64]| shape.contains(&0);
    assert_eq!((resize.after().nchunks(), is_empty(&other)), (after.len() as u64, after.is_empty()));
    let kept: Vec<(u64, u64)> = (0..)
        .zip(&before)
        .filter_map(|(old, x)| after.iter().position(|y| x == y).map(|new| (old, new as u64)))
        .collect();
    assert_eq!(resize.kept_chunks().collect::<Vec<_>>(), kept, "{geometry:?} to {other:?}");
    assert_eq!(resize.changes_chunks(), before != after);
}
