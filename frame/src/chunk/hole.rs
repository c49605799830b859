//! The mark of a hole. A hole is a byte range of a frame that is no longer in use: it held chunks, an index or a
//! trailer until an update replaced them. The mark is at the start of the hole.

/// The first bytes of a hole. No chunk begins with these bytes: the first byte of a chunk is its version, which is
/// never 0.
const MAGIC: &[u8; 8] = b"\0b2hole\0";

/// The length of a mark, which is also the length of the shortest hole. A mark has 8 bytes of magic, then the length of
/// the hole as a little-endian uint64.
pub(crate) const MARK_LEN: usize = 16;

/// The mark of a hole of this length.
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
