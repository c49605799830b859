//! Reads a new frame, as a new reader will, before it is the frame at its path.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::check::Check;
use crate::error::Error;
use crate::finding::first_error;
use crate::header::frame::Frame;
use crate::read::frame_state::FrameState;

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
        let read = if let Some(mut rest) = in_header.filter(|rest| !rest.is_empty()) {
            rest.read(buffer)?
        } else {
            self.file.seek(SeekFrom::Start(self.position))?;
            self.file.read(buffer)?
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
