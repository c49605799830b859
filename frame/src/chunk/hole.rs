//! The mark of a hole: bytes of chunks, an index or a trailer that a change left behind.

/// The first bytes of a hole. No chunk begins with them, because their version would be 0.
const MAGIC: &[u8; 8] = b"\0b2hole\0";

/// The length of a mark, and of the shortest hole: the magic, and the length of the hole as a little-endian integer.
pub(crate) const MARK_LEN: usize = 16;

/// The mark of a hole of this length.
#[cfg(feature = "compress")]
pub(crate) fn mark(len: u64) -> [u8; MARK_LEN] {
    let mut mark = [0; MARK_LEN];
    let (magic, number) = mark.split_at_mut(MAGIC.len());
    magic.copy_from_slice(MAGIC);
    number.copy_from_slice(&len.to_le_bytes());
    mark
}

/// The length of a hole that begins with these bytes.
pub(crate) fn hole_len(bytes: &[u8]) -> Option<u64> {
    let number = bytes.strip_prefix(MAGIC)?.first_chunk()?;
    Some(u64::from_le_bytes(*number)).filter(|&len| len >= MARK_LEN as u64)
}
