//! The mark of a hole. A hole is the place of old chunks, an old index or an old trailer, which a change has replaced.

/// The first bytes of a hole. No chunk begins with them, because their version would be 0.
const MAGIC: &[u8; 8] = b"\0b2hole\0";

/// The length of a mark, and of the shortest hole. A mark is the magic, then the length of the hole as a little-endian
/// integer.
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

/// The length of the hole that begins with these bytes; `None` if they are not a mark.
pub(crate) fn hole_len(bytes: &[u8]) -> Option<u64> {
    let number = bytes.strip_prefix(MAGIC)?.first_chunk()?;
    Some(u64::from_le_bytes(*number)).filter(|&len| len >= MARK_LEN as u64)
}
