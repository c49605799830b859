//! The lock file of a frame, which controls the access of several processes to the frame.
//!
//! C-Blosc2 takes a `flock` on the file `NAME.b2lock` beside a contiguous frame, or on `.b2lock` in the directory of a
//! sparse frame. The lock is shared for reading, and exclusive for writing. The file remains after the lock is
//! released.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[cfg(not(target_family = "wasm"))]
use fs4::{FileExt, TryLockError};
#[cfg(target_family = "wasm")]
use without::{FileExt, TryLockError};

use crate::error::Error;
use crate::read::open::{PAUSE, open_at_once};
use crate::read::source::read_up_to;

const SUFFIX: &str = ".b2lock";

/// The offset of the write counter in the lock file. The counter has 8 bytes, in the byte order of the machine.
const COUNTER_AT: u64 = 8;

/// The path of the lock file of the frame whose header is in the file `path`. If `path` is a symbolic link, the lock
/// file is beside the target of the link, not beside the link.
pub(crate) fn sidecar(path: &Path, is_sparse: bool) -> PathBuf {
    let target = path.is_symlink().then(|| fs::canonicalize(path).ok()).flatten();
    let path = target.as_deref().unwrap_or(path);
    if is_sparse {
        return path.with_file_name(SUFFIX);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// Whether the deadline has passed; false if there is no deadline.
pub(crate) fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// A locked lock file. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    /// Unlocks the file. Closing it is not enough, because a child process can still have it open.
    fn drop(&mut self) {
        // Ignore an error, because nothing can be done about it here. The system releases the lock at the latest when
        // no process has the file open any more.
        let _ = FileExt::unlock(&self.0);
    }
}

impl Lock {
    /// Takes a shared lock, for reading, if there is a lock file. While a writer holds the lock, waits for it, at most
    /// until the deadline. Without a deadline, waits forever.
    pub(crate) fn take_shared(
        path: &Path,
        is_sparse: bool,
        deadline: Option<Instant>,
    ) -> Result<Option<Self>, Error> {
        let path = sidecar(path, is_sparse);
        // Without a lock file, or permission to read it, the frame can still be read.
        let Ok(sidecar) = open_at_once(&path) else { return Ok(None) };
        loop {
            // `File::try_lock_shared` of the standard library needs a newer compiler than our `rust-version`.
            match FileExt::try_lock_shared(&sidecar) {
                Ok(()) => return Ok(Some(Self(sidecar))),
                Err(TryLockError::WouldBlock) if !is_over(deadline) => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(Error::locked(path)),
                // If the system has no locks, read the frame without a lock.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(None);
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path, error)),
            }
        }
    }
}

/// The lock of a writer. Dropping this struct releases the lock.
#[derive(Debug)]
pub(crate) struct ExclusiveLock {
    lock: Lock,
    path: PathBuf,
}

impl ExclusiveLock {
    /// Takes the lock of a writer if there is a lock file. It never waits for the lock.
    pub(crate) fn take(path: &Path, is_sparse: bool) -> Result<Option<Self>, Error> {
        let path = sidecar(path, is_sparse);
        let sidecar = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_too_long(&error) => return Ok(None),
            file => file.map_err(|error| Error::io("open the lock file", &path, error))?,
        };
        match FileExt::try_lock(&sidecar) {
            Ok(()) => Ok(Some(Self { lock: Lock(sidecar), path })),
            Err(TryLockError::WouldBlock) => Err(Error::locked(path)),
            Err(TryLockError::Error(error)) => Err(Error::io("lock", &path, error)),
        }
    }

    /// Increments the write counter, so that other processes read the frame again. If the lock file is too short to
    /// have a counter, the old value of the counter is taken as 0.
    pub(crate) fn raise_counter(&mut self) -> Result<(), Error> {
        let Self { lock: Lock(sidecar), path } = self;
        raise_counter(sidecar).map_err(|error| Error::io("write the lock file", path, error))
    }
}

fn raise_counter(sidecar: &mut File) -> io::Result<()> {
    let mut counter = Vec::new();
    sidecar.seek(SeekFrom::Start(COUNTER_AT))?;
    read_up_to(sidecar, 8, &mut counter)?;
    let counter = counter.try_into().map_or(0, u64::from_ne_bytes);
    let raised = counter.wrapping_add(1);
    sidecar.seek(SeekFrom::Start(COUNTER_AT))?;
    sidecar.write_all(&raised.to_ne_bytes())
}

/// Whether the lock file cannot be opened because its name is longer than the system allows. A file with such a name
/// cannot exist.
fn is_too_long(error: &io::Error) -> bool {
    #[cfg(unix)]
    let too_long = libc::ENAMETOOLONG;
    // ERROR_INVALID_NAME: the name is too long. (A path that is too long gives `NotFound` on Windows.)
    #[cfg(not(unix))]
    let too_long = 123;
    error.raw_os_error() == Some(too_long)
}

/// Replaces the crate fs4 on a system without locks. On such a system, a frame with a lock file can be read, but not
/// written, because a write could damage the frame if another process holds the lock.
#[cfg(target_family = "wasm")]
mod without {
    use std::fs::File;
    use std::io::{self, ErrorKind};

    /// This enum has the same variants as the enum of this name in fs4. On a system without locks, only `Error` occurs.
    #[derive(Debug)]
    #[allow(dead_code, reason = "the same as where there are locks")]
    pub(super) enum TryLockError {
        Error(io::Error),
        WouldBlock,
    }

    pub(super) trait FileExt {
        fn try_lock(&self) -> Result<(), TryLockError> {
            Err(TryLockError::Error(ErrorKind::Unsupported.into()))
        }

        fn try_lock_shared(&self) -> Result<(), TryLockError> {
            Err(TryLockError::Error(ErrorKind::Unsupported.into()))
        }

        fn unlock(&self) -> io::Result<()> {
            Ok(())
        }
    }

    impl FileExt for File {}
}
