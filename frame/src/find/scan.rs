//! Frames anywhere in a file, found by their magic bytes.

use std::io;

use memchr::memmem;

use crate::error::Error;
use crate::header::frame::Frame;
use crate::header::frame_header::{MAGIC, MAGIC_OFFSET, START_LEN, Start};
use crate::source::{ReadAt, read_up_to};

/// The number of bytes searched at a time.
const WINDOW: u64 = 1 << 16;

/// The length in bytes of the longest header that is read inside another file.
pub(crate) const MAX_HEADER: u64 = 1 << 20;

/// The length in bytes of the longest header that is read after many false headers (see [`MANY`]). Without this limit,
/// a file full of magic bytes would make us read 1 MiB at each occurrence. 512 bytes are enough for the header of every
/// ordinary array.
const MAX_HEADER_LATER: u64 = 512;

/// A false header has the magic bytes of a frame, but cannot be parsed. Once the false headers have this number of
/// bytes in total, headers longer than `MAX_HEADER_LATER` are no longer read.
const MANY: u64 = 1 << 26;

/// Finds frames anywhere in a file. For example, a chunk of an HDF5 file, a block of an ASDF file or a member of a
/// damaged zip file can be a frame.
///
/// A frame is found if its header can be parsed and is at most 1 MiB long. The rest of the frame may be missing. The
/// search continues after the header, so a frame inside a frame is found too. Compressed frames, such as those in an
/// embed store of python-blosc2 (`embed.b2e`), are not found.
///
/// A false header has the magic bytes of a frame, but cannot be parsed. After 64 MiB of false headers, only headers of
/// up to 512 bytes are found, which bounds the time of the search.
///
/// ```
/// use std::fs::File;
/// use b2nd_frame::scan;
///
/// for frame in scan(File::open("tests/data/tree.b2z")?) {
///     let frame = frame?;
///     let shape = frame.array().ok().flatten().map(|array| array.shape().to_vec());
///     println!("byte {}: {shape:?}", frame.offset());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scan<R: ReadAt>(reader: R) -> Scan<R> {
    Scan { reader, window: Vec::new(), start: 0, position: 0, wasted: 0, is_done: false }
}

/// An iterator over the frames in a file. [`scan`] returns it. [`Frame::offset`] gives the place of each frame in the
/// file.
///
/// ```
/// use std::fs::File;
/// use b2nd_frame::scan;
///
/// let first = scan(File::open("tests/data/tree.b2z")?).next().expect("a frame")?;
/// assert!(first.offset() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scan<R> {
    reader: R,
    window: Vec<u8>,
    /// The offset of the window in the file.
    start: u64,
    /// The number of bytes of the window that have been searched.
    position: usize,
    /// The number of bytes in false headers so far.
    wasted: u64,
    is_done: bool,
}

impl<R: ReadAt> Iterator for Scan<R> {
    type Item = Result<Frame<()>, Error>;

    fn next(&mut self) -> Option<Result<Frame<()>, Error>> {
        while !self.is_done {
            match self.step() {
                Ok(None) => {}
                Ok(Some(frame)) => return Some(Ok(frame)),
                Err(error) => {
                    self.is_done = true;
                    return Some(Err(Error::reading(error)));
                }
            }
        }
        None
    }
}

impl<R: ReadAt> Scan<R> {
    /// Searches up to the next magic bytes, or to the end of the window.
    fn step(&mut self) -> io::Result<Option<Frame<()>>> {
        let rest = self.window.get(self.position..).unwrap_or_default();
        // Find only frames whose first `START_LEN` bytes are all in this window. If the window ends within these bytes,
        // the next window has all of them.
        let end = (rest.len() + MAGIC_OFFSET + MAGIC.len()).saturating_sub(START_LEN);
        let magic = rest.get(MAGIC_OFFSET..end).unwrap_or_default();
        let Some(found) = memmem::find(magic, MAGIC) else {
            self.advance()?;
            return Ok(None);
        };
        let position = self.position + found;
        let frame = self.frame_at(position)?;
        // After a false header, the search continues at the next byte: a true header may overlap the false one.
        self.position = position + frame.as_ref().map_or(1, |frame| frame.header().header_len);
        Ok(frame)
    }

    /// Reads the next window. It begins up to `START_LEN - 1` bytes before the end of the current window. So if the
    /// current window has only a part of the first `START_LEN` bytes of a frame, the next window has all of them. If
    /// the last header that was found extends beyond the current window, the next window begins where this header ends.
    fn advance(&mut self) -> io::Result<()> {
        let overlap = self.window.len().saturating_sub(self.position).min(START_LEN - 1);
        let behind = self.position.max(self.window.len()) - overlap;
        self.start = self.start.saturating_add(behind as u64);
        self.position = 0;
        self.window.clear();
        read_up_to(&self.reader, self.start, WINDOW, &mut self.window)?;
        self.is_done = self.window.len() < START_LEN;
        Ok(())
    }

    /// The frame at this position of the window; `None` if no header can be parsed there. The file is read only if the
    /// header extends beyond the window.
    fn frame_at(&mut self, position: usize) -> io::Result<Option<Frame<()>>> {
        let offset = self.start + position as u64;
        let longest = if self.wasted < MANY { MAX_HEADER } else { MAX_HEADER_LATER };
        let there = self.window.get(position..).unwrap_or_default();
        let Ok(Start { header_len, .. }) = Start::parse(there) else { return Ok(None) };
        let frame = match there.get(..header_len) {
            _ if header_len as u64 > longest => return Ok(None),
            Some(header) => Frame::parse(header).ok(),
            None => self.read(offset, header_len as u64)?,
        };
        if frame.is_none() {
            self.wasted = self.wasted.saturating_add(header_len as u64);
        }
        Ok(frame.map(|frame| Frame { offset, ..frame }))
    }

    fn read(&self, offset: u64, header_len: u64) -> io::Result<Option<Frame<()>>> {
        if self.reader.size()?.saturating_sub(offset) < header_len {
            return Ok(None);
        }
        let mut header = Vec::new();
        read_up_to(&self.reader, offset, header_len, &mut header)?;
        Ok(Frame::parse(&header).ok())
    }
}
