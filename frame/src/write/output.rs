//! Where the parts of a new frame go: all into one file, or each chunk into a file of its own.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::error::Error;
use crate::format::chunk_file;
use crate::write::destination::NewFrame;
use crate::write::index::NewIndex;

/// Bytes that are collected before they are written. A longer chunk is written at once.
const BUFFER: usize = 1 << 16;

/// A frame that is being written: first its chunks, and then the rest.
#[derive(Debug)]
pub(crate) struct Output<W: Write> {
    out: BufWriter<W>,
    chunks: Chunks,
    /// The path that the frame will have, for messages.
    path: Option<PathBuf>,
}

#[derive(Debug)]
enum Chunks {
    /// In the frame, which begins at this position of the writer, behind the header.
    Contiguous {
        start: u64,
        header_len: u64,
        /// The bytes of all chunks.
        len: u64,
        /// Whether a part of a chunk may have been written, which the next one replaces.
        is_astray: bool,
    },
    /// Each in a file of its own. The number of files so far is that of the next one, whatever the number of the chunk is:
    /// C-Blosc2 opens no file whose number is above the bytes of all chunks.
    Sparse { directory: PathBuf, files: u64 },
}

impl Output<NewFrame> {
    /// Begins a frame at a path.
    pub(crate) fn begin(new: NewFrame, header_len: u64) -> Result<Self, Error> {
        let path = Some(new.path().to_path_buf());
        if let Some(directory) = new.directory() {
            let chunks = Chunks::Sparse { directory: directory.to_path_buf(), files: 0 };
            return Ok(Self { out: BufWriter::with_capacity(BUFFER, new), chunks, path });
        }
        match Self::contiguous(new, header_len) {
            Ok(output) => Ok(Self { path, ..output }),
            Err(error) => Err(name(error, path.as_ref())),
        }
    }
}

impl<W: Write + Seek> Output<W> {
    /// Begins a contiguous frame at the position of a writer. Until the header is written, there are zeros in its place,
    /// which nobody takes for a frame.
    pub(crate) fn contiguous(mut out: W, header_len: u64) -> Result<Self, Error> {
        let start = out.stream_position().map_err(Error::writing)?;
        let mut out = BufWriter::with_capacity(BUFFER, out);
        io::copy(&mut io::repeat(0).take(header_len), &mut out).map_err(Error::writing)?;
        let chunks = Chunks::Contiguous { start, header_len, len: 0, is_astray: false };
        Ok(Self { out, chunks, path: None })
    }

    /// Has a chunk written by a function that says how long it was. Returns what the chunk index says of the chunk: its
    /// offset, or the number of its file. After an error, it is as if there had been no chunk.
    pub(crate) fn put(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let put = match &mut self.chunks {
            Chunks::Contiguous { start, header_len, len, is_astray } => {
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
            Chunks::Sparse { directory, files } => {
                let number = *files;
                put_file(directory.join(chunk_file::name(number)), write).map(|()| {
                    *files += 1;
                    number
                })
            }
        };
        put.map_err(|error| name(error, self.path.as_ref()))
    }

    /// Writes the rest of the frame: what follows the chunks, and the header. The position is after the frame then.
    pub(crate) fn finish(self, header: &[u8], index: &NewIndex, trailer: &[u8]) -> Result<W, Error> {
        let path = self.path.clone();
        self.write_rest(header, index, trailer).map_err(|error| name(Error::writing(error), path.as_ref()))
    }

    fn write_rest(mut self, header: &[u8], index: &NewIndex, trailer: &[u8]) -> io::Result<W> {
        match self.chunks {
            Chunks::Contiguous { start, header_len, len, is_astray } => {
                let behind_header = start.saturating_add(header_len);
                if is_astray {
                    self.out.seek(SeekFrom::Start(behind_header.saturating_add(len)))?;
                }
                index.write(&mut self.out)?;
                self.out.write_all(trailer)?;
                let after = self.out.stream_position()?;
                // The header comes last: what is not finished is not a frame.
                self.out.seek(SeekFrom::Start(start))?;
                self.out.write_all(header)?;
                self.out.flush()?;
                // A file that was opened to append writes at its end, wherever one seeks.
                if self.out.stream_position()? != behind_header {
                    return Err(io::Error::new(
                        ErrorKind::Unsupported,
                        "the header cannot be written before the chunks: the writer only appends",
                    ));
                }
                self.out.seek(SeekFrom::Start(after))?;
            }
            Chunks::Sparse { .. } => {
                self.out.write_all(header)?;
                index.write(&mut self.out)?;
                self.out.write_all(trailer)?;
            }
        }
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// Has a chunk written behind the others, after going back to where they end if that is given.
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

/// Has a chunk written into a file of its own.
fn put_file(path: PathBuf, write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>) -> Result<(), Error> {
    let mut file = File::create(&path).map_err(Error::writing)?;
    if let Err(error) = write(&mut file) {
        // Nobody reads it: the index will not name it.
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(())
}

/// Names the frame that cannot be written, rather than the temporary file.
fn name(error: Error, path: Option<&PathBuf>) -> Error {
    match path {
        Some(path) => error.at(path),
        None => error,
    }
}
