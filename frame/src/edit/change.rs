//! Changes the metalayers of a frame in its file.

use core::fmt::Display;
use core::time::Duration;
use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Layout, Meta, to_vec};

use crate::code::FindingCode;
use crate::edit::commit::Commit;
use crate::edit::new_trailer::{NewTrailer, changes_array, changes_items};
use crate::edit::writer_lock::WriterLock;
use crate::error::Error;
use crate::finding::{Escaped, first_error};
use crate::header::array_header::ArrayHeader;
use crate::header::array_rules::{agreement, refuse_objects, valid_geometry};
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::header::section::{CONTENT_HEADER, Metalayer};
use crate::read::chunks::Chunks;
use crate::read::frame_state::FrameState;
use crate::read::open::open_frame;
use crate::source::ReadAt;

/// Changes the shape, the dtype or metalayers of a frame in its file. [`Frame::edit`] returns an `Edit`.
///
/// A new value must be as long as the old one; [`Rewrite`](crate::Rewrite) can also write a longer or shorter value.
/// All changes are made in a single write, which is then synced. The data is not touched.
///
/// python-blosc2 may have computed indexes from the items. A new shape or dtype makes these indexes wrong. In this
/// case, the edit first writes a copy of the chunk index and a new trailer after the end of the frame. The write of the
/// header then makes the change and the new trailer valid together. In the new trailer, the indexes are marked as
/// stale, so python-blosc2 does not use them before it has built them again (`rebuild_index`). Indexes that cannot be
/// read are removed. To read compressed indexes, the feature `decompress` is needed. Query results that python-blosc2
/// 4.2 and 4.3 stored are always removed. In a sparse frame, nothing is written after the end of the frame: a new file
/// with the new trailer replaces `chunks.b2frame`. On Windows, some file systems, such as exFAT and some network
/// shares, do not replace an open file, and the frame has this file open. There such an edit fails with
/// [`Io`](crate::ErrorKind::Io), and only a [`Rewrite`](crate::Rewrite) in place can make the change.
///
/// ```
/// use b2nd_frame::Frame;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("array.b2nd");
/// # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
/// // The chunks have 2 x 3 items. So the last chunks have room for a fourth row and a sixth column.
/// let mut frame = Frame::open(&path)?;
/// frame.edit().shape(&[4, 6]).dtype("<f4").apply()?;
///
/// let array = frame.array()?.expect("an array");
/// assert_eq!((array.shape(), array.dtype()), (&[4, 6][..], Some("<f4")));
/// assert_eq!(Frame::open(&path)?.header_bytes(), frame.header_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is changed without `apply`"]
pub struct Edit<'f, R> {
    frame: &'f mut Frame<R>,
    shape: Option<Vec<i64>>,
    dtype: Option<String>,
    metalayers: Vec<(String, Vec<u8>)>,
    patience: Duration,
}

impl<'f, R> Edit<'f, R> {
    pub(crate) fn new(frame: &'f mut Frame<R>) -> Self {
        Self { frame, shape: None, dtype: None, metalayers: Vec::new(), patience: Duration::ZERO }
    }

    /// Changes the shape of the array. The grid of chunks must stay the same, so the array can grow or shrink only
    /// within its last chunks.
    ///
    /// New items have the values that the padding of the last chunks has in the file. These values are zeros if no item
    /// was ever written there, the fill value if `blosc2.full()` made the array, or old items if the array was larger
    /// before. A shape that needs more or fewer chunks is an error, and so is a shape that violates a
    /// [rule](b2nd_serde::geometry#what-is-accepted).
    ///
    /// The old shape may contradict the number of chunks in the header ([`nchunks`](crate::Header::nchunks)), as after
    /// most [interrupted resizes](crate::FindingCode::InterruptedResize). Then another rule applies: the new shape must
    /// need exactly as many chunks as the header counts, in any grid. The chunk index must have one entry for each of
    /// these chunks.
    ///
    /// ```
    /// use b2nd_frame::{ErrorKind, Frame};
    ///
    /// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert!(frame.edit().shape(&[4, 6]).preview().is_ok());
    ///
    /// let error = frame.edit().shape(&[4, 7]).preview().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidInput);
    /// assert_eq!(
    ///     error.to_string(),
    ///     "shape [4, 7] needs a grid of [2, 3] chunks, but the array has [2, 2]"
    /// );
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn shape(mut self, shape: &[i64]) -> Self {
        self.shape = Some(shape.into());
        self
    }

    /// Changes the dtype of the array. The text is written as given.
    ///
    /// The new dtype must be a dtype of NumPy or `ml_dtypes`. Its item size must be the frame's [type
    /// size](crate::Header::typesize), and its text must be as long as the text of the old dtype.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let after = frame.edit().dtype("<f4").preview()?;
    /// assert_eq!(after.array()?.expect("an array").dtype(), Some("<f4"));
    ///
    /// let error = frame.edit().dtype("<f8").preview().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the items of the frame have 4 bytes, but those of dtype `<f8` have 8"
    /// );
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn dtype(mut self, dtype: &str) -> Self {
        self.dtype = Some(dtype.into());
        self
    }

    /// Changes the value of a metalayer. The new value must be as long as the old one.
    ///
    /// In the array's metalayer, the layout, chunk shape and block shape must stay the same. There is one exception:
    /// layout `b2nd-mismarked` may become layout `b2nd`. A new shape or dtype in this metalayer must follow the rules
    /// of [`shape`](Self::shape) and [`dtype`](Self::dtype). If one of those methods is called too, its argument
    /// replaces the shape or dtype in the metalayer.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("array.b2nd");
    /// # std::fs::copy("tests/data/vlmetalayers.b2nd", &path)?;
    /// #[derive(serde_derive::Serialize, serde_derive::Deserialize)]
    /// struct Vendor {
    ///     serial: u8,
    ///     tags: Vec<String>,
    /// }
    ///
    /// let mut frame = Frame::open(&path)?;
    /// let mut vendor: Vendor = frame.metalayer("vendor").expect("a metalayer").decode()?;
    /// vendor.serial += 1;
    /// frame.edit().metalayer("vendor", &rmp_serde::to_vec_named(&vendor)?).apply()?;
    /// # let frame = Frame::open(&path)?;
    /// # let vendor: Vendor = frame.metalayer("vendor").expect("a metalayer").decode()?;
    /// # assert_eq!(vendor.serial, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metalayer(mut self, name: &str, value: &[u8]) -> Self {
        self.metalayers.push((name.into(), value.into()));
        self
    }

    /// Sets how long [`apply`](Edit::apply) waits for another writer of the frame; by default, it does not wait.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the frame as it would be after [`apply`](Edit::apply). Nothing is written, and no lock is taken.
    ///
    /// This works for any frame, including a frame that was parsed from bytes. If the frame was opened by its path, the
    /// header is read from the file again. As with [`apply`](Edit::apply), it is an error if the file is longer or
    /// shorter than the frame, or if the header has changed.
    ///
    /// # Errors
    ///
    /// The errors of [`apply`](Edit::apply), except those about the lock and about writing.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let after = frame.edit().shape(&[4, 6]).dtype("<f4").preview()?;
    /// let array = after.array()?.expect("an array");
    /// assert_eq!((array.shape(), array.dtype()), (&[4, 6][..], Some("<f4")));
    /// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn preview(&self) -> Result<Frame<()>, Error> {
        let after = self.after()?;
        let Some(path) = self.frame.path() else { return Ok(after) };
        self.check_file(path)?;
        match NewTrailer::of_change(path, self.frame, &after)? {
            Some(trailer) => trailer.header(&after),
            None => Ok(after),
        }
    }

    /// Checks that the file contains this frame with an unchanged header, and nothing else. If the new shape undoes an
    /// interrupted resize, also checks that the chunk index has one entry for each chunk that the header counts.
    fn check_file(&self, path: &Path) -> Result<(), Error> {
        self.frame.check_whole(path)?;
        let array = self.frame.array()?.filter(|_| self.shape.is_some());
        let expected = array.and_then(|array| array.geometry().ok()).map(|geometry| geometry.nchunks());
        if expected.is_some() && expected != self.frame.header().nchunks() {
            // The call fails if the chunk index and the header disagree on the number of chunks.
            Chunks::open_or_changing(&open_frame(path)?)?;
        }
        Ok(())
    }

    fn after(&self) -> Result<Frame<()>, Error> {
        let mut after = Frame::parse(self.frame.header_bytes())?;
        for (name, value) in &self.metalayers {
            let layer = after
                .metalayer(name)
                .ok_or_else(|| Error::invalid_input(format_args!("the frame has no metalayer `{name}`")))?;
            after = after.replaced(layer, value)?;
        }
        if let Some(shape) = &self.shape {
            after = after.with_shape(shape)?;
        }
        if let Some(dtype) = &self.dtype {
            after = after.with_dtype(dtype)?;
        }
        Ok(after)
    }
}

impl Edit<'_, File> {
    /// Writes the change into the file, and updates this frame.
    ///
    /// The file is locked during the change, so that writers of this crate exclude each other. C-Blosc2 instead creates
    /// a `.b2lock` file if its locking is on. If the frame has a `.b2lock` file, the edit also holds the exclusive lock
    /// of this file, and increments the counter in it, so that other processes read the header again. If another
    /// process holds one of the locks for longer than the [`patience`](Self::patience), the result is an error.
    ///
    /// **Without a `.b2lock`, a writer of C-Blosc2 that has the frame open does not notice the change, and can
    /// overwrite the new header with the old one.**
    ///
    /// A process that reads the header during the write may get a mixture of the old and the new header. This can
    /// happen with every program that writes a header in place. [`open_stable`](Frame::open_stable) avoids such reads.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`] if a new shape, dtype or metalayer does not fit the frame, or the frame was not opened by its
    ///   path.
    /// - [`Unsupported`] if the frame has no array to change, or is not the whole file. Also if the shape or dtype
    ///   changes, and the items are [computed or stored elsewhere](crate::ObjectKind::is_active). Also if the shape or
    ///   dtype changes, and the array belongs to a table (`CTable`) of python-blosc2 that has indexes or generated
    ///   columns. These are in other files, so they cannot change together with the items.
    /// - [`TooLarge`] if the shape has more items or chunks than the format can count.
    /// - [`Malformed`] if the new metalayer is malformed, or the array contradicts the header.
    /// - [`Locked`] if another process holds the lock.
    /// - [`Changing`] if the header in the file has changed since it was read.
    /// - [`Io`] if the file cannot be read or written.
    ///
    /// After an [`Io`] error, the file may have changed. After any other error, the file is unchanged.
    ///
    /// [`InvalidInput`]: crate::ErrorKind::InvalidInput
    /// [`Unsupported`]: crate::ErrorKind::Unsupported
    /// [`TooLarge`]: crate::ErrorKind::TooLarge
    /// [`Malformed`]: crate::ErrorKind::Malformed
    /// [`Locked`]: crate::ErrorKind::Locked
    /// [`Changing`]: crate::ErrorKind::Changing
    /// [`Io`]: crate::ErrorKind::Io
    ///
    /// ```
    /// use b2nd_frame::{ErrorKind, Frame};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("array.b2nd");
    /// # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
    /// let (mut frame, mut other) = (Frame::open(&path)?, Frame::open(&path)?);
    /// frame.edit().shape(&[4, 6]).apply()?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [4, 6]);
    ///
    /// let error = other.edit().shape(&[4, 5]).apply().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Changing);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(self) -> Result<(), Error> {
        let after = self.after()?;
        let path = self.frame.path().ok_or_else(not_opened)?.to_path_buf();
        // The locks are taken before the checks, so no other writer that takes the locks can change the file between
        // the checks and the write.
        let mut lock = WriterLock::take(&path, self.frame.header().is_sparse(), self.patience)?;
        self.check_file(&path)?;
        if self.frame.header_bytes() == after.header_bytes() {
            return Ok(());
        }
        let now = open_frame(&path)?;
        let mut state = FrameState::of(&now)?;
        let before = Frame::parse(self.frame.header_bytes())?;
        let commit = Commit {
            path: &path,
            frame: &before,
            state: &mut state,
            lock: &mut lock,
            changes_items: changes_array(&before, &after),
        };
        let (after, new_file) = match NewTrailer::of_change(&path, self.frame, &after)? {
            None => {
                commit.header(after.header_bytes())?;
                (after, None)
            }
            Some(trailer) => trailer.commit(commit, &after)?,
        };
        if let Some(file) = new_file {
            self.frame.reader = file;
        }
        let Frame { header, bytes, section, .. } = after;
        (self.frame.header, self.frame.bytes, self.frame.section) = (header, bytes, section);
        // With the new time and version, this change does not count as a change by another program.
        self.frame.opened = Some(SystemTime::now());
        self.frame.version = self.frame.reader.version();
        Ok(())
    }
}

impl Frame<()> {
    fn with_shape(&self, shape: &[i64]) -> Result<Self, Error> {
        let array = self.array()?.ok_or_else(no_array)?;
        check_shape(&array, self.header(), shape)?;
        let meta = array.meta().clone().with_shape(shape).map_err(Error::invalid_input)?;
        self.with_meta(&array, &meta)
    }

    fn with_dtype(&self, dtype: &str) -> Result<Self, Error> {
        let array = self.array()?.ok_or_else(no_array)?;
        let before = array.dtype().ok_or_else(|| {
            let layout = array.meta().layout();
            Error::unsupported(format_args!("layout {layout} stores no dtype; a rewrite can add one"))
        })?;
        // A dtype in a format other than NumPy's cannot be changed, because this crate does not know the syntax of that
        // format.
        if array.meta().dtype_format().is_some_and(|format| format != 0) {
            array.meta().parse_dtype().map_err(|error| Error::unsupported(format_args!("dtype: {error}")))?;
        }
        check_typesize(&array, self.header())?;
        check_dtype(&dtype.parse().map_err(wrong_dtype)?, self.header().typesize)?;
        if dtype.len() != before.len() {
            let (expected, found) = (before.len(), dtype.len());
            return Err(Error::invalid_input(format_args!(
                "the new dtype must be as long as the old one ({expected} bytes), but `{dtype}` has {found}; a rewrite \
                 can change its length"
            )));
        }
        self.with_meta(&array, &array.meta().clone().with_dtype(dtype).map_err(wrong_dtype)?)
    }

    /// Returns the frame with `meta` as the new metalayer of the array. The new metalayer must be as long as the old
    /// one. The [stale bytes](ArrayHeader::stale_tail) after the entries are kept.
    // All entries are serialized again. Unchanged entries get the same bytes as before, so only the new values differ.
    fn with_meta(&self, array: &ArrayHeader<'_>, meta: &Meta) -> Result<Self, Error> {
        let layer = array.metalayer();
        let bytes = to_vec(meta).map_err(|error| Error::encode(layer.name(), error))?;
        self.replaced(layer, &[&bytes, array.stale_tail()].concat())
    }

    /// The frame with a new value for one of its metalayers.
    fn replaced(&self, layer: &Metalayer, value: &[u8]) -> Result<Self, Error> {
        let (expected, found) = (layer.bytes().len(), value.len());
        if expected != found {
            let name = Escaped(layer.name());
            return Err(Error::invalid_input(format_args!(
                "the new value of metalayer `{name}` must be as long as the old one ({expected} bytes), but has {found}"
            )));
        }
        // If another part of the header shares bytes with the metalayer, the edit would silently change that part too.
        if self.shares_bytes(layer) {
            let name = Escaped(layer.name());
            return Err(Error::unsupported(format_args!(
                "metalayer `{name}` shares bytes with another part of the header"
            )));
        }
        let mut bytes = self.header_bytes().to_vec();
        if let Some(slot) = bytes.get_mut(layer.offset()..layer.offset() + value.len()) {
            slot.copy_from_slice(value);
        }
        // The header is parsed again, so no edit can write a header that this crate would not read.
        let after = Self::parse(&bytes)?;
        if self.array_metalayer() == Some(layer) {
            let before = self.array()?.ok_or_else(no_array)?;
            let now = after.array()?.ok_or_else(no_array)?;
            check_array(&before, &now, self.header())?;
            if changes_items(before.meta(), now.meta()) {
                self.kind().refuse_without_items()?;
            }
        }
        Ok(after)
    }

    /// Whether a metalayer shares bytes with another part of the header. No known writer does this.
    fn shares_bytes(&self, layer: &Metalayer) -> bool {
        let end = |layer: &Metalayer| layer.offset() + layer.bytes().len();
        let is_beside = |other: &Metalayer| {
            end(other) <= layer.offset() || end(layer) <= other.offset().saturating_sub(CONTENT_HEADER)
        };
        let others = self.metalayers().iter().filter(|&other| other != layer);
        layer.offset() < self.section.contents() + CONTENT_HEADER || !others.into_iter().all(is_beside)
    }
}

fn check_array(before: &ArrayHeader<'_>, after: &ArrayHeader<'_>, header: &Header) -> Result<(), Error> {
    check_typesize(before, header)?;
    let (old, new) = (before.meta(), after.meta());
    // The layout may change only from `b2nd-mismarked` to `b2nd`, because this change only corrects the first marker:
    // no entry is lost or moved.
    let is_put_right = (old.layout(), new.layout()) == (Layout::B2ndMismarked, Layout::B2nd);
    if old.layout() != new.layout() && !is_put_right {
        let (old, new) = (old.layout(), new.layout());
        return Err(Error::invalid_input(format_args!(
            "the new value has layout {new}, but the array has layout {old}"
        )));
    }
    let shapes = |meta: &Meta| [meta.chunkshape().to_vec(), meta.blockshape().to_vec()];
    let (expected, found) = (shapes(old), shapes(new));
    if expected != found {
        let ([chunks, blocks], [new_chunks, new_blocks]) = (expected, found);
        return Err(Error::invalid_input(format_args!(
            "the new value has chunkshape {new_chunks:?} and blockshape {new_blocks:?}, but the data has {chunks:?} \
             and {blocks:?}"
        )));
    }
    if (old.version(), old.shape()) != (new.version(), new.shape()) {
        check_shape(before, header, new.shape())?;
        if let Some(error) = first_error(&agreement(after, header)) {
            return Err(Error::malformed(error.clone()));
        }
    }
    if (old.dtype_format(), old.dtype()) != (new.dtype_format(), new.dtype()) {
        let dtype = new.parse_dtype().map_err(wrong_dtype)?;
        return dtype.map_or(Ok(()), |dtype| check_dtype(&dtype, header.typesize));
    }
    Ok(())
}

/// Checks that the type size in the header is not [lost](FindingCode::LostTypesize). A lost type size is 1 instead of
/// the size of an item. A new shape or dtype is checked against the type size, so the type size must be right.
fn check_typesize(array: &ArrayHeader<'_>, header: &Header) -> Result<(), Error> {
    let lost =
        agreement(array, header).into_iter().find(|finding| finding.code() == FindingCode::LostTypesize);
    lost.map_or(Ok(()), |finding| Err(Error::malformed(finding)))
}

/// Checks that the new shape has the same grid of chunks as the old shape. If the old shape contradicts the number of
/// chunks in the header, as after an interrupted resize, the new shape must instead have exactly this number of chunks.
pub(crate) fn check_shape(array: &ArrayHeader<'_>, header: &Header, shape: &[i64]) -> Result<(), Error> {
    let geometry = valid_geometry(array)?;
    let resize = geometry.resize(shape).map_err(Error::geometry)?;
    let counted = header.nchunks().filter(|&counted| counted != geometry.nchunks());
    let (grid, new_grid) = (geometry.grid_of_chunks(), resize.after().grid_of_chunks());
    match counted {
        Some(counted) if counted == resize.after().nchunks() => Ok(()),
        Some(counted) => Err(Error::invalid_input(format_args!(
            "shape {shape:?} needs a grid of {new_grid:?} chunks, but after an interrupted resize there are {counted} chunks"
        ))),
        None if resize.changes_chunks() => Err(Error::invalid_input(format_args!(
            "shape {shape:?} needs a grid of {new_grid:?} chunks, but the array has {grid:?}"
        ))),
        None => Ok(()),
    }
}

pub(crate) fn no_array() -> Error {
    Error::unsupported("the frame has no array")
}

fn not_opened() -> Error {
    Error::invalid_input("only a frame opened with `Frame::open` can be changed")
}

/// The error for an invalid dtype, or an unknown dtype format.
pub(crate) fn wrong_dtype(error: impl Display) -> Error {
    Error::invalid_input(format_args!("dtype: {error}"))
}

/// Checks that a dtype has no Python objects, and that its item size is the type size of the frame.
pub(crate) fn check_dtype(dtype: &Dtype, typesize: i32) -> Result<(), Error> {
    refuse_objects(dtype)?;
    let found = dtype.item_size();
    if usize::try_from(typesize) == Ok(found) {
        Ok(())
    } else {
        Err(Error::invalid_input(format_args!(
            "the items of the frame have {typesize} bytes, but those of dtype `{dtype}` have {found}"
        )))
    }
}
