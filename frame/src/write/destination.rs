//! New files and directories. They are written under a temporary name, and renamed when they are complete.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{self, Path, PathBuf};
use std::time::SystemTime;

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::check::Check;
use crate::chunk_file::SPARSE_INDEX;
use crate::chunk_file::folder_of;
use crate::error::Error;
use crate::finding::{Finding, first_error};
use crate::header::frame::Frame;
use crate::read::open::{open_at_once, read_frame_at};
use crate::source::ReadAt;

/// The destination of a new frame.
#[derive(Debug)]
pub(crate) struct Destination {
    /// The path as given, for messages.
    to: PathBuf,
    /// The absolute path. The rename uses this path, because the working directory may have changed by then.
    absolute: PathBuf,
    /// Whether the destination is the directory of a sparse frame.
    is_directory: bool,
    folder: Folder,
}

impl Destination {
    /// A destination that must not exist yet: a file, or the directory of a sparse frame.
    pub(crate) fn free(to: &Path, is_sparse: bool) -> Result<Self, Error> {
        let absolute = path::absolute(to).map_err(|error| Error::io("create", to, error))?;
        let ends_with_separator =
            to.as_os_str().as_encoded_bytes().last().is_some_and(|&last| path::is_separator(last.into()));
        // For a link, this is the metadata of the link itself, not of its target, because a link without a target also
        // occupies the path.
        match to.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // The parent is not a folder. `Folder::containing` reports this error.
            Err(error) if error.kind() == ErrorKind::NotADirectory && !ends_with_separator => {}
            Err(error) => return Err(Error::io("create", to, error)),
            Ok(_) => return Err(Error::exists(to)),
        }
        if !is_sparse && ends_with_separator {
            return Err(Error::io("create", to, ErrorKind::NotADirectory.into()));
        }
        let folder = Folder::containing(to)?;
        Ok(Self { to: to.into(), absolute, is_directory: is_sparse, folder })
    }

    /// A destination that is an existing file, which will be replaced. If the path is a link, the link stays, and its
    /// target is replaced.
    pub(crate) fn taken(to: &Path) -> Result<Self, Error> {
        // A read-only file must not be replaced, but the system would allow the rename.
        let absolute = real(to).and_then(|target| check_writable(&target).map(|()| target));
        let absolute = absolute.map_err(|error| Error::io("write", to, error))?;
        let folder = Folder::containing(&absolute)?;
        Ok(Self { to: to.into(), absolute, is_directory: false, folder })
    }

    /// Creates the temporary file or, for a sparse frame, the temporary directory. If `is_usual` is true, the file or
    /// directory gets the default mode of new files. Otherwise only the owner may read and write it.
    pub(crate) fn begin(self, is_usual: bool) -> Result<NewFrame, Error> {
        let mut builder = Builder::new();
        builder.prefix(".b2nd-").suffix(".tmp");
        #[cfg(unix)]
        if is_usual {
            // The system removes the bits of the umask from this mode.
            let mode = if self.is_directory { 0o777 } else { 0o666 };
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        }
        #[cfg(not(unix))]
        let _ = is_usual;
        let folder = &self.folder.path;
        let uncreatable = |error| Error::io("create a file in", folder, unnamed(error));
        let temporary = if self.is_directory {
            let directory = builder.tempdir_in(folder).map_err(uncreatable)?;
            let index = directory.path().join(SPARSE_INDEX);
            let index = File::options().read(true).write(true).create_new(true).open(index);
            Temporary::Directory(directory, index.map_err(uncreatable)?)
        } else {
            Temporary::File(builder.tempfile_in(folder).map_err(uncreatable)?)
        };
        Ok(NewFrame { destination: self, temporary })
    }
}

/// A new frame with a temporary name: a file, or the directory of a sparse frame. Dropping a `NewFrame` removes the
/// file or directory.
///
/// [`FrameBuilder::create`](crate::FrameBuilder::create) starts a new frame, and
/// [`FrameWriter::finish`](crate::FrameWriter::finish) returns the complete frame.
///
/// ```
/// use std::fs::File;
/// use b2nd_frame::{Error, Frame, FrameWriter, NewFrame, SpecialValue};
///
/// /// Writes an array of zeros, and opens it.
/// fn zeros(mut writer: FrameWriter<NewFrame>) -> Result<Frame<File>, Error> {
///     writer.fill_missing(SpecialValue::Zeros)?;
///     writer.finish()?.persist()
/// }
/// ```
#[derive(Debug)]
#[must_use = "it is removed without `persist`"]
pub struct NewFrame {
    destination: Destination,
    temporary: Temporary,
}

#[derive(Debug)]
enum Temporary {
    File(NamedTempFile),
    /// The directory, and the file in it with the header.
    Directory(TempDir, File),
}

impl NewFrame {
    /// The file with the header.
    pub(crate) fn file(&self) -> &File {
        match &self.temporary {
            Temporary::File(file) => file.as_file(),
            Temporary::Directory(_, file) => file,
        }
    }

    /// The directory of a sparse frame, under its temporary name.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match &self.temporary {
            Temporary::File(_) => None,
            Temporary::Directory(directory, _) => Some(directory.path()),
        }
    }

    /// Checks the new frame before its rename, and returns the first error.
    // A new directory is checked under its temporary name. A new file is checked as if it had its final path. The
    // reason is that the file may replace the header file of a sparse frame, and the check then finds the chunk files
    // beside the final path.
    pub(crate) fn first_error(&self, check: Check<'_>, header: Frame<()>) -> Result<Option<Finding>, Error> {
        let path =
            self.directory().map_or_else(|| self.path().into(), |directory| directory.join(SPARSE_INDEX));
        // There may be another file at the final path. Because `version` is `None`, the check does not compare that
        // file with the new file.
        let frame = Frame { path: Some(path), version: None, ..header }.map_reader(|()| self.file());
        Ok(first_error(&check.run(&frame)?.findings).cloned())
    }

    /// Opens the new file once more, for reading. Later the new file gets the attributes of the old file, which may
    /// forbid this process to open it. A reader that was opened before can still read it.
    pub(crate) fn reader(&self) -> Result<File, Error> {
        let reader = match &self.temporary {
            Temporary::File(file) => open_at_once(file.path()),
            Temporary::Directory(directory, _) => open_at_once(&directory.path().join(SPARSE_INDEX)),
        };
        reader.map_err(|error| Error::io("read", self.path(), unnamed(error)))
    }

    /// The final path.
    pub(crate) fn path(&self) -> &Path {
        &self.destination.to
    }

    /// Converts an error of writing or renaming. If something exists at the final path by now, the error is `Exists`.
    pub(crate) fn unwritable(&self, error: io::Error) -> Error {
        unwritable(&self.destination.to, error)
    }

    /// Syncs the new file, or the new directory and the header file in it. Chunk files are not synced.
    // Syncing costs a millisecond per chunk file, and python-blosc2 does not sync chunk files either. If this process
    // is killed, the system still writes the chunk files to the disk. The frame can be incomplete only after a power
    // failure, and `check` then reports this.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        let synced = self.file().sync_all().and_then(|()| match self.directory() {
            Some(directory) => File::open(directory).map_or(Ok(()), |directory| directory.sync_all()),
            None => Ok(()),
        });
        synced.map_err(|error| self.unwritable(error))
    }

    /// Syncs the frame, renames it to its final path, and returns it as an open frame. Bytes after the frame are cut
    /// off.
    ///
    /// # Errors
    ///
    /// - [`Exists`](crate::ErrorKind::Exists) if something has appeared at the path since the writing began.
    /// - [`Io`](crate::ErrorKind::Io) if the file cannot be synced, renamed or read.
    ///
    /// After an error, nothing of the new frame is left.
    pub fn persist(self) -> Result<Frame, Error> {
        // The header is read before the rename. So if the header cannot be read, nothing has changed at the final path.
        let frame = read_frame_at(self.file(), 0)?.map_reader(drop);
        // A failed write of a chunk can leave bytes after the end of the frame.
        self.file().set_len(frame.header().frame_len).map_err(|error| self.unwritable(error))?;
        self.sync()?;
        let opened = Some(SystemTime::now());
        let (file, path) = self.rename()?;
        Ok(Frame { path: Some(path), opened, version: file.version(), ..frame.map_reader(|()| file) })
    }

    /// Calls `rename` to rename the new file to the path of an existing file, which it replaces. Its arguments are the
    /// new file, and the absolute path of the existing file.
    pub(crate) fn replace(
        self,
        rename: impl FnOnce(NamedTempFile, &Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Destination { to, absolute, folder, .. } = self.destination;
        let renamed = match self.temporary {
            Temporary::File(file) => rename(file, &absolute),
            // This error is not expected, because only a file replaces another one.
            Temporary::Directory(..) => Err(Error::writing(ErrorKind::IsADirectory.into())),
        };
        renamed.map_err(|error| error.at(Some(&to)))?;
        folder.sync_rename();
        Ok(())
    }

    /// Renames the frame to its path, where nothing exists yet. Returns the open file with the header, and the path of
    /// this file.
    pub(crate) fn rename(self) -> Result<(File, PathBuf), Error> {
        let Destination { to, absolute, folder, .. } = self.destination;
        let unwritable = |error| unwritable(&to, error);
        let new = match self.temporary {
            Temporary::File(file) => {
                // On Windows, the handle with which the new file was written keeps writers away, so the caller must not
                // get it. The new file is opened before the rename, because no error may occur after the rename.
                let reader =
                    cfg!(windows).then(|| open_at_once(file.path())).transpose().map_err(unwritable)?;
                let written = file.persist_noclobber(&absolute).map_err(|error| unwritable(error.error))?;
                (reader.unwrap_or(written), absolute)
            }
            Temporary::Directory(directory, file) => {
                let path = absolute.join(SPARSE_INDEX);
                // Windows does not rename a directory in which a file is open.
                #[cfg(windows)]
                drop(file);
                rename_directory(directory.path(), &absolute).map_err(unwritable)?;
                // `keep` turns off the removal of the temporary directory, which no longer exists under its old name.
                let _ = directory.keep();
                #[cfg(windows)]
                let file = File::open(&path).map_err(|error| Error::io("read", &path, error))?;
                (file, path)
            }
        };
        folder.sync_rename();
        Ok(new)
    }
}

impl Write for NewFrame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for NewFrame {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

/// Writes a new file that is not a frame, such as a picture of an array. Like a new frame, the file gets its final name
/// only when it is complete, and never replaces another file.
pub fn write_new_file<E: From<Error>>(
    to: &Path,
    write: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E> {
    let mut new = Destination::free(to, false)?.begin(true)?;
    write(new.file())?;
    // The file can be made again, so it is not synced.
    new.destination.folder.handle = None;
    new.rename()?;
    Ok(())
}

fn unwritable(to: &Path, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => Error::exists(to),
        _ => Error::io("write", to, error),
    }
}

/// Fails if the file cannot be written.
#[cfg(not(windows))]
fn check_writable(path: &Path) -> io::Result<()> {
    File::options().write(true).open(path).map(drop)
}

/// Fails if the file is read-only. The file is not opened for writing, because a writer, such as this one, may have it
/// open in a mode that excludes this.
#[cfg(windows)]
fn check_writable(path: &Path) -> io::Result<()> {
    if path.metadata()?.permissions().readonly() { Err(ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

/// Renames a new directory, unless the path exists.
#[cfg(not(windows))]
fn rename_directory(new: &Path, to: &Path) -> io::Result<()> {
    // A rename silently replaces an empty directory, even if another process has just created it. `create_dir` fails if
    // the path exists, so the rename only replaces the directory that is created here. A process that is killed between
    // the two calls leaves an empty directory.
    fs::create_dir(to)?;
    fs::rename(new, to).inspect_err(|_| {
        // `remove_dir` fails, as intended, if another process has put something into the directory.
        let _ = fs::remove_dir(to);
    })
}

/// Renames a new directory, unless the path exists. On Windows, the rename of the standard library would replace a file
/// or an empty directory. tempfile's `persist_noclobber` replaces nothing, and on Windows it also moves directories.
#[cfg(windows)]
fn rename_directory(new: &Path, to: &Path) -> io::Result<()> {
    tempfile::TempPath::try_from_path(new)?.persist_noclobber(to).map_err(|error| error.error)
}

/// Removes the temporary name from the error, because it means nothing to the user.
fn unnamed(error: io::Error) -> io::Error {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        kind @ (PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull) => kind.into(),
        _ => error,
    }
}

/// The folder of a new file.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// The open folder, which is synced after the rename. It is opened in advance, because nothing may fail after the
    /// rename.
    handle: Option<File>,
}

impl Folder {
    fn containing(file: &Path) -> Result<Self, Error> {
        let path = folder_of(file).to_path_buf();
        let is_dir = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err(io::Error::new(ErrorKind::NotADirectory, "not a folder")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(io::Error::new(ErrorKind::NotFound, "no such folder"))
            }
            Err(error) => Err(error),
        };
        is_dir.map_err(|error| Error::io("create a file in", &path, error))?;
        // An error is ignored here, because some systems cannot open a directory, and a process may have no permission
        // to read the directory.
        let handle = File::open(&path).ok();
        Ok(Self { path, handle })
    }

    /// Syncs the folder, so a rename in it survives a crash.
    fn sync_rename(&self) {
        // An error is ignored here, because the new file is complete and already renamed.
        let _ = self.handle.as_ref().map(File::sync_all);
    }
}

/// The absolute path without links. On some drives, such as some RAM disks, Windows cannot resolve links. The result is
/// then the absolute path with its links, or an error if the path itself is a link.
pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).or_else(|error| if path.is_symlink() { Err(error) } else { path::absolute(path) })
}
