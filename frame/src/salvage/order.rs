//! Finds the chunks of a frame without a chunk index, and numbers them in the order of the file.

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::internals::{HeaderSize, typesize_byte};

use crate::check::chunk_files;
use crate::chunk::chunk_rules::ChunkRules;
use crate::error::Error;
use crate::read::chunk_file_bytes::ChunkBytes;
use crate::salvage::chunk_header::valid_header;
use crate::salvage::damaged_file::{DamagedFile, Search};
use crate::salvage::recorded_holes::{self, end_of_hole};
use crate::source::ReadAt;
use crate::write::frame_plan::Sizes;

/// The offset of the type size in a chunk header. The [`signature`] begins with the type size, so a chunk begins this
/// number of bytes before the signature.
pub(super) const TYPESIZE: u64 = HeaderSize::Typesize as u64;

/// Pairs of a chunk number and the place of that chunk, sorted by chunk number. The place is the offset of the chunk
/// or, in a sparse frame, the number of its file.
pub(super) type NumberedChunks = Vec<(u64, u64)>;

/// The chunks that were found, in the order of the file.
#[derive(Default)]
pub(super) struct Order {
    /// The offsets of the chunks that were found or, in a sparse frame, the numbers of their files.
    pub(super) found: Vec<u64>,
    gaps: Vec<DamagedGap>,
    /// Whether a commit has recorded holes. If so, the chunks that were in the holes have been replaced by chunks at
    /// the end of the file, so the order of the file is not the order of the chunk numbers.
    has_replaced: bool,
    is_sparse: bool,
    /// The offset where the last chunk that was found ends.
    end: u64,
    /// The total stored size of the chunks that were found.
    len: u64,
}

/// A byte range between two chunks that holds no whole chunk.
struct DamagedGap {
    /// The number of chunks that were found before the gap.
    before: usize,
    /// The offset of the first damaged byte.
    start: u64,
    /// The number of damaged bytes. Holes that a commit has recorded can lie between these bytes, and do not count.
    len: u64,
    /// The number of damaged chunks in the gap that still have a recognizable header.
    traces: u64,
}

impl Order {
    /// Whether the byte at an offset belongs to no chunk that was found. A damaged chunk can begin at such an offset.
    pub(super) fn is_between_chunks(&self, at: u64) -> bool {
        let next = self.found.partition_point(|&start| start <= at);
        if next == self.found.len() {
            return at >= self.end;
        }
        let gap = self.gaps.binary_search_by_key(&next, |gap| gap.before);
        next == 0 || gap.ok().and_then(|gap| self.gaps.get(gap)).is_some_and(|gap| at >= gap.start)
    }

    /// Whether the file has exactly the chunks of the array, so that the n-th chunk of the file can be chunk n. `end` is the
    /// offset where the last chunk ends according to the header, if it is known.
    // If the file has fewer chunks than the array, the other chunks of the array are lost or special, and nothing shows
    // which chunks these are. If the file has more chunks, some of them are old.
    pub(super) fn is_complete(&self, nchunks: u64, end: Option<u64>) -> bool {
        if self.is_sparse {
            return self.found.iter().copied().eq(0..nchunks);
        }
        let traces = self.gaps.iter().map(|gap| gap.traces).sum::<u64>();
        // A gap without a trace can hold any number of lost chunks, or bytes of an old chunk.
        let are_gaps_known = self.gaps.iter().all(|gap| gap.traces > 0);
        let is_count_right = self.found.len() as u64 + traces == nchunks;
        are_gaps_known && is_count_right && !self.has_replaced && end.is_none_or(|end| end == self.end)
    }

    /// Assigns chunk numbers in the order of the file. The numbers of lost chunks are skipped. `end` is the offset
    /// where the last chunk ends according to the header. If the last chunk that was found ends at `end` too, no chunk
    /// is missing after it.
    pub(super) fn numbered(&self, nchunks: u64, end: u64) -> NumberedChunks {
        if self.is_sparse {
            // C-Blosc2 gives each new file the next number, so a gap in the numbers is taken as a lost file. The file
            // numbers are used as chunk numbers, unless one of them is too high for a chunk number.
            let is_numbered = self.found.last().is_some_and(|&last| last < nchunks);
            let numbers = (0..).zip(&self.found);
            return numbers.map(|(n, &file)| (if is_numbered { file } else { n }, file)).collect();
        }
        let lost = nchunks.saturating_sub(self.found.len() as u64);
        let lost = self.lost_in_gaps(lost, self.end == end);
        let (mut gaps, mut before) = (self.gaps.iter().zip(lost).peekable(), 0);
        let numbered = self.found.iter().enumerate().map(|(n, &place)| {
            while let Some((_, lost)) = gaps.next_if(|(gap, _)| gap.before == n) {
                before += lost;
            }
            (n as u64 + before, place)
        });
        numbered.collect()
    }

    /// Distributes `lost` chunks over the gaps in proportion to the lengths of the gaps, and returns the number of
    /// lost chunks in each gap. Each gap gets at least one chunk, and at least as many as its `traces`, the damaged
    /// chunks that still have a recognizable header. If there are too few lost chunks for these minimums, no gap gets
    /// a chunk. If `is_all` is true, all lost chunks were in the gaps. Otherwise some lost chunks may have been after
    /// the last chunk that was found.
    fn lost_in_gaps(&self, lost: u64, is_all: bool) -> Vec<u64> {
        // The largest remainder method: each gap gets its share rounded down, but at least `least`. The chunks that
        // are then left go to the gaps with the largest remainders, one chunk to each.
        let least: Vec<u64> = self.gaps.iter().map(|gap| gap.traces.max(1)).collect();
        // If the sum of the minimums is higher than the number of lost chunks, some gaps hold old bytes and no lost
        // chunk. Nothing shows which gaps these are, so no gap gets a lost chunk.
        if least.iter().sum::<u64>() > lost {
            return vec![0; least.len()];
        }
        let len = self.gaps.iter().map(|gap| gap.len).sum::<u64>().max(1);
        let usual = (self.len / (self.found.len() as u64).max(1)).max(1);
        // If `is_all` is false, some lost chunks may have been after the last chunk that was found. So `all`, the
        // number of chunks to distribute, is at most the number that fits into the gaps. A lost chunk is assumed to
        // have the mean stored size of the chunks that were found.
        let all = if is_all { lost } else { lost.min((len + usual / 2) / usual) };
        let mut shares = Vec::new();
        for (gap, least) in self.gaps.iter().zip(&least) {
            let share = u128::from(gap.len) * u128::from(all);
            let count = u64::try_from(share / u128::from(len)).unwrap_or(all);
            let rest = if count < *least { 0 } else { share % u128::from(len) };
            shares.push((rest, count.max(*least)));
        }
        let sum = shares.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        // If the minimums raise the sum above the number of lost chunks, every gap gets only its minimum.
        if sum > lost {
            return least;
        }
        let mut by_rest: Vec<&mut (u128, u64)> = shares.iter_mut().collect();
        by_rest.sort_by_key(|(rest, _)| core::cmp::Reverse(*rest));
        let left = usize::try_from(all.saturating_sub(sum)).unwrap_or(usize::MAX);
        by_rest.into_iter().take(left).for_each(|(_, count)| *count += 1);
        shares.into_iter().map(|(_, count)| count).collect()
    }
}

/// Finds the chunks in the order of the file. In a contiguous frame, reads one chunk header after another, from `start`
/// on. If a chunk header is not valid, searches for the next valid chunk header. In a sparse frame, lists the chunk
/// files without reading them. Only the holes that were recorded before `frame_len` are skipped.
pub(super) fn find<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    start: u64,
    frame_len: u64,
    sizes: &Sizes,
    rules: &ChunkRules,
) -> Result<Order, Error> {
    if let Some(directory) = file.directory() {
        let found = chunk_files::list(directory).map_err(|error| Error::io("read", directory, error))?;
        return Ok(Order { found, is_sparse: true, ..Order::default() });
    }
    let signature = signature(sizes);
    let nbytes = Some(u64::from(sizes.chunksize));
    let replaced = recorded_holes::find(file, start, frame_len)?;
    let mut order = Order { has_replaced: !replaced.is_empty(), ..Order::default() };
    let mut search = Search::new(&signature);
    let (mut at, mut gap) = (start, None);
    while at < file.len {
        if let Some(end) = end_of_hole(&replaced, at) {
            at = end;
            continue;
        }
        let bytes = file.read(at, ChunkHeader::MAX_LEN as u64)?;
        let first = ChunkBytes { bytes, room: file.len - at, version: None };
        if let Some(header) = valid_header(&first, nbytes, rules) {
            order.gaps.extend(gap.take());
            order.found.push(at);
            order.len = order.len.saturating_add(header.cbytes() as u64);
            at = at.saturating_add(header.cbytes() as u64);
            order.end = at;
        } else {
            let Some(next) = search.next(file, at.saturating_add(TYPESIZE + 1))? else { break };
            let next = next - TYPESIZE;
            let gap =
                gap.get_or_insert(DamagedGap { before: order.found.len(), start: at, len: 0, traces: 0 });
            gap.len += next - at;
            gap.traces += u64::from(is_trace(&first.bytes, &signature, next - at));
            at = next;
        }
    }
    Ok(order)
}

/// Whether the bytes are a damaged chunk header that can still be recognized. Either its sizes are right, or its stored
/// size is the `distance` to the next chunk.
fn is_trace(bytes: &[u8], signature: &[u8], distance: u64) -> bool {
    let has_sizes =
        bytes.get(HeaderSize::Typesize as usize..).is_some_and(|sizes| sizes.starts_with(signature));
    let cbytes = bytes.get(HeaderSize::Cbytes as usize..).and_then(<[u8]>::first_chunk);
    has_sizes || cbytes.is_some_and(|&cbytes| u64::from(u32::from_le_bytes(cbytes)) == distance)
}

/// The bytes that are the same in all chunk headers of a frame: the type size, the chunk size and the block size.
pub(super) fn signature(sizes: &Sizes) -> Vec<u8> {
    let typesize = [typesize_byte(sizes.typesize)];
    [&typesize[..], &sizes.chunksize.to_le_bytes(), &sizes.blocksize.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five chunks of 100 bytes. There is a gap after the second chunk and a gap after the fourth chunk. `gaps` has
    /// the length and the number of traces of each gap. A gap of length 0 is left out.
    fn order(gaps: [(u64, u64); 2]) -> Order {
        let gap = |before, (len, traces)| DamagedGap { before, start: 0, len, traces };
        let gaps = [gap(2, gaps[0]), gap(4, gaps[1])].into_iter().filter(|gap| gap.len > 0).collect();
        let found = vec![0, 100, 900, 1000, 2000];
        Order { found, gaps, has_replaced: false, is_sparse: false, end: 2100, len: 500 }
    }

    fn numbers(order: &Order, nchunks: u64, end: u64) -> Vec<u64> {
        order.numbered(nchunks, end).into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn lost_chunks_are_distributed_over_the_gaps_by_their_lengths() {
        // The array has five chunks, and five were found. No chunk is lost, so the gaps hold only old bytes.
        assert_eq!(numbers(&order([(300, 0), (100, 0)]), 5, 2100), [0, 1, 2, 3, 4]);
        // The array has nine chunks, so four are lost. The gap of 300 bytes gets three of them, and the gap of 100
        // bytes gets one.
        assert_eq!(numbers(&order([(300, 0), (100, 0)]), 9, 2100), [0, 1, 5, 6, 8]);
        // One chunk is lost, but nothing shows in which of the two gaps it was. So no gap gets a lost chunk.
        assert_eq!(numbers(&order([(300, 0), (100, 0)]), 6, 2100), [0, 1, 2, 3, 4]);
        // Four chunks are lost. The three traces in the first gap are headers of lost chunks, so this gap gets three
        // lost chunks, and the second gap gets one.
        assert_eq!(numbers(&order([(100, 3), (100, 0)]), 9, 2100), [0, 1, 5, 6, 8]);
    }

    #[test]
    fn chunks_may_be_missing_after_the_last_one_unless_the_chunks_end_there() {
        // Five chunks were found, and there is one gap, of 100 bytes. The last chunk that was found ends at 2100.
        // According to the header, the last chunk ends at 5000, so lost chunks may have been after the last chunk that
        // was found. The gap gets only one lost chunk, because the chunks found have 100 bytes on average.
        assert_eq!(numbers(&order([(100, 0), (0, 0)]), 20, 5000), [0, 1, 3, 4, 5]);
        // According to the header, the last chunk ends at 2100, and the last chunk that was found ends there too. So no
        // chunk is missing after it, and the gap gets all three lost chunks.
        assert_eq!(numbers(&order([(100, 0), (0, 0)]), 8, 2100), [0, 1, 5, 6, 7]);
    }

    #[test]
    fn is_complete_needs_a_trace_of_each_chunk_that_was_not_found() {
        let is_complete = |gaps, nchunks| order(gaps).is_complete(nchunks, Some(2100));
        assert!(is_complete([(0, 0), (0, 0)], 5));
        // If the array has six chunks, one of them is special or lost. If it has four, one of the five chunks in the
        // file is old.
        assert!(!is_complete([(0, 0), (0, 0)], 6) && !is_complete([(0, 0), (0, 0)], 4));
        assert!(is_complete([(300, 2), (100, 1)], 8));
        // Three chunks are missing, and the gaps have three traces together, but the gap of 100 bytes has no trace.
        assert!(!is_complete([(300, 3), (100, 0)], 8));
        // According to the header, the chunks end at 2200, so another chunk follows the last chunk that was found.
        let order = Order { gaps: Vec::new(), ..order([(0, 0), (0, 0)]) };
        assert!(!order.is_complete(5, Some(2200)) && order.is_complete(5, None));
        assert!(!Order { has_replaced: true, ..order }.is_complete(5, None));
        let sparse = |found| Order { found, is_sparse: true, ..Order::default() };
        assert!(sparse(vec![0, 1, 2]).is_complete(3, None));
        assert!(!sparse(vec![0, 1, 3]).is_complete(3, None) && !sparse(vec![0, 2]).is_complete(3, None));
    }
}
