//! The geometry agrees with a model that lays out an array item by item.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use b2nd_serde::geometry::{Chunk, Extent, Position};
use b2nd_serde::{Geometry, Shapes};
use proptest::prelude::*;

/// The shape, the chunk shape and the block shape of an array.
type Vectors = (Vec<i64>, Vec<i32>, Vec<i32>);

/// The position of every item in the decompressed chunks, with the coordinate of the item in the array. The coordinate
/// is `None` for an item of padding.
type Places = Vec<(Position, Option<Vec<i64>>)>;

/// All coordinates of a shape in C order.
fn coordinates(shape: &[i64]) -> Vec<Vec<i64>> {
    let mut coordinates = vec![vec![]];
    for &items in shape {
        let mut longer = Vec::new();
        for coordinate in &coordinates {
            for x in 0..items {
                longer.push([coordinate.as_slice(), &[x]].concat());
            }
        }
        coordinates = longer;
    }
    coordinates
}

/// The number of chunks that cover an array, or of blocks that cover a chunk.
fn repeats(items: i64, part: i32) -> i64 {
    let mut count = 0;
    while part > 0 && count * i64::from(part) < items {
        count += 1;
    }
    count
}

/// Lists the positions of all items of an array, padding included, in the order of the decompressed bytes. The chunks
/// follow one after another, and so do the blocks of a chunk and the items of a block.
fn lay_out((shape, chunkshape, blockshape): &Vectors) -> Places {
    let grid: Vec<_> = shape.iter().zip(chunkshape).map(|(&s, &c)| repeats(s, c)).collect();
    let blocks: Vec<_> = chunkshape.iter().zip(blockshape).map(|(&c, &b)| repeats(c.into(), b)).collect();
    let blockshape: Vec<i64> = blockshape.iter().copied().map(i64::from).collect();
    let (blocks, items) = (coordinates(&blocks), coordinates(&blockshape));
    let mut places = Places::new();
    for (chunk, at_chunk) in (0..).zip(coordinates(&grid)) {
        for (block, at_block) in (0..).zip(&blocks) {
            for (item, at_item) in (0..).zip(&items) {
                let coordinate: Option<Vec<i64>> = (0..shape.len())
                    .map(|i| {
                        let in_chunk = at_block[i] * blockshape[i] + at_item[i];
                        let x = at_chunk[i] * i64::from(chunkshape[i]) + in_chunk;
                        (in_chunk < chunkshape[i].into() && x < shape[i]).then_some(x)
                    })
                    .collect();
                places.push((Position { chunk, block, item }, coordinate));
            }
        }
    }
    places
}

fn unsigned(coordinate: &[i64]) -> Vec<u64> {
    coordinate.iter().map(|&x| x.unsigned_abs()).collect()
}

fn number(count: usize) -> u64 {
    count as u64
}

/// Small shapes for an array. Often a chunk has the length of its array along a dimension, or a block the length of its
/// chunk. Some shapes have dimensions of 0, or a chunk shape larger than the array, or a block shape larger than the
/// chunk shape.
fn small() -> impl Strategy<Value = Vectors> {
    let usual = (prop_oneof![1..3_i32, 1..6_i32], 1..8_i32, 1..13_i64, any::<(bool, bool)>()).prop_map(
        |(block, chunk, items, (is_one_block, is_one_chunk))| {
            let chunk = if is_one_block { block } else { chunk };
            (if is_one_chunk { chunk.into() } else { items }, chunk, block)
        },
    );
    let axis = prop_oneof![
        1 => (Just(0_i64), Just(0_i32), 0..3_i32),
        27 => usual,
        2 => (0..4_i64, 1..8_i32, 1..8_i32),
    ];
    let ndim = prop_oneof![1 => Just(0_usize), 3 => Just(1), 6 => Just(2), 6 => Just(3)];
    ndim.prop_flat_map(move |ndim| prop::collection::vec(axis.clone(), ndim)).prop_map(|axes| {
        let shape = axes.iter().map(|axis| axis.0).collect();
        let chunkshape = axes.iter().map(|axis| axis.1).collect();
        (shape, chunkshape, axes.iter().map(|axis| axis.2).collect())
    })
}

/// Small shapes, a slice of the array, and the steps of the slice. The slice often has a whole dimension. Half of the
/// steps are 1, and most others are so short that a block can have several items of the slice.
fn sliced() -> impl Strategy<Value = (Vectors, Vec<Range<u64>>, Vec<u64>)> {
    let step = prop_oneof![8 => Just(1_u64), 5 => Just(2), 2 => Just(3), 1 => 4..10_u64];
    (small(), prop::collection::vec((any::<(u64, u64)>(), 0..3_u8, step), 4)).prop_map(|(vectors, cuts)| {
        let cut = |(&items, &((a, b), part, step)): (&i64, &((u64, u64), u8, u64))| {
            let items = items.unsigned_abs();
            let (a, b) = if part > 0 { (0, items) } else { (a % (items + 1), b % (items + 1)) };
            (a.min(b)..a.max(b), step)
        };
        let (slice, steps) = vectors.0.iter().zip(&cuts).map(cut).unzip();
        (vectors, slice, steps)
    })
}

/// The numbers of items in the runs of a block. `items` are all selected items of the block, in the order of their
/// positions, each with its position and its number in the slice. Two items that follow each other in the block and in
/// the slice are in one run, unless the block has a step above 1 along the first dimension in which they differ, or
/// along a later one.
fn run_lengths(items: &[(u64, usize, Vec<u64>)], step: &[u64]) -> Vec<u64> {
    items
        .chunk_by(|(place, number, first), (next_place, next_number, second)| {
            let differs = first.iter().zip(second).take_while(|(x, y)| x == y).count();
            (place + 1, number + 1) == (*next_place, *next_number)
                && step[differs..].iter().all(|&step| step == 1)
        })
        .map(|run| number(run.len()))
        .collect()
}

fn geometry((shape, chunkshape, blockshape): &Vectors) -> Geometry {
    Geometry::new(Shapes { shape, chunkshape, blockshape }).expect("the vectors follow the rules")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn geometry_counts_every_place(vectors in small()) {
        let geometry = geometry(&vectors);
        let places = lay_out(&vectors);
        let count = |shape: &[i64]| number(coordinates(shape).len());
        let wide = |part: &[i32]| part.iter().copied().map(i64::from).collect::<Vec<_>>();
        prop_assert_eq!(geometry.nitems(), count(&vectors.0));
        prop_assert_eq!(geometry.chunk_nitems(), count(&wide(&vectors.1)));
        prop_assert_eq!(geometry.block_nitems(), count(&wide(&vectors.2)));
        prop_assert_eq!(geometry.nchunks() * geometry.padded_chunk_nitems(), number(places.len()));
        if !places.is_empty() {
            let chunks: HashSet<_> = places.iter().map(|(position, _)| position.chunk).collect();
            let blocks: HashSet<_> = places.iter().map(|(position, _)| position.block).collect();
            prop_assert_eq!(geometry.nchunks(), number(chunks.len()));
            prop_assert_eq!(geometry.nblocks(), number(blocks.len()));
            let padding = places.iter().filter(|(_, coordinate)| coordinate.is_none()).count();
            #[expect(clippy::cast_precision_loss, reason = "these are small")]
            let share = padding as f64 / places.len() as f64;
            prop_assert!((geometry.padding() - share).abs() < 1e-12);
        }
    }

    #[test]
    fn position_coordinate_and_byte_offset_are_those_of_the_model(vectors in small(), typesize in 1..10_usize) {
        let geometry = geometry(&vectors);
        let mut in_chunk = HashMap::new();
        let mut items = HashSet::new();
        for (position, coordinate) in lay_out(&vectors) {
            let coordinate = coordinate.as_deref().map(unsigned);
            let found = geometry.coordinate(position);
            prop_assert_eq!(found.as_deref(), coordinate.as_deref());
            if let Some(coordinate) = coordinate {
                prop_assert_eq!(geometry.position(&coordinate), Some(position));
                items.insert(coordinate);
            }
            // In a decompressed chunk, the positions follow each other without a gap.
            let place = in_chunk.entry(position.chunk).or_insert(0);
            let byte = *place * typesize;
            *place += 1;
            prop_assert_eq!(geometry.byte_offset(position, typesize), Some(byte));
            prop_assert_eq!(geometry.position_at(position.chunk, byte, typesize), Some(position));
            let last_byte = byte + typesize - 1;
            prop_assert_eq!(geometry.position_at(position.chunk, last_byte, typesize), Some(position));
        }
        prop_assert_eq!(number(items.len()), geometry.nitems());
        // After the last position of a chunk, there is no other position.
        for (chunk, places) in in_chunk {
            prop_assert_eq!(geometry.position_at(chunk, places * typesize, typesize), None);
        }
        let outside = unsigned(&vectors.0);
        let only = Position { chunk: 0, block: 0, item: 0 };
        prop_assert_eq!(geometry.position(&outside), outside.is_empty().then_some(only));
    }

    #[test]
    fn chunks_in_steps_gives_the_chunks_and_blocks_that_hold_the_items((vectors, slice, steps) in sliced()) {
        let geometry = geometry(&vectors);
        // Lists the items of the slice, chunk by chunk and block by block. `numbers` maps the coordinate of an item to
        // the number of the item in the slice.
        let mut numbers = HashMap::new();
        let mut held: Vec<(u64, u64, u64, Vec<u64>)> = Vec::new();
        for coordinate in coordinates(&vectors.0) {
            let coordinate = unsigned(&coordinate);
            let is_selected = |(x, (range, &step)): (&u64, (&Range<u64>, &u64))| {
                range.contains(x) && (x - range.start) % step == 0
            };
            if coordinate.iter().zip(slice.iter().zip(&steps)).all(is_selected) {
                numbers.insert(coordinate, numbers.len());
            }
        }
        for (position, coordinate) in lay_out(&vectors) {
            let coordinate = coordinate.as_deref().map(unsigned);
            if let Some(coordinate) = coordinate.filter(|coordinate| numbers.contains_key(coordinate)) {
                held.push((position.chunk, position.block, position.item, coordinate));
            }
        }
        let mut found = Vec::new();
        let mut last_chunk = None;
        let chunks = geometry.chunks_in_steps(&slice, &steps).expect("the slice is within the array");
        prop_assert_eq!(chunks.clone().last().map(|chunk| chunk.number()), held.last().map(|item| item.0));
        if steps.iter().all(|&step| step == 1) {
            prop_assert!(geometry.chunks_in(&slice).unwrap().eq(chunks.clone()));
        }
        for (index, chunk) in chunks.clone().enumerate() {
            prop_assert_eq!(chunks.clone().nth(index), Some(chunk.clone()));
            prop_assert!(last_chunk < Some(chunk.number()));
            last_chunk = Some(chunk.number());
            let mut nitems = 0;
            let mut last_block = None;
            prop_assert_eq!(geometry.chunk(chunk.number()), Some(chunk.whole()));
            for block in chunk.blocks() {
                prop_assert!(last_block < Some(block.number()));
                last_block = Some(block.number());
                nitems += block.extent().nitems();
                let inside = |x: &[u64], extent: &Extent| {
                    x.iter().zip(extent.ranges()).all(|(x, range)| range.contains(x))
                };
                let in_block: Vec<_> = held
                    .iter()
                    .filter(|(in_chunk, in_block, ..)| (*in_chunk, *in_block) == (chunk.number(), block.number()))
                    .map(|(.., item, coordinate)| (*item, numbers[coordinate], coordinate.clone()))
                    .collect();
                // The extent has the first and the last item along each dimension. Its step is 1 for a single item.
                let extent = block.extent();
                for (dimension, (range, &step)) in extent.ranges().zip(extent.step().iter()).enumerate() {
                    let items: BTreeSet<_> = in_block.iter().map(|(.., coordinate)| coordinate[dimension]).collect();
                    prop_assert_eq!(items.last().map(|last| last + 1), Some(range.end));
                    prop_assert!(items.len() > 1 || step == 1);
                    prop_assert!(items.into_iter().eq(range.step_by(usize::try_from(step).unwrap())));
                }
                let lengths: Vec<_> = block.runs().map(|run| run.nitems()).collect();
                prop_assert_eq!(lengths, run_lengths(&in_block, extent.step()));
                let mut in_runs = 0;
                for run in block.runs() {
                    let source = run.source(1).expect("a small chunk");
                    let target = run.target(1).expect("a small array");
                    prop_assert_eq!(source.len(), target.len());
                    prop_assert_eq!(run.source(3), Some(source.start * 3..source.end * 3));
                    prop_assert_eq!(run.nitems(), number(source.len()));
                    in_runs += run.nitems();
                    prop_assert_eq!(numbers.get(run.start().as_ref()), Some(&target.start));
                    for (byte, target) in source.zip(target) {
                        let position = geometry.position_at(chunk.number(), byte, 1).expect("a byte");
                        prop_assert_eq!(position.block, block.number());
                        let coordinate = geometry.coordinate(position).expect("an item");
                        prop_assert!(inside(&coordinate, chunk.extent()));
                        prop_assert!(inside(&coordinate, block.extent()));
                        prop_assert_eq!(numbers.get(&*coordinate), Some(&target));
                        found.push((chunk.number(), block.number(), position.item, coordinate.to_vec()));
                    }
                }
                // Each block of the walk has at least one item of the slice. The runs of a block have as many items as
                // the extent of the block.
                prop_assert!(in_runs > 0);
                prop_assert_eq!(in_runs, block.extent().nitems());
            }
            prop_assert!(nitems > 0);
            prop_assert_eq!(nitems, chunk.extent().nitems());
        }
        // Every item of the slice occurs once, in the order of the positions in the chunks.
        prop_assert_eq!(found, held);
    }

    #[test]
    fn chunks_are_those_of_chunks_in_the_whole_array(vectors in small()) {
        let geometry = geometry(&vectors);
        let whole: Vec<_> = geometry.shape().iter().map(|&items| 0..items).collect();
        let all: Vec<_> = geometry.chunks().collect();
        let touched = geometry.chunks_in(&whole).expect("the slice is the array");
        prop_assert!(touched.eq(all.clone()));
        prop_assert!(all.iter().map(Chunk::number).eq(0..geometry.nchunks()));
        for chunk in all {
            prop_assert_eq!(geometry.chunk(chunk.number()), Some(chunk));
        }
        prop_assert!(geometry.chunk(geometry.nchunks()).is_none());
    }

    #[test]
    fn resize_keeps_the_chunks_whose_place_is_in_both_grids(vectors in small(), other in small()) {
        let before = geometry(&vectors);
        let new_shape: Vec<_> = vectors.0.iter().zip(&vectors.1).zip(other.0.iter().chain(&[3, 0, 9]))
            .map(|((_, &chunk), &items)| if chunk == 0 { 0 } else { items })
            .collect();
        let resize = before.resize(&new_shape).expect("the new shape follows the rules");
        let after = resize.after();
        prop_assert_eq!(after, &geometry(&(new_shape, vectors.1, vectors.2)));

        let places = |geometry: &Geometry| -> Vec<Vec<u64>> {
            geometry.chunks().map(|chunk| chunk.coordinate().to_vec()).collect()
        };
        let (old, new) = (places(&before), places(after));
        let kept: Vec<(u64, u64)> = (0..)
            .zip(&old)
            .filter_map(|(number, place)| Some((number, new.iter().position(|other| other == place)? as u64)))
            .collect();
        prop_assert!(resize.kept_chunks().eq(kept));
        prop_assert_eq!(resize.changes_chunks(), old != new);
    }
}
