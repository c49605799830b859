//! The filters delta and bytedelta. Delta replaces an item by its XOR with the previous item or with block 0. Bytedelta
//! replaces a byte by its difference from the previous byte.

/// Applies the filter delta. With a reference, which is block 0 of the chunk, each byte is replaced by its XOR with the
/// byte at the same position of the reference. Without a reference, each step of the data is replaced by its XOR with
/// the step before it. If items have 1, 2, 4 or 8 bytes, a step is one item; for other item sizes, see [`delta_step`].
/// Bytes after the last whole step do not change.
#[cfg(any(feature = "compress", test))]
pub(crate) fn delta(typesize: usize, reference: Option<&[u8]>, data: &mut [u8]) {
    xor(typesize, reference, data, |found, _| found);
}

/// The inverse of [`delta`].
pub(crate) fn undelta(typesize: usize, reference: Option<&[u8]>, data: &mut [u8]) {
    xor(typesize, reference, data, |_, result| result);
}

/// Applies the XOR for `delta` and `undelta`. Without a reference, both functions combine each step with the unfiltered
/// bytes of the step before it. `next_before` gets the value of a byte before and after the XOR, and returns the
/// unfiltered value. In `delta`, this is the value before the XOR; in `undelta`, it is the value after it.
#[inline(always)]
fn xor(typesize: usize, reference: Option<&[u8]>, data: &mut [u8], next_before: fn(u8, u8) -> u8) {
    let step = delta_step(typesize);
    let (items, _) = data.split_at_mut(data.len() / step * step);
    if let Some(reference) = reference {
        return items.iter_mut().zip(reference).for_each(|(byte, reference)| *byte ^= reference);
    }
    match step {
        1 => xor_up::<1>(items, next_before),
        2 => xor_up::<2>(items, next_before),
        4 => xor_up::<4>(items, next_before),
        _ => xor_up::<8>(items, next_before),
    }
}

#[inline(always)]
fn xor_up<const STEP: usize>(data: &mut [u8], next_before: fn(u8, u8) -> u8) {
    let mut before = [0; STEP];
    for item in data.chunks_exact_mut(STEP) {
        for (byte, before) in item.iter_mut().zip(&mut before) {
            let result = *byte ^ *before;
            *before = next_before(*byte, result);
            *byte = result;
        }
    }
}

/// The number of bytes in a step of [`delta`], the same as in C-Blosc2.
fn delta_step(typesize: usize) -> usize {
    match typesize {
        1 | 2 | 4 | 8 => typesize,
        _ if typesize.is_multiple_of(8) => 8,
        _ => 1,
    }
}

/// Divides the data into `rows` rows of equal length, and replaces each byte by its difference from the byte before it
/// in the row. Bytes after the last row do not change.
#[cfg(any(feature = "compress", test))]
pub(crate) fn bytedelta(rows: usize, data: &mut [u8]) {
    for row in rows_of(rows, data) {
        row.iter_mut().fold(0, |before, byte| {
            let found = *byte;
            *byte = found.wrapping_sub(before);
            found
        });
    }
}

/// The inverse of [`bytedelta`].
pub(crate) fn unbytedelta(rows: usize, data: &mut [u8]) {
    for row in rows_of(rows, data) {
        row.iter_mut().fold(0_u8, |before, byte| {
            *byte = byte.wrapping_add(before);
            *byte
        });
    }
}

fn rows_of(rows: usize, data: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    let length = data.len().checked_div(rows).unwrap_or(0);
    data.chunks_exact_mut(length.max(1)).take(if length == 0 { 0 } else { rows })
}
