//! Converts a frame to the present format: the result has a new header and the same data.

use core::ops::ControlFlow;
use core::time::Duration;
use std::fs::File;
use std::path::PathBuf;

use crate::edit::rewrite_job::{Job, Origin};
use crate::edit::rewritten::FrameChanges;
use crate::error::Error;
use crate::header::frame::Frame;
use crate::progress::Progress;
use crate::source::ReadAt;

/// A rewrite converts a frame to the present format. In this format, the name of the array's metalayer is `b2nd`, and
/// its layout is `b2nd` too.
///
/// The result is a new file. If the new path leads to the old file, the new file replaces the old file. This is a
/// rewrite *in place*.
///
/// | old frame | the rewrite |
/// |---|---|
/// | layout `caterva` | adds the dtype, which you must give |
/// | layout `b2nd-six` | spells the dtype as NumPy's `dtype.str` |
/// | layout `b2nd-mismarked` | corrects the first byte |
/// | stale bytes after the array's metalayer | removes them |
/// | layout `b2nd` | changes the dtype if you give one, even to a longer or shorter text |
/// | a [lost type size](crate::FindingCode::LostTypesize) | writes the item size of the dtype |
/// | a header of C-Blosc2 2.0 beta 2 to 5 (`9d`) | writes header and trailer of the present generation (`9e`) |
/// | sparse or contiguous | converts to the [given frame type](Self::sparse); this also works for frames without an array |
/// | bytes that belong to [no chunk](Frame::unowned_bytes) | leaves them out, so the new frame is shorter; this needs the feature `decompress` if the chunk index is compressed |
///
/// After the rewrite, C-Blosc2 can open frames that it could not open before. C-Blosc2 3 and later open a Caterva file
/// only as plain chunks, without a shape. After the rewrite, they open it as an array.
///
/// Chunks, chunk index, trailer and all metalayers except the array's are copied unchanged. There are three exceptions.
/// An older trailer is converted. If the frame type changes or holes are left out, the new frame gets a new chunk
/// index. If the shape or dtype changes, the vlmetalayers that python-blosc2 has computed from the items
/// ([`is_derived`](crate::Vlmetalayer::is_derived)) change too. A rewrite in place marks the indexes in them as stale,
/// so python-blosc2 does not use the indexes before it has built them again (`rebuild_index`). Indexes that cannot be
/// read are removed. To read compressed indexes, the feature `decompress` is needed. A rewrite to another path leaves
/// the indexes out. Array data is not decompressed.
///
/// If neither shape nor dtype changes, a rewrite to another path keeps the indexes. The indexes then refer to the index
/// files of the original, as after a copy of the file with `cp`. If python-blosc2 later builds an index of the original
/// again, queries of the copy find wrong items.
///
/// If a [`Check`](crate::Check) with depth [`ChunkHeaders`](crate::CheckDepth::ChunkHeaders) finds an error that the
/// rewrite does not correct, the rewrite is refused, because it would copy the error. For such a frame,
/// [`Salvage`](crate::Salvage) makes a new frame of the undamaged parts. A file that is longer than its frame cannot be
/// rewritten in place. A rewrite to another path copies only the frame, not the bytes after it.
///
/// # The new file
///
/// The new file is written under a temporary name in the same folder (`.b2nd-XXXXXX.tmp`), synced, checked, and then
/// renamed. Other processes therefore see either the old file or the complete new file. If this process is killed, a
/// file or directory with a temporary name can remain, and for a new sparse frame also an empty directory at its
/// path. After the rename no error is possible. The exception is a new directory on Windows, which is opened only after
/// its rename. On Windows, some file systems, such as exFAT and some network shares, do not replace an open file. There
/// a rewrite in place fails with [`Io`](crate::ErrorKind::Io) while another program, or another `Frame` of this one,
/// has the file open.
///
/// If a sparse frame is rewritten in place, its directory stays, and only `chunks.b2frame` is replaced. Otherwise a new
/// sparse frame is a new directory. On systems other than Windows, an empty directory is at the path for a moment
/// before the complete directory replaces it. If the path is a symbolic link, the link stays, and its target is
/// replaced.
///
/// The new file gets the mode of the old file, on Linux also its access control list, and in a rewrite in place its
/// owner and group too. If the old frame was a file and the new frame is a directory, users who could read the file may
/// read and enter the directory. If the old frame was a directory and the new frame is a file, users who could not
/// enter the directory get no permissions. If the system does not allow one of these attributes to be set, this
/// attribute is skipped without an error, and nobody gets more permissions than before. Hard links and other extended
/// attributes are lost. For a rewrite in place, you need permission to write the old file.
///
/// # Locks
///
/// A rewrite in place locks the file, so that writers of this crate exclude each other. If the frame has a `.b2lock`
/// file of C-Blosc2, a rewrite in place also holds the exclusive lock of that file. A rewrite to another path holds the
/// shared lock of the `.b2lock` file. If another process holds one of the locks for longer than the
/// [`patience`](Self::patience), the result is an error.
///
/// **Without a `.b2lock`, a writer of C-Blosc2 that has the old file open does not notice the new file. The later
/// writes of C-Blosc2 may go to the old file, and are then lost. Or they may go to the new file, and can damage it,
/// because C-Blosc2 still uses the old header.**
///
/// ```
/// use b2nd_frame::{Frame, Rewrite};
///
/// # let folder = tempfile::tempdir()?;
/// # let new = folder.path().join("new.b2nd");
/// let old = "tests/data/uint16_6x8.caterva";
/// assert_eq!(Frame::open(old)?.array()?.expect("an array").dtype(), None);
///
/// let frame = Rewrite::new(old, &new).dtype("uint16").apply()?;
/// let array = frame.array()?.expect("an array");
/// assert_eq!(array.metalayer().name(), "b2nd");
/// assert_eq!((array.shape(), array.dtype()), (&[6, 8][..], Some("<u2")));
///
/// let error = Rewrite::new(old, folder.path().join("other.b2nd")).apply().unwrap_err();
/// assert_eq!(error.to_string(), "layout caterva stores no dtype; give one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is written without `apply`"]
pub struct Rewrite<'p, R = File> {
    from: Origin<R>,
    to: PathBuf,
    changes: FrameChanges,
    patience: Duration,
    progress: Progress<'p>,
}

impl Rewrite<'_> {
    /// A rewrite of the frame at `from` to the path `to`. Nothing is read or written before [`preview`](Self::preview)
    /// or [`apply`](Self::apply).
    ///
    /// Each path is a file, or the directory of a sparse frame.
    pub fn new(from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        Self::from_origin(Origin::Path(from.into()), to.into())
    }
}

impl<'p, R: ReadAt> Rewrite<'p, R> {
    fn from_origin(from: Origin<R>, to: PathBuf) -> Self {
        let (changes, patience, progress) = Default::default();
        Self { from, to, changes, patience, progress }
    }

    /// Starts a rewrite of a contiguous frame inside a file, such as a zip file. The frame begins at `offset`, for
    /// example at the [offset of a zip member](crate::ZipMember::offset). The new path must not exist yet. The new file
    /// gets the default mode of new files (the umask applies).
    ///
    /// ```
    /// use b2nd_frame::Rewrite;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let new = folder.path().join("new.b2nd");
    /// let array = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// let file = [b"something before ", &array[..]].concat();
    /// Rewrite::read_at(file, 17, &new).apply()?;
    /// assert_eq!(std::fs::read(&new)?, array);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_at(reader: R, offset: u64, to: impl Into<PathBuf>) -> Self {
        Self::from_origin(Origin::Reader { reader, offset }, to.into())
    }

    /// Sets the dtype of the array. You must give a dtype if the old layout stores none.
    ///
    /// The item size of the dtype must be the frame's [type size](crate::Header::typesize). The dtype is written as a
    /// [type string](b2nd_serde::dtype::Dtype::type_string), so `uint8` becomes `|u1`.
    ///
    /// ```
    /// use b2nd_frame::Rewrite;
    ///
    /// let rewrite = Rewrite::new("tests/data/int32_3x5.b2nd", "new.b2nd").dtype("[('x', 'f4')]");
    /// let after = rewrite.preview()?;
    /// assert_eq!(after.array()?.expect("an array").dtype(), Some("[('x', '<f4')]"));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn dtype(mut self, dtype: impl Into<String>) -> Self {
        self.changes.dtype = Some(dtype.into());
        self
    }

    /// Sets the shape of the array. The new shape must have the same grid of chunks as the old shape, as in
    /// [`Edit::shape`](crate::Edit::shape). After an [interrupted resize](crate::FindingCode::InterruptedResize), the
    /// new shape must instead have as many chunks as the header records ([`nchunks`](crate::Header::nchunks)).
    pub fn shape(mut self, shape: &[i64]) -> Self {
        self.changes.shape = Some(shape.into());
        self
    }

    /// Makes the new frame sparse, or contiguous if `is_sparse` is false. The default is the type of the old frame.
    ///
    /// The chunks are copied one by one, without decompression. A frame without an array can be converted too. The new
    /// path must differ from the old one.
    ///
    /// ```
    /// use b2nd_frame::{Frame, Rewrite, is_sparse_frame};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (sparse, contiguous) = (folder.path().join("sparse"), folder.path().join("contiguous"));
    /// Rewrite::new("tests/data/int32_3x5.b2nd", &sparse).sparse(true).apply()?;
    /// assert!(is_sparse_frame(&sparse));
    /// Rewrite::new(&sparse, &contiguous).sparse(false).apply()?;
    /// assert_eq!(std::fs::read(&contiguous)?.len(), std::fs::read("tests/data/int32_3x5.b2nd")?.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    // The frame type cannot be changed in place, because a directory cannot replace a file in one step.
    pub fn sparse(mut self, is_sparse: bool) -> Self {
        self.changes.is_sparse = Some(is_sparse);
        self
    }

    /// Sets how long [`apply`](Self::apply) waits for another writer of the old frame; by default, it does not wait.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets a progress callback. The callback gets the number of bytes that [`apply`](Self::apply) has copied, and can
    /// stop the rewrite.
    ///
    /// The first call, with 0, comes after the check of the old frame. Further calls come after each copied piece of at
    /// most 4 MiB. The last call comes before the rename. The number in the last call is approximately the header's
    /// [`cbytes`](crate::Header::cbytes).
    ///
    /// If the callback returns `ControlFlow::Break`, the unfinished new file is removed, and the error is
    /// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use b2nd_frame::{ErrorKind, Rewrite};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let new = folder.path().join("new.b2nd");
    /// let old = "tests/data/uint16_6x8.caterva";
    /// let rewrite = Rewrite::new(old, &new).dtype("<u2").on_progress(|_| ControlFlow::Break(()));
    /// assert_eq!(rewrite.apply().unwrap_err().kind(), ErrorKind::Stopped);
    /// assert!(!new.exists());
    ///
    /// let mut copied = 0;
    /// let rewrite = Rewrite::new(old, &new).dtype("<u2").on_progress(|bytes| {
    ///     copied = bytes;
    ///     ControlFlow::Continue(())
    /// });
    /// rewrite.apply()?;
    /// assert_eq!(copied, 415);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_progress(mut self, report: impl FnMut(u64) -> ControlFlow<()> + Send + 'p) -> Self {
        self.progress = Progress::new(report);
        self
    }

    /// Returns the frame as [`apply`](Self::apply) would make it. Nothing is written, and no lock is taken.
    ///
    /// # Errors
    ///
    /// The errors of [`apply`](Self::apply), except those about the lock and about writing.
    ///
    /// ```
    /// use b2nd_frame::Rewrite;
    ///
    /// let after = Rewrite::new("tests/data/uint16_6x8.caterva", "new.b2nd").dtype("<u2").preview()?;
    /// assert_eq!(after.array()?.expect("an array").meta().layout().name(), "b2nd");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn preview(mut self) -> Result<Frame<()>, Error> {
        let (job, _) = Job::new(&mut self.from, &self.to, &self.changes)?;
        job.read(&self.from.open()?).map(|(_, after)| after)
    }

    /// Writes the new frame, and opens it.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`] if a new shape, dtype or frame type does not fit the frame, or the frame cannot be rewritten
    ///   in place.
    /// - [`Unsupported`]:
    ///   - if the frame has content that the present format cannot store;
    ///   - if the frame has no array, unless the rewrite only changes the frame type or removes holes;
    ///   - if the shape or dtype changes and the items are
    ///     [computed or stored elsewhere](crate::ObjectKind::is_active);
    ///   - if the shape or dtype changes in a rewrite in place, and the array belongs to a table with indexes or
    ///     generated columns;
    ///   - if a rewrite in place would lose bytes that follow the frame in its file.
    /// - [`TooLarge`] if the new header would be larger than the format allows.
    /// - [`Malformed`] if the frame has an error that the rewrite does not correct.
    /// - [`Exists`] if the new path already exists, unless the rewrite is in place.
    /// - [`Locked`] if another process holds a lock of the old frame.
    /// - [`Changing`] if the frame was changed during the rewrite.
    /// - [`Stopped`] if the callback of [`on_progress`](Self::on_progress) stopped the rewrite.
    /// - [`Io`] if a file cannot be read or written.
    ///
    /// After any error the old frame is unchanged. Nothing of the new frame is left, except on Windows, if a new
    /// directory cannot be opened after its rename.
    ///
    /// [`InvalidInput`]: crate::ErrorKind::InvalidInput
    /// [`Unsupported`]: crate::ErrorKind::Unsupported
    /// [`TooLarge`]: crate::ErrorKind::TooLarge
    /// [`Malformed`]: crate::ErrorKind::Malformed
    /// [`Exists`]: crate::ErrorKind::Exists
    /// [`Locked`]: crate::ErrorKind::Locked
    /// [`Changing`]: crate::ErrorKind::Changing
    /// [`Stopped`]: crate::ErrorKind::Stopped
    /// [`Io`]: crate::ErrorKind::Io
    ///
    /// ```
    /// use b2nd_frame::{Frame, Rewrite};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("array.caterva");
    /// # std::fs::copy("tests/data/uint16_6x8.caterva", &path)?;
    /// // In place.
    /// let frame = Rewrite::new(&path, &path).dtype("<u2").apply()?;
    /// assert_eq!(Frame::open(&path)?.header_bytes(), frame.header_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(mut self) -> Result<Frame, Error> {
        let (job, destination) = Job::new(&mut self.from, &self.to, &self.changes)?;
        let lock = job.lock(self.patience)?;
        job.apply(self.from.open()?, lock, destination, &mut self.progress)
    }
}
