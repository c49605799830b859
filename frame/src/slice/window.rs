//! Bytes that were read together and are used in parts.

use core::ops::Range;
use std::sync::Arc;

/// Bytes of a chunk in a buffer that one read has filled. Several tasks can share the buffer.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) read: Arc<Vec<u8>>,
    /// The index of the window's first byte in `read`.
    pub(super) at: usize,
    /// The offset of the window's first byte in the chunk.
    pub(super) from: usize,
}

impl Window {
    /// The bytes in a byte range of the chunk; `None` if they are not in the buffer.
    pub(super) fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        let within = |byte: usize| byte.checked_sub(self.from)?.checked_add(self.at);
        self.read.get(within(range.start)?..within(range.end)?)
    }

    /// The bytes from the start of the window to the end of the buffer.
    pub(super) fn rest(&self) -> &[u8] {
        self.read.get(self.at..).unwrap_or_default()
    }
}
