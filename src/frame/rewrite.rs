//! A copy of a frame in the present format, with another header and the same data.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::{Builder, TempDir};

use super::canonical::Canonical;
use super::lock::{ExclusiveLock, SharedLock, sidecar};
use super::open::{SPARSE_INDEX, file_with_header};
use super::{ChangeError, Error, Frame};

/// How the files of a sparse frame end in which its chunks are.
const CHUNK_SUFFIX: &str = "chunk";

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
/// the frame's [type size](super::Header::typesize). A frame of which [`check`](super::check()) finds an error is refused,
/// because the error would be copied with it, and so is one that is not its whole file.
///
/// The new file is written under another name in the same folder (`.b2nd-XXXXXX.tmp`), synced, and then renamed: whoever
/// looks sees the old file or the new one, and if the process is killed, nothing but a file of that name is left. Of a
/// sparse frame, `chunks.b2frame` alone is written anew and renamed, where it stands; a copy is a new directory. A
/// symbolic link stays one.
///
/// In place, the exclusive lock of a `.b2lock` is held, for a copy the shared one; neither is waited for. **Without a
/// `.b2lock`, a handle that is open elsewhere does not know of the new file: what it writes may be lost with the old one,
/// or get into the new one with what it remembers of the old.** Hard links, the owner and extended attributes of the old
/// file are not kept.
///
/// # Errors
///
/// A [`ChangeError`], if the frame cannot be rewritten; [`ChangeError::Exists`], if there is anything else at the new
/// name. [`Error::Changing`], if the frame was changed meanwhile.
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
/// assert_eq!(error.to_string(), "layout caterva has no dtype, so a rewrite has to be given one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rewrite(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    dtype: Option<&str>,
) -> Result<Frame<File>, Error> {
    // The frame is opened as it was given, because a directory may hold another frame than a file.
    let (from, to) = (from.as_ref(), to.as_ref());
    let source = file_with_header(from)?;
    if is_same(&source, to) {
        in_place(from, &source, dtype)?;
    } else if to.symlink_metadata().is_ok() {
        return Err(ChangeError::Exists { path: to.into() }.into());
    } else {
        copy(from, &source, to, dtype)?;
    }
    Frame::open(to)
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

fn in_place(from: &Path, source: &Path, dtype: Option<&str>) -> Result<(), Error> {
    let mut lock = ExclusiveLock::take(source, is_sparse(source)?)?;
    let mut frame = Frame::open(from)?;
    let canonical = Canonical::of(&mut frame, dtype)?;
    let target = fs::canonicalize(source)?;
    let folder = folder_of(&target);
    let mut new = temporary().tempfile_in(folder)?;
    write(&mut frame, &canonical, new.as_file_mut())?;
    if let Some(lock) = &mut lock {
        lock.raise_counter()?;
    }
    // Not every system replaces a file that is open.
    drop(frame);
    new.persist(&target).map_err(|error| error.error)?;
    Ok(sync(folder)?)
}

fn copy(from: &Path, source: &Path, to: &Path, dtype: Option<&str>) -> Result<(), Error> {
    let is_sparse = is_sparse(source)?;
    let _lock = match SharedLock::take(source, is_sparse, Instant::now(), Duration::ZERO) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            return Err(ChangeError::Locked { path: sidecar(source, is_sparse) }.into());
        }
        lock => lock?,
    };
    let mut frame = Frame::open(from)?;
    let canonical = Canonical::of(&mut frame, dtype)?;
    let folder = folder_of(to);
    if is_sparse {
        let new = temporary().tempdir_in(folder)?;
        copy_chunks(folder_of(source), &new)?;
        write(&mut frame, &canonical, &mut File::create_new(new.path().join(SPARSE_INDEX))?)?;
        fs::set_permissions(new.path(), fs::metadata(folder_of(source))?.permissions())?;
        sync(new.path())?;
        fs::rename(new.path(), to)?;
        // There is nothing to be removed under its old name.
        let _ = new.keep();
    } else {
        let mut new = temporary().tempfile_in(folder)?;
        write(&mut frame, &canonical, new.as_file_mut())?;
        new.persist_noclobber(to).map_err(|error| error.error)?;
    }
    Ok(sync(folder)?)
}

/// Files that are not there yet under their name.
fn temporary() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".b2nd-").suffix(".tmp");
    builder
}

/// Writes the new file with the header, and makes sure that the old one is still as it was read.
fn write(frame: &mut Frame<File>, canonical: &Canonical, new: &mut File) -> Result<(), Error> {
    let old = &mut frame.reader;
    new.write_all(&canonical.header)?;
    old.seek(SeekFrom::Start(canonical.kept.start))?;
    let length = canonical.kept.end.saturating_sub(canonical.kept.start);
    if io::copy(&mut old.take(length), new)? != length {
        return Err(Error::Changing(None));
    }
    new.write_all(&canonical.trailer)?;
    new.set_permissions(old.metadata()?.permissions())?;
    new.sync_all()?;
    frame.check_whole(&mut File::open(frame.path().ok_or(ChangeError::NoPath)?)?)
}

fn copy_chunks(from: &Path, to: &TempDir) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if Path::new(&entry.file_name()).extension().is_some_and(|suffix| suffix == CHUNK_SUFFIX) {
            let copy = to.path().join(entry.file_name());
            fs::copy(entry.path(), &copy)?;
            File::open(copy)?.sync_all()?;
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the new names in a directory last. Not every system lets a directory be opened for it.
fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}
