//! The output of a new frame: a contiguous frame in one file, or a sparse frame with a file for each chunk.

use core::mem;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::chunk_file;
use crate::error::Error;
use crate::index::index_writer::{NewIndex, Stop};
use crate::read::frame_state::is_recent;
use crate::write::destination::NewFrame;
use crate::write::file_attributes::FileAttributes;

/// The length of the write buffer in bytes. Longer data is written directly, without a copy in the buffer.
const BUFFER: usize = 1 << 16;

/// A frame that is being written. The chunks are written before the header, the index and the trailer.
#[derive(Debug)]
pub(crate) struct Output<W: Write> {
    out: BufWriter<W>,
    chunks: WrittenChunks,
    /// The stored size of all chunks in bytes.
    pub(crate) len: u64,
    /// The path that the frame will have, for messages.
    path: Option<PathBuf>,
}

/// The chunks written so far.
#[derive(Debug)]
enum WrittenChunks {
    /// The chunks are in the frame, after the header. `start` is the position of the frame in the writer.
    Contiguous { start: u64, header_len: u64, position: Position },
    /// Each chunk has its own file. The file gets the next free number, because the number of the chunk could be too
    /// high for C-Blosc2. C-Blosc2 checks a file number as if it were an offset in the chunks. So it opens a file only
    /// if the number is at least 32 below the total stored size of the chunks in bytes. If most chunks are special,
    /// this size is small.
    Sparse {
        directory: PathBuf,
        files: Vec<u64>,
        /// The numbers of the files that a commit must not replace: the files of the old chunks, and the files that the
        /// same commit has written.
        taken: BTreeSet<u64>,
        next: u64,
        /// The first number that [`move_down`] has not tried yet.
        lowest: u64,
        /// The attributes of the old header file, if the chunks are added to an existing frame. Each new chunk file
        /// then gets these attributes, and is synced when it is complete.
        of_old: Option<FileAttributes>,
    },
}

/// The position of the writer of a contiguous frame.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// The end of the chunks.
    EndOfChunks,
    /// Another position, for example because a chunk was written only in part. The next write begins with a seek to the
    /// end of the chunks.
    Elsewhere,
    /// A write has begun and not ended. If a later call finds this value, that write has panicked. It is then unknown
    /// which bytes of the buffer have reached the file, so nothing more can be written.
    Writing,
}

impl Position {
    /// Begins a write at `end`, the end of the chunks. The caller sets the position when the write is over.
    fn begin(&mut self, out: &mut impl Seek, end: u64) -> Result<(), Error> {
        match mem::replace(self, Self::Writing) {
            Self::EndOfChunks => Ok(()),
            Self::Elsewhere => out.seek(SeekFrom::Start(end)).map(drop).map_err(|error| {
                *self = Self::Elsewhere;
                Error::writing(error)
            }),
            Self::Writing => {
                Err(Error::invalid_input("an earlier write has panicked, so the frame cannot be finished"))
            }
        }
    }
}

impl Output<NewFrame> {
    /// Starts writing a new frame to its temporary file or directory.
    pub(crate) fn begin(new: NewFrame, header_len: u64) -> Result<Self, Error> {
        let path = new.path().to_path_buf();
        if let Some(directory) = new.directory() {
            let directory = directory.to_path_buf();
            return Ok(Self::sparse(new, directory, BTreeSet::new(), 0, None));
        }
        let output = Self::contiguous(new, header_len).map_err(|error| error.at(Some(&path)))?;
        Ok(Self { path: Some(path), ..output })
    }

    /// Starts a new index file of a sparse frame. `len` is the total stored size of the old chunks that the frame
    /// keeps. `taken` lists the file numbers of the old chunks. These files are never replaced. Other existing files
    /// are replaced only by [`move_down`]. `of_old` has the attributes of the old header file.
    pub(crate) fn sparse(
        new: NewFrame,
        directory: PathBuf,
        taken: BTreeSet<u64>,
        len: u64,
        of_old: Option<FileAttributes>,
    ) -> Self {
        let path = Some(new.path().to_path_buf());
        // New files get higher numbers than all files in `taken`, although lower numbers may be free. The reason is
        // that another program may still use an old index, which refers to files that have been removed. If a new file
        // had the number of a removed file, that program would read the wrong chunk. If no file has this number, that
        // program gets an error. If the next number would be too high for C-Blosc2, the numbers start again at 0.
        let next = taken.last().map(|last| last + 1).filter(|&next| !chunk_file::is_too_high(next, len));
        let next = next.unwrap_or_default();
        let chunks = WrittenChunks::Sparse { directory, files: Vec::new(), taken, next, lowest: 0, of_old };
        Self { out: BufWriter::with_capacity(BUFFER, new), chunks, len, path }
    }
}

#[cfg(feature = "compress")]
impl Output<File> {
    /// Starts writing after the end of a contiguous frame. `len` is the length of the frame without its header.
    pub(crate) fn behind(file: File, header_len: u64, len: u64, path: PathBuf) -> Self {
        // The position of the file is not known, so the first write must seek.
        let chunks = WrittenChunks::Contiguous { start: 0, header_len, position: Position::Elsewhere };
        Self { out: BufWriter::with_capacity(BUFFER, file), chunks, len, path: Some(path) }
    }
}

#[cfg(feature = "compress")]
impl<W: Write> Output<W> {
    /// The numbers of the chunk files that were created.
    pub(crate) fn files(&self) -> &[u64] {
        match &self.chunks {
            WrittenChunks::Contiguous { .. } => &[],
            WrittenChunks::Sparse { files, .. } => files,
        }
    }
}

impl<W: Write + Seek> Output<W> {
    /// Writes the index and the trailer after the chunks of a contiguous frame, but not its header.
    #[cfg(feature = "compress")]
    pub(crate) fn finish_behind(mut self, index: &NewIndex, trailer: &[u8]) -> Result<(), Error> {
        let written = self.write_after_chunks(index, trailer, &mut || Ok(()));
        let written = written.and_then(|()| self.out.flush().map_err(Error::writing));
        written.map_err(|error| error.at(self.path.as_deref()))
    }

    /// Writes the index and the trailer.
    fn write_after_chunks(
        &mut self,
        index: &NewIndex,
        trailer: &[u8],
        stop: &mut Stop<'_>,
    ) -> Result<(), Error> {
        if let WrittenChunks::Contiguous { start, header_len, position } = &mut self.chunks {
            position.begin(&mut self.out, start.saturating_add(*header_len).saturating_add(self.len))?;
        }
        index.write(&mut self.out, stop)?;
        self.out.write_all(trailer).map_err(Error::writing)
    }

    /// Starts a contiguous frame at the position of a writer. First writes zeros where the header will be, so no
    /// program mistakes the unfinished file for a frame.
    pub(crate) fn contiguous(mut out: W, header_len: u64) -> Result<Self, Error> {
        let start = out.stream_position().map_err(Error::writing)?;
        let mut out = BufWriter::with_capacity(BUFFER, out);
        io::copy(&mut io::repeat(0).take(header_len), &mut out).map_err(Error::writing)?;
        let chunks = WrittenChunks::Contiguous { start, header_len, position: Position::EndOfChunks };
        Ok(Self { out, chunks, len: 0, path: None })
    }

    /// Calls `write`, which writes a chunk and returns the length of the chunk. Returns the value for the chunk index:
    /// the offset of the chunk, or the number of its file. After an error, the next chunk is written in the place of
    /// the failed chunk.
    pub(crate) fn put(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let put = match &mut self.chunks {
            WrittenChunks::Contiguous { start, header_len, position } => {
                let end = start.saturating_add(*header_len).saturating_add(self.len);
                position.begin(&mut self.out, end).and_then(|()| {
                    let written = write(&mut self.out);
                    *position = if written.is_ok() { Position::EndOfChunks } else { Position::Elsewhere };
                    written.map(|written| (self.len, written))
                })
            }
            WrittenChunks::Sparse { directory, files, taken, next, lowest, of_old } => {
                create_file(directory, taken, next, of_old.as_ref()).and_then(|(mut file, path)| {
                    let written = write(&mut file).and_then(|written| {
                        let synced = if of_old.is_some() { file.sync_all() } else { Ok(()) };
                        synced.map(|()| written).map_err(Error::writing)
                    });
                    drop(file);
                    match written {
                        Ok(written) => {
                            let mut number = *next;
                            if chunk_file::is_too_high(number, self.len.saturating_add(written)) {
                                number = move_down(directory, number, taken, lowest);
                            } else {
                                *next += 1;
                            }
                            files.push(number);
                            // Only the files of a commit are ever moved down, so only a commit needs these numbers.
                            if of_old.is_some() {
                                taken.insert(number);
                            }
                            Ok((number, written))
                        }
                        Err(error) => {
                            // If the unfinished chunk file cannot be removed, it does no harm, because the index does
                            // not refer to it.
                            let _ = fs::remove_file(path);
                            Err(error)
                        }
                    }
                })
            }
        };
        let (place, written) = put.map_err(|error| error.at(self.path.as_deref()))?;
        self.len = self.len.saturating_add(written);
        Ok(place)
    }

    /// Writes the index, the trailer and the header. In a contiguous frame, the header is written last, and then the
    /// position of the writer is set to the end of the frame. An index can have 2 GiB, so `stop` is called many times
    /// while the index is written. If `stop` returns an error, the writing ends with this error.
    pub(crate) fn finish(
        mut self,
        header: &[u8],
        index: &NewIndex,
        trailer: &[u8],
        mut stop: impl FnMut() -> Result<(), Error>,
    ) -> Result<W, Error> {
        let path = self.path.take();
        self.write_rest(header, index, trailer, &mut stop).map_err(|error| error.at(path.as_deref()))
    }

    fn write_rest(
        mut self,
        header: &[u8],
        index: &NewIndex,
        trailer: &[u8],
        stop: &mut Stop<'_>,
    ) -> Result<W, Error> {
        match self.chunks {
            WrittenChunks::Contiguous { start, header_len, .. } => {
                self.write_after_chunks(index, trailer, stop)?;
                write_before(&mut self.out, start, header, header_len).map_err(Error::writing)?;
            }
            WrittenChunks::Sparse { .. } => {
                self.out.write_all(header).map_err(Error::writing)?;
                self.write_after_chunks(index, trailer, stop)?;
            }
        }
        self.out.into_inner().map_err(|error| Error::writing(error.into_error()))
    }
}

/// Writes the header of a contiguous frame. The header is written after all other parts, so an unfinished file is not a
/// frame.
fn write_before(out: &mut (impl Write + Seek), start: u64, header: &[u8], header_len: u64) -> io::Result<()> {
    let after = out.stream_position()?;
    out.seek(SeekFrom::Start(start))?;
    out.write_all(header)?;
    out.flush()?;
    // This test detects a file that was opened for appending. Such a file ignores the position, so the header is now at
    // the end of the file.
    if out.stream_position()? != start.saturating_add(header_len) {
        return Err(io::Error::new(
            ErrorKind::Unsupported,
            "the header cannot be written before the chunks: the writer only appends",
        ));
    }
    out.seek(SeekFrom::Start(after)).map(drop)
}

/// Renames a new chunk file whose number is too high for C-Blosc2. The new number is the lowest free number from
/// `lowest` on. A number in `taken` is not free, and neither is the number of a recently written file. Returns the
/// number of the file after the call. Sets `lowest` to the first number that was not tried.
// Killed commits can have left files with all low numbers. The index does not refer to these files, so they can be
// replaced. But a recently written file is not replaced: C-Blosc2 without locks can have written it just now, and will
// write its index a moment later. (The lock keeps out other writers of this crate.)
fn move_down(directory: &Path, number: u64, taken: &BTreeSet<u64>, lowest: &mut u64) -> u64 {
    let path = |number| directory.join(chunk_file::name(number));
    while *lowest < number {
        let lower = *lowest;
        *lowest += 1;
        let is_free = || match fs::symlink_metadata(path(lower)) {
            Ok(metadata) => metadata.is_file() && !is_recent(&metadata),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if !taken.contains(&lower) && is_free() && fs::rename(path(number), path(lower)).is_ok() {
            return lower;
        }
    }
    number
}

/// Creates the chunk file with the first number from `next` on that is not in use, and sets `next` to this number. The
/// file gets the attributes `of_old`, or the default mode of new files.
fn create_file(
    directory: &Path,
    taken: &BTreeSet<u64>,
    next: &mut u64,
    of_old: Option<&FileAttributes>,
) -> Result<(File, PathBuf), Error> {
    let mut options = File::options();
    options.write(true).create_new(true);
    // The file is private until it has its attributes. The attributes are set through the open file, not through its
    // path. Otherwise another user of the directory could put a link at the path, and a process of root would change
    // the attributes of the link's target.
    #[cfg(unix)]
    if of_old.is_some() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    loop {
        if !taken.contains(next) {
            let path = directory.join(chunk_file::name(*next));
            match options.open(&path) {
                // A killed commit can have left this file. But the file can also belong to a chunk whose index entry is
                // damaged, so it stays, and the next number is tried. Only `move_down` replaces such files, because it
                // needs a low number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                file => {
                    let file = file.map_err(Error::writing)?;
                    if let Some(attributes) = of_old {
                        attributes.give_to(&file, true);
                    }
                    return Ok((file, path));
                }
            }
        }
        *next += 1;
    }
}
