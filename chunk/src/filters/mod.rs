//! The filters that Blosc2 applies before compression, and their inverses.

#![cfg_attr(not(test), allow(dead_code))]

/// Writes byte 0 of all items, then byte 1, and so on. Bytes after the last whole item are copied.
pub(crate) fn shuffle(itemsize: usize, src: &[u8], dst: &mut [u8]) {
    transpose(itemsize, src, dst, |count, item, byte| (item * itemsize + byte, byte * count + item));
}

/// The inverse of [`shuffle`].
pub(crate) fn unshuffle(itemsize: usize, src: &[u8], dst: &mut [u8]) {
    transpose(itemsize, src, dst, |count, item, byte| (byte * count + item, item * itemsize + byte));
}

fn transpose(
    itemsize: usize,
    src: &[u8],
    dst: &mut [u8],
    places: impl Fn(usize, usize, usize) -> (usize, usize),
) {
    let length = src.len().min(dst.len());
    let (Some(src), Some(dst)) = (src.get(..length), dst.get_mut(..length)) else { return };
    dst.copy_from_slice(src);
    let Some(count) = length.checked_div(itemsize) else { return };
    for item in 0..count {
        for byte in 0..itemsize {
            let (from, to) = places(count, item, byte);
            if let (Some(&from), Some(to)) = (src.get(from), dst.get_mut(to)) {
                *to = from;
            }
        }
    }
}

/// Writes bit 0 of byte 0 of all items, then bit 1, and so on. The items are rounded down to a multiple of 8; the bytes
/// after them are copied.
pub(crate) fn bitshuffle(itemsize: usize, src: &[u8], dst: &mut [u8]) {
    bit_transpose(itemsize, src, dst, false);
}

/// The inverse of [`bitshuffle`].
pub(crate) fn unbitshuffle(itemsize: usize, src: &[u8], dst: &mut [u8]) {
    bit_transpose(itemsize, src, dst, true);
}

fn bit_transpose(itemsize: usize, src: &[u8], dst: &mut [u8], is_inverse: bool) {
    let length = src.len().min(dst.len());
    let (Some(src), Some(dst)) = (src.get(..length), dst.get_mut(..length)) else { return };
    dst.copy_from_slice(src);
    let Some(count) = length.checked_div(itemsize).map(|count| count / 8 * 8) else { return };
    if let Some(items) = dst.get_mut(..count * itemsize) {
        items.fill(0);
    }
    for item in 0..count {
        for row in 0..8 * itemsize {
            let plain = (item * itemsize + row / 8, row % 8);
            let shuffled = (row * (count / 8) + item / 8, item % 8);
            let (from, to) = if is_inverse { (shuffled, plain) } else { (plain, shuffled) };
            if let (Some(&byte), Some(slot)) = (src.get(from.0), dst.get_mut(to.0)) {
                *slot |= (byte >> from.1 & 1) << to.1;
            }
        }
    }
}

/// Replaces each item by its XOR with the item before it; with a reference (the first block of the chunk), by its XOR
/// with the reference.
pub(crate) fn delta(typesize: usize, reference: Option<&[u8]>, data: &mut [u8]) {
    let Some(reference) = reference else {
        let step = delta_step(typesize);
        for at in (step..data.len() / step * step).rev() {
            if let Some(&before) = data.get(at - step) {
                data.get_mut(at).into_iter().for_each(|byte| *byte ^= before);
            }
        }
        return;
    };
    let whole = data.len() / delta_step(typesize) * delta_step(typesize);
    data.iter_mut().zip(reference).take(whole).for_each(|(byte, reference)| *byte ^= reference);
}

/// The inverse of [`delta`].
pub(crate) fn undelta(typesize: usize, reference: Option<&[u8]>, data: &mut [u8]) {
    if reference.is_some() {
        return delta(typesize, reference, data);
    }
    let step = delta_step(typesize);
    for at in step..data.len() / step * step {
        if let Some(&before) = data.get(at - step) {
            data.get_mut(at).into_iter().for_each(|byte| *byte ^= before);
        }
    }
}

/// The number of bytes that the delta filter takes at a time.
fn delta_step(typesize: usize) -> usize {
    match typesize {
        1 | 2 | 4 | 8 => typesize,
        _ if typesize % 8 == 0 => 8,
        _ => 1,
    }
}

/// Replaces each byte of a row by its difference from the byte before it. There are `rows` rows of equal length; the
/// bytes after them stay.
pub(crate) fn bytedelta(rows: usize, data: &mut [u8]) {
    each_row(rows, data, |before, byte| {
        let found = *byte;
        *byte = found.wrapping_sub(before);
        found
    });
}

/// The inverse of [`bytedelta`].
pub(crate) fn unbytedelta(rows: usize, data: &mut [u8]) {
    each_row(rows, data, |before, byte| {
        *byte = byte.wrapping_add(before);
        *byte
    });
}

fn each_row(rows: usize, data: &mut [u8], step: impl Fn(u8, &mut u8) -> u8) {
    let Some(length) = data.len().checked_div(rows).filter(|&length| length > 0) else { return };
    for row in data.chunks_exact_mut(length).take(rows) {
        row.iter_mut().fold(0, |before, byte| step(before, byte));
    }
}
