//! A copy of a frame in the present format, with another header and the same data.

use core::ops::ControlFlow;
use std::format;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{self, Path};
use std::time::{Duration, Instant};

use tempfile::Builder;

use crate::frame::check::chunk_files;
use crate::frame::edit::canonical::Canonical;
use crate::frame::find::lock::{ExclusiveLock, SharedLock, sidecar};
use crate::frame::find::open::{SPARSE_INDEX, file_with_header, folder_of};
use crate::frame::finding::Severity;
use crate::frame::{Error, Frame};

/// Bytes that are copied between two reports of progress.
const PIECE: u64 = 1 << 22;

/// Writes a frame anew whose array has a metalayer `b2nd` of the present layout: to a new name, or in the place of the
/// old one if both paths lead to the same file.
///
/// | from | what becomes of it |
/// |---|---|
/// | layout `caterva`, under either name | gets the dtype, which has to be given |
/// | the layout of Caterva 0.1.1 | gets the dtype, and blocks as large as the chunks |
/// | layout `b2nd-six` | its dtype is spelled as NumPy's `dtype.str` |
/// | layout `b2nd-mismarked` | gets the right marker |
/// | a stale tail behind the metalayer | goes |
/// | layout `b2nd` | may be given another dtype, longer or shorter |
/// | a header of the second generation (`9d`) | becomes one of the present generation (`9e`) |
/// | a header of the first generation (`9c`) | is refused |
///
/// So C-Blosc2 opens what it has not opened, and python-blosc2, which takes a Caterva file for bytes without a shape since
/// version 3, sees an array.
///
/// Chunks, chunk index and trailer are copied as they are, and so are all other metalayers; nothing is decompressed.
/// The dtype is written as its [type string](crate::dtype::Dtype::type_string), so `uint8` becomes `|u1`. Its items have to be of
/// the frame's [type size](crate::frame::Header::typesize). A frame of which [`check`](crate::frame::check()) finds an error is refused,
/// because the error would be copied with it, and so is one that is not its whole file.
///
/// The new file is written under another name in the same folder (`.b2nd-XXXXXX.tmp`), synced, and then renamed: whoever
/// looks sees the old file or the new one, and if the process is killed, nothing but a file of that name is left. Once it
/// has its name, nothing fails any more. Of a sparse frame, `chunks.b2frame` alone is written anew and renamed, where it
/// stands; a copy is a new directory. A symbolic link stays one.
///
/// In place, the exclusive lock of a `.b2lock` is held, for a copy the shared one; neither is waited for. **Without a
/// `.b2lock`, a handle that is open elsewhere does not know of the new file: what it writes may be lost with the old one,
/// or get into the new one with what it remembers of the old.** Hard links, the owner and extended attributes of the old
/// file are not kept.
///
/// # Errors
///
/// [`ErrorKind::Refused`](crate::frame::ErrorKind::Refused) if the frame cannot be rewritten,
/// [`ErrorKind::Exists`](crate::frame::ErrorKind::Exists) if there is anything else at the new name, and
/// [`ErrorKind::Changing`](crate::frame::ErrorKind::Changing) if the frame was changed meanwhile.
///
/// ```
/// use b2nd_serde::frame::{Frame, rewrite};
///
/// # let folder = tempfile::tempdir()?;
/// # let new = folder.path().join("new.b2nd");
/// let old = "tests/data/uint16_6x8.caterva";
/// assert_eq!(Frame::open(old)?.array()?.expect("an array").dtype(), None);
///
/// let frame = rewrite(old, &new, Some("<u2"))?;
/// let array = frame.array()?.expect("an array");
/// assert_eq!(array.metalayer().name(), "b2nd");
/// assert_eq!((array.shape(), array.dtype()), (&[6, 8][..], Some("<u2")));
///
/// let error = rewrite(old, folder.path().join("other.b2nd"), None).unwrap_err();
/// assert_eq!(error.to_string(), "layout caterva stores no dtype; give one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rewrite(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    dtype: Option<&str>,
) -> Result<Frame<File>, Error> {
    rewrite_with_progress(from, to, dtype, |_| ControlFlow::Continue(()))
}

/// [`rewrite`], which tells how far it is, and can be told to stop.
///
/// `progress` is called with the bytes that have been copied: with 0 when all has been checked and nothing is copied
/// yet, then for each piece of 4 MiB or chunk file, and a last time before the new file gets its name. There are about
/// as many as the [`cbytes`](crate::frame::Header::cbytes) of the header. Where it breaks, nothing of the new file is left.
///
/// # Errors
///
/// As [`rewrite`], and [`ErrorKind::Stopped`](crate::frame::ErrorKind::Stopped).
///
/// ```
/// use std::ops::ControlFlow;
/// use b2nd_serde::frame::{ErrorKind, rewrite_with_progress};
///
/// # let folder = tempfile::tempdir()?;
/// # let new = folder.path().join("new.b2nd");
/// let old = "tests/data/uint16_6x8.caterva";
/// // Only to see whether it could be done.
/// let result = rewrite_with_progress(old, &new, Some("<u2"), |_| ControlFlow::Break(()));
/// assert_eq!(result.unwrap_err().kind(), ErrorKind::Stopped);
/// assert!(!new.exists());
///
/// let mut copied = 0;
/// rewrite_with_progress(old, &new, Some("<u2"), |bytes| {
///     copied = bytes;
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(copied, 415);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rewrite_with_progress(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    dtype: Option<&str>,
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Frame<File>, Error> {
    // The frame is opened as it was given, because a directory may hold another frame than a file.
    let (from, to) = (from.as_ref(), to.as_ref());
    let source = file_with_header(from)?;
    let job = Job { from, source: &source, to, dtype };
    let mut progress = Progress { copied: 0, report: &mut progress };
    if is_same(&source, to) {
        job.in_place(&mut progress)
    } else {
        match to.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => job.copy(&mut progress),
            Err(error) => Err(error.into()),
            Ok(_) => Err(Error::exists(to)),
        }
    }
}

/// How far a rewrite is.
struct Progress<'r> {
    copied: u64,
    report: &'r mut dyn FnMut(u64) -> ControlFlow<()>,
}

impl Progress<'_> {
    fn advance(&mut self, bytes: u64) -> Result<(), Error> {
        self.copied = self.copied.saturating_add(bytes);
        match (self.report)(self.copied) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::stopped()),
        }
    }
}

impl Frame<File> {
    /// The frame as [`rewrite`] would make it. No file is touched.
    ///
    /// # Errors
    ///
    /// As [`rewrite`], but for those of the new file.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/uint16_6x8.caterva")?;
    /// let after = frame.rewritten(Some("<u2"))?;
    /// assert_eq!(after.array()?.expect("an array").layout().to_string(), "b2nd");
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn rewritten(&mut self, dtype: Option<&str>) -> Result<Frame, Error> {
        Frame::parse(&Canonical::of(self, dtype)?.header)
    }
}

/// Whether a path leads to the file with the header, or to its directory.
fn is_same(source: &Path, to: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    file_with_header(to).is_ok_and(|to| real(&to).is_some() && real(&to) == real(source))
}

/// Which lock a frame has depends on this, and no writer changes it.
fn is_sparse(source: &Path) -> Result<bool, Error> {
    Ok(Frame::open(source)?.header().is_sparse())
}

/// What is rewritten, and where to.
struct Job<'p> {
    from: &'p Path,
    /// The file of `from` that has the header.
    source: &'p Path,
    to: &'p Path,
    dtype: Option<&'p str>,
}

impl Job<'_> {
    fn in_place(&self, progress: &mut Progress<'_>) -> Result<Frame<File>, Error> {
        let Self { from, source, to, dtype } = *self;
        let mut lock = ExclusiveLock::take(source, is_sparse(source)?)?;
        let mut frame = Frame::open(from)?;
        let canonical = Canonical::of(&mut frame, dtype)?;
        let target = fs::canonicalize(source)?;
        let folder = Folder::of(&target)?;
        check_old(&frame)?;
        let mut new = temporary().tempfile_in(folder.path).map_err(unnamed)?;
        progress.advance(0)?;
        write(&mut frame, &canonical, new.as_file_mut(), progress)?;
        let after = Frame::parse(&canonical.header)?;
        if let Some(lock) = &mut lock {
            lock.raise_counter()?;
        }
        // Not every system replaces a file that is open.
        drop(frame);
        let by_directory = to.is_dir();
        let path = file_with_header(to)?;
        let file = new.persist(&target).map_err(|error| error.error)?;
        // If this fails, the new file still has its name, and is whole.
        let _ = folder.sync();
        Ok(Frame { path: Some(path), by_directory, ..after.with_reader(file) })
    }

    fn copy(&self, progress: &mut Progress<'_>) -> Result<Frame<File>, Error> {
        let Self { from, source, to, dtype } = *self;
        let is_sparse = is_sparse(source)?;
        let _lock = match SharedLock::take(source, is_sparse, Instant::now(), Duration::ZERO) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(Error::locked(sidecar(source, is_sparse)));
            }
            lock => lock?,
        };
        let mut frame = Frame::open(from)?;
        let canonical = Canonical::of(&mut frame, dtype)?;
        let after = Frame::parse(&canonical.header)?;
        let folder = Folder::of(to)?;
        check_old(&frame)?;
        let (file, path) = if is_sparse {
            let new = temporary().tempdir_in(folder.path).map_err(unnamed)?;
            progress.advance(0)?;
            copy_chunks(folder_of(source), new.path(), progress)?;
            let index = new.path().join(SPARSE_INDEX);
            let mut file = File::options().read(true).write(true).create_new(true).open(&index)?;
            write(&mut frame, &canonical, &mut file, progress)?;
            check_copied(&index)?;
            fs::set_permissions(new.path(), fs::metadata(folder_of(source))?.permissions())?;
            Folder::of(&index)?.sync()?;
            fs::rename(new.path(), to)?;
            // There is nothing to be removed under its old name.
            let _ = new.keep();
            (file, to.join(SPARSE_INDEX))
        } else {
            if to.as_os_str().as_encoded_bytes().last().is_some_and(|&last| path::is_separator(last.into())) {
                return Err(io::Error::from(ErrorKind::NotADirectory).into());
            }
            let mut new = temporary().tempfile_in(folder.path).map_err(unnamed)?;
            progress.advance(0)?;
            write(&mut frame, &canonical, new.as_file_mut(), progress)?;
            (new.persist_noclobber(to).map_err(|error| error.error)?, to.into())
        };
        // As above.
        let _ = folder.sync();
        Ok(Frame { path: Some(path), by_directory: is_sparse, ..after.with_reader(file) })
    }
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

/// Writes the new file with the header.
fn write(
    frame: &mut Frame<File>,
    canonical: &Canonical,
    new: &mut File,
    progress: &mut Progress<'_>,
) -> Result<(), Error> {
    let old = &mut frame.reader;
    new.write_all(&canonical.header)?;
    old.seek(SeekFrom::Start(canonical.kept.start))?;
    let mut left = canonical.kept.end.saturating_sub(canonical.kept.start);
    while left > 0 {
        let copied = io::copy(&mut old.take(left.min(PIECE)), new)?;
        if copied == 0 {
            return Err(Error::changing(None));
        }
        left = left.saturating_sub(copied);
        progress.advance(copied)?;
    }
    new.write_all(&canonical.trailer)?;
    new.set_permissions(old.metadata()?.permissions())?;
    new.sync_all()?;
    check_old(frame)?;
    progress.advance(0)
}

/// Makes sure that the old frame is a whole file, and as it was read.
fn check_old(frame: &Frame<File>) -> Result<(), Error> {
    let Some(path) = frame.path() else { return Ok(()) };
    frame.check_whole(&mut File::open(path)?)
}

fn copy_chunks(from: &Path, to: &Path, progress: &mut Progress<'_>) -> Result<(), Error> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if chunk_files::number(&entry.file_name()).is_some() && path.is_file() {
            let copied = fs::copy(&path, &copy)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            File::open(copy)?.sync_all()?;
            progress.advance(copied)?;
        }
    }
    Ok(())
}

/// Makes sure that all chunks of a sparse frame have come along: one may have been deleted meanwhile.
fn check_copied(index: &Path) -> Result<(), Error> {
    let findings = Frame::open(index)?.check()?;
    match findings.into_iter().find(|finding| finding.severity() == Severity::Error) {
        Some(wrong) => Err(Error::changing(Some(wrong))),
        None => Ok(()),
    }
}

/// The folder in which a file gets its name.
struct Folder<'p> {
    path: &'p Path,
    /// Opened before, so that nothing is left to fail once the file has its name.
    opened: Option<File>,
}

impl<'p> Folder<'p> {
    fn of(file: &'p Path) -> io::Result<Self> {
        let path = folder_of(file);
        if !fs::metadata(path)?.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        // Not every system lets a directory be opened, and not every directory may be.
        Ok(Self { path, opened: File::open(path).ok() })
    }

    /// Makes the new name last.
    fn sync(&self) -> io::Result<()> {
        self.opened.as_ref().map_or(Ok(()), File::sync_all)
    }
}
