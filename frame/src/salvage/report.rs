//! What a salvage saved, and what it did not.

use crate::format::index::ChunkCounts;
use crate::io::frame::Frame;

/// What a [`Salvage`](crate::Salvage) saved, and what it did not.
///
/// The texts say where something was, with its bytes in the old frame. Their words can change in later releases.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The new frame, by its header.
    pub frame: Frame<()>,
    /// What of the header, the chunk index and the trailer was restored from the rest of the frame.
    pub restored: Vec<String>,
    /// What was taken for granted without a trace of it in the frame.
    pub assumed: Vec<String>,
    /// The chunks that are lost, in their order.
    pub lost: Vec<ChunkRange>,
    /// The chunks that were copied although nobody knows whether their data is right: this crate cannot decompress them, or
    /// they have other filters than the frame. In their order.
    pub unverified: Vec<ChunkRange>,
    /// The metalayers and vlmetalayers that are lost: the name of each, and why.
    pub lost_metalayers: Vec<(String, String)>,
    /// The chunks of the new frame, by where they are. Those that are lost count as what they were filled with.
    pub counts: ChunkCounts,
}

/// Chunks that follow one another, with the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkRange {
    /// The number of the first chunk.
    pub first: u64,
    /// The number of chunks.
    pub count: u64,
    /// Why they are lost or unverified.
    pub why: String,
}

impl SalvageReport {
    /// The number of chunks that are lost.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        count(&self.lost)
    }

    /// The number of chunks that are unverified.
    #[must_use]
    pub fn unverified_count(&self) -> u64 {
        count(&self.unverified)
    }

    /// Whether all data and all metalayers are in the new frame.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.lost_metalayers.is_empty()
    }
}

fn count(ranges: &[ChunkRange]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.count))
}

/// Adds chunks to ranges, of which they extend the last one if they follow it for the same reason.
pub(super) fn add(ranges: &mut Vec<ChunkRange>, first: u64, count: u64, why: String) {
    match ranges.last_mut() {
        Some(last) if last.first.saturating_add(last.count) == first && last.why == why => {
            last.count += count;
        }
        _ if count == 0 => {}
        _ => ranges.push(ChunkRange { first, count, why }),
    }
}
