//! Reads a new frame back, as a later reader will, and checks it before it replaces the old frame.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::check::Check;
use crate::error::Error;
use crate::file_version::FileVersion;
use crate::finding::first_error;
use crate::header::frame::Frame;
use crate::read::frame_state::FrameState;
use crate::source::ReadAt;

/// Checks a new frame before it replaces the old frame. Returns the new frame and its state.
pub(crate) fn read_back(
    header: &[u8],
    reader: impl ReadAt,
    path: &Path,
) -> Result<(Frame<()>, FrameState), Error> {
    let new = Frame::parse(header)?;
    let frame = Frame { path: Some(path.into()), ..new.clone() }.map_reader(|()| reader);
    if let Some(wrong) = first_error(&Check::default().run(&frame)?.findings) {
        return Err(Error::malformed(wrong.clone()));
    }
    let state = FrameState::of(&frame)?;
    Ok((new, state))
}

/// A reader of `file` with another header. The bytes of `header` replace the header in the file, which must have the
/// same length.
pub(crate) struct WithHeader<'h> {
    pub(crate) header: &'h [u8],
    pub(crate) file: &'h File,
}

impl ReadAt for WithHeader<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.header.read_at(buffer, offset)? {
            0 => self.file.read_at(buffer, offset),
            read => Ok(read),
        }
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn version(&self) -> Option<FileVersion> {
        self.file.version()
    }
}
