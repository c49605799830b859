//! The chunks in the file before a commit, and the holes that the commit leaves.

use core::ops::Range;

use crate::chunk::entry::{ChunkEntry, ChunkPlace, ENTRY_LEN, EntryValue, chunks_len, index_start};
use crate::chunk::expansion::expansion_limit;
use crate::chunk::hole::{HoleRecord, START};
use crate::error::Error;
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::read::chunks::Chunks;
use crate::spans::{gaps, merged, next_start};

/// The chunks in the file, before a commit.
pub(super) struct OldChunks {
    /// For each unchanged chunk, its number and its entry in the new index.
    pub(super) kept: Vec<(u64, EntryValue)>,
    /// The stored size of the unchanged chunks.
    pub(super) kept_nbytes: u64,
    /// For each stored chunk that is replaced or removed, its place and its stored size. In a contiguous frame, the
    /// place is the offset of the chunk, counted from the end of the header. In a sparse frame, it is the number of the
    /// chunk file.
    pub(super) gone: Vec<(u64, u64)>,
    /// The number of bytes in the holes of a contiguous frame before the commit.
    pub(super) hole_nbytes: u64,
    /// The offset at which the most recent hole record ends, counted from the end of the header.
    pub(super) last_record: Option<u64>,
}

impl OldChunks {
    /// Reads the entries of the chunks in the file, and the headers of the chunks whose stored size is needed. `kept`
    /// turns the old number of each unchanged chunk into its new number.
    ///
    /// The frame must not have [too many chunks](check_count).
    pub(super) fn read(frame: &Frame, kept: impl Fn(u64) -> Option<u64>) -> Result<Self, Error> {
        let header_len = frame.header().header_len as u64;
        let is_sparse = frame.header().is_sparse();
        // A frame without items has no chunks, but its header can still count bytes of chunks. This count is ignored.
        let chunks_len = if frame.header().nbytes > 0 { chunks_len(frame.header()) } else { 0 };
        // A commit writes its hole record directly before the chunk index. The record has the total size of all holes,
        // so the headers of the unchanged chunks need not be read.
        let read = |start: u64, len| frame.read_range(header_len.saturating_add(start), len);
        let record = HoleRecord::read_before(chunks_len, read)?.filter(|_| !is_sparse);
        let mut old = Self {
            kept: Vec::new(),
            kept_nbytes: 0,
            gone: Vec::new(),
            hole_nbytes: 0,
            last_record: record.as_ref().map(|_| chunks_len),
        };
        let mut spans = Vec::new();
        let mut chunks = Chunks::open_or_changing(frame)?;
        while let Some(entry) = chunks.next().transpose()? {
            let value = entry_value(&entry, header_len)?;
            let new = kept(entry.number);
            old.kept.extend(new.map(|number| (number, value)));
            let EntryValue::Stored(place) = value else { continue };
            if new.is_some() && record.is_some() {
                continue;
            }
            let len = chunks.header(&entry)?.map_or(0, |header| header.cbytes() as u64);
            match new {
                Some(_) => old.kept_nbytes = old.kept_nbytes.saturating_add(len),
                None => old.gone.push((place, len)),
            }
            spans.push(place..place.saturating_add(len));
        }
        if is_sparse {
            return Ok(old);
        }
        let gone_nbytes = old.gone.iter().fold(0, |sum: u64, &(_, len)| sum.saturating_add(len));
        if let Some(record) = record {
            old.hole_nbytes = record.nbytes;
            old.kept_nbytes = chunks_len.saturating_sub(record.nbytes).saturating_sub(gone_nbytes);
            return Ok(old);
        }
        spans.sort_unstable_by_key(|span| span.start);
        let mut ends = Vec::new();
        for gap in gaps(spans, 0..chunks_len) {
            old.hole_nbytes += gap.end - gap.start;
            ends.push(gap.end);
        }
        // If another program has appended chunks since the last commit of this crate, the hole record of that commit is
        // at the end of a gap between chunks.
        for end in ends.into_iter().rev() {
            let read = |start: u64, len| frame.read_range(header_len.saturating_add(start), len);
            if HoleRecord::read_before(end, read)?.is_some() {
                old.last_record = Some(end);
                break;
            }
        }
        Ok(old)
    }

    /// The holes that the replaced and removed chunks leave, in ascending order.
    fn holes(&self) -> Vec<Range<u64>> {
        let mut starts: Vec<u64> = self.gone.iter().map(|&(start, _)| start).collect();
        starts.extend(self.kept.iter().filter_map(|&(_, entry)| stored(entry)));
        starts.sort_unstable();
        let hole = |&(start, len): &(u64, u64)| {
            // In a damaged frame, a chunk can claim bytes of the next chunk.
            let next = next_start(&starts, start).unwrap_or(u64::MAX);
            start..start.saturating_add(len).min(next)
        };
        merged(self.gone.iter().map(hole).collect())
    }

    /// The hole record of a commit that writes after the end of the frame.
    pub(super) fn hole_record(&self, header: &Header) -> HoleRecord {
        let within = |offset: u64| offset.saturating_sub(header.header_len as u64);
        // The old index, the old trailer and the mark at the start of the commit become one hole.
        let replaced = within(index_start(header))..within(header.frame_len) + START.len() as u64;
        let mut record = HoleRecord { previous: self.last_record, nbytes: 0, holes: self.holes() };
        record.holes.push(replaced);
        let new: u64 = record.holes.iter().map(|hole| hole.end - hole.start).sum();
        record.nbytes = self.hole_nbytes.saturating_add(new).saturating_add(record.len());
        record
    }

    /// For each unchanged stored chunk of a sparse frame, its new number and the number of its file.
    #[cfg(feature = "compress")]
    pub(super) fn files(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.kept.iter().filter_map(|&(number, entry)| Some((number, stored(entry)?)))
    }
}

/// Refuses a number of chunks for which a commit would need too much memory: a file of a few bytes can claim 268
/// million special chunks.
pub(super) fn check_count(nchunks: u64, frame_len: u64) -> Result<(), Error> {
    if nchunks.saturating_mul(ENTRY_LEN as u64) <= expansion_limit(frame_len) {
        return Ok(());
    }
    Err(Error::too_large(format_args!("{nchunks} chunks are too many for a frame of {frame_len} bytes")))
}

fn stored(entry: EntryValue) -> Option<u64> {
    match entry {
        EntryValue::Stored(place) => Some(place),
        EntryValue::Special(_) | EntryValue::Invalid => None,
    }
}

/// The value of an entry in the index. Offsets are counted from the end of the header.
pub(super) fn entry_value(entry: &ChunkEntry, header_len: u64) -> Result<EntryValue, Error> {
    Ok(match entry.place {
        ChunkPlace::Frame(place) => EntryValue::Stored(place.saturating_sub(header_len)),
        ChunkPlace::File(number) => EntryValue::Stored(number),
        ChunkPlace::Special(special) => EntryValue::Special(special),
        ChunkPlace::Invalid(value) => {
            let number = entry.number;
            return Err(Error::unsupported(format_args!(
                "chunk {number} has the entry {value:#018x} in the chunk index, which is not valid"
            )));
        }
    })
}
