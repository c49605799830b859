//! Truncation: the low bits of each item become zero, so the items compress better. A truncation cannot be undone.

/// Clears the lowest `cleared` bits of each little-endian item.
pub(crate) fn truncate(typesize: usize, cleared: u32, data: &mut [u8]) {
    let mask = u64::MAX.checked_shl(cleared).unwrap_or_default().to_le_bytes();
    for item in data.chunks_exact_mut(typesize) {
        item.iter_mut().zip(mask).for_each(|(byte, mask)| *byte &= mask);
    }
}
