//! The verification of a single chunk by its header and by decompression.

use std::io::{Read, Seek};

use b2nd_chunk::ChunkHeader;
use b2nd_chunk::header::{HeaderSize, set_filter};

use crate::check::chunk_data::{self, NotDecompressed};
use crate::error::{Error, ErrorKind};
use crate::format::index::ChunkEntry;
use crate::io::blocks::{FIRST_READ, streams_end, wrong_stored_table};
use crate::io::chunks::{ChunkBytes, Chunks};
use crate::rules::chunk::{ChunkRules, list, unsupported};
use crate::salvage::scan::HeaderScan;

/// The verdict on a chunk.
pub(super) enum Verdict {
    Saved(SavedChunk),
    Lost(String),
}

/// A chunk that can be copied.
pub(super) struct SavedChunk {
    pub(super) bytes: Vec<u8>,
    /// Why it could not be verified.
    pub(super) doubt: Option<String>,
    /// The number in its header that was restored.
    pub(super) restored: Option<String>,
}

/// Reads a stored chunk and decompresses it.
pub(super) fn chunk<R: Read + Seek>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    scan: &HeaderScan,
) -> Result<Verdict, Error> {
    match (StoredChunk { chunks, entry, scan }).judge_or_restore() {
        // A disk sector that cannot be read costs only the chunks in it.
        Err(error) if error.kind() == ErrorKind::Io => Ok(Verdict::Lost(error.to_string())),
        verdict => verdict,
    }
}

/// A stored chunk to verify.
struct StoredChunk<'s, 'c, R> {
    chunks: &'s mut Chunks<'c, R>,
    entry: &'s ChunkEntry,
    scan: &'s HeaderScan,
}

impl<R: Read + Seek> StoredChunk<'_, '_, R> {
    fn judge_or_restore(&mut self) -> Result<Verdict, Error> {
        let Some(mut first) = self.chunks.bytes(self.entry, 0, FIRST_READ)? else {
            return Ok(Verdict::Lost("its file is missing".into()));
        };
        let verdict = if self.scan.wrong_lengths.contains(&self.entry.number) {
            Verdict::Lost("it shares bytes with the next chunk".into())
        } else {
            self.judge(&first)?
        };
        // A restored chunk must not share bytes with another one. This also bounds the bytes that are read again.
        first.room = first.room.min(self.scan.room(self.entry));
        let restored = match &verdict {
            Verdict::Lost(_) => self.with_restored_size(&first)?,
            Verdict::Saved(saved) if saved.doubt.is_some() => self.with_restored_filter(&first)?,
            Verdict::Saved(_) => None,
        };
        Ok(restored.map_or(verdict, Verdict::Saved))
    }

    /// Verifies a chunk with these first bytes, which need not be those of the file.
    fn judge(&mut self, first: &ChunkBytes) -> Result<Verdict, Error> {
        let Some(header) = ChunkHeader::parse(&first.bytes) else {
            return Ok(Verdict::Lost("its first bytes are not the header of a chunk".into()));
        };
        let why = match self.scan.rules.violation(&header, self.entry.nbytes, first.room) {
            None => wrong_stored_table(self.chunks, self.entry, &header, &first.bytes)?,
            why => why,
        };
        if let Some(why) = why {
            return Ok(Verdict::Lost(format!("it {why}")));
        }
        let mut bytes = match self.chunks.bytes(self.entry, 0, header.cbytes as u64)? {
            Some(chunk) if chunk.bytes.len() == header.cbytes => chunk.bytes,
            _ => return Ok(Verdict::Lost("its file has become shorter".into())),
        };
        bytes.iter_mut().zip(&first.bytes).for_each(|(byte, &right)| *byte = right);
        let mut doubt = doubt(&header, &self.scan.rules);
        if header.has_table() {
            let checked = match unsupported(&header) {
                Some(why) => Err(NotDecompressed::NotTried(why)),
                None => chunk_data::check(&header, &bytes),
            };
            match checked {
                Ok(()) => {}
                Err(NotDecompressed::Damaged(why)) => {
                    return Ok(Verdict::Lost(format!("it {why}")));
                }
                Err(NotDecompressed::NotTried(why)) => doubt = Some(format!("it {why}")),
            }
        }
        Ok(Verdict::Saved(SavedChunk { bytes, doubt, restored: None }))
    }

    /// Verifies a chunk after restoring one size in its header. The array has all sizes but `cbytes`, which follows
    /// from the blocks, or from the data if it is not compressed. `None` if no single size makes the chunk sound.
    fn with_restored_size(&mut self, first: &ChunkBytes) -> Result<Option<SavedChunk>, Error> {
        let known = [
            (HeaderSize::Typesize, self.scan.rules.typesize.map(usize::from)),
            (HeaderSize::Nbytes, self.entry.nbytes.and_then(|nbytes| usize::try_from(nbytes).ok())),
            (HeaderSize::Blocksize, self.scan.rules.blocksize),
            (HeaderSize::Cbytes, self.cbytes(first)?),
        ];
        for (size, right) in known {
            let mut bytes = first.bytes.clone();
            let Some(right) = right else { continue };
            let Some(old) = size.replace(&mut bytes, right) else { continue };
            if bytes == first.bytes {
                continue;
            }
            if let Some(bytes) = self.sound(&ChunkBytes { bytes, room: first.room })? {
                let restored = Some(format!("{} in its header was {old}, and is {right}", size.name()));
                // Data that decompresses can be damaged all the same.
                let doubt = Some("its header was damaged, so its data may be too".into());
                return Ok(Some(SavedChunk { bytes, doubt, restored }));
            }
        }
        Ok(None)
    }

    /// The bytes of a chunk with these first bytes, if it is verified without a doubt.
    fn sound(&mut self, first: &ChunkBytes) -> Result<Option<Vec<u8>>, Error> {
        Ok(match self.judge(first)? {
            Verdict::Saved(SavedChunk { bytes, doubt: None, .. }) => Some(bytes),
            _ => None,
        })
    }

    /// Verifies a chunk with an unknown filter after replacing that by the one of the other chunks. `None` if the
    /// filters differ in more than one number.
    fn with_restored_filter(&mut self, first: &ChunkBytes) -> Result<Option<SavedChunk>, Error> {
        let (Some(header), Some(usual)) = (ChunkHeader::parse(&first.bytes), &self.scan.rules.filters) else {
            return Ok(None);
        };
        // A known filter can be right: python-blosc2 can change those of a frame between two chunks.
        let Some(number) = header.unknown_filter() else { return Ok(None) };
        let changed = usual.iter().map(|filter| filter.id).chain([0]).find_map(|id| {
            let mut bytes = first.bytes.clone();
            set_filter(&mut bytes, number, id);
            let header = ChunkHeader::parse(&bytes)?;
            self.scan.rules.other_filters(&header).is_none().then_some((id, bytes))
        });
        let Some((id, bytes)) = changed else { return Ok(None) };
        let bytes = self.sound(&ChunkBytes { bytes, room: first.room })?;
        Ok(bytes.map(|bytes| {
            let old = header.filters.get(number).map_or(0, |filter| filter.id);
            SavedChunk {
                bytes,
                doubt: Some(format!(
                    "it had the unknown filter {old}, and has the filters of the other chunks now"
                )),
                restored: Some(format!("filter {number} in its header was {old}, and is {id}")),
            }
        }))
    }

    /// The size of a chunk, without the one in its header.
    fn cbytes(&mut self, first: &ChunkBytes) -> Result<Option<usize>, Error> {
        let mut bytes = first.bytes.clone();
        // Any size that is not too small for a header.
        HeaderSize::Cbytes.replace(&mut bytes, ChunkHeader::MAX_LEN);
        // The other sizes must be right: they bound the table of blocks, which is read here.
        let is_known = |header: &ChunkHeader| {
            self.scan.rules.blocksize == Some(header.blocksize)
                && self.entry.nbytes == Some(header.nbytes as u64)
        };
        let Some(header) = ChunkHeader::parse(&bytes).filter(is_known) else { return Ok(None) };
        let is_room = |length: usize| header.header_len as u64 + length as u64 <= first.room;
        if header.table_len().is_some_and(is_room) && header.has_table() {
            let end = streams_end(self.chunks, self.entry, &header, &bytes)?;
            return Ok(end.and_then(|end| usize::try_from(end).ok()));
        }
        // Decompression cannot verify such a chunk, so it must end where the next one begins.
        let cbytes = header.is_uncompressed.then(|| header.header_len.checked_add(header.nbytes)).flatten();
        Ok(cbytes.filter(|&cbytes| first.room == cbytes as u64))
    }
}

/// Why a chunk that decompresses may still differ from the written data.
fn doubt(header: &ChunkHeader, rules: &ChunkRules) -> Option<String> {
    let version = header.version;
    if let Some(filters) = rules.other_filters(header) {
        let usual = rules.filters.as_ref().map(|filters| list(filters.iter())).unwrap_or_default();
        return Some(format!("it has {filters}, but the frame has {usual}"));
    }
    if header.has_unknown_flags() {
        return Some("it has flags that no writer stores, so a byte of its header is damaged".into());
    }
    header
        .is_of_alpha()
        .then(|| format!("its chunk format has version {version}, which ignores the last filter"))
}
