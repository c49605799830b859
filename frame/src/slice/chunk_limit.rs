//! Limits the chunks that a slice reads.

use std::collections::HashSet;

use crate::chunk::chunk_rules::about;
use crate::chunk::entry::{ChunkEntry, ChunkPlace};
use crate::chunk_file::name;
use crate::code::FindingCode;
use crate::error::Error;

/// Refuses the chunks of a slice if together they have more bytes than the frame, or if two of them are in the same
/// chunk file. Without this limit, many entries of the index of a small file could point to the same chunk, and a slice
/// could take any amount of time. In a contiguous frame, two chunks can share bytes and still be within the limit.
pub(super) struct ChunkLimit {
    /// The length of a contiguous frame, minus the sizes of the chunks that `take` has accepted so far.
    left: u64,
    /// The numbers of the chunk files that were read, in a sparse frame.
    files: HashSet<u64>,
}

impl ChunkLimit {
    pub(super) fn new(frame_len: u64) -> Self {
        Self { left: frame_len, files: HashSet::new() }
    }

    pub(super) fn take(&mut self, entry: &ChunkEntry, cbytes: usize) -> Result<(), Error> {
        if let ChunkPlace::File(file) = entry.place {
            if self.files.insert(file) {
                return Ok(());
            }
            let text = format!("chunk {} is in {}, as is a chunk before it", entry.number, name(file));
            return Err(Error::malformed(about(FindingCode::ChunkOffset, entry).text(text)));
        }
        let left = self.left.checked_sub(cbytes as u64);
        self.left = left.unwrap_or_default();
        left.map(drop).ok_or_else(|| {
            let number = entry.number;
            let text = format!(
                "up to chunk {number}, the chunks of the slice have more bytes than the frame, so some share bytes"
            );
            Error::malformed(about(FindingCode::ChunkOverlap, entry).text(text))
        })
    }
}
