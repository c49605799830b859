//! The lock beside a frame, through which processes that take part in it keep out of each other's way.
//!
//! C-Blosc2 takes a `flock` on the file `NAME.b2lock` beside a frame, or `.b2lock` in the directory of a sparse one:
//! shared to read, exclusive to write. The file stays when the lock is given up.

use std::borrow::ToOwned;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};

use super::open::PAUSE;

const SUFFIX: &str = ".b2lock";

/// The lock file of a frame, by the file that has its header.
pub(super) fn sidecar(path: &Path, is_sparse: bool) -> PathBuf {
    if is_sparse {
        return path.with_file_name(SUFFIX);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// A lock that is held as long as this lives.
#[derive(Debug)]
pub(super) struct SharedLock {
    /// Closing it gives up the lock.
    _sidecar: File,
}

impl SharedLock {
    /// Takes the lock, if there is one to take; waits for it as long as the patience lasts, and then fails with
    /// `WouldBlock`.
    pub(super) fn take(
        path: &Path,
        is_sparse: bool,
        start: Instant,
        patience: Duration,
    ) -> io::Result<Option<Self>> {
        // Whoever may read the frame may read it, also where he may not read the file beside it.
        let Ok(sidecar) = File::open(sidecar(path, is_sparse)) else { return Ok(None) };
        loop {
            // Not the method of the standard library, which is younger than the oldest compiler that this is for.
            match FileExt::try_lock_shared(&sidecar) {
                Ok(()) => return Ok(Some(Self { _sidecar: sidecar })),
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => std::thread::sleep(PAUSE),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
