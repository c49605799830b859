//! The work of a salvage: it copies the chunks into the new frame.

use std::io::{Read, Seek, Write};

use b2nd_chunk::SpecialValue;
use b2nd_chunk::header::clear_false_dictionary;

use crate::error::{Error, ErrorKind};
use crate::format::chunk::stored_chunk;
use crate::format::index::{ChunkCounts, ChunkEntry, ChunkPlace};
use crate::format::salvage_note::SALVAGE_NAME;
use crate::format::trailer::Trailer;
use crate::io::chunks::Chunks;
use crate::progress::Progress;
use crate::salvage::damaged_file::DamagedFile;
use crate::salvage::report::{CLEARED, ChunkRange, add};
use crate::salvage::scan::HeaderScan;
use crate::salvage::survey::Survey;
use crate::salvage::verify::{self, SavedChunk, Verdict};
use crate::salvage::walk::{Next, each};
use crate::write::index::NewIndex;
use crate::write::plan::Plan;
use crate::write::writer::FrameWriter;

/// The result for the chunks.
#[derive(Default)]
pub(super) struct Saved {
    pub(super) lost: Vec<ChunkRange>,
    pub(super) unverified: Vec<ChunkRange>,
    /// The chunks whose header was restored.
    pub(super) restored: Vec<ChunkRange>,
    pub(super) counts: ChunkCounts,
}

/// The new frame before its chunks are written.
pub(super) fn plan(survey: &Survey) -> Result<Plan, Error> {
    let sizes = survey.parts.sizes;
    let (header, section) = survey.draft().header(&sizes)?;
    let index = NewIndex::new(sizes.nchunks);
    let index = index.ok_or_else(|| Error::refused("the array has more chunks than a frame can have"))?;
    // The trailer lists the lost chunks, so it is set last.
    let (trailer, is_sparse) = (Vec::new(), survey.is_sparse);
    // The fill value has been checked against the dtype, and copied entries may have any special value.
    Ok(Plan { header, section, trailer, index, sizes, is_sparse, can_be_nan: true })
}

/// Writes the saved chunks, the special value for the lost ones, and the trailer.
pub(super) fn save<R: Read + Seek, W: Write + Seek>(
    damaged: &mut DamagedFile<R>,
    survey: &Survey,
    fill: SpecialValue,
    writer: &mut FrameWriter<W>,
    progress: &mut Progress<'_>,
) -> Result<Saved, Error> {
    let mut frame = survey.frame(damaged)?;
    let mut scan = HeaderScan::of(&mut frame, survey, progress)?;
    let mut work = Work { writer, progress, saved: Saved::default() };
    each(&mut frame, survey, &mut |chunks, next| work.take(chunks, &mut scan, next))?;
    let mut saved = work.saved;
    writer.fill_missing(fill)?;
    let lost: u64 = saved.lost.iter().map(|range| range.count).sum();
    // A frame of fill values alone has nothing of the old one.
    if lost == survey.parts.sizes.nchunks && lost > 0 {
        let why = saved.lost.first().map(|range| range.why.as_str()).unwrap_or_default();
        return Err(Error::refused(format_args!(
            "nothing could be saved; the first chunk is lost because {why}"
        )));
    }
    *saved.counts.of(ChunkPlace::Special(fill)) += lost;
    let (trailer, has_vlmetalayers) = trailer(survey, &saved.lost, fill).ok_or_else(|| {
        Error::refused("the vlmetalayers and the list of lost chunks are too long for a trailer")
    })?;
    writer.set_trailer(trailer, has_vlmetalayers);
    Ok(saved)
}

/// The trailer with the kept vlmetalayers, and with the note about the losses. Also returns whether it has
/// vlmetalayers.
fn trailer(survey: &Survey, lost: &[ChunkRange], fill: SpecialValue) -> Option<(Vec<u8>, bool)> {
    let mut note = survey.before.clone();
    note.add(lost.iter().map(|range| (range.first, range.count)));
    note.has_assumed_order |= survey.order.is_some();
    // If this salvage lost nothing, the note keeps the fill value of the earlier one.
    if !lost.is_empty() || note.fill.is_empty() {
        note.fill = fill.name().into();
    }
    let note_chunk = if !note.lost.is_empty() || note.has_assumed_order {
        Some(stored_chunk(&note.write()?)?)
    } else {
        None
    };
    let kept = survey.vlmetalayers.iter().map(|(name, chunk)| (&name[..], &chunk[..]));
    let note = note_chunk.as_deref().map(|chunk| (SALVAGE_NAME.as_bytes(), chunk));
    let layers: Vec<_> = kept.chain(note).collect();
    Some((Trailer::build(&layers, Default::default())?, !layers.is_empty()))
}

/// The writer of the new frame, and the result for the chunks.
struct Work<'w, 'p, W: Write> {
    writer: &'w mut FrameWriter<W>,
    progress: &'w mut Progress<'p>,
    saved: Saved,
}

impl<W: Write + Seek> Work<'_, '_, W> {
    fn take<R: Read + Seek>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        scan: &mut HeaderScan,
        next: Next,
    ) -> Result<(), Error> {
        match next {
            Next::Entry(entry) => self.entry(chunks, scan, &entry),
            Next::Repeated(entry, count) => {
                if let Some(special) = special(chunks, &entry) {
                    self.count_special(scan, &entry, 0, count);
                    return self.writer.fill_missing(special);
                }
                add(&mut self.saved.lost, 0, count, "all entries of the chunk index are the same".into());
                Ok(())
            }
            Next::Unknown(first, count, why) => {
                add(&mut self.saved.lost, first, count, why);
                Ok(())
            }
        }
    }

    fn entry<R: Read + Seek>(
        &mut self,
        chunks: &mut Chunks<'_, R>,
        scan: &mut HeaderScan,
        entry: &ChunkEntry,
    ) -> Result<(), Error> {
        let number = entry.number;
        let verdict = if !entry.is_stored() {
            if let Some(special) = special(chunks, entry) {
                self.count_special(scan, entry, number, 1);
                return self.writer.write_special(number, special);
            }
            Verdict::Lost("its entry in the chunk index is neither a place nor a special value".into())
        } else if scan.is_sharing(chunks, entry) {
            // Before the verification, which both chunks may pass.
            Verdict::Lost("it shares bytes with another chunk, so one of the two places is wrong".into())
        } else {
            verify::chunk(chunks, entry, scan)?
        };
        let SavedChunk { mut bytes, doubt, restored } = match verdict {
            Verdict::Saved(saved) => saved,
            Verdict::Lost(why) => {
                add(&mut self.saved.lost, number, 1, why);
                return Ok(());
            }
        };
        let is_cleared = clear_false_dictionary(&mut bytes);
        match self.writer.write_chunk(number, &bytes) {
            // The new frame does not take this chunk. The others are not affected.
            Err(error) if error.kind() == ErrorKind::Refused => {
                add(&mut self.saved.lost, number, 1, error.to_string());
                return Ok(());
            }
            written => written?,
        }
        self.saved.counts.stored += 1;
        for why in restored.into_iter().chain(is_cleared.then(|| CLEARED.into())) {
            add(&mut self.saved.restored, number, 1, why);
        }
        if let Some(why) = doubt {
            add(&mut self.saved.unverified, number, 1, why);
        }
        self.progress.advance(bytes.len() as u64)
    }

    /// Counts special chunks with the same entry. They are unverified if the bytes of a chunk have no entry.
    fn count_special(&mut self, scan: &HeaderScan, entry: &ChunkEntry, first: u64, count: u64) {
        *self.saved.counts.of(entry.place) += count;
        if scan.has_unowned {
            let why = "its entry says that it is a single value, but the file has bytes of a chunk without an entry".into();
            add(&mut self.saved.unverified, first, count, why);
        }
    }
}

/// The special value of an entry without damage.
fn special<R: Read + Seek>(chunks: &Chunks<'_, R>, entry: &ChunkEntry) -> Option<SpecialValue> {
    match entry.place {
        ChunkPlace::Special(special) => chunks.other_bits(entry).is_none().then_some(special),
        _ => None,
    }
}
