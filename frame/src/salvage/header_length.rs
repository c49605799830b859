//! Infers the length of a header from the chunk index, if the header is lost.
//!
//! The entries of the chunk index are offsets, counted from the end of the header. So with a wrong header length, an
//! entry can point to the chunk after the right one. This chunk can be decompressed too, so decompression does not show
//! that the length is wrong. But with a wrong length, other entries point into the middle of a chunk, or beyond the
//! chunks. With the right length, each right entry points either to an undamaged chunk that was found, or to a damaged
//! chunk. A damaged chunk is in bytes where no chunk was found.

use core::cmp::Reverse;

use crate::error::Error;
use crate::finding::counted;
use crate::header::fields::{Generation, HeaderField};
use crate::salvage::damaged_file::DamagedFile;
use crate::salvage::header_repair::DamagedHeader;
use crate::salvage::order::Order;
use crate::source::ReadAt;
use crate::write::frame_plan::Sizes;

/// The maximum number of entries of a chunk index that are compared with the chunks.
const MAX_ENTRIES: usize = 1 << 12;

/// The maximum number of header lengths that are tried. If more lengths are possible, the shortest lengths are tried,
/// because few headers are long.
const MAX_LENGTHS: usize = 1 << 8;

/// The length of a header, and why it may be wrong.
pub(super) struct InferredLength {
    pub(super) header_len: u64,
    pub(super) doubt: Option<String>,
}

/// How well a possible header length fits the chunk index. The length with the smallest `Agreement` fits best.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Agreement {
    /// The number of entries that point into the middle of a chunk, or beyond the chunks.
    impossible: usize,
    /// Whether the length is unlikely, because no entry points to a chunk, or because the header would need further
    /// metalayers, which were not found.
    is_unlikely: bool,
    /// The number of entries that point to a chunk.
    agreeing: Reverse<usize>,
}

/// Infers the length of a header from the chunk index that begins at `start`. `order` lists the undamaged chunks of the
/// file. Returns `None` if the index cannot be read.
pub(super) fn infer<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
    sizes: &Sizes,
    start: u64,
    order: &Order,
) -> Result<Option<InferredLength>, Error> {
    let Some(offsets) = stored_offsets(file, header, sizes, start)? else { return Ok(None) };
    let cbytes = header.values.length(HeaderField::Cbytes);
    // These lengths are possible even if no entry then points to a chunk. Any other length is possible only if an entry
    // then points to a chunk.
    let known = [
        header.header_lens.first().copied(),
        start.checked_sub(cbytes).filter(|_| cbytes > 0 && !header.values.is_lost),
    ];
    let is_possible = |&len: &u64| len >= Generation::Present.head_len() as u64 && len <= start;
    let known: Vec<u64> = known.into_iter().flatten().filter(is_possible).collect();
    // Usually, an entry points to the first chunk that was found. The header length is then the offset of this chunk
    // minus the number in the entry. If no entry points to this chunk, the chunk was replaced, or its entry is damaged.
    // Then the header probably ends where this chunk begins.
    let first = order.found.first().copied().unwrap_or_default();
    let lens = offsets.iter().rev().filter_map(|&offset| first.checked_sub(offset)).filter(is_possible);
    let lens = lens.take(MAX_LENGTHS).chain([first].into_iter().filter(is_possible));
    let mut lens: Vec<u64> = known.iter().copied().chain(lens).collect();
    lens.sort_unstable();
    lens.dedup();
    let mut agreements: Vec<(Agreement, u64)> = Vec::new();
    for len in lens {
        let places = || offsets.iter().map(|offset| len.saturating_add(*offset));
        let is_chunk = |place: &u64| *place < start && order.found.binary_search(place).is_ok();
        let is_impossible =
            |place: &u64| *place >= start || !is_chunk(place) && !order.is_between_chunks(*place);
        let (agreeing, impossible) =
            (places().filter(is_chunk).count(), places().filter(is_impossible).count());
        let is_known = known.contains(&len);
        if is_known || agreeing > 0 {
            let is_unlikely = !is_known || agreeing == 0;
            agreements.push((Agreement { impossible, is_unlikely, agreeing: Reverse(agreeing) }, len));
        }
    }
    agreements.sort_unstable();
    let Some(&(Agreement { impossible, .. }, header_len)) = agreements.first() else { return Ok(None) };
    let rival = agreements.get(1).filter(|(rival, _)| rival.impossible == impossible && !offsets.is_empty());
    let doubt = match rival {
        Some((_, rival)) => Some(format!(
            "the header is lost, and by the chunk index it could have {header_len} or {rival} bytes, so this may be another chunk"
        )),
        None if impossible > 0 => Some(format!(
            "the header is lost, and with any length of it {} of the chunk index cannot be right, so this may be another \
             chunk",
            counted(impossible as u64, "offset")
        )),
        None => None,
    };
    Ok(Some(InferredLength { header_len, doubt }))
}

/// The offsets of stored chunks in the first entries of the chunk index that begins at `start`, sorted. Returns `None`
/// if the index cannot be read.
fn stored_offsets<R: ReadAt>(
    file: &mut DamagedFile<'_, R>,
    header: &DamagedHeader,
    sizes: &Sizes,
    start: u64,
) -> Result<Option<Vec<u64>>, Error> {
    let (frame, progress) = file.frame(header.head(sizes, 0, start, file.len)?);
    progress.advance(0)?;
    let Ok(mut chunks) = frame.open_salvaged_chunks() else { return Ok(None) };
    let mut offsets = Vec::new();
    let mut seen = 0;
    while let Some(entry) = chunks.next().filter(|_| seen < MAX_ENTRIES) {
        let Ok(entry) = entry else { return Ok(None) };
        seen += 1;
        offsets.extend(u64::try_from(i64::from_le_bytes(chunks.entry_bytes(entry.number))).ok());
    }
    offsets.sort_unstable();
    offsets.dedup();
    Ok(Some(offsets))
}
