//! Locks of files, and the lock file of C-Blosc2, which controls the access of several processes to a frame.
//!
//! C-Blosc2 takes a `flock` on the file `NAME.b2lock` beside a contiguous frame, or on `.b2lock` in the directory of a
//! sparse frame. The lock is shared for reading, and exclusive for writing. The file remains after the lock is
//! released. Most frames have no lock file, because C-Blosc2 makes one only if its user asks for locks.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::read::open::open_at_once;
use crate::source::read_up_to;

const SUFFIX: &str = ".b2lock";

/// The offset of the write counter in the lock file. The counter has 8 bytes, in the byte order of the machine.
const COUNTER_AT: u64 = 8;

/// The pause between two attempts to take a lock, or to read a file that another process is writing.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

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

/// Calls `attempt` until it returns a value or an error, or the deadline has passed. The first attempt is always made.
pub(crate) fn retry<T>(
    deadline: Option<Instant>,
    mut attempt: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    loop {
        let result = attempt()?;
        if result.is_some() || is_over(deadline) {
            return Ok(result);
        }
        thread::sleep(PAUSE);
    }
}

/// Whether the writers of this crate can lock this file, to exclude each other. WebAssembly and some network file
/// systems have no locks. Without locks, the caller must make sure that only one process changes the file at a time.
///
/// ```
/// assert!(b2nd_frame::has_locks("tests/data/int32_3x5.b2nd")?);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If the file cannot be opened for reading.
pub fn has_locks(file: impl AsRef<Path>) -> io::Result<bool> {
    let file = open_at_once(file.as_ref())?;
    // On Windows, no lock is needed, because a writer opens the file in a mode that excludes other writers. On other
    // systems, a shared lock is tried and released. A writer that needs the lock at this moment tries again after
    // `PAUSE`.
    Ok(cfg!(windows) || FileLock::try_new(file, false)?.is_none_or(|lock| lock.is_locked))
}

/// Whether a writer of this crate has the lock of a frame. `path` is the file with the header.
pub(crate) fn has_writer(path: &Path) -> bool {
    #[cfg(not(windows))]
    let is_locked =
        open_at_once(path).and_then(|file| FileLock::try_new(file, false)).is_ok_and(|lock| lock.is_none());
    #[cfg(windows)]
    let is_locked = is_open_for_writing(path) || is_open_for_writing(&announced_path(path));
    is_locked
}

/// Whether a program has the file open for writing, or does not let others read it.
#[cfg(windows)]
pub(crate) fn is_open_for_writing(path: &Path) -> bool {
    unshared(OpenOptions::new().read(true)).open(path).is_err_and(|error| is_sharing_violation(&error))
}

/// The path of a new file just before it replaces the file at `path`, if the lock of that file must be released before.
/// Then the lock of the new file keeps other writers away. The name is a hash (FNV-1a), because it must be the same in
/// each process, and the name of the old file may have the maximum length.
#[cfg(windows)]
pub(crate) fn announced_path(path: &Path) -> PathBuf {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    path.with_file_name(format!(".b2nd-{hash:016x}.tmp"))
}

/// A lock of a file. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
    is_locked: bool,
}

impl Drop for FileLock {
    /// Unlocks the file. Closing it is not enough, because a child process can still have it open.
    fn drop(&mut self) {
        if self.is_locked {
            // Ignore an error, because nothing can be done about it here. The system releases the lock at the latest
            // when no process has the file open any more.
            let _ = self.file.unlock();
        }
    }
}

impl FileLock {
    /// Takes an exclusive or a shared lock on a file; `None` if a lock of another process excludes this lock. If locks
    /// are not supported, the result is a lock that excludes nobody.
    pub(crate) fn try_new(file: File, is_exclusive: bool) -> io::Result<Option<Self>> {
        match if is_exclusive { file.try_lock() } else { file.try_lock_shared() } {
            Ok(()) => Ok(Some(Self { file, is_locked: true })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                Ok(Some(Self { file, is_locked: false }))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// A lock that excludes nobody.
    #[cfg(windows)]
    pub(crate) fn without(file: File) -> Self {
        Self { file, is_locked: false }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

/// Lets other handles read and rename the file, but not write it.
#[cfg(windows)]
pub(crate) fn unshared(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_SHARE_READ: u32 = 1;
    const FILE_SHARE_DELETE: u32 = 4;
    options.share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE)
}

/// Whether a file cannot be opened because another program has it open and does not share it.
#[cfg(windows)]
pub(crate) fn is_sharing_violation(error: &io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    error.raw_os_error() == Some(SHARING_VIOLATION)
}

/// Takes the shared lock of a reader, if there is a lock file. While a writer holds the lock, this call waits, at most
/// until the deadline. Without a deadline, waits forever.
pub(crate) fn share_sidecar(
    path: &Path,
    is_sparse: bool,
    deadline: Option<Instant>,
) -> Result<Option<FileLock>, Error> {
    let path = sidecar(path, is_sparse);
    // If there is no lock file, or no permission to read it, the frame is read without a lock.
    if fs::metadata(&path).is_err() {
        return Ok(None);
    }
    let lock = retry(deadline, || match open_at_once(&path) {
        Err(_) => Ok(Some(None)),
        Ok(file) => match FileLock::try_new(file, false) {
            Ok(lock) => Ok(lock.map(Some)),
            Err(error) => Err(Error::io("lock", &path, error)),
        },
    })?;
    lock.ok_or_else(|| Error::locked(path))
}

/// The lock file of C-Blosc2, locked by a writer. Dropping this struct releases the lock.
#[derive(Debug)]
pub(crate) struct ExclusiveSidecar {
    lock: FileLock,
    path: PathBuf,
}

impl ExclusiveSidecar {
    /// Takes the lock of a writer if there is a lock file, and waits for it at most until the deadline.
    pub(crate) fn take(
        path: &Path,
        is_sparse: bool,
        deadline: Option<Instant>,
    ) -> Result<Option<Self>, Error> {
        let path = sidecar(path, is_sparse);
        let lock = retry(deadline, || {
            let file = match OpenOptions::new().read(true).write(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound || is_too_long(&error) => {
                    return Ok(Some(None));
                }
                file => file.map_err(|error| Error::io("open the lock file", &path, error))?,
            };
            let lock = FileLock::try_new(file, true).map_err(|error| Error::io("lock", &path, error))?;
            Ok(lock.map(Some))
        })?;
        let Some(lock) = lock else { return Err(Error::locked(path)) };
        Ok(lock.map(|lock| Self { lock, path }))
    }

    /// Increments the write counter, so that other processes read the frame again. If the lock file is too short to
    /// contain a counter, the old counter counts as 0.
    pub(crate) fn raise_counter(&self) -> Result<(), Error> {
        raise_counter(&self.lock.file).map_err(|error| Error::io("write the lock file", &self.path, error))
    }
}

fn raise_counter(mut sidecar: &File) -> io::Result<()> {
    let mut counter = Vec::new();
    read_up_to(sidecar, COUNTER_AT, 8, &mut counter)?;
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

/// Whether an error means that the system or the file system has no locks. WebAssembly has no locks, and some network
/// file systems are mounted without them.
fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    if [Some(libc::ENOLCK), Some(libc::ENOSYS), Some(libc::EOPNOTSUPP)].contains(&error.raw_os_error()) {
        return true;
    }
    error.kind() == ErrorKind::Unsupported
}
