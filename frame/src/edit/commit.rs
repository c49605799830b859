//! The steps that all changes of a file share.
//!
//! 1. Take the locks (`WriterLock`).
//! 2. Open the frame again, and check that no other program has changed it (`FrameState::reopen`).
//! 3. Write everything but the header where no reader looks: after the end of the frame, or into new files. Sync it.
//! 4. Read the new frame back, as a later reader will (`read_back.rs`).
//! 5. Look again for a lock file and for indexes of a table, and check again that no other program has changed the old
//!    frame. Then make the new frame valid: write the header in a single write (`HeaderWrite`), or rename a new file.
//!
//! If an error occurs before this write or rename, the old frame stays valid.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::chunk::hole::START;
use crate::edit::read_back::{WithHeader, read_back};
use crate::edit::table_column::refuse_column;
use crate::edit::writer_lock::WriterLock;
use crate::error::Error;
use crate::header::frame::Frame;
use crate::read::frame_state::FrameState;
use crate::read::open::open_at_once;
use crate::source::{ReadAt, read_up_to};
use crate::write::destination::NewFrame;
use crate::write::file_attributes::FileAttributes;

/// A commit to a frame whose locks are held.
pub(crate) struct Commit<'c> {
    /// The path of the file with the header.
    pub(crate) path: &'c Path,
    /// The old frame.
    pub(crate) frame: &'c Frame<()>,
    /// The state of the old frame. It is updated when this commit writes to the file, so that a failed commit can be
    /// repeated.
    pub(crate) state: &'c mut FrameState,
    pub(crate) lock: &'c mut WriterLock,
    /// Whether the items or the shape change.
    pub(crate) changes_items: bool,
}

/// The frame after a commit, and its state.
pub(crate) type Committed = (Frame<()>, FrameState);

impl Commit<'_> {
    /// Writes a new header of the same length.
    pub(crate) fn header(mut self, header: &[u8]) -> Result<(), Error> {
        self.remove_killed_commit()?;
        let write = HeaderWrite::new(self.frame.header_bytes(), header)?;
        self.compare_again()?;
        write.write(self.lock.file()).map_err(|error| Error::io("write", self.path, error))
    }

    /// Calls `write` to write the new parts of a contiguous frame after its end, beginning with
    /// [`START`]. Then writes the header that `write` returns.
    pub(crate) fn behind(
        mut self,
        write: impl FnOnce(File) -> Result<Vec<u8>, Error>,
    ) -> Result<Committed, Error> {
        let unwritable = |error| Error::io("write", self.path, error);
        let file = self.lock.file().try_clone().map_err(unwritable)?;
        self.remove_killed_commit()?;
        // While this commit writes, the modification time does not show whether another program writes too.
        let written = self.state.follow(&file, || {
            let header = write(file.try_clone().map_err(unwritable)?)?;
            file.sync_all().map_err(unwritable)?;
            Ok(header)
        });
        let ready = written.and_then(|header| {
            let committed = self.read_back(&header, WithHeader { header: &header, file: &file })?;
            let write = HeaderWrite::new(self.frame.header_bytes(), &header)?;
            self.compare_again()?;
            Ok((write, committed))
        });
        match ready {
            Ok((write, (frame, mut state))) => {
                // This is one write within a page, so a killed process leaves the old header or the new header, and no
                // mixture.
                let written = self.state.follow(&file, || state.follow(&file, || write.write(&file)));
                written.map_err(unwritable)?;
                Ok((frame, state))
            }
            Err(error) => {
                // The file still has the old header, so the old frame is complete. The bytes of this unfinished commit
                // are removed, but only if no program that uses the lock file can be writing there. If the removal
                // fails, the bytes do no harm.
                if self.lock.excludes_others() {
                    let _ = self.remove_killed_commit();
                }
                Err(error)
            }
        }
    }

    /// Gives a new file the attributes of the old file, and renames it to the path of the old file. `old` is dropped
    /// before the rename, because some systems do not replace an open file.
    pub(crate) fn by_rename<R>(
        mut self,
        old: Frame<R>,
        new: NewFrame,
        header: &[u8],
    ) -> Result<Committed, Error> {
        // If the attributes cannot be read, the new file stays private.
        if let Ok(attributes) = FileAttributes::of(self.lock.file()) {
            attributes.give_to(new.file(), true);
        }
        new.sync()?;
        let (frame, mut state) = self.read_back(header, new.file())?;
        self.compare_again()?;
        drop(old);
        self.lock.rename(new, self.state)?;
        // On some file systems of Windows, the modification time is final only when the written file is closed.
        if cfg!(windows) {
            state.record_version(self.lock.file());
        }
        Ok((frame, state))
    }

    /// Makes the last checks before the new frame becomes valid. If there is a lock file now, takes its lock, and
    /// increments its counter. Fails if another program has changed the frame. If the items change, also fails if the
    /// array belongs to a table that now has indexes or generated columns.
    fn compare_again(&mut self) -> Result<(), Error> {
        self.lock.announce()?;
        if self.changes_items {
            refuse_column(self.path)?;
        }
        self.state.reopen(self.path, Some(self.lock.file())).map(drop)
    }

    /// Whether the old frame is unchanged, and all programs that use the lock file of C-Blosc2 are excluded from
    /// changing it now.
    pub(crate) fn is_alone(&mut self) -> bool {
        self.lock.excludes_others() && self.state.reopen(self.path, Some(self.lock.file())).is_ok()
    }

    /// Checks the new frame. An error is `Changing` if another program may have caused it.
    fn read_back(&mut self, header: &[u8], reader: impl ReadAt) -> Result<Committed, Error> {
        read_back(header, reader, self.path).map_err(|error| match error.into_finding() {
            Ok(wrong) if self.is_alone() => Error::malformed(wrong.in_new_frame()),
            Ok(wrong) => Error::changing(Some(wrong)),
            Err(error) => error,
        })
    }

    /// Removes the bytes of an unfinished commit after the end of a contiguous frame, and checks that the frame is the
    /// whole file.
    fn remove_killed_commit(&mut self) -> Result<(), Error> {
        if !self.frame.check_whole(self.path)? {
            return Ok(());
        }
        let (file, frame_len) = (self.lock.file(), self.frame.header().frame_len);
        // On Windows, the modification time is final only after a sync.
        let removed = self.state.follow(file, || file.set_len(frame_len).and_then(|()| file.sync_all()));
        removed.map_err(|error| Error::io("write", self.path, error))
    }
}

impl<R> Frame<R> {
    /// Checks that the header in the file has not changed since it was read. Returns the length of the file.
    pub(crate) fn check_same(&self, path: &Path) -> Result<u64, Error> {
        let unreadable = |error| Error::io("read", path, error);
        let (file, mut now) = (open_at_once(path).map_err(unreadable)?, Vec::new());
        let header_len = self.header_bytes().len() as u64;
        read_up_to(&file, self.offset(), header_len, &mut now).map_err(unreadable)?;
        if now != self.header_bytes() {
            return Err(Error::changing(None));
        }
        Ok(file.size().map_err(unreadable)?.saturating_sub(self.offset()))
    }

    /// Checks what [`check_same`](Self::check_same) checks, and also that the frame is the whole file. Only the bytes
    /// of a killed commit may follow the frame. Returns true if they do.
    pub(crate) fn check_whole(&self, path: &Path) -> Result<bool, Error> {
        let file_len = self.check_same(path)?;
        let frame_len = self.header().frame_len;
        if frame_len == file_len {
            return Ok(false);
        }
        let unreadable = |error| Error::io("read", path, error);
        let file = open_at_once(path).map_err(unreadable)?;
        let mut more = Vec::new();
        read_up_to(&file, frame_len, START.len() as u64, &mut more).map_err(unreadable)?;
        if file_len > frame_len && START.starts_with(&more) {
            return Ok(true);
        }
        Err(Error::unsupported(format_args!(
            "the frame has {frame_len} bytes, but its file has {file_len}; only a whole file can be changed"
        )))
    }
}

/// The bytes of a header that differ from the old header. Both headers have the same length.
pub(crate) struct HeaderWrite {
    start: u64,
    bytes: Vec<u8>,
}

impl HeaderWrite {
    /// Compares two headers. Fails if their lengths differ: a header of another length needs a new file, because the
    /// chunks follow the header.
    pub(crate) fn new(before: &[u8], after: &[u8]) -> Result<Self, Error> {
        let differs = |(before, after): &(&u8, &u8)| before != after;
        let same_at_start = before.iter().zip(after).take_while(|pair| !differs(pair)).count();
        let same_at_end =
            before.iter().rev().zip(after.iter().rev()).take_while(|pair| !differs(pair)).count();
        let end = after.len().saturating_sub(same_at_end).max(same_at_start);
        match after.get(same_at_start..end).filter(|_| before.len() == after.len()) {
            Some(bytes) => Ok(Self { start: same_at_start as u64, bytes: bytes.into() }),
            None => Err(Error::unsupported("a header of another length cannot be written in its place")),
        }
    }

    /// Writes the header and syncs the file.
    // All changes are in one write. If this write is within one page of the file, a killed process leaves either all
    // changes or none.
    pub(crate) fn write(&self, mut file: &File) -> io::Result<()> {
        file.seek(SeekFrom::Start(self.start))?;
        file.write_all(&self.bytes)?;
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::error::ErrorKind;
    use crate::read::open::open_frame;

    #[test]
    fn behind_calls_a_wrong_frame_malformed_unless_another_program_has_changed_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        fs::copy("tests/data/int32_3x5.b2nd", &path).unwrap();
        let frame = open_frame(&path).unwrap();
        let mut state = FrameState::of(&frame).unwrap();
        let frame = frame.map_reader(drop);
        let mut lock = WriterLock::take(&path, false, Duration::ZERO).unwrap();
        // `nbytes`, the size of all chunks, is 128 in this file.
        let mut wrong = frame.header_bytes().to_vec();
        wrong[37] = 48;
        let mut error = |write: &dyn Fn()| {
            let commit = Commit {
                path: &path,
                frame: &frame,
                state: &mut state,
                lock: &mut lock,
                changes_items: true,
            };
            let written = |_| {
                write();
                Ok(wrong.clone())
            };
            commit.behind(written).unwrap_err()
        };
        let of_commit = error(&|| ());
        assert_eq!(of_commit.kind(), ErrorKind::Malformed);
        let says = "the new frame would have this error: nbytes is 48, ";
        assert!(of_commit.to_string().contains(says), "{of_commit}");
        // On Windows, no other program can write a locked file.
        if cfg!(not(windows)) {
            let of_other = error(&|| fs::write(&path, &wrong).unwrap());
            assert_eq!(of_other.kind(), ErrorKind::Changing, "{of_other}");
        }
    }

    #[test]
    fn header_write_has_the_bytes_from_the_first_to_the_last_difference() {
        let write =
            |before, after| HeaderWrite::new(before, after).ok().map(|write| (write.start, write.bytes));
        assert_eq!(write(b"abcdef", b"abXdYf"), Some((2, b"XdY".to_vec())));
        assert_eq!(write(b"aaaa", b"aaba"), Some((2, b"b".to_vec())));
        assert_eq!(write(b"abc", b"abc"), Some((3, Vec::new())));
        assert_eq!(write(b"abc", b"abcd"), None);
        assert_eq!(write(b"abcd", b"abc"), None);
    }
}
