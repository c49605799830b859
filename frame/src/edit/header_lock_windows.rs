//! The lock of the file with the header, by which writers of this crate exclude each other. On Windows, a lock as on
//! other systems would keep other programs from reading the file. So a writer opens the file in a mode that lets other
//! programs read it, but not write it.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::read::lock::{FileLock, PAUSE, has_writer, is_over, is_sharing_violation, unshared};
use crate::write::destination::real;

/// How long a new file waits until no program has the old file open.
const PATIENCE: Duration = Duration::from_millis(100);

/// Opens a file for writing; `None` if another program has it open in a way that excludes this writer, or if another
/// writer is replacing it.
pub(super) fn take(path: &Path) -> io::Result<Option<FileLock>> {
    let lock = open_unshared(path)?;
    // `replace_closed` has no lock of the old file. So this test follows the locking of the old file.
    Ok(lock.filter(|_| !has_writer(&announced(path))))
}

fn open_unshared(path: &Path) -> io::Result<Option<FileLock>> {
    match unshared(OpenOptions::new().read(true).write(true)).open(path) {
        Err(error) if is_sharing_violation(&error) => Ok(None),
        file => Ok(Some(FileLock::without(file?))),
    }
}

/// As on other systems. Since Windows 10, NTFS replaces a file that is open, such as a locked file. Some other file
/// systems refuse this.
pub(super) fn replace(lock: &mut FileLock, new: NamedTempFile, to: &Path) -> io::Result<()> {
    let (file, path) = new.keep()?;
    drop(file);
    let replaced = open_unshared(&path).and_then(|new_lock| {
        let new_lock = new_lock.ok_or(ErrorKind::WouldBlock)?;
        match fs::rename(&path, to) {
            Ok(()) => *lock = new_lock,
            Err(error) if error.kind() == ErrorKind::PermissionDenied || is_sharing_violation(&error) => {
                replace_closed(lock, new_lock, &path, to)?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    });
    replaced.inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Replaces a file on a file system that replaces a file only if no program has it open. So the old file is closed, and
/// its lock is released, before the rename. Other writers of this crate do not take this lock meanwhile, because the
/// new file already has its [announced] name, and is locked.
fn replace_closed(lock: &mut FileLock, new_lock: FileLock, new: &Path, to: &Path) -> io::Result<()> {
    let announced = announced(to);
    fs::rename(new, &announced)?;
    *lock = new_lock;
    let Err(refusal) = persistently(|| fs::rename(&announced, to).map(Some)) else { return Ok(()) };
    // If the lock of the old file cannot be taken again, the lock stays that of the new file. The new file is then not
    // at the path, so each later commit fails.
    if let Ok(old_lock) = persistently(|| open_unshared(to)) {
        *lock = old_lock;
    }
    let _ = fs::remove_file(announced);
    let text = format!("{refusal}; another program, or another part of this one, may have the file open");
    Err(io::Error::new(refusal.kind(), text))
}

/// Calls `attempt` again for a moment, until it returns a value. Another program can have a file open only to look at
/// it, for example a writer that tries to take its lock.
fn persistently<T>(attempt: impl Fn() -> io::Result<Option<T>>) -> io::Result<T> {
    let deadline = Instant::now().checked_add(PATIENCE);
    loop {
        match attempt() {
            Ok(Some(value)) => return Ok(value),
            result if is_over(deadline) => return Err(result.err().unwrap_or(ErrorKind::WouldBlock.into())),
            _ => thread::sleep(PAUSE),
        }
    }
}

/// The name of a new file just before it replaces the file at this path. If two long names of files differ only at
/// their ends, one of these files cannot be locked while the other one is replaced.
fn announced(path: &Path) -> PathBuf {
    let path = real(path).unwrap_or_else(|_| path.into());
    let name: String = path.file_name().unwrap_or_default().to_string_lossy().chars().take(100).collect();
    path.with_file_name(format!(".b2nd-{name}.tmp"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::windows::fs::OpenOptionsExt;

    use super::*;

    fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    #[test]
    fn replace_of_a_file_that_another_program_has_open_changes_nothing_and_keeps_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        fs::write(&path, "old").unwrap();
        let mut lock = take(&path).unwrap().unwrap();
        let new = || {
            let new = NamedTempFile::new_in(folder.path()).unwrap();
            fs::write(new.path(), "new").unwrap();
            new
        };
        // With these share modes, Windows does not replace the file on any file system.
        let reader = File::options().read(true).share_mode(1 | 2).open(&path).unwrap();
        let error = replace(&mut lock, new(), &path).unwrap_err();
        assert!(error.to_string().contains("may have the file open"), "{error}");
        assert_eq!(content(folder.path()), [(path.clone(), b"old".to_vec())]);
        assert!(take(&path).unwrap().is_none());
        drop(reader);
        replace(&mut lock, new(), &path).unwrap();
        assert_eq!(content(folder.path()), [(path.clone(), b"new".to_vec())]);
        assert!(take(&path).unwrap().is_none());
        drop(lock);
        assert!(take(&path).unwrap().is_some());
    }

    #[test]
    fn take_is_none_while_a_new_file_is_announced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{}.b2nd", "x".repeat(250)));
        fs::write(&path, "old").unwrap();
        fs::write(announced(&path), "new").unwrap();
        let new = open_unshared(&announced(&path)).unwrap().unwrap();
        assert!(take(&path).unwrap().is_none());
        // A killed writer leaves the new file, but no lock of it.
        drop(new);
        assert!(take(&path).unwrap().is_some());
    }
}
