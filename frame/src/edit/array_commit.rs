//! Commits the changes of an `ArrayUpdate` to its file.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, Write};
use std::path::Path;

use b2nd_chunk::SpecialValue;
use b2nd_serde::to_vec;

use crate::chunk::hole::{MAX_HOLES, START};
use crate::chunk_file;
use crate::edit::array_update::{ArrayUpdate, NEW, place};
use crate::edit::commit::{Commit, Committed};
use crate::edit::old_chunks::{OldChunks, entry_value};
use crate::edit::pending_chunks::{LazyCompressor, PendingChunks};
use crate::edit::rewritten::section;
use crate::error::Error;
use crate::header::fields::HeaderField;
use crate::header::frame::Frame;
use crate::header::header_builder::HeaderBuilder;
use crate::header::section::ARRAY_NAME;
use crate::index::index_writer::NewIndex;
use crate::messagepack::marker::Marker;
use crate::read::chunks::Chunks;
use crate::trailer::frame_trailer::Trailer;
use crate::write::destination::Destination;
use crate::write::file_attributes::FileAttributes;
use crate::write::frame_plan::{Plan, Sizes, can_be_nan};
use crate::write::frame_writer::FrameWriter;
use crate::write::output::Output;

/// The size in bytes of a page in the file cache of the system. If a process is killed during a write within one page,
/// either all bytes are written or none.
const PAGE_LEN: usize = 4096;

/// The total size of the holes makes a commit write a new file only above this number of bytes.
const MIN_HOLES: u64 = 1 << 16;

impl ArrayUpdate {
    /// Writes all changes to the file in one commit. Without a change, nothing is written.
    ///
    /// # Errors
    ///
    /// - [`Changing`](crate::ErrorKind::Changing) if another program has changed the frame.
    /// - [`Locked`](crate::ErrorKind::Locked) if another program has made a `.b2lock` file since the `ArrayUpdate` was
    ///   opened, and still holds the lock of that file. On Windows also if an earlier commit has failed with `Io`, and
    ///   another writer has the frame's file now.
    /// - [`TooLarge`](crate::ErrorKind::TooLarge) if a length is too large for the format.
    /// - [`Malformed`](crate::ErrorKind::Malformed) if the check of the new frame finds an error, although no other
    ///   program has changed the file.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if items or the shape have changed, and the array belongs to a
    ///   table of which python-blosc2 has made an index since the first change.
    /// - [`Io`](crate::ErrorKind::Io) if the file cannot be read or written.
    ///
    /// After an error, the array in the file is as before, and the changes are still in memory, so the call can be
    /// repeated. There are two exceptions. After `Changing`, the array must be opened again. If the write of the header
    /// fails, which is the last step, the file may have the old or the new header.
    pub fn flush(&mut self) -> Result<(), Error> {
        if !self.is_changed {
            return Ok(());
        }
        self.lock.take_again()?;
        self.lock.take_sidecar()?;
        let frame = self.state.reopen(&self.path, Some(self.lock.file()))?;
        let plan = self.plan()?;
        let mut old = self.read_old(&frame)?;
        let (frame, state) = if self.frame.header().is_sparse() {
            if self.move_files_too_high(&frame, &old)? {
                old = self.read_old(&frame)?;
            }
            self.flush_sparse(frame, plan, &old)
        } else if self.is_in_place(&frame, &plan, &old) {
            self.flush_in_place(plan, &old)
        } else {
            self.flush_to_new_file(frame, plan)
        }?;
        // The next commit starts from the file as it is now.
        (self.frame, self.state) = (frame, state);
        (0..).zip(&mut self.origins).for_each(|(number, origin)| *origin = number);
        self.pending = PendingChunks::default();
        (self.is_changed, self.changes_items) = (false, false);
        Ok(())
    }

    fn read_old(&self, frame: &Frame) -> Result<OldChunks, Error> {
        let kept = self.kept();
        OldChunks::read(frame, |number| kept.get(&number).copied())
    }

    /// Returns the new number of each unchanged chunk, by its number in the file.
    fn kept(&self) -> BTreeMap<u64, u64> {
        let numbers = 0..self.origins.len() as u64;
        numbers.filter_map(|number| Some((self.origin(number)?, number))).collect()
    }

    /// The header, trailer and index of the new frame, without its chunks.
    fn plan(&self) -> Result<Plan, Error> {
        let too_large = || Error::too_large("the new header or trailer is longer than the format allows");
        let sizes = Sizes::new(&self.meta, self.typesize)?;
        let mut header = HeaderBuilder::new();
        header.copy(self.frame.header(), self.frame.header_bytes());
        // The sizes in the header are computed again, because the header of an array without items can have any
        // `chunksize` and `blocksize`.
        sizes.set_in(&mut header);
        let flag = if self.vlmetalayers.is_empty() { Marker::False } else { Marker::True };
        header.set(HeaderField::HasVlmetalayers, &[flag.to_u8()]);
        let array = to_vec(&self.meta).map_err(|error| Error::encode(ARRAY_NAME, error))?;
        let section = section(&self.frame, header.len(), Some(&array));
        let layers: Vec<_> = self.vlmetalayers.iter().map(|(name, chunk)| (&name[..], &chunk[..])).collect();
        Ok(Plan {
            header,
            section: section.ok_or_else(too_large)?,
            trailer: Trailer::build(&layers, <_>::default()).ok_or_else(too_large)?,
            index: NewIndex::new(sizes.nchunks)?,
            sizes,
            is_sparse: self.frame.header().is_sparse(),
            can_be_nan: can_be_nan(&self.meta.parse_dtype(), sizes.typesize),
        })
    }

    /// Whether the commit can be written after the end of the frame. Otherwise the commit needs a new file.
    fn is_in_place(&self, frame: &Frame, plan: &Plan, old: &OldChunks) -> bool {
        let header = self.frame.header();
        let array_end =
            frame.array_metalayer().map_or(usize::MAX, |layer| layer.offset() + layer.bytes().len());
        // A frame without items has no index, but a commit after the end of the frame needs an old and a new index.
        let has_index = header.nbytes > 0 && plan.sizes.nbytes > 0;
        // The chunks follow the header, so they would have to move if the header got another length.
        let is_same_len = plan.header_len() == header.header_len as u64;
        if !(has_index && is_same_len && array_end <= PAGE_LEN) {
            return false;
        }
        let holes = old.hole_record(self.frame.header());
        holes.nbytes <= old.kept_nbytes.max(MIN_HOLES) && holes.holes.len() <= MAX_HOLES
    }

    /// Writes the new chunks, index and trailer after the end of the frame, and then overwrites the header.
    fn flush_in_place(&mut self, plan: Plan, old: &OldChunks) -> Result<Committed, Error> {
        let header = self.frame.header();
        let (header_len, frame_len) = (header.header_len as u64, header.frame_len);
        let (path, holes) = (self.path.clone(), old.hole_record(self.frame.header()).to_bytes());
        let Self { frame, state, lock, pending, compressor, changes_items, .. } = self;
        Commit { path: &self.path, frame, state, lock, changes_items: *changes_items }.behind(|file| {
            let output = Output::behind(file, header_len, frame_len - header_len, path);
            let mut writer = FrameWriter::new(output, plan);
            writer.put_hole(START)?;
            old.kept.iter().try_for_each(|&(number, entry)| writer.keep(number, entry))?;
            write_changed(&mut writer, pending, compressor)?;
            writer.put_hole(&holes)?;
            writer.finish_behind()
        })
    }

    /// Writes the whole frame to a new file, which replaces the old file.
    fn flush_to_new_file(&mut self, frame: Frame, plan: Plan) -> Result<Committed, Error> {
        let new = Destination::taken(&self.path)?.begin(false)?;
        let kept = self.kept();
        let mut writer = FrameWriter::new(Output::begin(new, plan.header_len())?, plan);
        let mut chunks = Chunks::open_or_changing(&frame)?;
        for (&origin, &number) in &kept {
            let Some(entry) = chunks.get(origin)? else { continue };
            match chunks.compressed(&entry)? {
                Some(chunk) => writer.put(number, [&chunk, &[]])?,
                None => writer.keep(number, entry_value(&entry, 0)?)?,
            }
        }
        write_changed(&mut writer, &mut self.pending, &mut self.compressor)?;
        let header = writer.header()?;
        let new = writer.finish()?;
        self.commit().by_rename(frame, new, &header)
    }

    fn commit(&mut self) -> Commit<'_> {
        Commit {
            path: &self.path,
            frame: &self.frame,
            state: &mut self.state,
            lock: &mut self.lock,
            changes_items: self.changes_items,
        }
    }

    /// Treats chunks whose file numbers are too high for C-Blosc2 as changed, so that they get new files. Returns
    /// whether there were such chunks.
    // C-Blosc2 checks the number of a chunk file as if it were the offset of a chunk. So it opens the file only if the
    // number is at least 32 below the stored size of all chunks. If the unchanged chunks have few bytes in total, some
    // of their file numbers may be too high.
    fn move_files_too_high(&mut self, frame: &Frame, old: &OldChunks) -> Result<bool, Error> {
        let too_high: Vec<_> = old
            .files()
            .filter(|&(_, file)| chunk_file::is_too_high(file, old.kept_nbytes))
            .map(|(number, _)| number)
            .collect();
        let mut chunks = Chunks::open_or_changing(frame)?;
        for &number in &too_high {
            let origin = place(&self.origins, number).unwrap_or(NEW);
            let entry = chunks.get(origin)?;
            if let Some(chunk) = entry.map(|entry| chunks.compressed(&entry)).transpose()?.flatten() {
                self.pending.insert_compressed(number, chunk);
            }
        }
        Ok(!too_high.is_empty())
    }

    /// Writes new chunk files, and then a new file with the header and the index, which replaces the old file.
    fn flush_sparse(&mut self, frame: Frame, plan: Plan, old: &OldChunks) -> Result<Committed, Error> {
        let directory = frame.directory().unwrap_or(Path::new(".")).to_path_buf();
        // The old index is valid until it is replaced, so its chunk files must stay until then. `taken` lists the
        // numbers of these files. No new chunk may get one of these numbers.
        let kept = || old.files().map(|(_, file)| file);
        let taken = kept().chain(old.gone.iter().map(|&(number, _)| number)).collect();
        let attributes = FileAttributes::of(self.lock.file());
        let attributes = attributes.map_err(|error| Error::io("read", &self.path, error))?;
        let output = Output::sparse(
            Destination::taken(&self.path)?.begin(false)?,
            directory.clone(),
            taken,
            old.kept_nbytes,
            Some(attributes),
        );
        let mut writer = FrameWriter::new(output, plan);
        let kept_chunks = old.kept.iter().try_for_each(|&(number, entry)| writer.keep(number, entry));
        let written =
            kept_chunks.and_then(|()| write_changed(&mut writer, &mut self.pending, &mut self.compressor));
        let (files, cbytes) = (writer.output.files().to_vec(), writer.output.len);
        let written = written.and_then(|()| match kept().chain(files.iter().copied()).max() {
            Some(last) if chunk_file::is_too_high(last, cbytes) => Err(Error::too_large(format_args!(
                "chunk file {last} has a higher number than C-Blosc2 opens with {cbytes} bytes of chunks; \
                 make the array smaller in a commit of its own, or convert it to a contiguous frame"
            ))),
            _ => Ok(()),
        });
        let remove = |numbers: &[u64]| {
            for &number in numbers {
                // An error is ignored, because a file that cannot be removed is harmless: no entry of the index has its
                // number.
                let _ = fs::remove_file(directory.join(chunk_file::name(number)));
            }
        };
        let committed = written.and_then(|()| {
            let header = writer.header()?;
            let new = writer.finish()?;
            self.commit().by_rename(frame, new, &header)
        });
        // If the commit has failed, the old index is still in use, and it does not refer to the new files. So the new
        // files are removed. But they stay if another program is changing the frame, or has changed it, because some of
        // the files may belong to that program by now.
        let committed = committed.inspect_err(|_| {
            if self.commit().is_alone() {
                remove(&files);
            }
        })?;
        // The file with the new header is locked, so no other writer of this crate can have given the number of an old
        // chunk file to a new chunk.
        remove(&old.gone.iter().map(|&(number, _)| number).collect::<Vec<_>>());
        Ok(committed)
    }
}

/// Writes the changed chunks. Chunks that are neither changed nor kept become zeros.
fn write_changed<W: Write + Seek>(
    writer: &mut FrameWriter<W>,
    pending: &mut PendingChunks,
    compressor: &mut LazyCompressor,
) -> Result<(), Error> {
    pending.each_compressed(compressor, |number, chunk| writer.write_compressed(number, chunk))?;
    writer.fill_missing(SpecialValue::Zeros)
}
