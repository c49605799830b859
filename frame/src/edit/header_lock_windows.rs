//! The lock of the file with the header, by which writers of this crate exclude each other. On Windows, a lock as on
//! other systems would keep other programs from reading the file. So a writer opens the file in a mode that lets other
//! programs read it, but not write it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::error::Error;
use crate::read::frame_state::FrameState;
use crate::read::lock::{
    FileLock, announced_path, is_open_for_writing, is_sharing_violation, retry, unshared,
};

/// How long the replacement of a file waits until no other program has the file open.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens a file for writing; `None` if another program has it open in a way that excludes this writer, or if another
/// writer is replacing it.
pub(super) fn take(path: &Path) -> io::Result<Option<FileLock>> {
    let announced = announced_path(path);
    // A file that is open here cannot be replaced, so this is tested before the file is opened. The test afterwards
    // finds a writer that has released its lock meanwhile.
    if is_open_for_writing(&announced) {
        return Ok(None);
    }
    Ok(open_unshared(path)?.filter(|_| !is_open_for_writing(&announced)))
}

fn open_unshared(path: &Path) -> io::Result<Option<FileLock>> {
    match unshared(OpenOptions::new().read(true).write(true)).open(path) {
        Err(error) if is_sharing_violation(&error) => Ok(None),
        file => Ok(Some(FileLock::without(file?))),
    }
}

/// As `open_unshared`, but waits for a moment, because a virus scanner, for example, may look at the file.
fn open_unshared_patiently(path: &Path) -> Result<Option<FileLock>, Error> {
    let deadline = Instant::now().checked_add(PATIENCE);
    retry(deadline, || open_unshared(path).map_err(Error::writing))
}

/// Replaces a locked file by a new file, and its lock by a lock of the new file. `old` is the state of the old frame.
/// After an error, the new file is gone, and the lock may be lost.
pub(super) fn replace(
    lock: &mut FileLock,
    new: NamedTempFile,
    to: &Path,
    old: &mut FrameState,
) -> Result<(), Error> {
    let (file, path) = new.keep().map_err(|error| Error::writing(error.into()))?;
    drop(file);
    let replaced = open_unshared_patiently(&path).and_then(|new_lock| {
        let new_lock = new_lock.ok_or_else(|| Error::in_use(to))?;
        // Since Windows 10, NTFS replaces an open file, such as a locked file.
        match fs::rename(&path, to) {
            Ok(()) => *lock = new_lock,
            Err(error) if is_refusal(&error) => replace_closed(lock, new_lock, &path, to, old)?,
            Err(error) => return Err(Error::writing(error)),
        }
        Ok(())
    });
    replaced.inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Replaces a file on a file system that does not replace an open file. So the old file is closed before the rename,
/// which releases its lock. Other writers of this crate do not take this lock meanwhile, because the new file already
/// has its [announced path](announced_path), and is locked.
fn replace_closed(
    lock: &mut FileLock,
    new_lock: FileLock,
    new: &Path,
    to: &Path,
    old: &mut FrameState,
) -> Result<(), Error> {
    let announced = announced_path(to);
    let reader = File::open(to).map_err(Error::writing)?;
    rename_patiently(new, &announced, || Ok(()))?;
    // On some file systems, the modification time is final only when the written file is closed.
    old.follow(&reader, || *lock = new_lock);
    drop(reader);
    let replaced = rename_patiently(&announced, to, || old.reopen(to, None).map(drop));
    if replaced.is_err() {
        // The lock of the old file is taken again before the new file loses its announced path. If this fails, the lock
        // stays that of the new file, until `WriterLock::take_again`.
        if let Ok(Some(old_lock)) = open_unshared_patiently(to) {
            *lock = old_lock;
        }
        // Some file systems remove a file only when it is closed. Until then, no other new file could get its path.
        let _ = fs::rename(&announced, new);
    }
    replaced
}

/// Renames a file. If another program has the replaced file open, waits for a moment. Calls `check` before each
/// attempt.
fn rename_patiently(from: &Path, to: &Path, check: impl Fn() -> Result<(), Error>) -> Result<(), Error> {
    let mut refusal = None;
    let renamed = retry(Instant::now().checked_add(PATIENCE), || {
        match check().and_then(|()| fs::rename(from, to).map_err(Error::writing)) {
            Err(error) if error.io_error().is_some_and(is_refusal) => {
                refusal = Some(error);
                Ok(None)
            }
            renamed => renamed.map(Some),
        }
    })?;
    renamed.ok_or_else(|| {
        let refusal = refusal.unwrap_or_else(|| Error::in_use(to));
        refusal.advise("; another program, or another part of this one, may have the file open")
    })
}

/// Whether a rename may have failed because the file that it replaces is open.
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied || is_sharing_violation(error)
}

#[cfg(test)]
mod tests {
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::PathBuf;
    use std::thread;

    use super::*;
    use crate::error::ErrorKind;
    use crate::file_version::leads_to;
    use crate::read::open::open_frame;

    const SHARE_READ: u32 = 1;
    const SHARE_WRITE: u32 = 2;

    const OLD: &str = "tests/data/int32_3x5.b2nd";
    const NEW: &str = "tests/data/vlmetalayers.b2nd";

    /// A locked file with the bytes of `OLD`, which the file `NEW` will replace.
    struct Files {
        folder: tempfile::TempDir,
        path: PathBuf,
        lock: FileLock,
        state: FrameState,
    }

    impl Files {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.b2nd");
            fs::copy(OLD, &path).unwrap();
            let lock = take(&path).unwrap().unwrap();
            let state = FrameState::of(&open_frame(&path).unwrap()).unwrap();
            Self { folder, path, lock, state }
        }

        fn replace(&mut self) -> Result<(), Error> {
            let new = NamedTempFile::new_in(self.folder.path()).unwrap();
            fs::write(new.path(), fs::read(NEW).unwrap()).unwrap();
            replace(&mut self.lock, new, &self.path, &mut self.state)
        }

        /// Opens the file as some programs do. Windows replaces such a file on no file system.
        fn open(&self, share_mode: u32) -> File {
            File::options().read(true).share_mode(share_mode).open(&self.path).unwrap()
        }

        #[track_caller]
        fn assert_has(&self, content: &[u8]) {
            let paths = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
            assert_eq!(paths.collect::<Vec<_>>(), [&*self.path]);
            assert!(fs::read(&self.path).unwrap() == content);
        }
    }

    #[test]
    fn replace_of_a_file_that_another_program_has_open_changes_nothing_and_keeps_the_lock() {
        let mut files = Files::new();
        let reader = files.open(SHARE_READ | SHARE_WRITE);
        let error = files.replace().unwrap_err();
        assert!(error.to_string().contains("may have the file open"), "{error}");
        files.assert_has(&fs::read(OLD).unwrap());
        assert!(take(&files.path).unwrap().is_none());
        drop(reader);
        files.replace().unwrap();
        files.assert_has(&fs::read(NEW).unwrap());
        assert!(take(&files.path).unwrap().is_none());
        let Files { path, lock, .. } = files;
        drop(lock);
        assert!(take(&path).unwrap().is_some());
    }

    #[test]
    fn replace_waits_for_a_program_that_closes_the_file_soon_and_replaces_the_file_of_a_killed_writer() {
        let mut files = Files::new();
        fs::write(announced_path(&files.path), "of a killed writer").unwrap();
        let reader = files.open(SHARE_READ | SHARE_WRITE);
        let waiting = thread::spawn(move || {
            thread::sleep(PATIENCE / 20);
            drop(reader);
        });
        files.replace().unwrap();
        waiting.join().unwrap();
        files.assert_has(&fs::read(NEW).unwrap());
    }

    #[test]
    fn replace_of_a_file_that_another_program_has_changed_meanwhile_is_changing() {
        let mut files = Files::new();
        let (path, reader) = (files.path.clone(), files.open(SHARE_READ | SHARE_WRITE));
        let other = thread::spawn(move || {
            let file = retry(None, || Ok(File::options().write(true).open(&path).ok())).unwrap().unwrap();
            file.set_len(0).unwrap();
            io::Write::write_all(&mut &file, b"foreign").unwrap();
            drop((file, reader));
        });
        assert_eq!(files.replace().unwrap_err().kind(), ErrorKind::Changing);
        other.join().unwrap();
        files.assert_has(b"foreign");
    }

    #[test]
    fn replace_that_loses_the_lock_leaves_the_old_file_which_can_be_locked_again() {
        let mut files = Files::new();
        let (path, reader) = (files.path.clone(), files.open(SHARE_READ | SHARE_WRITE));
        // This program excludes every writer once the lock is released.
        let other = thread::spawn(move || {
            let exclusive = || File::options().read(true).share_mode(SHARE_READ).open(&path).ok();
            retry(None, || Ok(exclusive())).unwrap().unwrap()
        });
        assert_eq!(files.replace().unwrap_err().kind(), ErrorKind::Io);
        // This is the lock of the new file, which is no longer there.
        drop((other.join().unwrap(), reader));
        assert!(!leads_to(&files.path, files.lock.file()).unwrap());
        files.lock = take(&files.path).unwrap().unwrap();
        files.assert_has(&fs::read(OLD).unwrap());
    }

    #[test]
    fn take_is_none_while_a_new_file_is_announced_but_an_error_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.b2nd".to_owned(), "x".repeat(250), "\u{6570}".repeat(85)] {
            let path = folder.path().join(name);
            assert_eq!(take(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
            fs::write(&path, "old").unwrap();
            fs::write(announced_path(&path), "new").unwrap();
            let new = open_unshared(&announced_path(&path)).unwrap().unwrap();
            assert!(take(&path).unwrap().is_none());
            // A killed writer leaves the new file, but no lock of it.
            drop(new);
            assert!(take(&path).unwrap().is_some());
        }
    }
}
