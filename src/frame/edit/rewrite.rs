//! Rewrites a frame in the present format, with another header and the same data.

use core::fmt;
use core::ops::ControlFlow;
use std::boxed::Box;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{self, Path, PathBuf};
use std::string::String;
use std::time::Instant;
use std::vec::Vec;

use tempfile::Builder;

use crate::frame::edit::canonical::Canonical;
use crate::frame::find::chunk_file;
use crate::frame::find::lock::{ExclusiveLock, SharedLock};
use crate::frame::find::open::{SPARSE_INDEX, file_with_header, folder_of, open_at_once};
use crate::frame::finding::{Finding, Severity};
use crate::frame::{Error, Frame};

/// Bytes that are copied between two reports of progress.
const PIECE: u64 = 1 << 22;

/// A rewrite of a frame in the present format, in which the array has a metalayer `b2nd` of layout `b2nd`.
///
/// The result is a new file or, if both paths lead to the same file, replaces the old one ("in place").
///
/// | old frame | what the rewrite does |
/// |---|---|
/// | layout `caterva` | adds the dtype, which you must give |
/// | the layout of Caterva 0.1.1 | adds the dtype, which you must give, and blocks as large as the chunks |
/// | layout `b2nd-six` | spells the dtype as NumPy's `dtype.str` |
/// | layout `b2nd-mismarked` | corrects the first byte |
/// | old bytes after the array's metalayer | removes them |
/// | layout `b2nd` | changes the dtype if you give one, also to a longer or shorter text |
/// | a [type size that was lost](crate::frame::Code::LostTypesize) | writes the size of the dtype's items |
/// | a header of the second generation (`9d`) | makes header and trailer of the present generation (`9e`) |
/// | a header of the first generation (`9c`) | refuses it |
///
/// C-Blosc2 can then open frames that it could not open before. python-blosc2 sees a Caterva file as an array again;
/// without the rewrite, version 3 and later open it as plain chunks, without a shape.
///
/// Chunks, chunk index, trailer and all other metalayers are copied unchanged; only an older trailer is converted.
/// Nothing is decompressed.
///
/// A frame in which [`check`](crate::frame::check()) finds any other error is refused, because the error would be copied. A
/// frame that is only a part of its file is refused too. The new frame is also checked before it gets its name.
///
/// # The new file
///
/// It is first written under another name in the same folder (`.b2nd-XXXXXX.tmp`), synced, and then renamed. So other
/// processes see either the old file or the whole new one. If this process is killed, at most a file or directory with
/// that name is left. After the new file has its name, there can be no error.
///
/// A sparse frame in place keeps its directory, and only `chunks.b2frame` is replaced; a copy of it is a new directory,
/// which is empty for a moment before the written one replaces it.
/// A symbolic link remains a symbolic link.
///
/// The new file gets the mode of the old one; in place, it also gets its owner and group. If the system does not allow
/// this, it is left out without an error. Hard links and extended attributes are lost. In place, you need permission to
/// write the old file.
///
/// # Locks
///
/// If the frame has a `.b2lock` file, its exclusive lock is held in place, and its shared lock for a copy. If another
/// process holds the lock, this gives an error and does not wait.
///
/// **Without a `.b2lock`, a process that has the old file open does not notice the new one. What it writes later may be
/// lost with the old file. Or it may damage the new file, because it still uses the old header.**
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
    /// Begins a rewrite of the frame at `from` to the path `to`. Nothing is read or written before
    /// [`preview`](Self::preview) or [`apply`](Self::apply).
    ///
    /// Each path is that of a file, or of the directory of a sparse frame.
    pub fn new(from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        let progress = Progress { copied: 0, report: None };
        Self { from: from.into(), to: to.into(), dtype: None, progress }
    }

    /// Sets the dtype of the array. It is needed if the old layout stores none.
    ///
    /// Its item size must be the frame's [type size](crate::frame::Header::typesize). It is written as a [type
    /// string](crate::dtype::Dtype::type_string), so `uint8` becomes `|u1`.
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

    /// Calls a function with the number of bytes that [`apply`](Self::apply) has copied. The function can stop the
    /// rewrite.
    ///
    /// The first call is with 0, after the old frame has been checked. Then there is a call after each piece of at most
    /// 4 MiB, and a last one before the new file gets its name. The last number is about the header's
    /// [`cbytes`](crate::frame::Header::cbytes).
    ///
    /// If the function returns `ControlFlow::Break`, the unfinished new file is removed, and the error is
    /// [`ErrorKind::Stopped`](crate::frame::ErrorKind::Stopped).
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

    /// Returns the frame as [`apply`](Self::apply) would make it. Nothing is written, and no lock is taken.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply), except those about the lock and about writing.
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
        let (_, _, after) = job.read()?;
        Ok(after)
    }

    /// Writes the new frame, and opens it.
    ///
    /// # Errors
    ///
    /// - [`Refused`] if the frame cannot be rewritten.
    /// - [`Malformed`] if the frame has an error.
    /// - [`Exists`] if there is already something else at the new path.
    /// - [`Locked`] if another process holds the lock.
    /// - [`Changing`] if the frame was changed meanwhile.
    /// - [`Stopped`] if the function of [`on_progress`](Self::on_progress) stopped it.
    /// - [`Io`] if a file cannot be read or written.
    ///
    /// After any error the old frame is unchanged, and nothing of the new one is left.
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

type OnProgress<'r> = Box<dyn FnMut(u64) -> ControlFlow<()> + 'r>;

/// How much of a rewrite is done.
#[derive(Default)]
struct Progress<'r> {
    copied: u64,
    report: Option<OnProgress<'r>>,
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

/// A rewrite whose paths have been checked.
struct Job<'p> {
    /// The path as it was given: a directory must hold a sparse frame, so `check` must know whether it is one.
    from: &'p Path,
    to: &'p Path,
    dtype: Option<&'p str>,
    /// The file of `from` that has the header.
    source: PathBuf,
    is_in_place: bool,
    /// Decides which lock the frame has. No writer changes it.
    is_sparse: bool,
    /// The file or directory that gets a new name.
    target: PathBuf,
    folder: Folder,
}

impl<'p> Job<'p> {
    /// Checks that the new file can be written at its path.
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
            // Without permission to write a file, it must not be replaced either.
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

    /// The old frame, and the new one that is made of it: its parts, and the frame as its header shows it. The new frame
    /// is checked too, because the rules for an older generation do not cover all errors.
    fn read(&self) -> Result<(Frame<File>, Canonical, Frame), Error> {
        let mut frame = Frame::open(self.from)?;
        let canonical = Canonical::of(&mut frame, self.dtype)?;
        self.check_old(&frame)?;
        let after = Frame::parse(&canonical.header)?;
        let new = Unwritten { canonical: &canonical, old: &frame.reader, position: 0 };
        match first_error(&after, &self.source, self.from.is_dir(), new)? {
            None => Ok((frame, canonical, after)),
            Some(wrong) => Err(Error::refused(format_args!(
                "the frame is damaged, and the new one would have the same error: {}",
                wrong.message()
            ))),
        }
    }

    /// Checks that the old frame is the whole file, and has not changed since it was read.
    fn check_old(&self, frame: &Frame<File>) -> Result<(), Error> {
        let file = open_at_once(&self.source).map_err(|error| Error::io("read", &self.source, error));
        frame.check_whole(&self.source, &mut file?)
    }

    fn in_place(self, progress: &mut Progress<'_>) -> Result<Frame<File>, Error> {
        let mut lock = ExclusiveLock::take(&self.source, self.is_sparse)?;
        let (frame, canonical, after) = self.read()?;
        let mut new =
            temporary().tempfile_in(&self.folder.path).map_err(|error| self.folder.uncreatable(error))?;
        progress.advance(0)?;
        self.write(&frame, &canonical, new.as_file_mut(), progress)?;
        check_new(&after, &self.source, self.from.is_dir(), new.as_file())?;
        let (path, by_directory) = (file_with_header(self.to)?, self.to.is_dir());
        progress.advance(0)?;
        if let Some(lock) = &mut lock {
            lock.raise_counter()?;
        }
        // Some systems do not replace a file that is open.
        drop(frame);
        let file = new.persist(&self.target).map_err(|error| self.unwritable(error.error))?;
        // If this fails, the new file still has its name, and is whole.
        let _ = self.folder.sync();
        Ok(Frame { path: Some(path), by_directory, ..after.with_reader(file) })
    }

    fn copy(self, progress: &mut Progress<'_>) -> Result<Frame<File>, Error> {
        let _lock = SharedLock::take(&self.source, self.is_sparse, Some(Instant::now()))?;
        let (frame, canonical, after) = self.read()?;
        let uncreatable = |error| self.folder.uncreatable(error);
        let unwritable = |error| self.unwritable(error);
        let (file, path) = if self.is_sparse {
            let old = folder_of(&self.source);
            let new = temporary().tempdir_in(&self.folder.path).map_err(uncreatable)?;
            progress.advance(0)?;
            self.copy_chunks(old, new.path(), progress)?;
            let index = new.path().join(SPARSE_INDEX);
            let mut file =
                File::options().read(true).write(true).create_new(true).open(&index).map_err(unwritable)?;
            self.write(&frame, &canonical, &mut file, progress)?;
            check_new(&after, &index, true, &file)?;
            if let Ok(metadata) = fs::metadata(old) {
                // Some file systems have no modes.
                let _ = fs::set_permissions(new.path(), metadata.permissions());
            }
            Folder::of(&index)?.sync().map_err(unwritable)?;
            progress.advance(0)?;
            let path = self.to.join(SPARSE_INDEX);
            // Windows does not rename a directory in which a file is open.
            #[cfg(windows)]
            drop(file);
            rename_directory(new.path(), self.to).map_err(unwritable)?;
            // The directory has been renamed, so there is nothing to remove.
            let _ = new.keep();
            #[cfg(windows)]
            let file = File::open(&path).map_err(|error| Error::io("read", &path, error))?;
            (file, path)
        } else {
            let mut new = temporary().tempfile_in(&self.folder.path).map_err(uncreatable)?;
            progress.advance(0)?;
            self.write(&frame, &canonical, new.as_file_mut(), progress)?;
            check_new(&after, self.to, false, new.as_file())?;
            progress.advance(0)?;
            let file = new.persist_noclobber(self.to).map_err(|error| unwritable(error.error))?;
            (file, self.to.into())
        };
        // If this fails, the new file still has its name, and is whole.
        let _ = self.folder.sync();
        Ok(Frame { path: Some(path), by_directory: self.is_sparse, ..after.with_reader(file) })
    }

    /// Writes the new file that has the header.
    fn write(
        &self,
        frame: &Frame<File>,
        canonical: &Canonical,
        new: &mut File,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        let unwritable = |error| self.unwritable(error);
        let mut old = &frame.reader;
        new.write_all(&canonical.header).map_err(unwritable)?;
        old.seek(SeekFrom::Start(canonical.kept.start)).map_err(|error| frame.unreadable(error))?;
        if self.copy_bytes(&mut old.take(canonical.kept_len()), &self.source, new, progress)?
            != canonical.kept_len()
        {
            return Err(Error::changing(None));
        }
        new.write_all(&canonical.trailer).map_err(unwritable)?;
        if let Ok(metadata) = old.metadata() {
            keep_attributes(new, &metadata, self.is_in_place);
        }
        new.sync_all().map_err(unwritable)?;
        self.check_old(frame)
    }

    fn copy_chunks(&self, from: &Path, to: &Path, progress: &mut Progress<'_>) -> Result<(), Error> {
        let unwritable = |error| self.unwritable(error);
        for entry in fs::read_dir(from).map_err(|error| Error::io("read", from, error))? {
            let entry = entry.map_err(|error| Error::io("read", from, error))?;
            let path = entry.path();
            if chunk_file::number(&entry.file_name()).is_some() && path.is_file() {
                let unreadable = |error| Error::io("read", &path, error);
                let mut old = File::open(&path).map_err(unreadable)?;
                let new = File::options().write(true).create_new(true).open(to.join(entry.file_name()));
                let mut new = new.map_err(unwritable)?;
                self.copy_bytes(&mut old, &path, &mut new, progress)?;
                keep_attributes(&new, &old.metadata().map_err(unreadable)?, false);
                new.sync_all().map_err(unwritable)?;
            }
        }
        Ok(())
    }

    /// Copies all bytes of a reader of the file `path`, and says how many. An error names the file that it is about, which
    /// `io::copy` does not tell.
    fn copy_bytes(
        &self,
        old: &mut impl Read,
        path: &Path,
        new: &mut File,
        progress: &mut Progress<'_>,
    ) -> Result<u64, Error> {
        let (mut piece, mut copied) = (Vec::new(), 0);
        loop {
            piece.clear();
            let read = old.by_ref().take(PIECE).read_to_end(&mut piece);
            let read = read.map_err(|error| Error::io("read", path, error))? as u64;
            if read == 0 {
                return Ok(copied);
            }
            new.write_all(&piece).map_err(|error| self.unwritable(error))?;
            copied += read;
            progress.advance(read)?;
        }
    }

    /// The error that the new file cannot be written. Something can have got its name since the rewrite began.
    fn unwritable(&self, error: io::Error) -> Error {
        match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => Error::exists(self.to),
            _ => Error::io("write", self.to, error),
        }
    }
}

/// The bytes of a new frame before they are written.
struct Unwritten<'j> {
    canonical: &'j Canonical,
    old: &'j File,
    position: u64,
}

/// The bytes from an offset on.
fn rest(bytes: &[u8], offset: u64) -> &[u8] {
    usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default()
}

impl Read for Unwritten<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Canonical { header, kept, trailer } = self.canonical;
        let kept_len = self.canonical.kept_len();
        let read = match self.position.checked_sub(header.len() as u64) {
            None => rest(header, self.position).read(buffer),
            Some(offset) if offset < kept_len => {
                self.old.seek(SeekFrom::Start(kept.start.saturating_add(offset)))?;
                self.old.take(kept_len - offset).read(buffer)
            }
            Some(offset) => rest(trailer, offset - kept_len).read(buffer),
        }?;
        self.position = self.position.saturating_add(read as u64);
        Ok(read)
    }
}

impl Seek for Unwritten<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let Canonical { header, kept: _, trailer } = self.canonical;
        let len = self.canonical.kept_len().saturating_add((header.len() + trailer.len()) as u64);
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// The first error in the new frame `after`, as it will be found at a path.
fn first_error(
    after: &Frame,
    path: &Path,
    by_directory: bool,
    reader: impl Read + Seek,
) -> Result<Option<Finding>, Error> {
    let seen = Frame { path: Some(path.into()), by_directory, ..after.clone() };
    let findings = seen.with_reader(reader).check()?;
    Ok(findings.into_iter().find(|finding| finding.severity() == Severity::Error))
}

/// Checks the new frame once more before it gets its name: it had no errors when it was only planned, but the old one, or a
/// chunk file, can have been changed since.
fn check_new(after: &Frame, path: &Path, by_directory: bool, new: &File) -> Result<(), Error> {
    match first_error(after, path, by_directory, new)? {
        None => Ok(()),
        wrong => Err(Error::changing(wrong)),
    }
}

/// Gives a new directory its name, unless there is something of that name.
fn rename_directory(new: &Path, to: &Path) -> io::Result<()> {
    // A rename replaces an empty directory, also one that somebody else has made. So it only replaces its own.
    #[cfg(unix)]
    fs::create_dir(to)?;
    fs::rename(new, to).inspect_err(|_| {
        // What is not empty by now is somebody else's, and stays.
        #[cfg(unix)]
        let _ = fs::remove_dir(to);
    })
}

/// Gives a new file the mode of the old one and, in place, its owner, as far as the system allows. Only root can change
/// the owner, and some file systems have neither owners nor modes.
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

/// Makes temporary files and directories, named `.b2nd-XXXXXX.tmp`.
fn temporary() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".b2nd-").suffix(".tmp");
    builder
}

/// The error of creating a temporary file, without its name, which means nothing to the user.
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
    /// Opened in advance, so that nothing can fail after the file has its name.
    opened: Option<File>,
}

impl Folder {
    fn of(file: &Path) -> Result<Self, Error> {
        let path = folder_of(file).to_path_buf();
        let is_dir = fs::metadata(&path).and_then(|metadata| {
            if metadata.is_dir() { Ok(()) } else { Err(ErrorKind::NotADirectory.into()) }
        });
        is_dir.map_err(|error| Error::io("create a file in", &path, error))?;
        // Some systems cannot open a directory, and for some directories there is no permission.
        let opened = File::open(&path).ok();
        Ok(Self { path, opened })
    }

    /// The error that no temporary file can be created.
    fn uncreatable(&self, error: io::Error) -> Error {
        Error::io("create a file in", &self.path, unnamed(error))
    }

    /// Syncs the folder, so that the new name survives a crash.
    fn sync(&self) -> io::Result<()> {
        self.opened.as_ref().map_or(Ok(()), File::sync_all)
    }
}
