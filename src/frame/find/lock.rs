//! The lock beside a frame, through which processes that take part in it keep out of each other's way.
//!
//! C-Blosc2 takes a `flock` on the file `NAME.b2lock` beside a frame, or `.b2lock` in the directory of a sparse one:
//! shared to read, exclusive to write. The file stays when the lock is given up.

use std::borrow::ToOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};

use crate::frame::Error;
use crate::frame::find::open::{PAUSE, open_at_once};

const SUFFIX: &str = ".b2lock";

/// Where the lock file has the number of times that a writer has taken the lock: an integer of 8 bytes, in the byte
/// order of the machine.
const COUNTER_AT: u64 = 8;

/// The lock file of a frame, by the file that has its header.
///
/// It stands beside the file itself, not beside a symbolic link to it.
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

/// The lock file with a lock on it, which is given up in the end.
#[derive(Debug)]
struct Held(File);

impl Drop for Held {
    /// To close the file is not enough: a process that was started meanwhile can have it open too.
    fn drop(&mut self) {
        // Nothing is left to be done about an error, and the system gives up the lock of a file that nobody has open.
        let _ = FileExt::unlock(&self.0);
    }
}

/// The lock of a reader, held as long as this lives.
#[derive(Debug)]
pub(crate) struct SharedLock {
    _held: Held,
}

impl SharedLock {
    /// Takes the lock, if there is one to take; waits for it as long as the patience lasts, and then fails with
    /// `WouldBlock`.
    pub(crate) fn take(
        path: &Path,
        is_sparse: bool,
        start: Instant,
        patience: Duration,
    ) -> io::Result<Option<Self>> {
        // Whoever may read the frame may read it, also where he may not read the file beside it.
        let Ok(sidecar) = open_at_once(&sidecar(path, is_sparse)) else { return Ok(None) };
        loop {
            // Not the method of the standard library, which is younger than the oldest compiler that this is for.
            match FileExt::try_lock_shared(&sidecar) {
                Ok(()) => return Ok(Some(Self { _held: Held(sidecar) })),
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => std::thread::sleep(PAUSE),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The lock of a writer, held as long as this lives.
#[derive(Debug)]
pub(crate) struct ExclusiveLock {
    held: Held,
}

impl ExclusiveLock {
    /// Takes the lock, if there is one to take; does not wait for it.
    pub(crate) fn take(path: &Path, is_sparse: bool) -> Result<Option<Self>, Error> {
        let path = sidecar(path, is_sparse);
        let sidecar = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        match FileExt::try_lock(&sidecar) {
            Ok(()) => Ok(Some(Self { held: Held(sidecar) })),
            Err(TryLockError::WouldBlock) => Err(Error::locked(path)),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Raises the counter, by which the others who have the frame open know that they have to read it again. A file that
    /// is too short for it counts from 0.
    pub(crate) fn raise_counter(&mut self) -> io::Result<()> {
        let Held(sidecar) = &mut self.held;
        let mut counter = [0; 8];
        sidecar.seek(SeekFrom::Start(COUNTER_AT))?;
        match sidecar.read_exact(&mut counter) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => counter = [0; 8],
            result => result?,
        }
        let raised = u64::from_ne_bytes(counter).wrapping_add(1);
        sidecar.seek(SeekFrom::Start(COUNTER_AT))?;
        sidecar.write_all(&raised.to_ne_bytes())
    }
}
