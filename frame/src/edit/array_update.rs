//! Collects changes of the items, the shape and the vlmetalayers of an array. `array_commit.rs` writes them to the file.

use core::fmt;
use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use b2nd_chunk::Codec;
use b2nd_serde::geometry::Chunk;
use b2nd_serde::{Geometry, Layout, Meta};
use serde::Serialize;

use crate::check::Check;
use crate::chunk::expansion::zeroed;
use crate::edit::change::no_array;
use crate::edit::old_chunks::check_count;
use crate::edit::pending_chunks::{LazyCompressor, PendingChunks};
use crate::edit::table_column::refuse_column;
use crate::edit::writer_lock::WriterLock;
use crate::error::Error;
use crate::finding::{counted, first_error};
use crate::header::fields::Generation;
use crate::header::frame::Frame;
use crate::index::index_writer::NewIndex;
use crate::read::chunks::Chunks;
use crate::read::frame_state::FrameState;
use crate::read::open::open_frame;
use crate::trailer::derived_layers::mark_stale;
use crate::trailer::salvage_note::renumber;
use crate::write::array_writer::{check_region, is_whole, params};
use crate::write::frame_builder::vlmetalayer_chunk;
use crate::write::frame_plan::{MAX_VLMETALAYERS, Sizes, check_name};

/// Changes the items, the shape and the vlmetalayers of an array in its file.
///
/// Changes are collected in memory, and [`flush`](Self::flush) writes all of them at once: a *commit*. If the process
/// is killed at any moment of a commit, the array in the file is either as before the commit, or as after it. Changes
/// since the last `flush` are lost when the `ArrayUpdate` is dropped.
///
/// In a contiguous frame, a commit first writes the changed chunks, the chunk index and the trailer after the end of
/// the frame. Then it reads the new frame back, and writes the header in a single write. The bytes of the replaced
/// chunks, index and trailer stay as they are, and become holes. So a program that has already read the old header can
/// continue to read the old array. [`check`](crate::check()) recognizes the holes, and
/// [`cbytes`](crate::Header::cbytes) includes them. In four cases, a commit instead writes a new file, which replaces
/// the old file:
///
/// - The holes would exceed both 64 KiB and the stored size of the unchanged chunks, or the commit would leave more
///   than 65,536 holes.
/// - The length of the header changes. This happens if the old header has [stale bytes](crate::ArrayHeader::stale_tail)
///   after the array's metalayer, because the new header has none.
/// - The array's metalayer is not within the first 4 KiB of the file.
/// - The array is empty before or after the commit.
///
/// In a sparse frame, a commit adds new chunk files, replaces `chunks.b2frame`, and removes the old chunk files.
///
/// On Windows, some file systems, such as exFAT and some network shares, do not replace an open file. There a commit
/// that replaces a file fails with [`Io`](crate::ErrorKind::Io) while another program, or a `Frame` or `Array` of this
/// one, has the file open. Such a commit can be repeated.
///
/// New files get the attributes of the old file, or of the old `chunks.b2frame`: the mode, the owner, the group and, on
/// Linux, the access control list. If the system does not allow one of these attributes to be set, this attribute is
/// skipped without an error, and nobody gets more permissions than before. If you are not the owner of the old file,
/// you become the owner of the new file, and the old owner can lose access to it. Hard links and all other extended
/// attributes of a replaced file are lost.
///
/// # Several processes
///
/// The file is locked until the `ArrayUpdate` is dropped. So if the file system [has locks](crate::has_locks()), the
/// writers of this crate exclude each other, also across processes. If the frame has a `.b2lock` file of C-Blosc2, the
/// lock of that file is held too. **C-Blosc2 and python-blosc2 lock only if their user asks for it.** A program that
/// changes the frame at the same time, without the lock, can damage the frame. A commit notices most such changes
/// before it writes the header, and fails with [`Changing`](crate::ErrorKind::Changing). A new modification time is
/// enough for this error. Some network file systems set the modification time seconds after a write, so a commit can
/// fail although no other program writes. In that case, open the array again.
///
/// A program that only reads needs no lock. After a commit to a contiguous frame, a program that has the array open
/// sees the new array when it reads the header again. python-blosc2 reads the header again by itself. After a commit to
/// a sparse frame, a program that has the array open may look for a removed chunk file until it opens the array again.
///
/// # Indexes of python-blosc2
///
/// python-blosc2 can compute indexes from the items of an array (`create_index`), and keeps them in a vlmetalayer
/// ([`is_derived`](crate::Vlmetalayer::is_derived)) and in files beside the array. A commit that changes items or the
/// shape also marks these indexes as stale, so python-blosc2 does not use them before it has built them again
/// (`rebuild_index`). If the indexes cannot be marked, the vlmetalayer is removed. Query results that python-blosc2 4.2
/// and 4.3 stored are always removed. A process of python-blosc2 that has used an index before the commit keeps the
/// index in memory, and does not see the mark.
///
/// # The note of a salvage
///
/// If the array was [salvaged](crate::Salvage), its vlmetalayer `b2nd_salvage` lists the lost chunks and the chunks
/// that could not be verified. A resize updates the chunk numbers in this list. A chunk is removed from the list if a
/// write replaces all its items, or if a resize removes the chunk.
///
/// # Compression and memory
///
/// New chunks are compressed with the codec, level and filters in the header. If the codec is lz4hc, which this crate
/// only decompresses, lz4 is used instead. Until the `flush`, changed chunks stay in memory, most of them compressed.
/// At most 64 MiB of them are uncompressed at a time, or a single chunk if it is larger than 64 MiB.
///
/// ```
/// use b2nd_frame::{Array, ArrayUpdate, FrameBuilder};
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
/// let array = Array::open(&path)?;
/// let items = array.whole().read_rows::<i16>()?;
/// assert_eq!(items, [1, 0, 3, 4, 5, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is changed without `flush`"]
pub struct ArrayUpdate {
    pub(super) path: PathBuf,
    /// The frame as it is in the file.
    pub(super) frame: Frame<()>,
    pub(super) state: FrameState,
    pub(super) lock: WriterLock,
    pub(super) compressor: LazyCompressor,
    pub(super) typesize: usize,
    /// The array's metalayer with the new shape.
    pub(super) meta: Meta,
    pub(super) geometry: Geometry,
    /// For each chunk of the new shape, its number in the file, or `NEW` if the chunk is not in the file. A `NEW` chunk
    /// that is not in `pending` is all zeros.
    pub(super) origins: Vec<u64>,
    pub(super) pending: PendingChunks,
    /// The name of each vlmetalayer, and the chunk that stores its value.
    pub(super) vlmetalayers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) is_changed: bool,
    /// Whether the items or the shape have changed.
    pub(super) changes_items: bool,
}

/// The origin of a chunk that is not in the file.
pub(super) const NEW: u64 = u64::MAX;

/// A valid new shape of the array, as a metalayer and as a geometry.
struct NewShape {
    meta: Meta,
    geometry: Geometry,
}

impl ArrayUpdate {
    /// Opens an array to change it. The path is a file, or the directory of a sparse frame.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if the frame has no array, or an array with an old layout. Also
    ///   if the file has further bytes after the frame, such as zeros after a loss of power. A
    ///   [`Rewrite`](crate::Rewrite) converts an old layout. A rewrite to another path copies only the frame, without
    ///   the bytes after it.
    /// - [`Malformed`](crate::ErrorKind::Malformed) if the check of the frame finds an error.
    /// - [`Locked`](crate::ErrorKind::Locked) if another writer holds a lock of the frame.
    /// - [`Io`](crate::ErrorKind::Io) if the file cannot be read or written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_patiently(path, Duration::ZERO)
    }

    /// Opens an array to change it. If another writer holds a lock of the frame, waits until the lock is free, for at
    /// most `patience`.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    ///
    /// ```
    /// use std::time::Duration;
    /// use b2nd_frame::{ArrayUpdate, ErrorKind};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.b2nd");
    /// # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
    /// let first = ArrayUpdate::open(&path)?;
    /// let error = ArrayUpdate::open_patiently(&path, Duration::from_millis(20)).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Locked);
    ///
    /// drop(first);
    /// assert!(ArrayUpdate::open_patiently(&path, Duration::from_secs(60)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_patiently(path: impl AsRef<Path>, patience: Duration) -> Result<Self, Error> {
        let path = path.as_ref();
        // Another writer may change this header before the lock is taken. Only the frame type in this header is used,
        // because no writer changes the type in place.
        // The file is closed before the wait, because some systems do not replace an open file.
        let unlocked = open_frame(path)?.map_reader(drop);
        let header_path = unlocked.path().ok_or_else(no_array)?.to_path_buf();
        let lock = WriterLock::take(&header_path, unlocked.header().is_sparse(), patience)?;
        let frame = open_frame(path)?;
        let state = FrameState::of(&frame)?;
        if let Some(error) = first_error(&Check::default().run(&frame)?.findings) {
            return Err(Error::malformed(error.clone()));
        }
        // If other bytes followed the frame, a commit in place would fail, and a commit to a new file would lose these
        // bytes.
        frame.check_whole(&header_path)?;
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
        check_count(sizes.nchunks, frame.header().frame_len)?;
        let layers = frame.read_trailer()?;
        let layers = layers.vlmetalayers().iter();
        let vlmetalayers = layers.map(|layer| (layer.raw_name().to_vec(), layer.chunk().to_vec())).collect();
        Ok(Self {
            path: header_path,
            state,
            frame: frame.map_reader(drop),
            lock,
            compressor: LazyCompressor::new(params),
            typesize,
            meta,
            origins: (0..geometry.nchunks()).collect(),
            geometry,
            pending: PendingChunks::default(),
            vlmetalayers,
            is_changed: false,
            changes_items: false,
        })
    }

    /// The array's metalayer, with all changes of the shape, including those that are not in the file yet.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The header and metalayers as they are in the file, without the changes since the last [`flush`](Self::flush).
    ///
    /// ```
    /// use b2nd_frame::{ArrayUpdate, Frame};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.b2nd");
    /// # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
    /// let mut update = ArrayUpdate::open(&path)?;
    /// update.resize(&[4, 5])?;
    /// assert_eq!(update.frame().array()?.expect("an array").shape(), [3, 5]);
    ///
    /// update.flush()?;
    /// assert_eq!(update.frame().array()?.expect("an array").shape(), [4, 5]);
    /// assert_eq!(update.frame().header_bytes(), Frame::open(&path)?.header_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn frame(&self) -> &Frame<()> {
        &self.frame
    }

    #[cfg(feature = "ndarray")]
    pub(super) fn is_swapped<T: crate::slice::item::Item>(&self) -> Result<bool, Error> {
        let dtype = self.meta.parse_dtype().map_err(|error| error.to_string());
        crate::slice::item::is_swapped::<T>(&dtype, self.typesize, "written from")
    }

    /// Writes the items of a region, in C order.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput) if the ranges do not fit the shape, or the number of bytes does
    ///   not fit the region.
    /// - [`Malformed`](crate::ErrorKind::Malformed) if a chunk cannot be decompressed.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if the array belongs to a table (`CTable`) of python-blosc2
    ///   that has indexes or generated columns. These are in other files, so they cannot change together with the
    ///   items. Also if the items are [computed or stored elsewhere](crate::ObjectKind::is_active), as in a `Proxy`, or
    ///   if the frame is a [store](crate::ObjectKind::is_store). Also if this crate cannot apply the codec or a filter.
    /// - [`Changing`](crate::ErrorKind::Changing) if the file was changed since the `ArrayUpdate` was opened.
    /// - [`TooLarge`](crate::ErrorKind::TooLarge) if there is no memory for a chunk.
    /// - The error of the read, if a file of the table cannot be read.
    ///
    /// After an error, nothing is changed.
    pub fn write(&mut self, region: &[Range<u64>], items: &[u8]) -> Result<(), Error> {
        let present = NewShape { meta: self.meta.clone(), geometry: self.geometry.clone() };
        self.write_in(present, region, items)
    }

    /// Makes the array longer along a dimension, and writes the new items, in C order.
    ///
    /// # Errors
    ///
    /// The errors of [`resize`](Self::resize) and [`write`](Self::write). Also
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array has no dimension `axis`, if its length along
    /// another dimension is 0, or if `items` is not a whole number of slices. A slice here is all items with the same
    /// index along `axis`. After an error, neither the shape nor an item is changed.
    pub fn append(&mut self, axis: usize, items: &[u8]) -> Result<(), Error> {
        let mut shape = self.meta.shape().to_vec();
        let others = shape.iter().enumerate().filter(|&(dimension, _)| dimension != axis);
        let index = others.fold(self.typesize, |nbytes, (_, &items)| {
            nbytes.saturating_mul(usize::try_from(items).unwrap_or(usize::MAX))
        });
        let Some(length) = shape.get_mut(axis) else {
            return Err(no_axis(axis, self.meta.shape()));
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
        let new = self.new_shape(&shape)?;
        self.write_in(new, &region, items)
    }

    /// Changes the shape. Each dimension grows or shrinks at its end. New items are zeros, even in places that had
    /// items before the array shrank. (After a resize by C-Blosc2, the old items reappear.)
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the new shape is not valid, or its number of dimensions
    /// differs from that of the array. [`TooLarge`](crate::ErrorKind::TooLarge) if the new shape needs more chunks than
    /// a frame can have. [`Unsupported`](crate::ErrorKind::Unsupported) if the items cannot change, as with
    /// [`write`](Self::write). The errors of `write` about a chunk are possible for each chunk that gets new items.
    /// After an error, nothing is changed.
    pub fn resize(&mut self, shape: &[i64]) -> Result<(), Error> {
        let new = self.new_shape(shape)?;
        self.check_refusal()?;
        let before = self.geometry.clone();
        let grown = grown_chunks(&before, &new.geometry)?;
        // The new items of a grown chunk must be zeros. But if the array was larger before, the chunk may still hold
        // old items in the places of the new items. So only the items within the old shape are copied, into a chunk of
        // zeros.
        let mut changed = PendingChunks::default();
        let frame = self.opened_for(grown.iter().copied())?;
        let mut chunks = frame.as_ref().map(Frame::chunks).transpose()?;
        for old in grown {
            let numbered = before.chunk(old).zip(renumbered(old, &before, &new.geometry));
            let Some((part, number)) = numbered else { continue };
            let room = changed.open_nbytes().saturating_add(self.chunk_nbytes());
            self.pending.make_room(room, &mut self.compressor)?;
            let (items, mut chunk) = (self.items_of(old, chunks.as_mut())?, zeroed(self.chunk_nbytes())?);
            copy_items(&part, self.typesize, &items, &mut chunk);
            changed.insert(number, chunk, false, &mut self.compressor)?;
        }
        self.set_shape(new, &BTreeSet::new())?;
        self.put(changed);
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

    /// Removes all vlmetalayers of this name: a damaged trailer can have several. Returns false if there were none.
    pub fn remove_vlmetalayer(&mut self, name: &str) -> bool {
        let before = self.vlmetalayers.len();
        self.vlmetalayers.retain(|(other, _)| other != name.as_bytes());
        let is_removed = self.vlmetalayers.len() < before;
        self.is_changed |= is_removed;
        is_removed
    }

    /// Checks a new shape.
    fn new_shape(&self, shape: &[i64]) -> Result<NewShape, Error> {
        let meta = self.meta.clone().with_shape(shape).map_err(Error::invalid_input)?;
        let geometry = self.geometry.resize(shape).map_err(Error::geometry)?.after().clone();
        // `Sizes::new` and `NewIndex::new` fail if a size or the number of chunks is too large for the format.
        NewIndex::new(Sizes::new(&meta, self.typesize)?.nchunks)?;
        Ok(NewShape { meta, geometry })
    }

    /// Gives the array a new shape, and writes the items of a region of the new shape, in C order. The region must
    /// include all items that are new in this shape. After an error, nothing is changed.
    fn write_in(&mut self, new: NewShape, region: &[Range<u64>], items: &[u8]) -> Result<(), Error> {
        let (before, after, typesize) = (self.geometry.clone(), new.geometry.clone(), self.typesize);
        check_region(&after, region, typesize, items.len())?;
        self.check_refusal()?;
        let parts = after.chunks_in(region).map_err(Error::geometry)?;
        let old_number = |part: &Chunk<'_>| renumbered(part.number(), &after, &before);
        let gather =
            |part: &Chunk<'_>, chunk: &mut [u8]| part.gather(items, typesize, chunk).map_err(Error::geometry);
        let mut changed = PendingChunks::default();
        let incomplete = parts.clone().filter(|part| !is_whole(part));
        let frame = self.opened_for(incomplete.filter_map(|part| old_number(&part)))?;
        let mut chunks = frame.as_ref().map(Frame::chunks).transpose()?;
        // If all chunks of this write can be open (uncompressed) together, the chunks that are already open stay open.
        // They get their new items last, after all steps that can fail.
        let has_room = PendingChunks::has_room(parts.clone().count(), self.chunk_nbytes());
        if has_room {
            parts.clone().filter_map(|part| old_number(&part)).for_each(|old| self.pending.touch(old));
        }
        for part in parts.clone() {
            let (old, is_complete) = (old_number(&part), is_whole(&part));
            if has_room && old.is_some_and(|old| self.pending.is_open(old)) {
                continue;
            }
            let chunk_nbytes = self.chunk_nbytes();
            self.pending
                .make_room(changed.open_nbytes().saturating_add(chunk_nbytes), &mut self.compressor)?;
            let mut chunk = match old.filter(|_| !is_complete) {
                Some(old) => self.items_of(old, chunks.as_mut())?,
                None => zeroed(chunk_nbytes)?,
            };
            gather(&part, &mut chunk)?;
            changed.insert(part.number(), chunk, is_complete, &mut self.compressor)?;
        }
        // `set_shape` is the last step that can fail, so an error leaves everything unchanged. (`gather` can no longer
        // fail, because `check_region` has compared the lengths.)
        let replaced = parts.clone().filter(|part| is_whole(part) && old_number(part).is_some());
        self.set_shape(new, &replaced.map(|part| part.number()).collect())?;
        for part in parts.filter(|_| has_room) {
            if let Some(chunk) = self.pending.open_mut(part.number()) {
                gather(&part, chunk)?;
            }
        }
        self.put(changed);
        Ok(())
    }

    /// Gives the array a new shape. In the places of new items, chunks may still contain old items, so the caller must
    /// overwrite all new items. `replaced` has the new numbers of the old chunks that the caller overwrites completely.
    /// After an error, nothing is changed.
    fn set_shape(&mut self, new: NewShape, replaced: &BTreeSet<u64>) -> Result<(), Error> {
        let NewShape { meta, geometry } = new;
        let nchunks = usize::try_from(geometry.nchunks()).map_err(Error::too_large)?;
        let (old_grid, new_grid) = (self.geometry.grid_of_chunks(), geometry.grid_of_chunks());
        // Chunks are numbered in C order, so a change along the first dimension of the grid renumbers no chunk. An
        // append of a row therefore takes the same time for any number of chunks.
        let moved = if old_grid.get(1..) == new_grid.get(1..) {
            let more = nchunks.saturating_sub(self.origins.len());
            self.origins.try_reserve(more).map_err(Error::too_large)?;
            None
        } else {
            let mut origins = Vec::new();
            origins.try_reserve_exact(nchunks).map_err(Error::too_large)?;
            origins.resize(nchunks, NEW);
            for (old, number) in self.geometry.resize(meta.shape()).map_err(Error::geometry)?.kept_chunks() {
                if let (Some(from), Some(to)) = (place(&self.origins, old), slot(&mut origins, number)) {
                    *to = from;
                }
            }
            Some(origins)
        };
        let number = |old| renumbered(old, &self.geometry, &geometry);
        // The note of a salvage can be long, so it is processed only if it can change. An append of a row does not
        // change it.
        if moved.is_some() || geometry.nchunks() < self.geometry.nchunks() || !replaced.is_empty() {
            renumber(&mut self.vlmetalayers, self.geometry.nchunks(), |old| {
                number(old).filter(|number| !replaced.contains(number))
            })?;
        }
        if let Some(origins) = moved {
            self.origins = origins;
            self.pending = std::mem::take(&mut self.pending).renumbered(number);
        } else {
            self.origins.resize(nchunks, NEW);
            self.pending.truncate(geometry.nchunks());
        }
        (self.meta, self.geometry) = (meta, geometry);
        Ok(())
    }

    /// Adds changed chunks.
    fn put(&mut self, changed: PendingChunks) {
        self.pending.extend(changed);
        mark_stale(&mut self.vlmetalayers);
        (self.is_changed, self.changes_items) = (true, true);
    }

    /// Opens the frame again, if one of these chunks must be read from it. Fails if the file has changed.
    fn opened_for(&self, mut numbers: impl Iterator<Item = u64>) -> Result<Option<Frame>, Error> {
        if !numbers.any(|number| self.origin(number).is_some()) {
            return Ok(None);
        }
        let frame = open_frame(&self.path)?;
        if self.state.has_version_of(&frame) { Ok(Some(frame)) } else { Err(Error::changing(None)) }
    }

    /// The number that an unchanged chunk has in the file; `None` for a changed or new chunk.
    pub(super) fn origin(&self, number: u64) -> Option<u64> {
        place(&self.origins, number).filter(|&origin| origin != NEW && !self.pending.contains(number))
    }

    /// Fails if the items must not or cannot change.
    fn check_refusal(&mut self) -> Result<(), Error> {
        self.compressor.get()?;
        // These checks are made before the first change of items, not before each one. The commit checks the table
        // again.
        if !self.changes_items {
            self.frame.kind().refuse_without_items()?;
            refuse_column(&self.path)?;
        }
        Ok(())
    }

    fn chunk_nbytes(&self) -> usize {
        usize::try_from(self.geometry.padded_chunk_nitems())
            .unwrap_or(usize::MAX)
            .saturating_mul(self.typesize)
    }

    /// The items of the chunk with this number in the present shape. `chunks` reads the file; it may be `None` if no
    /// chunk of the file is needed.
    fn items_of(&self, number: u64, chunks: Option<&mut Chunks<'_, File>>) -> Result<Vec<u8>, Error> {
        if let Some(items) = self.pending.decompressed(number, self.chunk_nbytes())? {
            return Ok(items);
        }
        let Some((origin, chunks)) = self.origin(number).zip(chunks) else {
            return zeroed(self.chunk_nbytes());
        };
        match chunks.get(origin)? {
            Some(entry) => chunks.decompressed(&entry),
            None => zeroed(self.chunk_nbytes()),
        }
    }
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

/// The old numbers of the chunks that have room for new items: the last chunks along each dimension that grows, unless
/// these chunks are full.
fn grown_chunks(before: &Geometry, after: &Geometry) -> Result<BTreeSet<u64>, Error> {
    let (shape, chunkshape) = (before.shape(), before.chunkshape());
    let kept: Vec<_> = shape.iter().zip(after.shape().iter()).map(|(&old, &new)| 0..old.min(new)).collect();
    let mut grown = BTreeSet::new();
    for (axis, ((&old, &new), &chunk)) in
        shape.iter().zip(after.shape().iter()).zip(chunkshape.iter()).enumerate()
    {
        let mut region = kept.clone();
        let is_full = old.checked_rem(chunk).is_none_or(|items| items == 0);
        let Some(range) = region.get_mut(axis).filter(|_| new > old && !is_full) else { continue };
        range.start = old - 1;
        grown.extend(before.chunks_in(&region).map_err(Error::geometry)?.map(|chunk| chunk.number()));
    }
    Ok(grown)
}

/// The number of a chunk in another shape of the same array; `None` if that shape does not have the chunk.
fn renumbered(number: u64, from: &Geometry, to: &Geometry) -> Option<u64> {
    let position = to.position(from.chunk(number)?.extent().start())?;
    Some(position.chunk)
}

/// Copies the items of a part of a chunk to the same places in another chunk.
fn copy_items(part: &Chunk<'_>, typesize: usize, from: &[u8], to: &mut [u8]) {
    for range in part.blocks().flat_map(|block| block.runs()).filter_map(|run| run.source(typesize)) {
        if let (Some(from), Some(to)) = (from.get(range.clone()), to.get_mut(range)) {
            to.copy_from_slice(from);
        }
    }
}

pub(super) fn place(origins: &[u64], number: u64) -> Option<u64> {
    origins.get(usize::try_from(number).ok()?).copied()
}

fn slot(origins: &mut [u64], number: u64) -> Option<&mut u64> {
    origins.get_mut(usize::try_from(number).ok()?)
}

/// Checks that items of the shape `found` can be appended to the array `to` along the dimension `axis`. The items must
/// have all dimensions of the array, or all except `axis`. Items without the dimension `axis` make the array longer by
/// 1.
pub fn check_appended_shape(to: &Meta, axis: usize, found: &[u64]) -> Result<(), Error> {
    let shape = to.shape();
    if axis >= shape.len() {
        return Err(no_axis(axis, shape));
    }
    let others: Vec<u64> = without(axis, shape.iter().map(|length| length.unsigned_abs()));
    if *found == *others || found.len() == shape.len() && without(axis, found.iter().copied()) == others {
        return Ok(());
    }
    let length = |(dimension, length): (usize, &i64)| {
        if dimension == axis { "n".into() } else { length.to_string() }
    };
    let expected: Vec<_> = shape.iter().enumerate().map(length).collect();
    Err(Error::invalid_input(format_args!(
        "shape {found:?} cannot be appended to shape {shape:?} along dimension {axis}: it must be [{}] with any n, or {others:?}",
        expected.join(", ")
    )))
}

/// The lengths along all dimensions except `axis`.
fn without(axis: usize, shape: impl Iterator<Item = u64>) -> Vec<u64> {
    shape.enumerate().filter(|&(dimension, _)| dimension != axis).map(|(_, length)| length).collect()
}

/// The error for a dimension that an array of this shape does not have.
fn no_axis(axis: usize, shape: &[i64]) -> Error {
    let ndim = shape.len();
    Error::invalid_input(format_args!(
        "axis is {axis}, but must be less than {ndim}, as the array to append to has shape {shape:?}"
    ))
}
