//! The rules of the chunk index: its place, its header and its entries.

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::internals::typesize_byte;
use b2nd_serde::Geometry;

use crate::chunk::chunk_rules::{ChunkRules, check_dictionary, check_flags};
use crate::chunk::entry::{ChunkCounts, ChunkEntry, ChunkPlace, ENTRY_LEN, index_start, max_offset};
use crate::chunk::special_item::has_item;
use crate::chunk_file;
use crate::code::FindingCode;
use crate::finding::{Finding, Place, counted};
use crate::header::frame_header::Header;
use crate::spans::first_repeated;

/// The maximum number of chunks that are compared with each other, to find shared offsets and shared bytes. The offsets
/// of this many chunks take 64 MiB of memory, and the byte ranges 192 MiB. Chunks beyond this number are only checked
/// one by one.
pub(crate) const MAX_COMPARED: usize = 1 << 23;

/// A finding about the chunk index as a whole.
pub(crate) fn about(code: FindingCode, header: &Header) -> Finding {
    Finding::new(code, Place::ChunkIndex).at(index_start(header))
}

/// Parses the chunk header of the chunk index, and compares it with the frame. `bytes` begins at the offset where the
/// index should begin. The index must end at the offset `end` or before.
pub(crate) fn index_header(bytes: &[u8], header: &Header, end: u64) -> Result<ChunkHeader, Finding> {
    let left = end.saturating_sub(index_start(header));
    let Some(index) = ChunkHeader::parse(bytes).filter(|index| index.cbytes() as u64 <= left) else {
        let text = match left {
            0 => "no bytes are left for the chunk index, which should begin here".into(),
            _ => format!("the chunk index should begin here, in at most {left} bytes"),
        };
        return Err(about(FindingCode::DamagedIndex, header).text(text));
    };
    // If chunks have different sizes, only the index records the number of chunks. `header.nchunks()` is then `None`,
    // so nothing is compared.
    let is_other = |nchunks: &u64| nchunks.checked_mul(ENTRY_LEN as u64) != Some(index.nbytes() as u64);
    if let Some(nchunks) = header.nchunks().filter(is_other) {
        let (found, rest) = (index.nbytes() / ENTRY_LEN, index.nbytes() % ENTRY_LEN);
        let rest = if rest == 0 { String::new() } else { format!(" and {}", counted(rest, "byte")) };
        let chunks = counted(found, "chunk");
        let text = format!("the chunk index has {chunks}{rest}, but nbytes and chunksize give {nchunks}");
        return Err(about(FindingCode::ChunkIndexCount, header).numbers(nchunks, found).text(text));
    }
    Ok(index)
}

/// The finding for invalid flags in the chunk header of the chunk index. The caller must have checked the place and the
/// length of the index with [`index_header`].
pub(crate) fn index_flags(index: &ChunkHeader, header: &Header) -> Option<Finding> {
    let why = check_index_flags(index).err()?;
    Some(about(FindingCode::DamagedIndex, header).text(format!("the chunk index {why}")))
}

/// Checks that C-Blosc2 can read a chunk index with this header.
fn check_index_flags(index: &ChunkHeader) -> Result<(), String> {
    let (header_len, blocksize) = (index.header_len(), index.blocksize());
    let rules =
        ChunkRules { typesize: Some(typesize_byte(ENTRY_LEN)), may_be_short: true, ..ChunkRules::default() };
    if header_len != ChunkHeader::MAX_LEN {
        return Err(format!(
            "has a header of {header_len} bytes, but must have one of {}",
            ChunkHeader::MAX_LEN
        ));
    }
    rules.check_sizes(index, None, u64::MAX)?;
    check_flags(index)?;
    if index.has_variable_blocks() {
        return Err("has blocks of different sizes, but must have one size".into());
    }
    check_dictionary(index)?;
    // The block size must be a multiple of 8 if there is more than one block. If the block size exceeds the size of the
    // data, C-Blosc2 reads the data as one block.
    if !index.is_uncompressed() && blocksize < index.nbytes() && blocksize % ENTRY_LEN != 0 {
        return Err(format!("has blocks of {blocksize} bytes, but must have a multiple of {ENTRY_LEN}"));
    }
    if index.has_table() && index.codec().is_none() {
        return Err("has a codec that no version of C-Blosc2 knows".into());
    }
    let plugin = index.filters().into_iter().find(|filter| filter.is_plugin()).filter(|_| index.has_table());
    match plugin {
        Some(filter) => Err(format!("has {filter}, but must have none or a filter of C-Blosc2 itself")),
        None => Ok(()),
    }
}

/// The results of a pass over the entries of a chunk index.
#[derive(Default)]
pub(crate) struct IndexScan {
    pub(crate) counts: ChunkCounts,
    /// The places of the first [`MAX_COMPARED`] stored chunks. In a contiguous frame, they are offsets, counted from
    /// the end of the header. In a sparse frame, they are file numbers.
    pub(crate) stored: Vec<u64>,
    /// The number of stored chunks before the first special chunk.
    nfirst: u64,
    /// Whether a stored chunk follows a special chunk.
    is_mixed: bool,
    /// The largest invalid entry.
    invalid: Option<i64>,
    /// The chunk number and the int64 of the first entry with wrong bits. Such an entry has a special value, but also
    /// bits that no writer sets for this value.
    other_bits: Option<(u64, i64)>,
    /// The number of the first chunk that is NaN according to its entry, although Blosc2 has no NaN of this item size.
    impossible_nan: Option<u64>,
}

impl IndexScan {
    /// Adds an entry to the results. If the entry has a special value, but also bits that no writer sets for this
    /// value, `other_bits` is the entry as an int64. Otherwise, `other_bits` is `None`.
    pub(crate) fn take(&mut self, entry: &ChunkEntry, other_bits: Option<i64>, header: &Header) {
        match entry.place {
            ChunkPlace::Frame(offset) => self.store(offset.saturating_sub(header.header_len as u64)),
            ChunkPlace::File(number) => self.store(number),
            ChunkPlace::Special(special) if !has_item(special, header.typesize.into()) => {
                self.impossible_nan.get_or_insert(entry.number);
            }
            ChunkPlace::Special(_) => {}
            ChunkPlace::Invalid(value) => self.invalid = self.invalid.max(Some(value)),
        }
        self.other_bits = self.other_bits.or(other_bits.map(|value| (entry.number, value)));
        *self.counts.count_mut(entry.place) += 1;
    }

    fn store(&mut self, number: u64) {
        if self.stored.len() < MAX_COMPARED {
            self.stored.push(number);
        }
        if self.counts.special() == 0 {
            self.nfirst += 1;
        } else {
            self.is_mixed = true;
        }
    }

    /// The finding for an entry that C-Blosc2 rejects or misreads. The caller must have sorted `stored`.
    pub(crate) fn wrong_offset(&self, header: &Header) -> Option<Finding> {
        let finding = about(FindingCode::ChunkOffset, header);
        if let Some(value) = self.invalid {
            return Some(invalid(value, header, finding));
        }
        if let Some((number, value)) = self.other_bits {
            let text = format!(
                "the entry of chunk {number} is {value:#018x}, a special value with other bits, which no writer sets"
            );
            return Some(finding.text(text));
        }
        if let Some(number) = self.impossible_nan {
            let typesize = header.typesize;
            let text =
                format!("the entry of chunk {number} is NaN, but Blosc2 has no NaN of {typesize} bytes");
            return Some(finding.text(text));
        }
        // C-Blosc2 checks the file numbers of a sparse frame as if they were offsets, so it rejects a file number that
        // is above the largest valid offset.
        let last = self.stored.last().copied().filter(|_| header.is_sparse());
        let most = chunk_file::last_number(header.cbytes);
        if let Some(last) = last.filter(|&last| i128::from(last) > most.into()) {
            let (name, cbytes) = (chunk_file::name(last), header.cbytes);
            let text = format!(
                "a chunk is in {name}, number {last}, but with {cbytes} bytes of chunks C-Blosc2 opens numbers up to {most}"
            );
            return Some(finding.numbers(most, last).text(text));
        }
        let twice = first_repeated(&self.stored)?;
        let what = if header.is_sparse() { "file number" } else { "offset" };
        Some(finding.text(format!("two chunks have the {what} {twice}")))
    }

    /// The finding for special chunks in a frame whose chunks have different sizes. In such a frame, only the header of
    /// a chunk records the size of the chunk. A special chunk has no header, so its size is not known.
    pub(crate) fn lost_length(&self, header: &Header) -> Option<Finding> {
        let (special, total) = (self.counts.special(), self.counts.total());
        (header.nchunks().is_none() && special > 0).then(|| {
            about(FindingCode::LostChunkLength, header).text(format!(
                "{special} of {total} chunks repeat one value, but their number of items is not stored"
            ))
        })
    }

    /// The finding that the items of the special chunks may never have been written. It is only a warning.
    // If a writer was killed, typically the first chunks are stored, and all chunks after them are special. If a stored
    // chunk follows a special chunk, the special chunks were probably written on purpose, such as the empty border of a
    // mask. In this case, there is no finding. Otherwise, the special chunks can still be on purpose, so the finding is
    // only a warning.
    pub(crate) fn unwritten(
        &self,
        header: &Header,
        geometry: impl FnOnce() -> Option<Geometry>,
    ) -> Option<Finding> {
        let (count, nfirst) = (self.counts.total(), self.nfirst);
        let is_damaged = self.invalid.is_some() || self.other_bits.is_some() || self.impossible_nan.is_some();
        if is_damaged || self.counts.special() == 0 || self.is_mixed {
            return None;
        }
        if nfirst > 0 {
            let text = match nfirst {
                1 => format!("only the first of {count} chunks is stored"),
                _ => format!("only the first {nfirst} of {count} chunks are stored"),
            };
            let text = match geometry().as_ref().and_then(|geometry| geometry.chunk(nfirst)) {
                Some(chunk) => {
                    format!("{text}, and none from grid coordinate {:?} on", chunk.coordinate())
                }
                None => text,
            };
            return Some(about(FindingCode::NeverWritten, header).numbers(count, nfirst).text(text));
        }
        let text = match count {
            1 => "the only chunk is not stored".into(),
            _ => format!("none of {count} chunks is stored"),
        };
        Some(about(FindingCode::NoData, header).numbers(count, 0).text(text))
    }
}

/// Completes the finding for an entry with the invalid int64 `value`.
fn invalid(value: i64, header: &Header, finding: Finding) -> Finding {
    match (u64::try_from(value), max_offset(header)) {
        (Err(_), _) => {
            let byte = value >> 56 & 0xff;
            finding.text(format!("an entry ends with {byte:#04x}, which is not a special value"))
        }
        (Ok(offset), Some(most)) => {
            let text = format!("a chunk has the offset {offset}, but must have at most {most}");
            finding.numbers(most, offset).text(text)
        }
        (Ok(offset), None) => {
            let length = header.cbytes;
            let text = format!(
                "a chunk has the offset {offset}, but the chunks have {length} bytes in all, too few for one"
            );
            finding.text(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_number_of_chunks_64_mebibytes_are_kept() {
        let mut scan = IndexScan::default();
        let count = MAX_COMPARED as u64 + 1;
        (0..count).for_each(|number| scan.store(number));
        assert_eq!((scan.stored.len(), scan.nfirst), (MAX_COMPARED, count));
        assert_eq!(size_of_val(&scan.stored[..]), 64 << 20);
    }
}
