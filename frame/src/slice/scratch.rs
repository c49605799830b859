//! Memory for decompressing, reused by later slices.

use b2nd_chunk::Decompressor;

/// Memory of a thread for decompressing blocks.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) decompressor: Decompressor,
    /// The decompressed block.
    pub(super) block: Vec<u8>,
    /// The length of the longest block or whole chunk that was decompressed.
    pub(super) longest: usize,
}

impl Scratch {
    /// An upper bound for the size of this memory in bytes.
    pub(super) fn nbytes(&self) -> usize {
        // `block` has memory for one block. The decompressor has memory for up to four blocks, and for the state of a
        // codec.
        self.longest.saturating_mul(5).saturating_add(1 << 16)
    }
}
