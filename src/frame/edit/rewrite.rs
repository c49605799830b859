//! A copy of a frame in the present format, with another header and the same data.

use core::fmt;
use core::ops::ControlFlow;
use std::boxed::Box;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{self, Path, PathBuf};
use std::string::String;
use std::time::{Duration, Instant};

use tempfile::Builder;

use crate::frame::edit::canonical::Canonical;
use crate::frame::find::chunk_file;
use crate::frame::find::lock::{ExclusiveLock, SharedLock};
use crate::frame::find::open::{SPARSE_INDEX, file_with_header, folder_of, open_at_once};
use crate::frame::finding::Severity;
use crate::frame::{Error, Frame};

/// Bytes that are copied between two reports of progress.
const PIECE: u64 = 1 << 22;

/// A rewrite of a frame, whose array then has a metalayer `b2nd` of the present layout: to a new name, or in the place of
/// the old one if both paths lead to the same file.
///
/// | from | what becomes of it |
/// |---|---|
/// | layout `caterva`, under either name | gets the dtype, which must be given |
/// | the layout of Caterva 0.1.1 | gets the dtype, and blocks as large as the chunks |
/// | layout `b2nd-six` | its dtype is spelled as NumPy's `dtype.str` |
/// | layout `b2nd-mismarked` | gets the right marker |
/// | a stale tail after the metalayer | is removed |
/// | layout `b2nd` | may be given another dtype, longer or shorter |
/// | a header of the second generation (`9d`) | becomes one of the present generation (`9e`) |
/// | a header of the first generation (`9c`) | is refused |
///
/// C-Blosc2 then opens frames that it did not open before, and python-blosc2, which since version 3 opens a Caterva file
/// as plain chunks, without a shape, sees an array.
///
/// Chunks, chunk index and trailer are copied as they are, and so are all other metalayers; nothing is decompressed.
/// A frame in which [`check`](crate::frame::check()) finds an error is refused, because the error would be copied with it.
/// So is one that is not its whole file. The new frame is checked too, before it gets its name.
///
/// # The new file
///
/// It is written under another name in the same folder (`.b2nd-XXXXXX.tmp`), synced, and then renamed. Whoever looks sees
/// the old file or the new one; a process that is killed leaves at most a file of that name. Once the new file has its
/// name, nothing fails any more. Of a sparse frame in place, only `chunks.b2frame` is written and renamed; a copy is a new
/// directory. A symbolic link stays one.
///
/// The new file gets the mode of the old one and, in its place, its owner and group, as far as the system allows; where
/// it does not, the rewrite goes on. Hard links and extended attributes are not kept. In place, a file that may not be
/// written is refused.
///
/// # Locks
///
/// In place, the exclusive lock of a `.b2lock` is held, for a copy the shared one. A lock that is taken is not waited for.
/// **Without a `.b2lock`, a handle that is open elsewhere does not know of the new file: what it writes may be lost with
/// the old one, or get into the new one with what it remembers of the old.**
///
/// ```
/// use b2nd_serde::frame::{Frame, Rewrite};
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
#[must_use = "nothing is written without `apply`"]
pub struct Rewrite<'p> {
    from: PathBuf,
    to: PathBuf,
    dtype: Option<String>,
    progress: Progress<'p>,
}

impl<'p> Rewrite<'p> {
    /// Begins a rewrite. Nothing is read or written before [`preview`](Self::preview) or [`apply`](Self::apply).
    ///
    /// Each path is that of a file, or of the directory of a sparse frame.
    pub fn new(from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        let progress = Progress { copied: 0, report: None };
        Self { from: from.into(), to: to.into(), dtype: None, progress }
    }

    /// Gives the array a dtype. It is needed where the layout stores none.
    ///
    /// Its items must be as large as the frame's [type size](crate::frame::Header::typesize). It is written as its
    /// [type string](crate::dtype::Dtype::type_string), so `uint8` becomes `|u1`.
    ///
    /// ```
    /// use b2nd_serde::frame::Rewrite;
    ///
    /// let rewrite = Rewrite::new("tests/data/int32_3x5.b2nd", "new.b2nd").dtype("[('x', 'f4')]");
    /// let after = rewrite.preview()?;
    /// assert_eq!(after.array()?.expect("an array").dtype(), Some("[('x', '<f4')]"));
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn dtype(mut self, dtype: impl Into<String>) -> Self {
        self.dtype = Some(dtype.into());
        self
    }

    /// Reports how far [`apply`](Self::apply) is to a function, which can stop it.
    ///
    /// The function gets the number of bytes that have been copied: 0 when all has been checked and nothing is copied yet,
    /// then one after each piece of 4 MiB or chunk file, and a last one before the new file gets its name. In the end they
    /// are about as many as the header's [`cbytes`](crate::frame::Header::cbytes). Where the function breaks, nothing of
    /// the new file is left, and the error is [`ErrorKind::Stopped`](crate::frame::ErrorKind::Stopped).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use b2nd_serde::frame::{ErrorKind, Rewrite};
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
    pub fn on_progress(mut self, report: impl FnMut(u64) -> ControlFlow<()> + 'p) -> Self {
        self.progress.report = Some(Box::new(report));
        self
    }

    /// The frame as [`apply`](Self::apply) would make it. Nothing is written, and no lock is taken.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply), but for those of the lock and of writing.
    ///
    /// ```
    /// use b2nd_serde::frame::Rewrite;
    ///
    /// let after = Rewrite::new("tests/data/uint16_6x8.caterva", "new.b2nd").dtype("<u2").preview()?;
    /// assert_eq!(after.array()?.expect("an array").layout().to_string(), "b2nd");
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn preview(&self) -> Result<Frame, Error> {
        let job = Job::new(self)?;
        let (_, canonical) = job.read()?;
        Frame::parse(&canonical.header)
    }

    /// Writes the new frame, and opens it.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the frame cannot be rewritten, [`Malformed`] if there is an error in it, [`Exists`] if there is
    /// anything else at the new name, [`Locked`] if another process holds the lock, [`Changing`] if the frame was changed
    /// meanwhile, [`Stopped`] if the function of [`on_progress`](Self::on_progress) says so, and [`Io`]. After any of
    /// these, the old frame is as it was, and nothing of the new one is left.
    ///
    /// [`Refused`]: crate::frame::ErrorKind::Refused
    /// [`Malformed`]: crate::frame::ErrorKind::Malformed
    /// [`Exists`]: crate::frame::ErrorKind::Exists
    /// [`Locked`]: crate::frame::ErrorKind::Locked
    /// [`Changing`]: crate::frame::ErrorKind::Changing
    /// [`Stopped`]: crate::frame::ErrorKind::Stopped
    /// [`Io`]: crate::frame::ErrorKind::Io
    ///
    /// ```
    /// use b2nd_serde::frame::{Frame, Rewrite};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("array.caterva");
    /// # std::fs::copy("tests/data/uint16_6x8.caterva", &path)?;
    /// // In place.
    /// let frame = Rewrite::new(&path, &path).dtype("<u2").apply()?;
    /// assert_eq!(Frame::open(&path)?.header_bytes(), frame.header_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(mut self) -> Result<Frame<File>, Error> {
        let mut progress = core::mem::take(&mut self.progress);
        let job = Job::new(&self)?;
        if job.is_in_place { job.in_place(&mut progress) } else { job.copy(&mut progress) }
    }
}

impl fmt::Debug for Rewrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, dtype, progress: _ } = self;
        f.debug_struct("Rewrite")
            .field("from", from)
            .field("to", to)
            .field("dtype", dtype)
            .finish_non_exhaustive()
    }
}

type Report<'r> = Box<dyn FnMut(u64) -> ControlFlow<()> + 'r>;

/// How far a rewrite is.
#[derive(Default)]
struct Progress<'r> {
    copied: u64,
    report: Option<Report<'r>>,
}

impl Progress<'_> {
    fn advance(&mut self, bytes: u64) -> Result<(), Error> {
        self.copied = self.copied.saturating_add(bytes);
        match self.report.as_mut().map(|report| report(self.copied)) {
            Some(ControlFlow::Break(())) => Err(Error::stopped()),
            _ => Ok(()),
        }
    }
}

/// Whether a path leads to the file with the header, or to its directory.
fn is_same(source: &Path, to: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    file_with_header(to).is_ok_and(|to| real(&to).is_some() && real(&to) == real(source))
}

/// What is rewritten, and where to.
struct Job<'p> {
    /// The frame is opened as it was given, because a directory may hold another frame than a file.
    from: &'p Path,
    to: &'p Path,
    dtype: Option<&'p str>,
    /// The file of `from` that has the header.
    source: PathBuf,
    is_in_place: bool,
    /// No writer changes this, and it decides which lock the frame has.
    is_sparse: bool,
    /// The file or directory that gets a new name.
    target: PathBuf,
    folder: Folder,
}

impl<'p> Job<'p> {
    /// Looks whether the new file can be written where it should be.
    fn new(rewrite: &'p Rewrite<'_>) -> Result<Self, Error> {
        let Rewrite { from, to, dtype, .. } = rewrite;
        let source = file_with_header(from)?;
        let is_in_place = is_same(&source, to);
        if !is_in_place {
            match to.symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("create", to, error)),
                Ok(_) => return Err(Error::exists(to)),
            }
        }
        let is_sparse = Frame::open(&source)?.header().is_sparse();
        let ends_with_separator =
            to.as_os_str().as_encoded_bytes().last().is_some_and(|&last| path::is_separator(last.into()));
        if !is_in_place && !is_sparse && ends_with_separator {
            return Err(Error::io("create", to, ErrorKind::NotADirectory.into()));
        }
        let target = if is_in_place {
            // A file that may not be written is not to be replaced either.
            let target = fs::canonicalize(&source)
                .and_then(|target| OpenOptions::new().write(true).open(&target).map(|_| target));
            target.map_err(|error| Error::io("write", &source, error))?
        } else {
            to.clone()
        };
        let folder = Folder::of(&target)?;
        let dtype = dtype.as_deref();
        Ok(Self { from, to, dtype, source, is_in_place, is_sparse, target, folder })
    }

    /// The old frame, and what becomes of it.
    fn read(&self) -> Result<(Frame<File>, Canonical), Error> {
        let mut frame = Frame::open(self.from)?;
        let canonical = Canonical::of(&mut frame, self.dtype)?;
        self.check_old(&frame)?;
        Ok((frame, canonical))
    }

    /// Makes sure that the old frame is a whole file, and as it was read.
    fn check_old(&self, frame: &Frame<File>) -> Result<(), Error> {
        let file = open_at_once(&self.source).map_err(|error| Error::io("read", &self.source, error));
        frame.check_whole(&self.source, &mut file?)
    }

    fn in_place(self, progress: &mut Progress<'_>) -> Result<Frame<File>, Error> {
        let mut lock = ExclusiveLock::take(&self.source, self.is_sparse)?;
        let (mut frame, canonical) = self.read()?;
        let mut new =
            temporary().tempfile_in(&self.folder.path).map_err(|error| self.folder.unwritable(error))?;
        progress.advance(0)?;
        self.write(&mut frame, &canonical, new.as_file_mut(), progress)?;
        let after = self.check_new(&canonical, &self.source, self.from.is_dir(), new.as_file())?;
        let (path, by_directory) = (file_with_header(self.to)?, self.to.is_dir());
        progress.advance(0)?;
        if let Some(lock) = &mut lock {
            lock.raise_counter()?;
        }
        // Not every system replaces a file that is open.
        drop(frame);
        let file = new.persist(&self.target).map_err(|error| self.uncreatable(error.error))?;
        // If this fails, the new file still has its name, and is whole.
        let _ = self.folder.sync();
        Ok(Frame { path: Some(path), by_directory, ..after.with_reader(file) })
    }

    fn copy(self, progress: &mut Progress<'_>) -> Result<Frame<File>, Error> {
        let _lock = SharedLock::take(&self.source, self.is_sparse, Instant::now(), Duration::ZERO)?;
        let (mut frame, canonical) = self.read()?;
        let unwritable = |error| self.folder.unwritable(error);
        let uncreatable = |error| self.uncreatable(error);
        let (after, file, path) = if self.is_sparse {
            let old = folder_of(&self.source);
            let new = temporary().tempdir_in(&self.folder.path).map_err(unwritable)?;
            progress.advance(0)?;
            self.copy_chunks(old, new.path(), progress)?;
            let index = new.path().join(SPARSE_INDEX);
            let mut file =
                File::options().read(true).write(true).create_new(true).open(&index).map_err(uncreatable)?;
            self.write(&mut frame, &canonical, &mut file, progress)?;
            let after = self.check_new(&canonical, &index, true, &file)?;
            if let Ok(metadata) = fs::metadata(old) {
                // Some file systems have no modes.
                let _ = fs::set_permissions(new.path(), metadata.permissions());
            }
            Folder::of(&index)?.sync().map_err(uncreatable)?;
            progress.advance(0)?;
            fs::rename(new.path(), self.to).map_err(uncreatable)?;
            // There is nothing to be removed under its old name.
            let _ = new.keep();
            (after, file, self.to.join(SPARSE_INDEX))
        } else {
            let mut new = temporary().tempfile_in(&self.folder.path).map_err(unwritable)?;
            progress.advance(0)?;
            self.write(&mut frame, &canonical, new.as_file_mut(), progress)?;
            let after = self.check_new(&canonical, self.to, false, new.as_file())?;
            progress.advance(0)?;
            let file = new.persist_noclobber(self.to).map_err(|error| uncreatable(error.error))?;
            (after, file, self.to.into())
        };
        // As above.
        let _ = self.folder.sync();
        Ok(Frame { path: Some(path), by_directory: self.is_sparse, ..after.with_reader(file) })
    }

    /// Writes the new file with the header.
    fn write(
        &self,
        frame: &mut Frame<File>,
        canonical: &Canonical,
        new: &mut File,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        let uncreatable = |error| self.uncreatable(error);
        let old = &mut frame.reader;
        new.write_all(&canonical.header).map_err(uncreatable)?;
        old.seek(SeekFrom::Start(canonical.kept.start)).map_err(uncreatable)?;
        let mut left = canonical.kept.end.saturating_sub(canonical.kept.start);
        while left > 0 {
            let copied = io::copy(&mut old.take(left.min(PIECE)), new).map_err(uncreatable)?;
            if copied == 0 {
                return Err(Error::changing(None));
            }
            left = left.saturating_sub(copied);
            progress.advance(copied)?;
        }
        new.write_all(&canonical.trailer).map_err(uncreatable)?;
        if let Ok(metadata) = old.metadata() {
            keep_attributes(new, &metadata, self.is_in_place);
        }
        new.sync_all().map_err(uncreatable)?;
        self.check_old(frame)
    }

    /// Checks the new frame before it gets its name, as it will be found at a path. What the rules for an older generation
    /// do not say of the old frame is found now, and so is a chunk file that was deleted meanwhile.
    fn check_new(
        &self,
        canonical: &Canonical,
        path: &Path,
        by_directory: bool,
        new: &File,
    ) -> Result<Frame, Error> {
        let after = Frame::parse(&canonical.header)?;
        let seen = Frame { path: Some(path.into()), by_directory, ..after.clone() };
        let findings = seen.with_reader(new).check()?;
        match findings.into_iter().find(|finding| finding.severity() == Severity::Error) {
            None => Ok(after),
            Some(wrong) if self.is_sparse => Err(Error::changing(Some(wrong))),
            Some(wrong) => Err(Error::refused(format_args!(
                "the frame is damaged, and what is wrong would be wrong in the new one too: {}",
                wrong.message()
            ))),
        }
    }

    fn copy_chunks(&self, from: &Path, to: &Path, progress: &mut Progress<'_>) -> Result<(), Error> {
        for entry in fs::read_dir(from).map_err(|error| Error::io("read", from, error))? {
            let entry = entry.map_err(|error| Error::io("read", from, error))?;
            let path = entry.path();
            if chunk_file::number(&entry.file_name()).is_some() && path.is_file() {
                let mut old = File::open(&path).map_err(|error| Error::io("read", &path, error))?;
                let copied = copy_file(&mut old, &to.join(entry.file_name()));
                progress.advance(copied.map_err(|error| self.uncreatable(error))?)?;
            }
        }
        Ok(())
    }

    /// That the new file cannot be written.
    fn uncreatable(&self, error: io::Error) -> Error {
        Error::io("write", self.to, error)
    }
}

fn copy_file(old: &mut File, to: &Path) -> io::Result<u64> {
    let mut new = File::options().write(true).create_new(true).open(to)?;
    let copied = io::copy(old, &mut new)?;
    keep_attributes(&new, &old.metadata()?, false);
    new.sync_all()?;
    Ok(copied)
}

/// Gives a new file the mode of the old one and, in its place, its owner, as far as the system allows: only root gives
/// files away, and some file systems know neither owners nor modes.
fn keep_attributes(new: &File, old: &Metadata, is_in_place: bool) {
    #[cfg(unix)]
    if is_in_place {
        use std::os::unix::fs::{MetadataExt, fchown};
        if fchown(new, Some(old.uid()), Some(old.gid())).is_err() {
            let _ = fchown(new, None, Some(old.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = is_in_place;
    // After the owner, because a change of owner clears some bits of the mode.
    let _ = new.set_permissions(old.permissions());
}

/// Files that are not there yet under their name.
fn temporary() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".b2nd-").suffix(".tmp");
    builder
}

/// Why there is no temporary file, without its name, which nobody has given.
fn unnamed(error: io::Error) -> io::Error {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        kind @ (PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull) => kind.into(),
        _ => error,
    }
}

/// The folder in which a file gets its name.
struct Folder {
    path: PathBuf,
    /// Opened before, so that nothing is left to fail once the file has its name.
    opened: Option<File>,
}

impl Folder {
    fn of(file: &Path) -> Result<Self, Error> {
        let path = folder_of(file).to_path_buf();
        let is_dir = fs::metadata(&path).and_then(|metadata| {
            if metadata.is_dir() { Ok(()) } else { Err(ErrorKind::NotADirectory.into()) }
        });
        is_dir.map_err(|error| Error::io("create a file in", &path, error))?;
        // Not every system lets a directory be opened, and not every directory may be.
        let opened = File::open(&path).ok();
        Ok(Self { path, opened })
    }

    /// That no temporary file can be created.
    fn unwritable(&self, error: io::Error) -> Error {
        Error::io("create a file in", &self.path, unnamed(error))
    }

    /// Makes the new name last.
    fn sync(&self) -> io::Result<()> {
        self.opened.as_ref().map_or(Ok(()), File::sync_all)
    }
}
