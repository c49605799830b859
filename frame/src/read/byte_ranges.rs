//! Reads byte ranges of a frame.

use core::ops::Range;
use std::io::ErrorKind;
use std::path::Path;

use crate::code::FindingCode;
use crate::error::Error;
use crate::file_version::{FileVersion, has_changed};
use crate::header::frame::Frame;
use crate::header::frame_header::{Header, cut_short};
use crate::source::{ReadAt, read_up_to};

/// The version of the file that is now at the path of a frame; `None` if it is not known. Without a path, or if a
/// contiguous frame has no file at its path any more, the result is the version of the reader.
pub(crate) fn version_now(
    path: Option<&Path>,
    is_sparse: bool,
    reader: &impl ReadAt,
) -> Result<Option<FileVersion>, Error> {
    let Some(path) = path else { return Ok(reader.version()) };
    match path.metadata() {
        Ok(metadata) => Ok(Some(FileVersion::from(&metadata))),
        Err(_) if !is_sparse => Ok(reader.version()),
        // If a sparse frame was deleted, its chunk files were deleted too, so nothing is left to read.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(Error::changing(None))
        }
        Err(error) => Err(Error::io("read", path, error)),
    }
}

impl<R: ReadAt> Frame<R> {
    /// Reads the last `length` bytes of the frame, or all bytes after the header if fewer bytes follow the header.
    pub(crate) fn last_bytes(&self, length: usize) -> Result<Vec<u8>, Error> {
        let Header { frame_len, header_len, .. } = *self.header();
        let length = (length as u64).min(frame_len.saturating_sub(header_len as u64));
        self.read_range(frame_len.saturating_sub(length), length)
    }

    /// The number of bytes from the start of the frame to the end of the file.
    pub(crate) fn available(&self) -> Result<u64, Error> {
        let size = self.reader.size().map_err(|error| self.unreadable(error))?;
        Ok(size.saturating_sub(self.offset))
    }

    /// Tells the reader which byte ranges of the frame are read next.
    pub(crate) fn read_ahead(&self, ranges: impl Iterator<Item = Range<u64>>) -> Result<(), Error> {
        let in_file = |byte: u64| self.offset.saturating_add(byte);
        let ranges: Vec<_> = ranges.map(|range| in_file(range.start)..in_file(range.end)).collect();
        self.reader.read_ahead(&ranges).map_err(|error| self.unreadable(error))
    }

    /// Reads `length` bytes at an offset of the frame. If the file ends before the last of these bytes, the result is
    /// an error.
    pub(crate) fn read_range(&self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let start = self.offset.saturating_add(start);
        read_up_to(&self.reader, start, length, &mut bytes).map_err(|error| self.unreadable(error))?;
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

    /// The version of the file that is now at the path of the frame (see [`version_now`]).
    pub(crate) fn version_now(&self) -> Result<Option<FileVersion>, Error> {
        version_now(self.path(), self.header().is_sparse(), &self.reader)
    }

    /// Checks that the source still has this version and still contains the header of this frame.
    pub(crate) fn check_version(&self, version: Option<&FileVersion>) -> Result<(), Error> {
        // A commit to a sparse frame replaces the file at the path and removes old chunk files, so the file at the path
        // is compared. A commit that replaces the file of a contiguous frame leaves the old frame in the open file, so
        // the open file is compared.
        let is_at_path = self.header().is_sparse() && self.version.is_some();
        let now = if is_at_path { self.version_now()? } else { self.reader.version() };
        if has_changed(version, now.as_ref()) {
            return Err(Error::changing(None));
        }
        self.check_unchanged()
    }

    /// Checks that the header in the file has not changed since this frame was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        match self.read_range(0, self.header_bytes().len() as u64) {
            Ok(now) if now == self.header_bytes() => Ok(()),
            Err(error) if !error.is_about(FindingCode::Truncated) => Err(error),
            _ => Err(Error::changing(None)),
        }
    }
}
