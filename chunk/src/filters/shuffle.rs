//! Shuffle and bitshuffle: the transposition of a matrix of bytes, or of bits.
//!
//! Both filters work on *tiles*. A tile is an array of 16 × `W` bytes, in `W` vectors. It holds either `W` rows of 16
//! bytes or 16 items of `W` bytes. Byte `i` of row `j` becomes byte `j` of item `i`, so it moves from index `16·j+i` to
//! index `W·i+j`. An index has 4 + log2 `W` bits. The move from rows to items rotates these bits to the left by log2
//! `W`.
//!
//! A perfect shuffle interleaves the two halves of the tile. This rotates the bits of each index to the left by 1. So
//! log2 `W` perfect shuffles turn rows into items. A rotation by all 4 + log2 `W` bits changes nothing, so 4 further
//! perfect shuffles turn items into rows.
//!
//! `W` is the largest power of two, up to 16, that is not above the item size. If items are larger than `W`, several
//! tiles cover the bytes of an item. If the item size is not a multiple of `W`, the last of these tiles overlaps the
//! one before it.

// Loops with constant bounds index the arrays here, because the compiler then keeps an array in registers. With
// iterators, the compiler does not do this, and the filters take three times as long. Only such arrays are indexed;
// slices use `get`.
#![allow(clippy::indexing_slicing, clippy::needless_range_loop)]

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x16, u16x8};

/// The number of bytes in a vector. Vectors of 32 bytes hold twice as many bytes, but are no faster: interleaving two
/// of them takes twice as many instructions.
const LANES: usize = 16;
/// The number of items in a step of bitshuffle. A vector holds one bit of each of these items.
const ITEMS: usize = 8 * LANES;

/// The values of the constant parameter `IS_INVERSE`.
#[cfg(any(feature = "compress", test))]
const FORWARD: bool = false;
const INVERSE: bool = true;

/// Calls a function with the right const parameter `W` for an item size: the width of the tiles.
macro_rules! with_width {
    ($function:ident::<$direction:ident>($itemsize:expr, $($argument:expr),+)) => {
        // `baseline` uses only the instructions of the compilation target, and does not detect the processor. If it
        // detected the processor and used AVX2, `unshuffle` and `unbitshuffle` would be at most a quarter faster, but
        // there would be 190 kB more code.
        dispatch!(Level::baseline(), simd => match $itemsize {
            0..2 => $function::<_, 1, $direction>(simd, $itemsize, $($argument),+),
            2..4 => $function::<_, 2, $direction>(simd, $itemsize, $($argument),+),
            4..8 => $function::<_, 4, $direction>(simd, $itemsize, $($argument),+),
            8..16 => $function::<_, 8, $direction>(simd, $itemsize, $($argument),+),
            16.. => $function::<_, 16, $direction>(simd, $itemsize, $($argument),+),
        })
    };
}

/// Writes byte 0 of all items, then byte 1, and so on. Bytes after the last whole item are copied.
#[cfg(any(feature = "compress", test))]
pub(crate) fn shuffle(itemsize: usize, src: &[u8], dst: &mut [u8]) {
    if let Some((count, src, dst)) = copy_rest(itemsize, 1, src, dst) {
        with_width!(transpose::<FORWARD>(itemsize, count, src, dst));
    }
}

/// The inverse of [`shuffle`].
pub(crate) fn unshuffle(itemsize: usize, src: &[u8], dst: &mut [u8]) {
    if let Some((count, src, dst)) = copy_rest(itemsize, 1, src, dst) {
        with_width!(transpose::<INVERSE>(itemsize, count, src, dst));
    }
}

/// Writes bit 0 of byte 0 of all items, then bit 1, and so on. If the number of items is not a multiple of 8, it is
/// rounded down to a multiple of 8, and the bytes after these items are copied.
#[cfg(any(feature = "compress", test))]
pub(crate) fn bitshuffle(itemsize: usize, src: &[u8], dst: &mut [u8]) {
    if let Some((count, src, dst)) = copy_rest(itemsize, 8, src, dst) {
        with_width!(transpose_bits::<FORWARD>(itemsize, count / 8, src, dst));
    }
}

/// The inverse of [`bitshuffle`].
pub(crate) fn unbitshuffle(itemsize: usize, src: &[u8], dst: &mut [u8]) {
    if let Some((count, src, dst)) = copy_rest(itemsize, 8, src, dst) {
        with_width!(transpose_bits::<INVERSE>(itemsize, count / 8, src, dst));
    }
}

/// Rounds the number of items down to a multiple of `multiple`, and copies the bytes after these items. Returns the
/// number of items, and their bytes in both slices; `None` if there are no items.
fn copy_rest<'a>(
    itemsize: usize,
    multiple: usize,
    src: &'a [u8],
    dst: &'a mut [u8],
) -> Option<(usize, &'a [u8], &'a mut [u8])> {
    let length = src.len().min(dst.len());
    let count = length.checked_div(itemsize).unwrap_or(0) / multiple * multiple;
    let (items, rest) = src.get(..length)?.split_at_checked(count * itemsize)?;
    let (dst_items, dst_rest) = dst.get_mut(..length)?.split_at_mut_checked(items.len())?;
    dst_rest.copy_from_slice(rest);
    (count > 0).then_some((count, items, dst_items))
}

/// Transposes the bytes of `count` items, tile by tile.
#[inline(always)]
fn transpose<S: Simd, const W: usize, const IS_INVERSE: bool>(
    simd: S,
    itemsize: usize,
    count: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    for column in columns::<W>(itemsize) {
        let (row, item) = (column * count, column);
        let (from, to) = if IS_INVERSE { (row, item) } else { (item, row) };
        let (src, dst) = (src.get(from..).unwrap_or_default(), dst.get_mut(to..).unwrap_or_default());
        if IS_INVERSE {
            join_rows::<S, W>(simd, itemsize, count, src, dst);
        } else {
            split_items::<S, W>(simd, itemsize, count, src, dst);
        }
    }
}

/// The offsets in an item at which tiles begin. The tiles cover the item, and the last one ends at the end of the item.
#[inline(always)]
fn columns<const W: usize>(itemsize: usize) -> impl Iterator<Item = usize> {
    (0..itemsize).step_by(W).map(move |column| column.min(itemsize - W))
}

/// Transposes the bits of items, in steps of [`ITEMS`] items. The transposed data has one row of `length` bytes for
/// each bit of an item. A step first transposes the bytes of the items, and then the bits of these bytes. The inverse
/// does the same two things in the opposite order.
#[inline(always)]
fn transpose_bits<S: Simd, const W: usize, const IS_INVERSE: bool>(
    simd: S,
    itemsize: usize,
    length: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    for column in columns::<W>(itemsize) {
        for first in (0..length).step_by(LANES) {
            let item = first.saturating_mul(8 * itemsize) + column;
            let mut bytes = [[0; ITEMS]; W];
            if !IS_INVERSE {
                let items = src.get(item..).unwrap_or_default();
                split_items::<S, W>(simd, itemsize, ITEMS, items, bytes.as_flattened_mut());
            }
            for row in 0..W {
                let mut tile = [u8x16::splat(simd, 0); 8];
                for bit in 0..8 {
                    tile[bit] = if IS_INVERSE {
                        // At the end of a row, the vector also has bytes of the next row. These bytes would become
                        // items after the last item, and `join_rows` does not write such items.
                        load(simd, src, (8 * (column + row) + bit) * length + first)
                    } else {
                        load(simd, &bytes[row], bit * LANES)
                    };
                }
                if IS_INVERSE {
                    tile = perfect_shuffles(3, exchange_all_bits(tile));
                    for bit in 0..8 {
                        bytes[row][bit * LANES..(bit + 1) * LANES].copy_from_slice(&tile[bit].to_array());
                    }
                } else {
                    tile = exchange_all_bits(perfect_shuffles(LANES.ilog2(), tile));
                    for bit in 0..8 {
                        store(tile[bit], dst, 8 * (column + row) + bit, length, first);
                    }
                }
            }
            if IS_INVERSE {
                let items = dst.get_mut(item..).unwrap_or_default();
                join_rows::<S, W>(simd, itemsize, ITEMS, bytes.as_flattened(), items);
            }
        }
    }
}

/// Interleaves the first `W` rows, of `length` bytes each, into items: byte `i` of row `j` becomes byte `j` of item
/// `i`.
#[inline(always)]
fn join_rows<S: Simd, const W: usize>(
    simd: S,
    itemsize: usize,
    length: usize,
    rows: &[u8],
    items: &mut [u8],
) {
    let mut longer = [[0; LANES]; W];
    let (length, rows) = if length < LANES {
        for (longer, row) in longer.iter_mut().zip(rows.chunks(length)) {
            longer.iter_mut().zip(row).for_each(|(longer, byte)| *longer = *byte);
        }
        (LANES, longer.as_flattened())
    } else {
        (length, rows)
    };
    let mut starts: [&[u8]; W] = [&[]; W];
    for row in 0..W {
        let Some(bytes) = rows.get(row * length..(row + 1) * length) else { return };
        starts[row] = bytes;
    }
    for first in (0..length).step_by(LANES) {
        let first = first.min(length - LANES);
        let mut tile = [u8x16::splat(simd, 0); W];
        for row in 0..W {
            let Some(bytes) = starts[row].get(first..first + LANES) else { return };
            tile[row] = u8x16::from_slice(simd, bytes);
        }
        let tile = perfect_shuffles(W.ilog2(), tile);
        if itemsize == W
            && let Some(items) = items.get_mut(first * W..(first + LANES) * W)
        {
            for row in 0..W {
                items[row * LANES..(row + 1) * LANES].copy_from_slice(&tile[row].to_array());
            }
            continue;
        }
        let mut bytes = [[0; LANES]; W];
        for row in 0..W {
            bytes[row] = tile[row].to_array();
        }
        let mut at = first * itemsize;
        for bytes in bytes.as_flattened().chunks_exact(W) {
            if let Some(item) = items.get_mut(at..).and_then(|item| item.get_mut(..W)) {
                item.copy_from_slice(bytes);
            }
            at = at.saturating_add(itemsize);
        }
    }
}

/// The inverse of [`join_rows`].
#[inline(always)]
fn split_items<S: Simd, const W: usize>(
    simd: S,
    itemsize: usize,
    length: usize,
    items: &[u8],
    rows: &mut [u8],
) {
    for first in (0..length).step_by(LANES) {
        // If `length` is not a multiple of 16, the last tile overlaps the one before it, and ends at the end of the
        // rows.
        let first = first.min(length.saturating_sub(LANES));
        let mut bytes = [[0; LANES]; W];
        if itemsize == W
            && let Some(items) = items.get(first * W..(first + LANES) * W)
        {
            for row in 0..W {
                bytes[row].copy_from_slice(&items[row * LANES..(row + 1) * LANES]);
            }
        } else {
            let mut at = first * itemsize;
            for bytes in bytes.as_flattened_mut().chunks_exact_mut(W) {
                if let Some(item) = items.get(at..).and_then(|item| item.get(..W)) {
                    bytes.copy_from_slice(item);
                }
                at = at.saturating_add(itemsize);
            }
        }
        let mut tile = [u8x16::splat(simd, 0); W];
        for row in 0..W {
            tile[row] = u8x16::simd_from(simd, bytes[row]);
        }
        let tile = perfect_shuffles(LANES.ilog2(), tile);
        for row in 0..W {
            store(tile[row], rows, row, length, first);
        }
    }
}

/// Applies `rounds` perfect shuffles, at most 4. The rounds are written out, because the compiler would not unroll a
/// loop, and would copy the tile in each round.
#[inline(always)]
fn perfect_shuffles<S: Simd, const W: usize>(rounds: u32, tile: [u8x16<S>; W]) -> [u8x16<S>; W] {
    let tile = if rounds >= 1 { perfect_shuffle(tile) } else { tile };
    let tile = if rounds >= 2 { perfect_shuffle(tile) } else { tile };
    let tile = if rounds >= 3 { perfect_shuffle(tile) } else { tile };
    if rounds >= 4 { perfect_shuffle(tile) } else { tile }
}

/// Interleaves the bytes of the first half of the tile with those of the second half.
#[inline(always)]
fn perfect_shuffle<S: Simd, const W: usize>(tile: [u8x16<S>; W]) -> [u8x16<S>; W] {
    let mut pairs = tile;
    for row in 0..W / 2 {
        (pairs[2 * row], pairs[2 * row + 1]) = tile[row].interleave(tile[row + W / 2]);
    }
    pairs
}

/// Exchanges bit `b` of row `k` with bit `k` of row `b`, in each byte of the vectors. Exchanges halves of bytes, then
/// pairs of bits, then single bits.
#[inline(always)]
fn exchange_all_bits<S: Simd>(mut rows: [u8x16<S>; 8]) -> [u8x16<S>; 8] {
    exchange_bits::<S, 4>(&mut rows, 0x0f0f);
    exchange_bits::<S, 2>(&mut rows, 0x3333);
    exchange_bits::<S, 1>(&mut rows, 0x5555);
    rows
}

/// For each pair of rows that are `DISTANCE` rows apart, exchanges the bits outside of `mask` in the first row with the
/// bits inside of `mask` in the second row.
#[inline(always)]
fn exchange_bits<S: Simd, const DISTANCE: u32>(rows: &mut [u8x16<S>; 8], mask: u16) {
    for row in 0..8 {
        let other = row | DISTANCE as usize;
        if row != other {
            // The vectors are shifted as numbers of 16 bits, because processors cannot shift the single bytes of a
            // vector. The mask drops the bits that a shift moves from one byte to the next.
            let low: u16x8<S> = rows[row].bitcast();
            let high: u16x8<S> = rows[other].bitcast();
            let swap = ((low >> DISTANCE) ^ high) & mask;
            rows[row] = (low ^ (swap << DISTANCE)).bitcast();
            rows[other] = (high ^ swap).bitcast();
        }
    }
}

/// Loads a vector of the bytes from `at` on. If `bytes` ends before the vector is full, the rest of the vector is
/// zeros.
#[inline(always)]
fn load<S: Simd>(simd: S, bytes: &[u8], at: usize) -> u8x16<S> {
    match bytes.get(at..at + LANES) {
        Some(bytes) => u8x16::from_slice(simd, bytes),
        None => u8x16::simd_from(simd, end_of(bytes, at)),
    }
}

#[cold]
#[inline(never)]
fn end_of(bytes: &[u8], at: usize) -> [u8; LANES] {
    let mut lanes = [0; LANES];
    lanes.iter_mut().zip(bytes.get(at..).unwrap_or_default()).for_each(|(lane, byte)| *lane = *byte);
    lanes
}

/// Writes the vector to a row of `length` bytes, from byte `first` of the row on. Bytes of the vector that do not fit
/// into the row are dropped.
#[inline(always)]
fn store<S: Simd>(lanes: u8x16<S>, rows: &mut [u8], row: usize, length: usize, first: usize) {
    let Some(bytes) = rows.get_mut(row * length + first..) else { return };
    if length - first >= LANES
        && let Some(bytes) = bytes.first_chunk_mut()
    {
        *bytes = lanes.to_array();
    } else {
        bytes.iter_mut().zip(lanes.to_array()).take(length - first).for_each(|(byte, lane)| *byte = lane);
    }
}
