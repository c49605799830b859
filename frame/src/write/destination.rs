//! New files and directories, which are written under a temporary name before they get their own.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{self, Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::error::Error;
use crate::format::chunk_file::SPARSE_INDEX;
use crate::io::frame::{Frame, folder_of};

/// Where a new frame will be.
#[derive(Debug)]
pub(crate) struct Destination {
    /// As it was given, for messages.
    to: PathBuf,
    /// Where the process is may change until it is finished.
    absolute: PathBuf,
    /// Whether the new file replaces the one that is there.
    replaces: bool,
    folder: Folder,
}

impl Destination {
    /// A path at which nothing is yet, of a file or of the directory of a sparse frame.
    pub(crate) fn free(to: &Path, is_sparse: bool) -> Result<Self, Error> {
        let absolute = path::absolute(to).map_err(|error| Error::io("create", to, error))?;
        match to.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("create", to, error)),
            Ok(_) => return Err(Error::exists(to)),
        }
        let ends_with_separator =
            to.as_os_str().as_encoded_bytes().last().is_some_and(|&last| path::is_separator(last.into()));
        if !is_sparse && ends_with_separator {
            return Err(Error::io("create", to, ErrorKind::NotADirectory.into()));
        }
        Ok(Self { to: to.into(), absolute, replaces: false, folder: Folder::of(to)? })
    }

    /// The path of a file that will be replaced.
    pub(crate) fn taken(to: PathBuf) -> Result<Self, Error> {
        let folder = Folder::of(&to)?;
        Ok(Self { absolute: to.clone(), to, replaces: true, folder })
    }

    /// Creates the file, or the directory of a sparse frame. Until it has its name, nobody else may read it, or as `is_usual`
    /// says, those who may read other new files.
    pub(crate) fn begin(self, is_sparse: bool, is_usual: bool) -> Result<NewFrame, Error> {
        let mut builder = Builder::new();
        builder.prefix(".b2nd-").suffix(".tmp");
        #[cfg(unix)]
        if is_usual {
            // Without what the umask of the process takes away.
            let mode = if is_sparse { 0o777 } else { 0o666 };
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        }
        #[cfg(not(unix))]
        let _ = is_usual;
        let folder = &self.folder.path;
        let uncreatable = |error| Error::io("create a file in", folder, unnamed(error));
        let temporary = if is_sparse {
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

/// A new frame that does not have its name yet: a file, or the directory of a sparse frame. If it is dropped, it is removed.
///
/// [`FrameBuilder::create`](crate::FrameBuilder::create) begins one, and [`FrameWriter::finish`](crate::FrameWriter::finish)
/// returns it whole.
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
    /// With the file in it that has the header.
    Directory(TempDir, File),
}

impl NewFrame {
    /// The file that has the header.
    pub(crate) fn file(&self) -> &File {
        match &self.temporary {
            Temporary::File(file) => file.as_file(),
            Temporary::Directory(_, file) => file,
        }
    }

    /// The directory of a sparse frame, by its present name.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match &self.temporary {
            Temporary::File(_) => None,
            Temporary::Directory(directory, _) => Some(directory.path()),
        }
    }

    /// The path that it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.destination.to
    }

    /// The error that it cannot be written. Something can have got its name since it was begun.
    pub(crate) fn unwritable(&self, error: io::Error) -> Error {
        unwritable(&self.destination.to, error)
    }

    /// Syncs the file, or what is in the directory except for the chunks.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        let synced = self.file().sync_all().and_then(|()| match self.directory() {
            Some(directory) => sync(File::open(directory).ok().as_ref()),
            None => Ok(()),
        });
        synced.map_err(|error| self.unwritable(error))
    }

    /// Syncs the frame, gives it its name, and opens it.
    ///
    /// # Errors
    ///
    /// - [`Exists`](crate::ErrorKind::Exists) if something has got the same name meanwhile.
    /// - [`Io`](crate::ErrorKind::Io) if the system refuses.
    ///
    /// After an error, nothing is left at the path.
    pub fn persist(self) -> Result<Frame, Error> {
        self.sync()?;
        // Before it has its name, so that no error comes after.
        let frame = Frame::read_at(self.file(), 0)?.map_reader(drop);
        let (file, path) = self.rename()?;
        Ok(Frame { path: Some(path), ..frame.map_reader(|()| file) })
    }

    /// Gives it its name, and returns the file that has the header and its path.
    pub(crate) fn rename(self) -> Result<(File, PathBuf), Error> {
        let Destination { to, absolute, replaces, folder } = self.destination;
        let unwritable = |error| unwritable(&to, error);
        let new = match self.temporary {
            Temporary::File(file) => {
                let named = if replaces {
                    replace(file, &absolute)
                } else {
                    file.persist_noclobber(&absolute).map_err(|error| error.error)
                };
                (named.map_err(unwritable)?, absolute)
            }
            Temporary::Directory(directory, file) => {
                let path = absolute.join(SPARSE_INDEX);
                // Windows does not rename a directory in which a file is open.
                #[cfg(windows)]
                drop(file);
                rename_directory(directory.path(), &absolute).map_err(unwritable)?;
                // The directory has been renamed, so there is nothing to remove.
                let _ = directory.keep();
                #[cfg(windows)]
                let file = File::open(&path).map_err(|error| Error::io("read", &path, error))?;
                (file, path)
            }
        };
        // If this fails, the new file still has its name, and is whole.
        let _ = sync(folder.opened.as_ref());
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

fn unwritable(to: &Path, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => Error::exists(to),
        _ => Error::io("write", to, error),
    }
}

/// Gives a new file the name of another one, and removes it if that fails.
#[cfg(not(windows))]
fn replace(new: NamedTempFile, to: &Path) -> io::Result<File> {
    new.persist(to).map_err(|error| error.error)
}

/// tempfile's `persist` does not replace a file that is open anywhere, but the rename of the standard library does, since
/// Windows 10: the frame of an earlier rewrite may still be open.
#[cfg(windows)]
fn replace(new: NamedTempFile, to: &Path) -> io::Result<File> {
    let (file, new) = new.keep()?;
    fs::rename(&new, to).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })?;
    Ok(file)
}

/// Gives a new directory its name, unless there is something of that name.
#[cfg(not(windows))]
fn rename_directory(new: &Path, to: &Path) -> io::Result<()> {
    // A rename replaces an empty directory, also one that somebody else has made. So it only replaces its own.
    fs::create_dir(to)?;
    fs::rename(new, to).inspect_err(|_| {
        // What is not empty by now is somebody else's, and stays.
        let _ = fs::remove_dir(to);
    })
}

/// The rename of the standard library replaces a file or an empty directory there. tempfile's `persist_noclobber` replaces
/// nothing, and Windows moves a directory with the call that moves a file.
#[cfg(windows)]
fn rename_directory(new: &Path, to: &Path) -> io::Result<()> {
    tempfile::TempPath::try_from_path(new)?.persist_noclobber(to).map_err(|error| error.error)
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
#[derive(Debug)]
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
}

/// Syncs a folder, so that the names in it survive a crash.
fn sync(folder: Option<&File>) -> io::Result<()> {
    folder.map_or(Ok(()), File::sync_all)
}
