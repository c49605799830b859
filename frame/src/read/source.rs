//! Reads byte ranges of a frame.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use crate::error::Error;
use crate::header::frame::Frame;
use crate::header::frame_header::{Header, cut_short};

impl<R: Read + Seek> Frame<R> {
    /// Reads the last `length` bytes of the frame, or all bytes after the header if fewer bytes follow the header.
    pub(crate) fn last_bytes(&mut self, length: usize) -> Result<Vec<u8>, Error> {
        let Header { frame_len, header_len, .. } = *self.header();
        let length = (length as u64).min(frame_len.saturating_sub(header_len as u64));
        self.read_range(frame_len.saturating_sub(length), length)
    }

    /// The number of bytes from the start of the frame to the end of the file.
    pub(crate) fn available(&mut self) -> Result<u64, Error> {
        available(&mut self.reader, self.offset).map_err(|error| self.unreadable(error))
    }

    /// Reads `length` bytes at an offset of the frame. If the file ends before the last of these bytes, the result is
    /// an error.
    pub(crate) fn read_range(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let start = self.offset.saturating_add(start);
        self.reader
            .seek(SeekFrom::Start(start))
            .and_then(|_| read_up_to(&mut self.reader, length, &mut bytes))
            .map_err(|error| self.unreadable(error))?;
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        // Find out whether the file has become shorter than the frame since it was opened.
        let frame_len = self.header().frame_len;
        match self.available()? {
            available if available < frame_len => Err(Error::malformed(cut_short("", frame_len, available))),
            // The file is long enough again by now, so a writer is at work.
            _ => Err(Error::changing(None)),
        }
    }
}

/// The number of bytes from `offset` to the end of the file. After the call, the position of the reader is `offset`.
pub(crate) fn available(reader: &mut impl Seek, offset: u64) -> io::Result<u64> {
    let end = reader.seek(SeekFrom::End(0))?;
    reader.seek(SeekFrom::Start(offset))?;
    Ok(end.saturating_sub(offset))
}

/// Appends bytes of the reader to `bytes`, until `bytes` has `length` bytes in all, or the file ends.
pub(crate) fn read_up_to(reader: &mut impl Read, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let start = bytes.len();
    let length = usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?;
    // The length can come from a damaged file. If it exceeds the memory, this is an error, not an abort.
    bytes.try_reserve_exact(length.saturating_sub(start)).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.resize(length.max(start), 0);
    let mut filled = start;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(read) => filled = filled.saturating_add(read),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(())
}

/// Reads up to `length` bytes with one call.
pub(crate) fn read_once(
    length: u64,
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?];
    loop {
        match read(&mut bytes) {
            Ok(read) => {
                bytes.truncate(read);
                return Ok(bytes);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
