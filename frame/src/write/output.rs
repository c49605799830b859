//! The output of a new frame: one file, or a file per chunk.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::error::Error;
use crate::format::chunk_file;
use crate::write::destination::NewFrame;
use crate::write::index::NewIndex;

/// The number of bytes collected before a write. A longer chunk is written at once.
const BUFFER: usize = 1 << 16;

/// A partly written frame: first its chunks, then the rest.
#[derive(Debug)]
pub(crate) struct Output<W: Write> {
    out: BufWriter<W>,
    chunks: WrittenChunks,
    /// The path that the frame will have, for messages.
    path: Option<PathBuf>,
}

/// The chunks written so far.
#[derive(Debug)]
enum WrittenChunks {
    /// In the frame, after the header. `start` is the position of the frame in the writer.
    Contiguous {
        start: u64,
        header_len: u64,
        /// The size of all chunks in bytes.
        len: u64,
        /// Whether a part of a failed chunk may have been written. The next chunk overwrites it.
        is_astray: bool,
    },
    /// Each in a file of its own. Files are numbered in the order of writing, not by chunk: C-Blosc2 checks a file
    /// number as if it were an offset, and opens none above the size of all chunks.
    Sparse { directory: PathBuf, files: u64 },
}

impl Output<NewFrame> {
    /// Starts a frame at a path.
    pub(crate) fn begin(new: NewFrame, header_len: u64) -> Result<Self, Error> {
        let path = Some(new.path().to_path_buf());
        if let Some(directory) = new.directory() {
            let chunks = WrittenChunks::Sparse { directory: directory.to_path_buf(), files: 0 };
            return Ok(Self { out: BufWriter::with_capacity(BUFFER, new), chunks, path });
        }
        match Self::contiguous(new, header_len) {
            Ok(output) => Ok(Self { path, ..output }),
            Err(error) => Err(name(error, path.as_ref())),
        }
    }
}

impl<W: Write + Seek> Output<W> {
    /// Starts a contiguous frame at the position of a writer. Until the header is written, zeros take its place, which
    /// no program reads as a frame.
    pub(crate) fn contiguous(mut out: W, header_len: u64) -> Result<Self, Error> {
        let start = out.stream_position().map_err(Error::writing)?;
        let mut out = BufWriter::with_capacity(BUFFER, out);
        io::copy(&mut io::repeat(0).take(header_len), &mut out).map_err(Error::writing)?;
        let chunks = WrittenChunks::Contiguous { start, header_len, len: 0, is_astray: false };
        Ok(Self { out, chunks, path: None })
    }

    /// Lets a function write a chunk and return its length. Returns the value for the chunk index: the offset, or the
    /// number of the file. After an error, the output is as before the call.
    pub(crate) fn put(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let put = match &mut self.chunks {
            WrittenChunks::Contiguous { start, header_len, len, is_astray } => {
                let end = start.saturating_add(*header_len).saturating_add(*len);
                let back = if *is_astray { Some(end) } else { None };
                *is_astray = true;
                let written = put_behind(&mut self.out, back, write);
                written.map(|written| {
                    *is_astray = false;
                    let offset = *len;
                    *len = offset.saturating_add(written);
                    offset
                })
            }
            WrittenChunks::Sparse { directory, files } => {
                let number = *files;
                put_file(directory.join(chunk_file::name(number)), write).map(|()| {
                    *files += 1;
                    number
                })
            }
        };
        put.map_err(|error| name(error, self.path.as_ref()))
    }

    /// Writes the index, the trailer, and last the header. The position is then after the frame.
    pub(crate) fn finish(self, header: &[u8], index: &NewIndex, trailer: &[u8]) -> Result<W, Error> {
        let path = self.path.clone();
        self.write_rest(header, index, trailer).map_err(|error| name(Error::writing(error), path.as_ref()))
    }

    fn write_rest(mut self, header: &[u8], index: &NewIndex, trailer: &[u8]) -> io::Result<W> {
        match self.chunks {
            WrittenChunks::Contiguous { start, header_len, len, is_astray } => {
                let behind_header = start.saturating_add(header_len);
                if is_astray {
                    self.out.seek(SeekFrom::Start(behind_header.saturating_add(len)))?;
                }
                index.write(&mut self.out)?;
                self.out.write_all(trailer)?;
                let after = self.out.stream_position()?;
                // The header comes last, so an unfinished file is not a frame.
                self.out.seek(SeekFrom::Start(start))?;
                self.out.write_all(header)?;
                self.out.flush()?;
                // A file opened for appending writes at its end, whatever the position.
                if self.out.stream_position()? != behind_header {
                    return Err(io::Error::new(
                        ErrorKind::Unsupported,
                        "the header cannot be written before the chunks: the writer only appends",
                    ));
                }
                self.out.seek(SeekFrom::Start(after))?;
            }
            WrittenChunks::Sparse { .. } => {
                self.out.write_all(header)?;
                index.write(&mut self.out)?;
                self.out.write_all(trailer)?;
            }
        }
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// Lets a function write a chunk after the others. `back` is the end of the chunks before it, if the writer must first
/// seek there.
fn put_behind<W: Write + Seek>(
    out: &mut BufWriter<W>,
    back: Option<u64>,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>,
) -> Result<u64, Error> {
    if let Some(end) = back {
        out.seek(SeekFrom::Start(end)).map_err(Error::writing)?;
    }
    write(out)
}

/// Lets a function write a chunk into a file of its own.
fn put_file(path: PathBuf, write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>) -> Result<(), Error> {
    let mut file = File::create(&path).map_err(Error::writing)?;
    if let Err(error) = write(&mut file) {
        // The file may stay if it cannot be removed: the index does not name it.
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(())
}

/// Adds the path of the frame to an error, instead of the temporary file's.
fn name(error: Error, path: Option<&PathBuf>) -> Error {
    match path {
        Some(path) => error.at(path),
        None => error,
    }
}
