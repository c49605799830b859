//! Reads and searches the bytes of a damaged frame. Nothing in these bytes is trusted.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memchr::memmem;

use crate::check::chunk_files;
use crate::chunk_file::{SPARSE_INDEX, sparse_folder};
use crate::error::Error;
use crate::file_version::{FileVersion, has_changed};
use crate::header::fields::{FRAME_TYPE, HeaderField};
use crate::header::frame::Frame;
use crate::header::frame_header::{MAGIC, MAGIC_OFFSET};
use crate::progress::Progress;
use crate::read::byte_ranges::version_now;
use crate::read::frame_state::can_be_caused;
use crate::read::open::{file_with_header, not_a_file, open_at_once};
use crate::source::{ReadAt, read_up_to};

/// The number of bytes searched at a time.
const PIECE: u64 = 1 << 20;

/// A file with a damaged frame. The bytes of the frame begin at `offset`. The frame ends at the end of the file, or
/// where the next frame in the file begins.
#[derive(Debug)]
pub(crate) struct DamagedFile<'p, R> {
    reader: R,
    /// The progress callback of the salvage. The callback is a field of `DamagedFile` because a search of the whole
    /// file calls it too.
    pub(crate) progress: Progress<'p>,
    offset: u64,
    /// The number of bytes from `offset` on that can belong to the frame.
    pub(crate) len: u64,
    /// The number of bytes from `offset` to the end of the file.
    available: u64,
    /// The version of the file before its first read; `None` if it is not known, or the file is missing.
    version: Option<FileVersion>,
    /// The time just before the file at `path` was opened.
    opened: Option<SystemTime>,
    /// The path of the file, if the file was opened by its path.
    pub(crate) path: Option<PathBuf>,
    is_sparse: bool,
}

impl DamagedFile<'_, File> {
    /// Opens the file of a frame, or the header file in the directory of a sparse frame.
    pub(crate) fn open(given: &Path) -> Result<Self, Error> {
        if let Some(path) = missing_header(given) {
            // An empty temporary file is read instead of the missing file, so the header counts as lost.
            let empty = tempfile::tempfile().map_err(|error| Error::io("replace", &path, error))?;
            return Ok(Self { path: Some(path), is_sparse: true, version: None, ..Self::new(empty, 0)? });
        }
        let (path, opened) = (file_with_header(given)?, Some(SystemTime::now()));
        let file = open_at_once(&path).map_err(|error| Error::io("read", &path, error))?;
        if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(not_a_file(&path));
        }
        let mut file = Self::new(file, 0).map_err(|error| error.at(Some(&path)))?;
        // If a directory was given, the frame in it is sparse. If a file named `chunks.b2frame` was given, the frame
        // can also be contiguous. The frame type in the header may be damaged, so the frame counts as contiguous only
        // if its header says so and there are no chunk files beside it.
        if let Some(directory) = sparse_folder(&path) {
            let frame_type = file.read((HeaderField::Flags.present_offset() + FRAME_TYPE) as u64, 1)?;
            let has_chunk_files = || chunk_files::list(directory).map_or(true, |files| !files.is_empty());
            file.is_sparse = given.is_dir() || frame_type != [0] || has_chunk_files();
        }
        Ok(Self { path: Some(path), opened, ..file })
    }
}

/// If `given` is the directory of a sparse frame without its header file, returns the path that this file should have.
/// Such a directory has chunk files, but no `chunks.b2frame`.
fn missing_header(given: &Path) -> Option<PathBuf> {
    let path = given.join(SPARSE_INDEX);
    let is_missing = given.is_dir() && path.symlink_metadata().is_err();
    is_missing.then_some(path).filter(|_| chunk_files::list(given).is_ok_and(|files| !files.is_empty()))
}

impl<'p, R: ReadAt> DamagedFile<'p, R> {
    pub(crate) fn new(reader: R, offset: u64) -> Result<Self, Error> {
        let version = reader.version();
        let available = reader.size().map_err(Error::reading)?.saturating_sub(offset);
        let progress = Progress::default();
        let (opened, path, is_sparse) = (None, None, false);
        Ok(Self { reader, progress, offset, len: available, available, version, opened, path, is_sparse })
    }

    /// Limits the frame to the bytes before the next frame in the file. So the chunk index of the next frame cannot be
    /// mistaken for the index of this frame.
    pub(crate) fn up_to_next_frame(mut self) -> Result<Self, Error> {
        let own = MAGIC_OFFSET as u64;
        if let Some(next) = self.search(own + 1, MAGIC)? {
            self.len = next - own;
        }
        Ok(self)
    }

    /// Returns the offset of the first occurrence of `bytes` at or after `start`.
    pub(crate) fn search(&mut self, start: u64, bytes: &[u8]) -> Result<Option<u64>, Error> {
        Search::new(bytes).next(self, start)
    }

    /// The directory of the frame, if the frame is sparse and was opened by its path.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.is_sparse).and_then(sparse_folder)
    }

    /// Reads `length` bytes of the frame, from offset `start` on. Reads fewer bytes if the frame ends earlier.
    pub(crate) fn read(&self, start: u64, length: u64) -> Result<Vec<u8>, Error> {
        let length = length.min(self.len.saturating_sub(start));
        let mut bytes = Vec::new();
        read_up_to(&self.reader, self.offset.saturating_add(start), length, &mut bytes)
            .map_err(|error| Error::reading(error).at(self.path.as_deref()))?;
        if (bytes.len() as u64) < length { Err(Error::changing(None)) } else { Ok(bytes) }
    }

    /// Returns a frame with this header, whose reader is this file. Also returns the progress callback of the salvage.
    pub(crate) fn frame(&mut self, header: Frame<()>) -> (Frame<&R>, &mut Progress<'p>) {
        let (offset, opened, path, version) =
            (self.offset, self.opened, self.path.clone(), self.version.clone());
        let frame = Frame { offset, path, opened, version, ..header }.map_reader(|()| &self.reader);
        (frame, &mut self.progress)
    }

    /// Returns `result`, or the error `Changing` if the file has changed since it was opened. After a change, `result`
    /// may come from a mix of two states of the file. An error that a change cannot cause is returned as it is.
    pub(crate) fn unless_changed<T>(&self, prefix: &[u8], result: Result<T, Error>) -> Result<T, Error> {
        match result {
            Err(error) if !can_be_caused(&error) => Err(error),
            result if self.is_unchanged(prefix)? => result,
            Ok(_) => Err(Error::changing(None)),
            Err(error) => Err(error.into_changing()),
        }
    }

    /// Whether the file seems unchanged since it was opened: its version and length are the same, and the frame still
    /// begins with `prefix`.
    fn is_unchanged(&self, prefix: &[u8]) -> Result<bool, Error> {
        // If the header file is missing, there is no version to compare.
        if let Some(version) = &self.version {
            let now = version_now(self.path.as_deref(), self.is_sparse, &self.reader)?;
            if has_changed(Some(version), now.as_ref()) {
                return Ok(false);
            }
        }
        let now = self.reader.size().map_err(|error| Error::reading(error).at(self.path.as_deref()))?;
        Ok(now.saturating_sub(self.offset) == self.available && self.read(0, prefix.len() as u64)? == prefix)
    }
}

/// A search for all occurrences of `bytes` in a damaged file. It reads each piece of the file once.
pub(crate) struct Search<'b> {
    bytes: &'b [u8],
    /// The offsets of `bytes` in the piece of the file that was read last. `next` has not returned these offsets yet.
    found: VecDeque<u64>,
    /// All bytes before this offset have been searched.
    searched: u64,
}

impl<'b> Search<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, found: VecDeque::new(), searched: 0 }
    }

    /// Returns the offset of the next occurrence at or after `start`. From one call to the next, `start` must not
    /// become smaller.
    pub(crate) fn next<R: ReadAt>(
        &mut self,
        file: &mut DamagedFile<'_, R>,
        start: u64,
    ) -> Result<Option<u64>, Error> {
        loop {
            match self.found.pop_front() {
                Some(found) if found >= start => return Ok(Some(found)),
                Some(_) => {}
                None if self.searched >= file.len => return Ok(None),
                None => {
                    file.progress.advance(0)?;
                    let at = self.searched.max(start);
                    let piece = file.read(at, PIECE.saturating_add(self.bytes.len() as u64 - 1))?;
                    self.found.extend(memmem::find_iter(&piece, self.bytes).map(|offset| at + offset as u64));
                    self.searched = at.saturating_add(PIECE);
                }
            }
        }
    }
}
