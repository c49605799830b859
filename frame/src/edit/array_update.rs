//! Changes the items, the shape and the vlmetalayers of an array.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use b2nd_chunk::{Codec, Compressor, SpecialValue};
use b2nd_serde::geometry::Chunk;
use b2nd_serde::{Geometry, Layout, Meta, to_vec};
use serde::Serialize;

use crate::check::Check;
use crate::chunk::entry::{ChunkEntry, ChunkPlace, EntryValue, index_start};
use crate::chunk::expansion::{expansion_limit, zeroed};
use crate::chunk::hole::{MARK_LEN, mark};
use crate::chunk_file;
use crate::edit::attributes::{OldFrame, keep};
use crate::edit::change::{no_array, overwrite};
use crate::edit::new_trailer::remove_unfinished;
use crate::edit::rewritten::section;
use crate::edit::table_column::refuse_column;
use crate::error::Error;
use crate::finding::{counted, first_error};
use crate::header::fields::{Generation, HeaderField};
use crate::header::frame::Frame;
use crate::header::header_builder::HeaderBuilder;
use crate::header::section::ARRAY_NAME;
use crate::index::index_writer::NewIndex;
use crate::messagepack::marker::Marker;
use crate::read::lock::ExclusiveLock;
use crate::trailer::derived_layers::mark_stale;
use crate::trailer::frame_trailer::Trailer;
use crate::write::array_writer::{check_region, is_whole, params};
use crate::write::destination::{Destination, NewFrame};
use crate::write::frame_builder::vlmetalayer_chunk;
use crate::write::frame_plan::{MAX_VLMETALAYERS, Plan, Sizes, can_be_nan, check_name};
use crate::write::frame_writer::FrameWriter;
use crate::write::output::Output;

/// The size of a page. If a process is killed during a write within one page, either all bytes are written or none.
const PAGE_LEN: usize = 4096;

/// Holes are bytes of the file that the frame no longer uses. If all holes together have at most this number of bytes,
/// they are no reason for a commit to write a new file.
const MIN_HOLES: u64 = 1 << 16;

/// Changes the items, the shape and the vlmetalayers of an array in its file.
///
/// Changes are collected in memory, and [`flush`](Self::flush) writes all of them at once: a *commit*. If the process
/// is killed at any moment of a commit, the array in the file is either as before the commit, or as after it. Changes
/// since the last `flush` are lost when the `ArrayUpdate` is dropped.
///
/// In a contiguous frame, a commit writes the changed chunks, the chunk index and the trailer after the end of the
/// frame, and then the header in a single write. The bytes of the old chunks, index and trailer become holes.
/// [`check`](crate::check()) recognizes holes, and [`cbytes`](crate::Header::cbytes) includes them. In three cases, a
/// commit instead writes a new file, which replaces the old file:
///
/// - The holes would have more than 64 KiB, and more bytes than the unchanged chunks.
/// - The array's metalayer is not within the first 4 KiB of the file.
/// - The array is empty before or after the commit.
///
/// In a sparse frame, a commit adds new chunk files, replaces `chunks.b2frame`, and removes the old chunk files.
///
/// The lock of C-Blosc2 is held until the `ArrayUpdate` is dropped. A program that has the array open without locks, as
/// is usual with python-blosc2, sees the new array after a commit to a contiguous frame. In a sparse frame, the program
/// may miss the commit, and look for the old file of a replaced chunk until it opens the array again. Usually that file
/// does not exist any more, so the program gets an error. But a later commit can give the same number to a new file,
/// and then the program can get the items of another chunk. This is rare: new files get higher numbers than the
/// existing files, until the numbers become too high for C-Blosc2.
///
/// python-blosc2 can compute indexes from the items of an array (`create_index`), and keeps them in a vlmetalayer
/// ([`is_derived`](crate::Vlmetalayer::is_derived)) and in files beside the array. A commit that changes items or the
/// shape also marks these indexes as stale, so python-blosc2 does not use them before it has built them again
/// (`rebuild_index`). If they cannot be marked, the vlmetalayer is removed, and so are the results of queries that
/// python-blosc2 4.2 and 4.3 kept. A process of python-blosc2 that has used an index before the commit keeps it in
/// memory, and does not see the mark.
///
/// New chunks are compressed with the codec, level and filters in the header. If the codec is lz4hc, which this crate
/// only decompresses, lz4 is used instead.
///
/// ```
/// use b2nd_frame::{ArrayUpdate, Frame, FrameBuilder};
/// use b2nd_serde::Meta;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log.b2nd");
/// let meta = Meta::with_default_shapes(&[0, 3], 2, "<i2")?;
/// FrameBuilder::new(meta).create(&path)?.into_array_writer()?.finish()?.persist()?;
///
/// let mut log = ArrayUpdate::open(&path)?;
/// for row in [[1, 2, 3], [4, 5, 6]] {
///     log.append(0, &row.map(i16::to_le_bytes).concat())?;
/// }
/// log.write(&[0..1, 1..2], &[0, 0])?;
/// log.set_vlmetalayer("unit", "metre")?;
/// log.flush()?;
/// drop(log);
///
/// let mut frame = Frame::open(&path)?;
/// let items = frame.whole().read_rows::<i16>()?;
/// assert_eq!(items, [1, 0, 3, 4, 5, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is changed without `flush`"]
pub struct ArrayUpdate {
    path: PathBuf,
    /// The frame as it is in the file.
    frame: Frame<()>,
    lock: Option<ExclusiveLock>,
    compressor: Compressor,
    typesize: usize,
    /// The array's metalayer with the new shape.
    meta: Meta,
    geometry: Geometry,
    /// For each chunk of the new shape, its number in the file, or `NEW` if the chunk is not in the file. A `NEW` chunk
    /// that is not in `pending` is all zeros.
    origins: Vec<u64>,
    /// The changed chunks, decompressed, by their numbers in the new shape.
    pending: BTreeMap<u64, Vec<u8>>,
    /// The name of each vlmetalayer, and the chunk that stores its value.
    vlmetalayers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Why the items must not change.
    refusal: Option<String>,
    is_changed: bool,
}

/// The origin of a chunk that is not in the file.
const NEW: u64 = u64::MAX;

impl ArrayUpdate {
    /// Opens an array to change it. The path is a file, or the directory of a sparse frame.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if the frame has no array, an old layout (which
    ///   [`Rewrite`](crate::Rewrite) converts), or a codec or filters that this crate cannot apply.
    /// - [`Malformed`](crate::ErrorKind::Malformed) if the check of the frame finds an error.
    /// - [`Locked`](crate::ErrorKind::Locked) if another process has the lock of the frame.
    /// - [`Io`](crate::ErrorKind::Io) if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let mut frame = Frame::open(path)?;
        let path = frame.path().ok_or_else(no_array)?.to_path_buf();
        let lock = ExclusiveLock::take(&path, frame.header().is_sparse())?;
        if let Some(error) = first_error(&Check::default().run(&mut frame)?.findings) {
            return Err(Error::malformed(error.clone()));
        }
        let array = frame.array()?.ok_or_else(no_array)?;
        let layout = array.meta().layout();
        if frame.header().generation != Generation::Present || layout != Layout::B2nd {
            return Err(Error::unsupported(format_args!(
                "layout {layout} of an old version cannot be changed; a rewrite converts it to the present one"
            )));
        }
        let meta = array.meta().clone();
        let geometry = meta.geometry().map_err(Error::geometry)?;
        let typesize = usize::try_from(frame.header().typesize).unwrap_or_default();
        let sizes = Sizes::new(&meta, typesize)?;
        let mut params = params(frame.header(), &sizes);
        if params.codec == Codec::LZ4HC {
            params.codec = Codec::LZ4;
        }
        let compressor = Compressor::new(params).map_err(Error::unsupported)?;
        let limit = expansion_limit(frame.header().frame_len);
        if sizes.nchunks.saturating_mul(size_of::<u64>() as u64) > limit {
            let nchunks = sizes.nchunks;
            return Err(Error::too_large(format_args!(
                "{nchunks} chunks are too many for a frame of this length"
            )));
        }
        let layers = frame.trailer()?;
        let layers = layers.vlmetalayers().iter();
        let vlmetalayers = layers.map(|layer| (layer.raw_name().to_vec(), layer.chunk().to_vec())).collect();
        let refusal = refuse_column(&path).err().map(|error| error.to_string());
        Ok(Self {
            path,
            refusal,
            frame: frame.map_reader(drop),
            lock,
            compressor,
            typesize,
            meta,
            origins: (0..geometry.nchunks()).collect(),
            geometry,
            pending: BTreeMap::new(),
            vlmetalayers,
            is_changed: false,
        })
    }

    /// The array's metalayer, with all changes of the shape, including those that are not in the file yet.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    #[cfg(feature = "ndarray")]
    pub(super) fn is_swapped<T: crate::slice::ndarray_items::Item>(&self) -> Result<bool, Error> {
        crate::slice::ndarray_items::is_swapped::<T>(Some(&self.meta), self.typesize, "written from")
    }

    /// Writes the items of a region, in C order. The chunks of the region stay in memory until the next
    /// [`flush`](Self::flush).
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the ranges do not fit the shape, or the number of bytes does
    /// not fit the region. [`Malformed`](crate::ErrorKind::Malformed) if a chunk cannot be decompressed.
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the array belongs to a table (`CTable`) of python-blosc2 that
    /// has indexes or generated columns: these are in other files, so they cannot change together with the items. After
    /// an error, nothing is changed.
    pub fn write(&mut self, region: &[Range<u64>], items: &[u8]) -> Result<(), Error> {
        check_region(&self.geometry, region, self.typesize, items.len())?;
        self.check_refusal()?;
        let parts = self.geometry.chunks_in(region).map_err(Error::geometry)?;
        let numbers: Vec<_> = parts.map(|part| (part.number(), is_whole(&part))).collect();
        // `load` comes before the first change, because it can fail.
        self.load(&numbers)?;
        let Self { geometry, typesize, pending, .. } = self;
        for part in geometry.chunks_in(region).map_err(Error::geometry)? {
            if let Some(chunk) = pending.get_mut(&part.number()) {
                part.gather(items, *typesize, chunk).map_err(Error::geometry)?;
            }
        }
        mark_stale(&mut self.vlmetalayers);
        self.is_changed = true;
        Ok(())
    }

    /// Makes the array longer along a dimension, and writes the new items, in C order.
    ///
    /// # Errors
    ///
    /// The errors of [`resize`](Self::resize) and [`write`](Self::write). Also
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array has no dimension `axis`, if another dimension is
    /// 0, or if `items` is not a whole number of slices. A slice here is all items with the same index along `axis`.
    pub fn append(&mut self, axis: usize, items: &[u8]) -> Result<(), Error> {
        let mut shape = self.meta.shape().to_vec();
        let others = shape.iter().enumerate().filter(|&(dimension, _)| dimension != axis);
        let index = others.fold(self.typesize, |nbytes, (_, &items)| {
            nbytes.saturating_mul(usize::try_from(items).unwrap_or(usize::MAX))
        });
        let ndim = shape.len();
        let Some(length) = shape.get_mut(axis) else {
            return Err(Error::invalid_input(format_args!(
                "axis is {axis}, but the array has {ndim} dimensions"
            )));
        };
        let found = items.len();
        let Some(more) = found.checked_div(index).filter(|more| more * index == found) else {
            return Err(Error::invalid_input(format_args!(
                "an index along dimension {axis} takes {}, but `items` has {}",
                counted(index, "byte"),
                counted(found, "byte")
            )));
        };
        let start = length.unsigned_abs();
        *length = length.saturating_add(i64::try_from(more).unwrap_or(i64::MAX));
        let mut region: Vec<Range<u64>> = shape.iter().map(|items| 0..items.unsigned_abs()).collect();
        if let Some(range) = region.get_mut(axis) {
            range.start = start;
        }
        self.resize(&shape)?;
        self.write(&region, items)
    }

    /// Changes the shape. Each dimension grows or shrinks at its end. New items are zeros, even in places that had
    /// items before the array shrank. (C-Blosc2 shows the old items again.)
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the shape has another number of dimensions, or is not valid.
    /// [`TooLarge`](crate::ErrorKind::TooLarge) if the new shape needs more chunks than a frame can have.
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the array belongs to a table, as with [`write`](Self::write).
    pub fn resize(&mut self, shape: &[i64]) -> Result<(), Error> {
        let meta = self.meta.clone().with_shape(shape).map_err(Error::invalid_input)?;
        let before = self.geometry.clone();
        let resize = before.resize(shape).map_err(Error::geometry)?;
        let after = resize.after();
        // `Sizes::new` and `NewIndex::new` fail if a size or the number of chunks is too large for the format.
        let sizes = Sizes::new(&meta, self.typesize)?;
        NewIndex::new(sizes.nchunks)?;
        self.check_refusal()?;
        let grown = |&(old, new): &(u64, u64)| {
            let ends = before.chunk(old).zip(after.chunk(new));
            ends.is_some_and(|(old, new)| {
                old.extent().stop().iter().zip(new.extent().stop().iter()).any(|(old, new)| old < new)
            })
        };
        let (kept, grown): (Vec<_>, Vec<_>) =
            (resize.kept_chunks().collect(), resize.kept_chunks().filter(grown).collect());
        // A chunk in `grown` gets new items, which must be zeros. But if the array was larger before, the chunk may
        // still hold old items in the places of the new items. So only the items within the old shape are copied, into
        // a chunk of zeros.
        self.load(&grown.iter().map(|&(old, _)| (old, false)).collect::<Vec<_>>())?;
        for (old, _) in grown {
            let zeros = zeroed(self.chunk_nbytes())?;
            if let (Some(part), Some(chunk)) = (before.chunk(old), self.pending.get_mut(&old)) {
                let items = std::mem::replace(chunk, zeros);
                copy_items(&part, self.typesize, &items, chunk);
            }
        }
        let mut origins = Vec::new();
        let count = usize::try_from(sizes.nchunks).map_err(Error::too_large)?;
        origins.try_reserve_exact(count).map_err(Error::too_large)?;
        origins.resize(count, NEW);
        let mut pending = BTreeMap::new();
        for (old, new) in kept {
            if let (Some(from), Some(to)) = (place(&self.origins, old), slot(&mut origins, new)) {
                *to = from;
            }
            if let Some(chunk) = self.pending.remove(&old) {
                pending.insert(new, chunk);
            }
        }
        mark_stale(&mut self.vlmetalayers);
        self.geometry = after.clone();
        (self.meta, self.origins, self.pending, self.is_changed) = (meta, origins, pending, true);
        Ok(())
    }

    /// Serializes a value as `MessagePack`, and stores it in a vlmetalayer, as
    /// [`FrameBuilder::vlmetalayer`](crate::FrameBuilder::vlmetalayer) does in a new frame. The value replaces a
    /// vlmetalayer of the same name.
    ///
    /// # Errors
    ///
    /// [`Encode`](crate::ErrorKind::Encode) if the value cannot be written as `MessagePack`,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the name is too long or has a NUL, and
    /// [`TooLarge`](crate::ErrorKind::TooLarge) if the value is too long or there are too many vlmetalayers.
    pub fn set_vlmetalayer(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        check_name("vlmetalayer", name)?;
        let chunk = vlmetalayer_chunk(name, value)?;
        let is_full = self.vlmetalayers.len() >= MAX_VLMETALAYERS;
        match self.vlmetalayers.iter_mut().find(|(other, _)| other == name.as_bytes()) {
            Some((_, old)) => *old = chunk,
            None if is_full => {
                return Err(Error::too_large(format_args!(
                    "the frame already has {MAX_VLMETALAYERS} vlmetalayers, and cannot have more"
                )));
            }
            None => self.vlmetalayers.push((name.into(), chunk)),
        }
        self.is_changed = true;
        Ok(())
    }

    /// Removes a vlmetalayer. Returns whether there was a vlmetalayer of this name.
    pub fn remove_vlmetalayer(&mut self, name: &str) -> bool {
        let before = self.vlmetalayers.len();
        self.vlmetalayers.retain(|(other, _)| other != name.as_bytes());
        let is_removed = self.vlmetalayers.len() < before;
        self.is_changed |= is_removed;
        is_removed
    }

    /// Writes all changes to the file in one commit. Without a change, nothing is written.
    ///
    /// # Errors
    ///
    /// After an error, the array in the file is as before, and the changes are still in memory, so the call can be
    /// repeated.
    ///
    /// - [`Changing`](crate::ErrorKind::Changing) if another process has changed the frame.
    /// - [`TooLarge`](crate::ErrorKind::TooLarge) if a length is too large for the format.
    /// - [`Io`](crate::ErrorKind::Io) if the file cannot be read or written.
    pub fn flush(&mut self) -> Result<(), Error> {
        if !self.is_changed {
            return Ok(());
        }
        let mut frame = self.opened()?;
        let plan = self.plan()?;
        let mut old = OldChunks::read(&mut frame, &self.kept())?;
        if self.frame.header().is_sparse() {
            let too_high: Vec<_> = old.files().filter(|&(_, file)| is_too_high(file, old.nbytes)).collect();
            if !too_high.is_empty() {
                // C-Blosc2 checks the number of a chunk file as if it were an offset in the chunks. So it opens the
                // file only if the number is at least 32 below the stored size of all chunks. If the unchanged chunks
                // have few bytes in total, some of their file numbers may be too high. Such chunks are treated as
                // changed, so they get files with other numbers.
                self.load(&too_high.iter().map(|&(number, _)| (number, false)).collect::<Vec<_>>())?;
                old = OldChunks::read(&mut frame, &self.kept())?;
            }
            self.flush_sparse(frame, plan, &old)
        } else if self.is_in_place(&frame, &plan, &old) {
            self.flush_in_place(plan, &old)
        } else {
            self.flush_to_new_file(frame, plan)
        }?;
        // The next commit starts from the file as it is now.
        self.frame = Frame::open(&self.path)?.map_reader(drop);
        self.origins = (0..self.geometry.nchunks()).collect();
        self.pending.clear();
        self.is_changed = false;
        Ok(())
    }

    /// Opens the frame again. Fails if the frame has changed.
    fn opened(&self) -> Result<Frame, Error> {
        let frame = Frame::open(&self.path)?;
        if frame.header_bytes() == self.frame.header_bytes() { Ok(frame) } else { Err(Error::changing(None)) }
    }

    /// Fails if the items must not change.
    fn check_refusal(&self) -> Result<(), Error> {
        self.refusal.as_ref().map_or(Ok(()), |why| Err(Error::unsupported(why)))
    }

    fn chunk_nbytes(&self) -> usize {
        usize::try_from(self.geometry.padded_chunk_nitems())
            .unwrap_or(usize::MAX)
            .saturating_mul(self.typesize)
    }

    /// Adds the chunks with these numbers to `pending`, decompressed. If the `bool` of a chunk is true, all its items
    /// will be overwritten. Such a chunk is not read, and is added as zeros.
    fn load(&mut self, numbers: &[(u64, bool)]) -> Result<(), Error> {
        if numbers.iter().all(|(number, _)| self.pending.contains_key(number)) {
            return Ok(());
        }
        let mut frame = self.opened()?;
        let mut chunks = frame.chunks()?;
        for &(number, is_overwritten) in numbers {
            if self.pending.contains_key(&number) {
                continue;
            }
            let origin = place(&self.origins, number).filter(|&origin| origin != NEW && !is_overwritten);
            let entry = origin.map(|origin| chunks.get(origin)).transpose()?.flatten();
            let chunk = match entry {
                Some(entry) => chunks.decompressed(&entry)?,
                None => zeroed(self.chunk_nbytes())?,
            };
            self.pending.insert(number, chunk);
        }
        Ok(())
    }

    /// Returns a map of the unchanged chunks, from the number in the file to the new number.
    fn kept(&self) -> BTreeMap<u64, u64> {
        let numbered = (0..).zip(self.origins.iter().copied());
        numbered
            .filter(|(number, origin)| *origin != NEW && !self.pending.contains_key(number))
            .map(|(number, origin)| (origin, number))
            .collect()
    }

    /// The header, trailer and index of the new frame, without its chunks.
    fn plan(&self) -> Result<Plan, Error> {
        let too_large = || Error::too_large("the new header or trailer is longer than the format allows");
        let sizes = Sizes::new(&self.meta, self.typesize)?;
        let mut header = HeaderBuilder::new();
        header.copy(self.frame.header(), self.frame.header_bytes());
        header.set(HeaderField::Nbytes, &sizes.nbytes.to_be_bytes());
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
}

impl ArrayUpdate {
    /// Whether the commit can be written after the end of the frame. Otherwise the commit needs a new file.
    fn is_in_place(&self, frame: &Frame, plan: &Plan, old: &OldChunks) -> bool {
        let header = self.frame.header();
        let holes = header.frame_len.saturating_sub(header.header_len as u64).saturating_sub(old.nbytes);
        let array_end =
            frame.array_metalayer().map_or(usize::MAX, |layer| layer.offset() + layer.bytes().len());
        // A frame without items has no index, but a commit after the end of the frame needs an old and a new index.
        let has_index = header.nbytes > 0 && plan.sizes.nbytes > 0;
        has_index && array_end <= PAGE_LEN && holes <= old.nbytes.max(MIN_HOLES)
    }

    /// Calls `keep` once, to pass all unchanged chunks to the writer. Then writes the changed chunks. All other chunks
    /// become zeros.
    fn write_chunks<W: Write + Seek>(
        &mut self,
        writer: &mut FrameWriter<W>,
        mut keep: impl FnMut(&mut FrameWriter<W>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        keep(writer)?;
        let mut compressed = Vec::new();
        for (&number, chunk) in &self.pending {
            self.compressor.compress_into(chunk, &mut compressed).map_err(Error::too_large)?;
            writer.write_compressed(number, &compressed)?;
        }
        writer.fill_missing(SpecialValue::Zeros)
    }

    /// Writes the new chunks, index and trailer after the end of the frame, and then overwrites the header.
    fn flush_in_place(&mut self, plan: Plan, old: &OldChunks) -> Result<(), Error> {
        let header = self.frame.header();
        let (header_len, frame_len) = (header.header_len as u64, header.frame_len);
        let path = self.path.clone();
        let unwritable = |error| Error::io("write", &path, error);
        let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(unwritable)?;
        remove_unfinished(&self.frame, &path, &mut file)?;
        self.frame.check_whole(&path)?;
        let output = Output::behind(
            file.try_clone().map_err(unwritable)?,
            header_len,
            frame_len - header_len,
            path.clone(),
        );
        let mut writer = FrameWriter::new(output, plan);
        let written = self
            .write_chunks(&mut writer, |writer| {
                // If this process is killed before the header is written, the bytes of this commit remain after the end
                // of the frame. The next commit recognizes these bytes by the mark written here, and removes them.
                writer.put_hole(&mark(MARK_LEN as u64))?;
                old.kept.iter().try_for_each(|&(number, entry)| writer.keep(number, entry))
            })
            .and_then(|()| writer.finish_behind());
        let header = written.and_then(|header| file.sync_all().map_err(unwritable).map(|()| header));
        // After an error, the new bytes after the end of the frame are removed. If that fails too, these bytes do no
        // harm, because the old frame is complete without them.
        let header = header.inspect_err(|_| drop(file.set_len(frame_len)))?;
        if let Some(lock) = &mut self.lock {
            lock.raise_counter()?;
        }
        // This is one write within a page, so a killed process leaves the old header or the new header, and no mixture.
        overwrite(&mut file, self.frame.header_bytes(), &header).map_err(unwritable)?;
        // Marks the holes. The commit is already complete, so errors are ignored: a hole without a mark only causes a
        // warning of `check`.
        let index = index_start(self.frame.header());
        for (start, len) in old.gone.iter().copied().chain([(index, frame_len - index)]) {
            let _ = file.seek(SeekFrom::Start(start)).and_then(|_| file.write_all(&mark(len)));
        }
        Ok(())
    }

    /// Writes the whole frame to a new file, which replaces the old file.
    fn flush_to_new_file(&mut self, mut frame: Frame, plan: Plan) -> Result<(), Error> {
        let new = Destination::taken(&self.path)?.begin(false)?;
        let kept = self.kept();
        let mut writer = FrameWriter::new(Output::begin(new, plan.header_len())?, plan);
        let mut chunks = frame.chunks()?;
        self.write_chunks(&mut writer, |writer| {
            for (&origin, &number) in &kept {
                let Some(entry) = chunks.get(origin)? else { continue };
                match chunks.compressed(&entry)? {
                    Some(chunk) => writer.put(number, [&chunk, &[]])?,
                    None => writer.keep(number, entry_value(&entry, 0)?)?,
                }
            }
            Ok(())
        })?;
        let new = writer.finish()?;
        self.replace(frame, new)
    }

    /// Writes new chunk files, and then a new file with the header and the index, which replaces the old file.
    fn flush_sparse(&mut self, frame: Frame, plan: Plan, old: &OldChunks) -> Result<(), Error> {
        let directory = frame.directory().unwrap_or(Path::new(".")).to_path_buf();
        // The chunk files of the present index must stay until this index is replaced. So no new chunk may get the
        // number of such a file. `taken` has the numbers of all these files.
        let kept = || old.files().map(|(_, file)| file);
        let taken = kept().chain(old.gone.iter().map(|&(number, _)| number)).collect();
        let output = Output::sparse(
            Destination::taken(&self.path)?.begin(false)?,
            directory.clone(),
            taken,
            old.nbytes,
        );
        let mut writer = FrameWriter::new(output, plan);
        let written = self.write_chunks(&mut writer, |writer| {
            old.kept.iter().try_for_each(|&(number, entry)| writer.keep(number, entry))
        });
        let (files, cbytes) = (writer.output.files().to_vec(), writer.output.len);
        let written = written.and_then(|()| match kept().chain(files.iter().copied()).max() {
            Some(last) if is_too_high(last, cbytes) => Err(Error::too_large(format_args!(
                "chunk file {last} has a higher number than C-Blosc2 opens with {cbytes} bytes of chunks; \
                 make the array smaller in a commit of its own"
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
        let renamed = written.and_then(|()| writer.finish()).and_then(|new| self.replace(frame, new));
        renamed.inspect_err(|_| remove(&files))?;
        remove(&old.gone.iter().map(|&(number, _)| number).collect::<Vec<_>>());
        Ok(())
    }

    /// Gives the new file the attributes of the old file, and renames it to the path of the old file.
    fn replace(&mut self, old: Frame, new: NewFrame) -> Result<(), Error> {
        keep(&new, &OldFrame { source: self.path.clone(), is_in_place: true, is_sparse: false }, false);
        new.sync()?;
        self.frame.check_same(&self.path)?;
        if let Some(lock) = &mut self.lock {
            lock.raise_counter()?;
        }
        // The old file is closed before the rename, because some systems do not replace an open file.
        drop(old);
        new.rename().map(drop)
    }
}

/// The chunks in the file, before a commit.
struct OldChunks {
    /// For each unchanged chunk, its number and its entry in the new index.
    kept: Vec<(u64, EntryValue)>,
    /// The stored size of the unchanged chunks.
    nbytes: u64,
    /// For each other stored chunk, its place and its stored size. The place is the offset of the chunk in the file or,
    /// in a sparse frame, the number of its file.
    gone: Vec<(u64, u64)>,
}

impl OldChunks {
    /// For each unchanged stored chunk of a sparse frame, its new number and the number of its file.
    fn files(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.kept.iter().filter_map(|&(number, entry)| match entry {
            EntryValue::Stored(file) => Some((number, file)),
            _ => None,
        })
    }

    /// Reads the entries and headers of the chunks in the file. `kept` maps the old number of each unchanged chunk to
    /// its new number.
    fn read(frame: &mut Frame, kept: &BTreeMap<u64, u64>) -> Result<Self, Error> {
        let header_len = frame.header().header_len as u64;
        let mut old = Self { kept: Vec::new(), nbytes: 0, gone: Vec::new() };
        let mut chunks = frame.chunks()?;
        while let Some(entry) = chunks.next().transpose()? {
            let len = chunks.header(&entry)?.map_or(0, |header| header.cbytes as u64);
            let value = entry_value(&entry, header_len)?;
            match (kept.get(&entry.number), entry.place) {
                (Some(&number), _) => {
                    old.kept.push((number, value));
                    old.nbytes += len;
                }
                (None, ChunkPlace::Frame(place) | ChunkPlace::File(place)) => old.gone.push((place, len)),
                (None, _) => {}
            }
        }
        Ok(old)
    }
}

/// The value of an entry in the index. Offsets are counted from the end of the header.
fn entry_value(entry: &ChunkEntry, header_len: u64) -> Result<EntryValue, Error> {
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

impl fmt::Debug for ArrayUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, meta, pending, is_changed, .. } = self;
        f.debug_struct("ArrayUpdate")
            .field("path", path)
            .field("shape", &meta.shape())
            .field("pending", &pending.len())
            .field("is_changed", is_changed)
            .finish_non_exhaustive()
    }
}

/// Copies the items of a part of a chunk to the same places in another chunk.
fn copy_items(part: &Chunk<'_>, typesize: usize, from: &[u8], to: &mut [u8]) {
    for range in part.blocks().flat_map(|block| block.runs()).filter_map(|run| run.source(typesize)) {
        if let (Some(from), Some(to)) = (from.get(range.clone()), to.get_mut(range)) {
            to.copy_from_slice(from);
        }
    }
}

/// Whether the number of a chunk file is too high for C-Blosc2. `cbytes` is the stored size of all chunks in the frame,
/// on which the highest number depends.
fn is_too_high(file: u64, cbytes: u64) -> bool {
    i128::from(file) > chunk_file::last_number(i64::try_from(cbytes).unwrap_or(i64::MAX)).into()
}

fn place(origins: &[u64], number: u64) -> Option<u64> {
    origins.get(usize::try_from(number).ok()?).copied()
}

fn slot(origins: &mut [u64], number: u64) -> Option<&mut u64> {
    origins.get_mut(usize::try_from(number).ok()?)
}
