//! The lock of the file with the header, by which writers of this crate exclude each other: a `flock`. For Windows, see
//! `header_lock_windows.rs`.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::Error;
use crate::read::frame_state::FrameState;
use crate::read::lock::FileLock;

/// Opens a file for writing and locks it; `None` if another writer has locked it.
pub(super) fn take(path: &Path) -> io::Result<Option<FileLock>> {
    FileLock::try_new(OpenOptions::new().read(true).write(true).open(path)?, true)
}

/// Replaces a locked file by a new file, and its lock by a lock of the new file. After an error, the new file is gone.
// The state of the old frame is only used on Windows, where the lock may have to be released before the rename.
pub(super) fn replace(
    lock: &mut FileLock,
    new: NamedTempFile,
    to: &Path,
    _old: &mut FrameState,
) -> Result<(), Error> {
    // The new file is locked before the rename, so no other writer can lock it first. No other process knows its
    // temporary name, so the lock is free.
    let new_lock = new.as_file().try_clone().and_then(|file| FileLock::try_new(file, true));
    let new_lock = new_lock.map_err(Error::writing)?.ok_or_else(|| Error::in_use(to))?;
    new.persist(to).map_err(|error| Error::writing(error.error))?;
    *lock = new_lock;
    Ok(())
}
