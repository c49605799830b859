//! The steps that all changes of a file share: comparing the file with the frame that the change was planned on, reading
//! the new frame before it becomes valid, and writing its header.
//!
//! A change of a file goes like this:
//!
//! 1. Take the locks (`WriterLock`).
//! 2. Open the frame again, and compare it with the planned one (`FrameState::reopen`).
//! 3. Write everything but the header where no reader looks: after the end of the frame, or into new files. Sync it.
//! 4. Read the new frame as a new reader will (`read_back.rs`).
//! 5. Look again for a lock file, compare again, and then make the new frame valid: write the header in one piece
//!    (`HeaderWrite`), or rename a new file.
//!
//! An error before step 5 leaves the old frame.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::edit::writer_lock::WriterLock;
use crate::error::{Error, ErrorKind};
use crate::header::frame::Frame;
use crate::read::frame_state::FrameState;

impl FrameState {
    /// Opens the frame again. Fails if it is no longer in this state, or if its path leads to another file than the
    /// locked one.
    pub(crate) fn reopen(&self, path: &Path, lock: Option<&WriterLock>) -> Result<Frame, Error> {
        let mut frame = Frame::open(path).map_err(|error| match error.kind() {
            ErrorKind::Malformed => Error::changing(None),
            _ => error,
        })?;
        let is_of_file = lock.is_none_or(|lock| lock.is_of(path));
        if is_of_file && Self::of(&mut frame)? == *self { Ok(frame) } else { Err(Error::changing(None)) }
    }
}

/// The bytes of a header that differ from the old header. Both headers have the same length.
pub(crate) struct HeaderWrite {
    start: u64,
    bytes: Vec<u8>,
}

impl HeaderWrite {
    /// Compares two headers; `None` if their lengths differ. A header of another length needs a new file, because the
    /// chunks follow it.
    pub(crate) fn new(before: &[u8], after: &[u8]) -> Option<Self> {
        let differs = |(before, after): &(&u8, &u8)| before != after;
        let same_at_start = before.iter().zip(after).take_while(|pair| !differs(pair)).count();
        let same_at_end =
            before.iter().rev().zip(after.iter().rev()).take_while(|pair| !differs(pair)).count();
        let end = after.len().saturating_sub(same_at_end).max(same_at_start);
        let bytes = after.get(same_at_start..end)?.to_vec();
        (before.len() == after.len()).then_some(Self { start: same_at_start as u64, bytes })
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
    use super::*;

    #[test]
    fn header_write_has_the_bytes_from_the_first_to_the_last_difference() {
        let write = |before, after| HeaderWrite::new(before, after).map(|write| (write.start, write.bytes));
        assert_eq!(write(b"abcdef", b"abXdYf"), Some((2, b"XdY".to_vec())));
        assert_eq!(write(b"aaaa", b"aaba"), Some((2, b"b".to_vec())));
        assert_eq!(write(b"abc", b"abc"), Some((3, Vec::new())));
        assert_eq!(write(b"abc", b"abcd"), None);
        assert_eq!(write(b"abcd", b"abc"), None);
    }
}
