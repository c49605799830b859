//! The two locks of a writer: one on the file with the header, and one on the lock file of C-Blosc2, if the frame has
//! such a file.
//!
//! C-Blosc2 locks only if its user asks for it, so most frames have no lock file. Every frame has a file with the
//! header, so writers of this crate exclude each other through that file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::edit::header_lock;
use crate::error::Error;
use crate::file_version::leads_to;
use crate::read::frame_state::FrameState;
use crate::read::lock::{ExclusiveSidecar, FileLock, PAUSE, retry};
use crate::write::destination::NewFrame;

/// The exclusive locks of a frame. Dropping this struct releases them.
#[derive(Debug)]
pub(crate) struct WriterLock {
    /// The lock of the file with the header, which is open for reading and writing.
    header: FileLock,
    sidecar: Option<ExclusiveSidecar>,
    path: PathBuf,
    is_sparse: bool,
    patience: Duration,
}

impl WriterLock {
    /// Takes the locks of the frame whose header is in the file `path`. If another writer holds one of the locks, waits
    /// for it. The total wait is at most `patience`.
    ///
    /// Where the system or the file system has no locks, the result is a `WriterLock` that excludes nobody.
    pub(crate) fn take(path: &Path, is_sparse: bool, patience: Duration) -> Result<Self, Error> {
        // Another program can hold the lock for a moment, only to test whether the file can be locked (`has_locks`). So
        // there is always a second attempt. If the clock cannot represent the deadline, the wait has no limit.
        let deadline = Instant::now().checked_add(patience.max(PAUSE));
        let header = take_header(path, deadline)?;
        let sidecar = ExclusiveSidecar::take(path, is_sparse, deadline)?;
        Ok(Self { header, sidecar, path: path.into(), is_sparse, patience })
    }

    /// The locked file with the header, open for reading and writing.
    pub(crate) fn file(&self) -> &File {
        self.header.file()
    }

    /// Takes the lock of C-Blosc2 if another program has made a lock file since [`take`](Self::take).
    pub(crate) fn take_sidecar(&mut self) -> Result<(), Error> {
        self.take_sidecar_within(self.patience)
    }

    /// Whether all programs that use the lock file of C-Blosc2 are excluded from changing the frame. If another program
    /// has made a lock file since [`take`](Self::take), first tries to lock it, without waiting.
    pub(crate) fn excludes_others(&mut self) -> bool {
        self.take_sidecar_within(Duration::ZERO).is_ok()
    }

    fn take_sidecar_within(&mut self, patience: Duration) -> Result<(), Error> {
        if self.sidecar.is_none() {
            let deadline = Instant::now().checked_add(patience);
            self.sidecar = ExclusiveSidecar::take(&self.path, self.is_sparse, deadline)?;
        }
        Ok(())
    }

    /// Takes the lock of C-Blosc2 as [`take_sidecar`](Self::take_sidecar) does, and increments the counter in the lock
    /// file, so that other users of the lock file read the frame again.
    pub(crate) fn announce(&mut self) -> Result<(), Error> {
        self.take_sidecar()?;
        self.sidecar.as_ref().map_or(Ok(()), ExclusiveSidecar::raise_counter)
    }

    /// Renames a new file to the path of the locked file, which it replaces, and locks the new file in the place of the
    /// old one. `old` is the state of the old frame. After an error, the lock may be lost.
    pub(crate) fn rename(&mut self, new: NewFrame, old: &mut FrameState) -> Result<(), Error> {
        new.replace(|new, to| header_lock::replace(&mut self.header, new, to, old))
    }

    /// Takes the lock of the file with the header again if [`rename`](Self::rename) has lost it.
    #[cfg(feature = "compress")]
    pub(crate) fn take_again(&mut self) -> Result<(), Error> {
        // On other systems, no lock is lost. There, another program has put another file at the path.
        if cfg!(windows) && !leads_to(&self.path, self.file()).unwrap_or(false) {
            self.header = take_header(&self.path, Instant::now().checked_add(PAUSE))?;
        }
        Ok(())
    }
}

/// Takes the lock of the file with the header, and waits for it at most until the deadline.
fn take_header(path: &Path, deadline: Option<Instant>) -> Result<FileLock, Error> {
    let unwritable = |error| Error::io("write", path, error);
    let header = retry(deadline, || {
        let Some(lock) = header_lock::take(path).map_err(unwritable)? else { return Ok(None) };
        // Before the lock was taken, a commit can have put another file at the path. Then the locked file is no longer
        // part of the frame.
        Ok(leads_to(path, lock.file()).map_err(unwritable)?.then_some(lock))
    })?;
    header.ok_or_else(|| Error::in_use(path))
}
