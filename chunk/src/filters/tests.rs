//! Compares the filters with their definitions, byte by byte, and with bytes that C-Blosc2 wrote.

use std::{vec, vec::Vec};

use super::*;

type Filter = fn(usize, &[u8], &mut [u8]);

fn noise(length: usize) -> Vec<u8> {
    (1_u32..).map(|at| at.wrapping_mul(0x9e37_79b1).to_be_bytes()[0]).take(length).collect()
}

fn apply(filter: Filter, itemsize: usize, src: &[u8]) -> Vec<u8> {
    let mut dst = vec![0xaa; src.len()];
    filter(itemsize, src, &mut dst);
    dst
}

/// Item sizes, each with several lengths in bytes. The numbers of items are near multiples of 8, 16 and 128. Some
/// lengths include a few bytes after the last whole item.
fn itemsizes_and_lengths() -> impl Iterator<Item = (usize, usize)> {
    (1..=300).flat_map(|itemsize| {
        let counts: &[usize] = match itemsize {
            1..=9 | 12 | 16 | 17 => &[0, 1, 7, 8, 9, 15, 16, 17, 33, 127, 128, 129, 143, 272],
            10..=40 | 255..=257 | 300 => &[9, 17, 137],
            _ => &[8, 17],
        };
        counts
            .iter()
            .enumerate()
            .map(move |(at, count)| (itemsize, count * itemsize + at % 2 * (itemsize / 2)))
    })
}

#[test]
fn shuffle_puts_byte_j_of_item_i_at_i_of_row_j() {
    for (itemsize, length) in itemsizes_and_lengths() {
        let src = noise(length);
        let count = length / itemsize;
        let mut expected = src.clone();
        for at in 0..count * itemsize {
            expected[at % itemsize * count + at / itemsize] = src[at];
        }
        assert!(apply(shuffle, itemsize, &src) == expected, "{length} bytes, items of {itemsize}");
        assert!(apply(unshuffle, itemsize, &expected) == src, "{length} bytes, items of {itemsize}, undone");
    }
}

#[test]
fn bitshuffle_puts_bit_j_of_item_i_at_i_of_row_j() {
    for (itemsize, length) in itemsizes_and_lengths() {
        let src = noise(length);
        let count = length / itemsize / 8 * 8;
        let mut expected = src.clone();
        expected[..count * itemsize].fill(0);
        for at in 0..count * itemsize * 8 {
            let to = at % (8 * itemsize) * count + at / (8 * itemsize);
            expected[to / 8] |= (src[at / 8] >> (at % 8) & 1) << (to % 8);
        }
        assert!(apply(bitshuffle, itemsize, &src) == expected, "{length} bytes, items of {itemsize}");
        assert!(
            apply(unbitshuffle, itemsize, &expected) == src,
            "{length} bytes, items of {itemsize}, undone"
        );
    }
}

#[test]
fn delta_is_the_xor_with_the_item_before_or_with_the_reference() {
    for (typesize, step) in [(1, 1), (2, 2), (4, 4), (8, 8), (3, 1), (12, 1), (16, 8), (24, 8), (255, 1)] {
        for length in (0..40).chain([1000, 1003]) {
            let (src, reference) = (noise(length), noise(length + 9).split_off(9));
            let whole = length / step * step;
            for (other, start) in [(None, step.min(whole)), (Some(&reference[..]), 0)] {
                let mut expected = src.clone();
                for at in start..whole {
                    expected[at] = src[at] ^ other.map_or_else(|| src[at - step], |other| other[at]);
                }
                let mut data = src.clone();
                delta(typesize, other, &mut data);
                assert!(data == expected, "{length} bytes, items of {typesize}");
                undelta(typesize, other, &mut data);
                assert!(data == src, "{length} bytes, items of {typesize}, undone");
            }
        }
    }
}

#[test]
fn bytedelta_is_the_difference_from_the_byte_before_in_each_row() {
    for rows in [1, 2, 3, 4, 7, 8, 16, 255, 256, 300] {
        for length in [0, 1, 15, 16, 17, 31, 32, 33, 50].map(|row| row * rows + rows / 2) {
            let src = noise(length);
            let row = length / rows;
            let mut expected = src.clone();
            for at in (0..row * rows).filter(|at| at % row != 0) {
                expected[at] = src[at].wrapping_sub(src[at - 1]);
            }
            let mut data = src.clone();
            bytedelta(rows, &mut data);
            assert!(data == expected, "{length} bytes, {rows} rows");
            unbytedelta(rows, &mut data);
            assert!(data == src, "{length} bytes, {rows} rows, undone");
        }
    }
}

/// `length` bytes of items. Item i is the number i² / 3 + 5 i.
fn curve(itemsize: usize, length: usize) -> Vec<u8> {
    let items = (0_u64..).flat_map(|i| (i * i / 3 + 5 * i).to_le_bytes().into_iter().take(itemsize));
    items.take(length).collect()
}

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// The expected bytes are from chunks that python-blosc2 4.14 wrote (C-Blosc2 3.3.5, codec zlib, without splitting).
/// Python's zlib decompressed their streams.
#[test]
fn the_filtered_bytes_are_those_of_c_blosc2() {
    let shuffled = apply(shuffle, 3, &curve(3, 127));
    assert_eq!(
        shuffled,
        hex("\
         00050b1219212a333d48535f6c798796a5b5c6d7e9fc0f23384d637a91a9c2dbf5102b4764819fbeddfd0000000000000000\
         0000000000000000000000000000010101010101010101010102020202020202020200000000000000000000000000000000\
         00000000000000000000000000000000000000000000000000001e"),
    );
    let bits = apply(bitshuffle, 3, &curve(3, 127));
    assert_eq!(
        bits,
        hex("\
         b66ddbb66dcccccccccc02d96f02d9543b70abc498ad2a99c3e031b32d95003e3cce1900c03ff0e10000c0ff0100000000fe\
         0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
         0000000000000000000000000000000000000000dd0200fd02001e"),
    );
    // The data has two blocks. The filter delta combines the second block with the first block.
    let src = curve(4, 128);
    let (reference, _) = src.split_at(64);
    let mut blocks = src.clone();
    let (first, second) = blocks.split_at_mut(64);
    delta(4, None, first);
    delta(4, Some(reference), second);
    assert_eq!(
        blocks,
        hex("\
         00000000050000000e000000190000000b000000380000000b000000190000000e000000750000001b0000000c0000003300\
         000015000000fe00000011000000a5000000b0000000cd000000c5000000f0000000dd000000250100001001000005010000\
         050100003001000025010000fd010000d0010000450100004d010000"),
    );
    // The filter bytedelta comes after a shuffle. The last two bytes of the data belong to no row.
    let mut rows = apply(shuffle, 4, &curve(4, 130));
    bytedelta(4, &mut rows);
    assert_eq!(
        rows,
        hex("\
         00050607070809090a0b0b0c0d0d0e0f0f101111121313141515161717181919000000000000000000000000000000000000\
         0000000001000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
         00000000000000000000000000000000000000000000000000000000f501"),
    );
}

#[test]
fn sizes_of_zero_and_beyond_the_data_change_nothing() {
    let src = noise(100);
    for size in [0, 101, 300, usize::MAX] {
        for filter in [shuffle, unshuffle, bitshuffle, unbitshuffle] {
            assert_eq!(apply(filter, size, &src), src);
        }
        for filter in [bytedelta, unbytedelta] {
            let mut data = src.clone();
            filter(size, &mut data);
            assert_eq!(data, src);
        }
    }
}

#[test]
fn bytes_beyond_the_shorter_slice_are_left_alone() {
    let src = noise(1000);
    for filter in [shuffle, unshuffle, bitshuffle, unbitshuffle] {
        let mut longer = vec![7; 1100];
        filter(4, &src, &mut longer);
        assert_eq!(longer[..1000], apply(filter, 4, &src));
        assert_eq!(longer[1000..], [7; 100]);
        let mut shorter = vec![7; 900];
        filter(4, &src, &mut shorter);
        assert_eq!(shorter, apply(filter, 4, &src[..900]));
    }
}
