//! Verifies each chunk of the damaged frame, and copies it into the new frame.

use std::io::{Seek, Write};

use b2nd_chunk::internals::{HeaderSize, clear_false_dictionary, clear_lazy, restore_codec, set_filter};
use b2nd_chunk::{ChunkHeader, SpecialValue};

use crate::check::chunk_data::{self, ENDS_IN_ZEROS};
use crate::chunk::chunk_rules::{ChunkRules, list};
use crate::chunk::entry::{ChunkEntry, ChunkPlace};
use crate::chunk::expansion::{NotDecompressed, check_support, expansion_limit};
use crate::error::{Error, ErrorKind};
use crate::index::index_writer::NewIndex;
use crate::progress::Progress;
use crate::read::blocks::{CHUNK_START_LEN, check_stored_table};
use crate::read::chunk_file_bytes::ChunkBytes;
use crate::read::chunks::Chunks;
use crate::salvage::chunk_header::with_restored_sizes;
use crate::salvage::chunk_runs::{ChunkRun, each};
use crate::salvage::damaged_file::DamagedFile;
use crate::salvage::header_scan::HeaderScan;
use crate::salvage::inferred_places::Method;
use crate::salvage::salvage_report::{
    AssumedOrder, CLEARED_DICTIONARY, CLEARED_LAZY, ChunkRange, Notes, Restored, add,
};
use crate::salvage::survey::Survey;
use crate::source::ReadAt;
use crate::trailer::derived_layers::is_derived;
use crate::trailer::frame_trailer::Trailer;
use crate::trailer::salvage_note::SALVAGE_NAME;
use crate::write::frame_plan::Plan;
use crate::write::frame_writer::FrameWriter;

/// A chunk that can be copied.
struct SavedChunk {
    bytes: Vec<u8>,
    /// Why the data of the chunk may be wrong, although the chunk is saved.
    doubt: Option<String>,
    /// Whether this build supports the codec and the filters in the header of the chunk.
    is_supported: bool,
    /// Describes each change of the chunk header that repairs damage.
    restored: Vec<String>,
}

/// The doubt about a chunk whose header was repaired. Even if the chunk can be decompressed with the repaired header,
/// some bytes of its data may be damaged.
const DAMAGED_HEADER: &str = "its header was damaged, so its data may be too";

/// The doubt about a chunk that ends with a zero, if only zeros follow the chunk.
const MAY_BE_CUT: &str =
    "ends with a zero, and zeros follow where another part of the file should be, so its end may be lost";

/// The doubt about a compressed chunk that ends in a page of zeros, if no bytes follow it: it is the last chunk before
/// the chunk index, or it ends where its chunk file ends.
const MAY_END_IN_LOST_PAGE: &str =
    "ends in a page of zeros, which compressed data seldom has, so its end may be lost";

/// Why a chunk cannot be copied.
enum ChunkError {
    Damaged(String),
    Other(Error),
}

impl From<String> for ChunkError {
    fn from(why: String) -> Self {
        Self::Damaged(why)
    }
}

impl From<Error> for ChunkError {
    fn from(error: Error) -> Self {
        match error.kind() {
            // An I/O error is treated as damage of this chunk: if a disk sector cannot be read, only the chunks in this
            // sector are lost.
            ErrorKind::Io => Self::Damaged(error.to_string()),
            _ => Self::Other(error),
        }
    }
}

/// A stored chunk to verify.
struct StoredChunk<'s, 'c, R> {
    chunks: &'s mut Chunks<'c, R>,
    entry: &'s ChunkEntry,
    scan: &'s HeaderScan,
}

impl<R: ReadAt> StoredChunk<'_, '_, R> {
    /// Reads and decompresses the chunk. If its header is damaged, tries to repair it.
    fn read(&mut self) -> Result<SavedChunk, ChunkError> {
        let Some(mut first) = self.chunks.bytes(self.entry, 0, CHUNK_START_LEN)? else {
            return Err("its file is missing".to_owned().into());
        };
        // No writer stores the flag of a lazily loaded chunk, so the flag is wrong. It is cleared even if this build
        // cannot decompress the chunk.
        let is_lazy = clear_lazy(&mut first.bytes);
        let mut saved = self.read_with(first)?;
        if is_lazy {
            saved.restored.insert(0, CLEARED_LAZY.into());
            saved.doubt.get_or_insert_with(|| DAMAGED_HEADER.into());
        }
        Ok(saved)
    }

    /// Reads and decompresses the chunk as if it began with the bytes `first`. If the chunk is damaged, tries to restore
    /// a number in its header.
    fn read_with(&mut self, mut first: ChunkBytes) -> Result<SavedChunk, ChunkError> {
        let verified = if self.scan.wrong_lengths.contains(&self.entry.number) {
            Err("it shares bytes with the next chunk".to_owned().into())
        } else {
            self.verify(&first)
        };
        // A restored chunk must not share bytes with another chunk, so it must end at or before the start of the next
        // chunk. This also limits the number of bytes that are read again.
        first.room = first.room.min(self.scan.room(self.entry));
        if verified.is_ok()
            && let Some((bytes, restored)) = self.restored_length(&first)
        {
            let saved = self.verify(&ChunkBytes { bytes, ..first })?;
            let doubts: Vec<String> = [DAMAGED_HEADER.into()].into_iter().chain(saved.doubt).collect();
            return Ok(SavedChunk { doubt: Some(doubts.join("; ")), restored: vec![restored], ..saved });
        }
        // Verify the chunk again, each time with one number of its header restored.
        let headers = match &verified {
            Err(ChunkError::Damaged(_)) => self.restored_headers(&first),
            // The sizes in the header are right. But a filter that no other chunk has may be damaged.
            Ok(SavedChunk { is_supported: false, .. }) => {
                self.restored_filter(&first.bytes).into_iter().collect()
            }
            _ => return verified,
        };
        for (bytes, restored, doubt) in headers {
            match self.verify(&ChunkBytes { bytes, ..first }) {
                Ok(SavedChunk { bytes, doubt: None, is_supported, .. }) => {
                    let (doubt, restored) = (Some(doubt), vec![restored]);
                    return Ok(SavedChunk { bytes, doubt, is_supported, restored });
                }
                Ok(_) | Err(ChunkError::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        verified
    }

    /// Verifies the chunk as if it began with the bytes `first`. These bytes may differ from the bytes in the file.
    fn verify(&mut self, first: &ChunkBytes) -> Result<SavedChunk, ChunkError> {
        let it = |why: String| format!("it {why}");
        let header = ChunkHeader::parse(&first.bytes);
        let header = header.ok_or_else(|| "its first bytes are not the header of a chunk".to_owned())?;
        self.scan.rules.check(&header, self.entry.nbytes, first.room).map_err(it)?;
        check_stored_table(self.chunks, self.entry, &header, &first.bytes)?.map_err(it)?;
        let with_next = (header.cbytes() + ChunkHeader::MAX_LEN) as u64;
        let mut bytes = match self.chunks.bytes(self.entry, 0, with_next)? {
            Some(chunk) if chunk.bytes.len() >= header.cbytes() => chunk.bytes,
            _ => return Err("its file has become shorter".to_owned().into()),
        };
        let (at, after) = (self.chunks.offset_in_file(self.entry), bytes.split_off(header.cbytes()));
        if chunk_data::ends_in_zeros(&bytes, &after, at) {
            return Err(it(ENDS_IN_ZEROS.into()).into());
        }
        // If only zeros follow the chunk, bytes of the file were lost there, because neither a chunk nor the chunk
        // index begins with zeros. The lost bytes can also begin within the chunk. They need not begin at the start of
        // a page, because an incomplete download can lack bytes from any offset on.
        let may_be_cut = bytes.last() == Some(&0) && !after.is_empty() && chunk_data::are_zeros(&after);
        bytes.iter_mut().zip(&first.bytes).for_each(|(byte, &right)| *byte = right);
        let mut doubt =
            header_doubt(&header, &self.scan.rules).or_else(|| may_be_cut.then(|| it(MAY_BE_CUT.into())));
        if header.has_table() && after.is_empty() && chunk_data::may_end_in_lost_page(&header, &bytes, at) {
            doubt.get_or_insert_with(|| it(MAY_END_IN_LOST_PAGE.into()));
        }
        let mut is_supported = true;
        if header.has_table() {
            // A check with `CheckDepth::ChunkData` makes the same tests. Without them here, such a check could find
            // errors in the new frame.
            let checked = check_support(&header);
            match checked.and_then(|header| chunk_data::check(&header, &bytes, &after, at)) {
                Ok(page) => doubt = page.map(it).or(doubt),
                Err(NotDecompressed::Damaged(why)) => return Err(it(why).into()),
                Err(NotDecompressed::Unsupported(why)) => (is_supported, doubt) = (false, Some(it(why))),
                Err(NotDecompressed::TooLarge(why)) => doubt = Some(it(why)),
            }
        }
        Ok(SavedChunk { bytes, doubt, is_supported, restored: Vec::new() })
    }

    /// Returns copies of the chunk's first bytes. In each copy, one number in the header has another value, which may
    /// be the right value. Each copy comes with two texts: the change of this number, and the reason why the data may
    /// still be wrong. The array determines all sizes except `cbytes`, which is computed from the blocks or, for
    /// uncompressed data, from the size of the data.
    fn restored_headers(&mut self, first: &ChunkBytes) -> Vec<(Vec<u8>, String, String)> {
        let known = [
            (HeaderSize::Typesize, self.scan.rules.typesize.map(usize::from)),
            (HeaderSize::Nbytes, self.entry.nbytes.and_then(|nbytes| usize::try_from(nbytes).ok())),
            (HeaderSize::Blocksize, self.scan.rules.blocksize),
            (HeaderSize::Cbytes, self.cbytes(first)),
        ];
        let mut headers = Vec::new();
        for (size, right) in known {
            let restored = right.and_then(|right| with_size(&first.bytes, size, right));
            headers.extend(restored.map(|(bytes, restored)| (bytes, restored, DAMAGED_HEADER.into())));
        }
        let mut bytes = first.bytes.clone();
        if let Some([old, right]) = restore_codec(&mut bytes) {
            let restored = format!("the codec in the flags of its header was {old}, and is {right}");
            headers.push((bytes, restored, DAMAGED_HEADER.into()));
        }
        headers.extend(self.restored_filter(&first.bytes));
        headers
    }

    /// Replaces the filter that differs from the filters of the other chunks. Returns `None` if no filter differs, if
    /// more than one filter differs, or if the differing filter is also in the header of the frame or in another chunk.
    // Called only for a chunk that cannot be decompressed. The filters of an undamaged chunk can differ too, because
    // python-blosc2 can change the filters of a frame between two chunks. Such filters must stay.
    fn restored_filter(&self, first: &[u8]) -> Option<(Vec<u8>, String, String)> {
        let (header, rules) = (ChunkHeader::parse(first)?, &self.scan.rules);
        rules.other_filters(&header)?;
        let ids = rules.filters.as_ref()?.iter().map(|filter| filter.id).chain([0]);
        let candidates = (0..)
            .zip(header.filters())
            .flat_map(|(at, filter)| ids.clone().map(move |id| (at, filter.id, id)));
        candidates.filter(|(_, old, _)| !self.scan.shared_filters.contains(old)).find_map(|(at, old, id)| {
            let mut bytes = first.to_vec();
            set_filter(&mut bytes, at, id);
            rules.other_filters(&ChunkHeader::parse(&bytes)?).is_none().then(|| {
                let restored = format!("filter {at} in its header was {old}, and is {id}");
                let doubt = format!("it had the filter {old}, and has the filters of the other chunks now");
                (bytes, restored, doubt)
            })
        })
    }

    /// Restores the stored size of a chunk that can be decompressed, if its last block does not end where the chunk ends
    /// according to its header. Returns the first bytes of the chunk and the change, as in `restored_headers`.
    // The size in the header counts as right if the next chunk or the chunk index begins exactly where the chunk ends
    // according to this size, or if the chunk file ends there. A check has the same rule. The last block can end
    // earlier even in an undamaged chunk: if the block size is not a multiple of the type size, C-Blosc2 can write more
    // blocks than the header says.
    fn restored_length(&mut self, first: &ChunkBytes) -> Option<(Vec<u8>, String)> {
        let stated = ChunkHeader::parse(&first.bytes)?.cbytes() as u64;
        let right = if stated == first.room { None } else { self.cbytes(first) };
        with_size(&first.bytes, HeaderSize::Cbytes, right?)
    }

    /// Computes the stored size of the chunk without the sizes in its header. Returns `None` if this is not possible, or
    /// if nothing can verify the result.
    fn cbytes(&mut self, first: &ChunkBytes) -> Option<usize> {
        let mut left = first.room;
        let header = with_restored_sizes(self.chunks, self.entry, first, &self.scan.rules, &mut left)?;
        let cbytes = header.cbytes();
        // An uncompressed chunk cannot be verified by decompression. So its size is restored only if the chunk then
        // ends where the next chunk begins.
        let is_verified = header.has_table() || header.is_uncompressed() && first.room == cbytes as u64;
        is_verified.then_some(cbytes)
    }
}

/// Replaces a size in the header of a chunk. Returns the changed bytes and a text about the change; `None` if the size is
/// right already.
fn with_size(first: &[u8], size: HeaderSize, right: usize) -> Option<(Vec<u8>, String)> {
    let mut bytes = first.to_vec();
    let old = size.replace(&mut bytes, right).filter(|_| bytes != first)?;
    Some((bytes, format!("{} in its header was {old}, and is {right}", size.name())))
}

/// The reason why a chunk may differ from the written data, even if it can be decompressed.
fn header_doubt(header: &ChunkHeader, rules: &ChunkRules) -> Option<String> {
    let version = header.version();
    if let Some(filters) = rules.other_filters(header) {
        let usual = rules.filters.as_ref().map(|filters| list(filters.iter().copied())).unwrap_or_default();
        return Some(format!("it has {filters}, but the frame has {usual}"));
    }
    if header.has_unknown_flags() {
        return Some("it has flags that no writer stores, so a byte of its header is damaged".into());
    }
    header
        .is_of_alpha()
        .then(|| format!("its chunk format has version {version}, which ignores the last filter"))
}

/// The plan of the new frame, before its chunks are written.
pub(super) fn plan(survey: &Survey) -> Result<Plan, Error> {
    let (sizes, is_sparse) = (survey.parts.sizes, survey.header.is_sparse);
    let (header, section) = survey.header.build(&sizes)?;
    let index = NewIndex::new(sizes.nchunks)?;
    // The trailer is empty for now. The final trailer lists the lost chunks, so `save` sets it after the last chunk.
    // Special chunks of NaN are allowed here for any dtype, so that such chunks of the old frame can be copied.
    // `Salvage` has already checked that the fill value suits the dtype.
    Ok(Plan { header, section, trailer: Vec::new(), index, sizes, is_sparse, can_be_nan: true })
}

/// Writes the chunks that can be saved, the fill value for the lost chunks, and the trailer.
pub(super) fn save<R: ReadAt, W: Write + Seek>(
    damaged: &mut DamagedFile<'_, R>,
    survey: &Survey,
    fill: SpecialValue,
    writer: &mut FrameWriter<W>,
    notes: &mut Notes,
) -> Result<(), Error> {
    let (stored, nchunks) = (damaged.len, survey.parts.sizes.nchunks);
    let (frame, progress) = survey.frame(damaged)?;
    let mut scan = HeaderScan::new(&frame, survey, progress)?;
    notes.unowned = scan.unowned_finding.take();
    if let Some(inferred) = scan.inferred.as_ref().filter(|inferred| inferred.method == Method::FileOrder) {
        let (found, wrong) = (inferred.all.len() as u64, inferred.offsets.len() as u64);
        notes.assumed_order = Some(AssumedOrder { found, missing: 0, nchunks, wrong_entries: wrong });
    }
    let is_damaged = survey.order.is_some()
        || scan.inferred.is_some()
        || notes.restored.contains(&Restored::ChunkIndexFlag);
    let (restored, uncompressed) = (Vec::new(), Vec::new());
    let mut copier = ChunkCopier { writer, progress, notes, restored, uncompressed, is_damaged };
    each(&frame, survey, &mut |chunks, run| copier.copy(chunks, &mut scan, run))?;
    let ChunkCopier { restored, uncompressed, is_damaged, .. } = copier;
    notes.restored.extend(restored.into_iter().map(Restored::Chunks));
    // Damage often extends to neighbouring chunks in the same file, and uncompressed data does not show damage. So all
    // uncompressed chunks are unverified if the chunk index or another chunk is damaged. This does not apply to a
    // sparse frame, because each of its chunks is in a separate file.
    if !survey.header.is_sparse && (is_damaged || !notes.lost.is_empty()) {
        notes.unverified.extend(uncompressed);
        notes.unverified.sort_by_key(|range| range.first);
    }
    writer.fill_missing(fill)?;
    let (index_len, most) = (writer.index_len(), expansion_limit(stored));
    if index_len > most {
        return Err(Error::too_large(format_args!(
            "the chunk index of {nchunks} chunks would have {index_len} bytes, but at most {most} are written for a file \
             of {stored} bytes; if the shape is wrong, give the right one"
        )));
    }
    let lost: u64 = notes.lost.iter().map(|range| range.count).sum();
    // If all chunks are lost, the result is an error, because the new frame would have only fill values, and no item of
    // the old frame.
    if let Some(first) = notes.lost.first().filter(|_| lost == nchunks) {
        let why = &first.why;
        return Err(Error::unsupported(format_args!(
            "nothing could be saved; the first chunk is lost because {why}"
        )));
    }
    *notes.counts.count_mut(ChunkPlace::Special(fill)) += lost;
    let (trailer, has_vlmetalayers) = trailer(survey, notes, fill)?;
    writer.set_trailer(trailer, has_vlmetalayers);
    Ok(())
}

/// Builds the trailer from the kept vlmetalayers. If there are losses or doubts, the trailer also gets a note about
/// them. Vlmetalayers that python-blosc2 has computed from the items are kept only if no item can have changed. Also
/// returns whether the trailer has vlmetalayers.
fn trailer(survey: &Survey, notes: &mut Notes, fill: SpecialValue) -> Result<(Vec<u8>, bool), Error> {
    let mut note = survey.before.clone();
    if !note.lost.is_empty() && !notes.lost.is_empty() && note.fill != fill.name() {
        let (before, now) = (note.fill, fill.name());
        return Err(Error::invalid_input(format_args!(
            "an earlier salvage filled the chunks that it lost with {before}, and a frame can record only one fill value, \
             so the chunks that are lost now must be filled with {before} too, and not with {now}"
        )));
    }
    let [lost, unverified] =
        [&notes.lost, &notes.unverified].map(|ranges| ranges.iter().map(|range| (range.first, range.count)));
    note.add(lost, unverified);
    note.has_assumed_order |= notes.assumed_order.is_some();
    // The old frame can be the result of an earlier salvage, with a note. If this salvage lost nothing, the fill value
    // in that note stays.
    if !notes.lost.is_empty() || note.fill.is_empty() {
        note.fill = fill.name().into();
    }
    let note_chunk = note.to_chunk()?;
    let is_outdated = |name: &[u8]| notes.may_change_items() && is_derived(name);
    let (outdated, kept): (Vec<_>, Vec<_>) = survey
        .vlmetalayers
        .iter()
        .map(|(name, chunk)| (&name[..], &chunk[..]))
        .partition(|(name, _)| is_outdated(name));
    notes.outdated = outdated.iter().map(|(name, _)| String::from_utf8_lossy(name).into()).collect();
    let note = note_chunk.as_deref().map(|chunk| (SALVAGE_NAME.as_bytes(), chunk));
    let layers: Vec<_> = kept.into_iter().chain(note).collect();
    let bytes = Trailer::build(&layers, Default::default()).ok_or_else(|| {
        Error::too_large("the vlmetalayers and the list of lost chunks are too long for a trailer")
    })?;
    Ok((bytes, !layers.is_empty()))
}

/// Copies chunks into the new frame.
struct ChunkCopier<'w, 'p, W: Write> {
    writer: &'w mut FrameWriter<W>,
    progress: &'w mut Progress<'p>,
    notes: &'w mut Notes,
    /// The chunks whose header was changed.
    restored: Vec<ChunkRange>,
    /// The saved chunks that are not compressed, so damage in them leaves no trace.
    uncompressed: Vec<ChunkRange>,
    /// Whether the chunk index is lost or has wrong entries, or the header of any chunk was restored.
    is_damaged: bool,
}

impl<W: Write + Seek> ChunkCopier<'_, '_, W> {
    fn copy<R: ReadAt>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        scan: &mut HeaderScan,
        run: ChunkRun,
    ) -> Result<(), Error> {
        let ChunkRun { first, count, entry } = run;
        let entry = entry.map(|entry| {
            scan.inferred_place(entry.number).map_or(entry, |place| ChunkEntry { place, ..entry })
        });
        let copied = entry.map_err(ChunkError::Damaged).and_then(|entry| match entry.place {
            _ if count == 1 && entry.is_stored() => self.copy_stored(chunks, scan, &entry),
            ChunkPlace::Special(special) if chunks.is_special(&entry) => {
                *self.notes.counts.count_mut(entry.place) += count;
                if let Some(unowned) = &scan.unowned {
                    let (len, start) = (unowned.end - unowned.start, unowned.start);
                    let why = format!(
                        "its entry says that it is a single value, but the {len} bytes from byte {start} on may be its chunk: \
                         nothing shows that they belong to another one"
                    );
                    add(&mut self.notes.unverified, first, count, why);
                }
                let written = match count {
                    1 => self.writer.write_special(first, special),
                    _ => self.writer.fill_missing(special),
                };
                written.map_err(ChunkError::Other)
            }
            _ if count > 1 => Err("all entries of the chunk index are the same".to_owned().into()),
            _ => Err("its entry in the chunk index is neither a place nor a special value".to_owned().into()),
        });
        match copied {
            Err(ChunkError::Other(error)) => return Err(error),
            Err(ChunkError::Damaged(mut why)) => {
                if count == 1 && scan.needs_order(first) {
                    why.push_str("; to save it in the order of the file, assume the order");
                    self.notes.saved_with_order += 1;
                }
                add(&mut self.notes.lost, first, count, why);
            }
            Ok(()) => {}
        }
        Ok(())
    }

    fn copy_stored<R: ReadAt>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        scan: &mut HeaderScan,
        entry: &ChunkEntry,
    ) -> Result<(), ChunkError> {
        let number = entry.number;
        // This test comes before the verification, because two chunks that share bytes may both pass the verification.
        if scan.is_sharing(chunks, entry) {
            let why = "it shares bytes with another chunk, so one of the two places is wrong";
            return Err(why.to_owned().into());
        }
        let SavedChunk { mut bytes, doubt, restored, .. } = StoredChunk { chunks, entry, scan }.read()?;
        let is_cleared = clear_false_dictionary(&mut bytes);
        match self.writer.write_chunk(number, &bytes) {
            // The writer refuses this chunk, so the chunk is lost. The other chunks can still be written.
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(error.to_string().into()),
            written => written.map_err(ChunkError::Other)?,
        }
        let notes = &mut *self.notes;
        notes.counts.stored += 1;
        self.is_damaged |= !restored.is_empty();
        for why in restored.into_iter().chain(is_cleared.then(|| CLEARED_DICTIONARY.into())) {
            add(&mut self.restored, number, 1, why);
        }
        let doubts: Vec<String> = scan.doubts_of_place(number).chain(doubt).collect();
        if !doubts.is_empty() {
            add(&mut notes.unverified, number, 1, doubts.join("; "));
        } else if ChunkHeader::parse(&bytes).is_none_or(|header| !header.has_table()) {
            let why = "damage to uncompressed data leaves no trace, and other bytes of the file are damaged";
            add(&mut self.uncompressed, number, 1, why.into());
        }
        self.progress.advance(bytes.len() as u64).map_err(ChunkError::Other)
    }
}
