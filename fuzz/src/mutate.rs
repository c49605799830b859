//! Mutations that are interesting for the format.

use fastrand::Rng;

/// Markers of `MessagePack` that the format uses, small numbers, and the smallest and the largest byte.
const BYTES: [u8; 24] = [
    0x00, 0x01, 0x02, 0x05, 0x07, 0x10, 0x1f, 0x7f, 0x80, 0x90, 0x91, 0x95, 0x96, 0x97, 0x9e, 0xa0, 0xa1,
    0xc6, 0xcd, 0xd2, 0xd3, 0xdb, 0xde, 0xff,
];

/// The longest input that a mutation makes.
const LONGEST: usize = 1 << 16;

/// Makes one to four changes to the bytes of an input. A change can insert a piece of `other`, which is another input.
pub fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..rng.usize(1..=4) {
        change(rng, bytes, other);
    }
    bytes.truncate(LONGEST);
}

fn change(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    if bytes.is_empty() {
        bytes.extend(piece(rng, other));
        bytes.push(rng.u8(..));
        return;
    }
    let at = place(rng, bytes);
    match rng.u8(0..13) {
        0 => bytes[at] ^= 1 << rng.u8(0..8),
        1 => bytes[at] = rng.u8(..),
        2 => bytes[at] = byte(rng),
        3 => bytes.insert(at, byte(rng)),
        4 => drop(bytes.drain(range(rng, at, bytes.len()))),
        5 => {
            let copy = bytes[range(rng, at, bytes.len())].to_vec();
            let to = place(rng, bytes);
            insert(bytes, to, &copy);
        }
        6 => insert(bytes, at, piece(rng, other)),
        7 => overwrite(bytes, at, piece(rng, other)),
        8 => bytes.truncate(at),
        9 => {
            let copy = bytes[range(rng, at, bytes.len())].to_vec();
            let to = place(rng, bytes);
            overwrite(bytes, to, &copy);
        }
        // Writes a number of any width, in either byte order.
        10 => number(rng, bytes, at),
        // Overwrites the number that follows a marker.
        _ => {
            let is_marker =
                |byte: &u8| matches!(byte, 0xc6 | 0xcd | 0xce | 0xcf | 0xd1..=0xd3 | 0xdb | 0xdc | 0xde);
            let after = bytes[at..].iter().position(is_marker).map_or(at, |found| at + found + 1);
            number(rng, bytes, after);
        }
    }
}

/// Returns a random offset of a byte. At least half of the offsets are below 512, because headers are at the start.
fn place(rng: &mut Rng, bytes: &[u8]) -> usize {
    let end = if rng.bool() { bytes.len().min(512) } else { bytes.len() };
    rng.usize(0..end)
}

fn byte(rng: &mut Rng) -> u8 {
    BYTES[rng.usize(..BYTES.len())]
}

fn range(rng: &mut Rng, at: usize, len: usize) -> std::ops::Range<usize> {
    let most = if rng.u8(..) < 200 { 16 } else { 512 };
    at..(at + rng.usize(1..=most)).min(len)
}

fn piece<'o>(rng: &mut Rng, other: &'o [u8]) -> &'o [u8] {
    if other.is_empty() {
        return other;
    }
    let at = place(rng, other);
    &other[range(rng, at, other.len())]
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    drop(bytes.splice(at..at, piece.iter().copied()));
}

fn overwrite(bytes: &mut [u8], at: usize, piece: &[u8]) {
    for (byte, &new) in bytes[at..].iter_mut().zip(piece) {
        *byte = new;
    }
}

/// Overwrites the number at `at`. The new number is near the old number, a multiple of it, near 0, near the length of
/// the input, or near a power of two.
fn number(rng: &mut Rng, bytes: &mut [u8], at: usize) {
    let width = [1, 2, 4, 4, 4, 8, 8][rng.usize(0..7)];
    let is_little = rng.u8(0..3) == 0;
    let len = bytes.len() as u64;
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    let mut wide = [0; 8];
    wide[8 - width..].copy_from_slice(field);
    if is_little {
        wide[8 - width..].reverse();
    }
    let near = u64::from(rng.u8(0..9)).wrapping_sub(4);
    let edge = 1_u64 << rng.u32(0..64);
    let new = match rng.u8(0..6) {
        0 | 1 => u64::from_be_bytes(wide).wrapping_add(near),
        2 => near,
        3 => edge.wrapping_add(near),
        4 => len.wrapping_add(near),
        _ => u64::from_be_bytes(wide).wrapping_mul([2, 3, 8, 255][rng.usize(0..4)]),
    };
    let mut wide = new.to_be_bytes();
    if is_little {
        wide[8 - width..].reverse();
    }
    field.copy_from_slice(&wide[8 - width..]);
}
