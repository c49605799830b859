//! The steps that all changes of a file share: comparing the file with the frame that the change was planned on, reading
//! the new frame before it becomes valid, and writing its header.
//!
//! A change of a file goes like this:
//!
//! 1. Take the locks (`WriterLock`).
//! 2. Open the frame again, and compare it with the planned one (`FrameState::reopen`).
//! 3. Write everything but the header where no reader looks: after the end of the frame, or into new files. Sync it.
//! 4. Read the new frame as a new reader will (`read_back`).
//! 5. Look again for a lock file, compare again, and then make the new frame valid: write the header in one piece
//!    (`HeaderWrite`), or rename a new file.
//!
//! An error before step 5 leaves the old frame.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::check::Check;
use crate::chunk::entry::index_start;
use crate::edit::writer_lock::WriterLock;
use crate::error::{Error, ErrorKind};
use crate::finding::first_error;
use crate::header::frame::Frame;

/// The number of bytes of index and trailer that are read at once.
const PIECE: u64 = 1 << 20;

/// The state of a frame: its header, and a hash of its index and trailer.
// The header alone does not tell: a commit to a sparse frame can leave an equal one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameState {
    header: Vec<u8>,
    index_and_trailer: u64,
}

impl FrameState {
    pub(crate) fn of<R: Read + Seek>(frame: &mut Frame<R>) -> Result<Self, Error> {
        let header = frame.header();
        // The header of a frame without items can still count bytes of chunks.
        let start = if header.nbytes > 0 { index_start(header) } else { header.header_len as u64 };
        let (mut start, end) = (start, header.frame_len);
        let mut hasher = DefaultHasher::new();
        while start < end {
            let piece = frame.read_range(start, PIECE.min(end - start))?;
            hasher.write(&piece);
            start += piece.len() as u64;
        }
        Ok(Self { header: frame.header_bytes().to_vec(), index_and_trailer: hasher.finish() })
    }

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

/// Checks a new frame before it is the frame at its path, and returns its state.
pub(crate) fn read_back(
    header: &[u8],
    reader: impl Read + Seek,
    path: &Path,
) -> Result<(Frame<()>, FrameState), Error> {
    let new = Frame::parse(header)?;
    let mut frame = Frame { path: Some(path.into()), ..new.clone() }.map_reader(|()| reader);
    if let wrong @ Some(_) = first_error(&Check::default().run(&mut frame)?.findings) {
        return Err(Error::changing(wrong.cloned()));
    }
    let state = FrameState::of(&mut frame)?;
    Ok((new, state))
}

/// Reads a file as if it began with another header of the same length.
pub(crate) struct WithHeader<'h> {
    header: &'h [u8],
    file: &'h File,
    position: u64,
}

impl<'h> WithHeader<'h> {
    pub(crate) fn new(header: &'h [u8], file: &'h File) -> Self {
        Self { header, file, position: 0 }
    }
}

impl Read for WithHeader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let in_header = usize::try_from(self.position).ok().and_then(|position| self.header.get(position..));
        let read = match in_header.filter(|rest| !rest.is_empty()) {
            Some(mut rest) => rest.read(buffer)?,
            None => {
                self.file.seek(SeekFrom::Start(self.position))?;
                self.file.read(buffer)?
            }
        };
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for WithHeader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(by) => self.position.saturating_add_signed(by),
            SeekFrom::End(_) => self.file.seek(to)?,
        };
        Ok(self.position)
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
        let same_at_end = before.iter().rev().zip(after.iter().rev()).take_while(|pair| !differs(pair)).count();
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
