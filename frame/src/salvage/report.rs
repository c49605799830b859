//! The report of a salvage.

use crate::format::index::ChunkCounts;
use crate::io::frame::Frame;

/// The report of a [`Salvage`](crate::Salvage): what it restored, and what it lost.
///
/// Offsets in the texts are those of the old frame. The wording can change in later releases.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The header of the new frame.
    pub frame: Frame<()>,
    /// The parts that were restored from the rest of the frame: of the header, the chunk index, the trailer and the
    /// chunk headers.
    pub restored: Vec<String>,
    /// The assumptions that could not be verified, such as the order of the chunks.
    pub assumed: Vec<String>,
    /// The lost chunks, in order.
    pub lost: Vec<ChunkRange>,
    /// The chunks that were copied, but whose data may be wrong, in order: this crate cannot decompress them, they have
    /// other filters than the rest of the frame, or their header was restored.
    pub unverified: Vec<ChunkRange>,
    /// The lost metalayers and vlmetalayers: name and reason.
    pub lost_metalayers: Vec<(String, String)>,
    /// The chunks of the new frame, counted by their place. A lost chunk counts as the fill value that replaces it.
    pub counts: ChunkCounts,
}

/// Consecutive chunks with the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkRange {
    /// The number of the first chunk.
    pub first: u64,
    /// The number of chunks.
    pub count: u64,
    /// The reason why they are lost or unverified.
    pub why: String,
}

impl SalvageReport {
    /// The number of lost chunks.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        count(&self.lost)
    }

    /// The number of unverified chunks.
    #[must_use]
    pub fn unverified_count(&self) -> u64 {
        count(&self.unverified)
    }

    /// Whether all chunks and all metalayers are in the new frame, with those that are [unverified](Self::unverified).
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.lost_metalayers.is_empty()
    }
}

/// The text for a restored chunk.
pub(super) const CLEARED: &str = "the dictionary flag is cleared, because the data is not compressed";

/// The text for the report about restored chunks.
pub(super) fn restored(range: &ChunkRange) -> String {
    let ChunkRange { first, count, ref why } = *range;
    match count {
        1 => format!("chunk {first}: {why}"),
        _ => format!("chunks {first} to {}: {why}", first.saturating_add(count - 1)),
    }
}

fn count(ranges: &[ChunkRange]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.count))
}

/// Adds chunks to the ranges. They extend the last range if they follow it and have the same reason.
pub(super) fn add(ranges: &mut Vec<ChunkRange>, first: u64, count: u64, why: String) {
    match ranges.last_mut() {
        Some(last) if last.first.saturating_add(last.count) == first && last.why == why => {
            last.count += count;
        }
        _ if count == 0 => {}
        _ => ranges.push(ChunkRange { first, count, why }),
    }
}
