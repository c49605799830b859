//! The state of a frame in its file, to find out whether a writer has changed it.

use std::collections::hash_map::DefaultHasher;
use std::fs::{File, Metadata};
use std::hash::Hasher;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::chunk::entry::index_start;
use crate::chunk_file;
use crate::error::{Error, ErrorKind};
use crate::file_version::{FileStamp, FileVersion, StampHash, has_changed};
use crate::header::frame::Frame;
use crate::read::lock::share_sidecar;
use crate::read::open::open_frame;
use crate::source::ReadAt;

/// The maximum number of bytes to compare at each end of index and trailer together. The bytes between are not
/// compared, because a damaged header can claim any length.
const COMPARED: u64 = 1 << 22;

/// If a file was written this short time ago, its writer may not have finished.
const RECENT: Duration = Duration::from_secs(1);

/// The pause between two looks at a file that was written recently.
pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

/// The largest number of looks.
const LOOKS: usize = 20;

/// A file that was written recently counts as finished if this many looks in a row find no further write.
// On a busy system, a writer can wait for the processor between two writes for longer than `INTERVAL`.
pub(crate) const EQUAL_LOOKS: usize = 6;

/// Whether a file was written so recently that its writer may not have finished. A time in the future comes from
/// another clock, so it tells nothing.
pub(crate) fn is_recent(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age <= RECENT)
}

/// The header of a frame, a hash of its index and trailer, and the version of its file.
// The header alone does not show every change: a change of a sparse frame can leave an equal header. Nor do the index
// and the trailer: C-Blosc2 overwrites a chunk in its place if the new chunk is not longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameState {
    header: Vec<u8>,
    index_and_trailer: u64,
    version: Option<FileVersion>,
}

impl FrameState {
    /// The state of a frame, before anything else of it is read.
    pub(crate) fn of<R: ReadAt>(frame: &Frame<R>) -> Result<Self, Error> {
        // The version is read first. If the file is written meanwhile, the version is too old, and the change is
        // noticed.
        let version = frame.reader.version();
        let header = frame.header();
        // The header of a frame without items can still count bytes of chunks.
        let start = if header.nbytes > 0 { index_start(header) } else { header.header_len as u64 };
        let len = header.frame_len.saturating_sub(start);
        let mut hasher = DefaultHasher::new();
        hasher.write(&frame.read_range(start, len.min(COMPARED))?);
        let last = len.saturating_sub(COMPARED).min(COMPARED);
        hasher.write(&frame.read_range(start.saturating_add(len - last), last)?);
        Ok(Self { header: frame.header_bytes().to_vec(), index_and_trailer: hasher.finish(), version })
    }

    /// Whether a frame has the header and the version of this state. Index and trailer are not read.
    pub(crate) fn has_version_of<R: ReadAt>(&self, frame: &Frame<R>) -> bool {
        self.header == frame.header_bytes() && self.version == frame.reader.version()
    }

    /// Calls `write` to change the file with the frame. The state then gets the new version of the file, unless another
    /// program has written to the file before.
    pub(crate) fn follow<T>(&mut self, file: &File, write: impl FnOnce() -> T) -> T {
        let is_of_file = self.version == file.version();
        let written = write();
        if is_of_file {
            self.version = file.version();
        }
        written
    }

    /// Whether another state has the same header, index and trailer, whatever its file is.
    fn has_content_of(&self, other: &Self) -> bool {
        self.header == other.header && self.index_and_trailer == other.index_and_trailer
    }
}

/// A chunk file of a sparse frame, as it was when it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkFileState {
    pub(crate) number: u64,
    /// `None` if the file was missing.
    pub(crate) version: Option<StampHash>,
}

impl ChunkFileState {
    /// The metadata of the file or, if it is missing, of the directory. `None` if the file has changed since it was read.
    // C-Blosc2 truncates a chunk file before it writes the new chunk. If it replaces the whole frame, it removes the files
    // one by one. In both cases, the index can be the old one for a while.
    fn unchanged(&self, directory: &Path) -> Option<Metadata> {
        let file = directory.join(chunk_file::name(self.number)).metadata().ok().filter(Metadata::is_file);
        let version = file.as_ref().map(|file| FileStamp::of(file).to_hash());
        if version == self.version { file.or_else(|| directory.metadata().ok()) } else { None }
    }
}

#[cfg(feature = "decompress")]
impl<R> Frame<R> {
    /// Replaces an error about the header by [`ErrorKind::Changing`] if a writer may have caused it.
    #[cold]
    pub(crate) fn header_or_changing(&self, error: Error) -> Error {
        if can_be_caused(&error) && self.is_changed(None, None) { error.into_changing() } else { error }
    }
}

impl<R> Frame<R> {
    /// Whether the frame at the path has been changed since this frame was opened, or is being changed. If `state` is
    /// given, the index and the trailer are compared too, and if `chunk_file` is given, this file.
    fn is_changed(&self, state: Option<&FrameState>, chunk_file: Option<&ChunkFileState>) -> bool {
        let Some(path) = self.path() else { return false };
        let (mut before, mut equal_looks) = (None, 0);
        for _ in 0..LOOKS {
            // If there is no frame any more, the file has gone, or has an unfinished header.
            if !is_at(path, self.header_bytes(), state) {
                return true;
            }
            // A writer of C-Blosc2 with locks is changing the frame.
            let lock = share_sidecar(path, self.header().is_sparse(), Some(Instant::now()));
            if lock.is_err_and(|error| error.kind() == ErrorKind::Locked) {
                return true;
            }
            // `is_at` found the file a moment ago, so it was removed since.
            let Ok(metadata) = path.metadata() else { return true };
            // A chunk can be overwritten in its place, which neither the header nor the index shows.
            let version = FileVersion::from(&metadata);
            if has_changed(self.version.as_ref(), Some(&version)) {
                return true;
            }
            let chunk_file =
                chunk_file.zip(self.directory()).map(|(read, directory)| read.unchanged(directory));
            if let Some(None) = chunk_file {
                return true;
            }
            let chunk_file = chunk_file.flatten();
            let versions = Some((version, chunk_file.as_ref().map(FileStamp::of)));
            equal_looks = if before == versions { equal_looks + 1 } else { 1 };
            // The frame may have been opened while a writer without locks had overwritten the chunk index, but not the
            // header yet. Then more writes follow soon.
            let is_recent = [Some(&metadata), chunk_file.as_ref()].into_iter().flatten().any(is_recent);
            if !is_recent || equal_looks == EQUAL_LOOKS {
                return false;
            }
            before = versions;
            thread::sleep(INTERVAL);
        }
        true
    }
}

impl<R: ReadAt> Frame<R> {
    /// Replaces an error of reading by [`ErrorKind::Changing`] if a writer may have caused it.
    ///
    /// A frame that was opened by its path can be changed or replaced while it is read. Bytes from before and after the
    /// change then contradict each other, as if the frame were damaged. `chunk_file` is the chunk file that was
    /// read last, if the frame is sparse.
    #[cold]
    pub(crate) fn or_changing(&self, error: Error, chunk_file: Option<&ChunkFileState>) -> Error {
        if !can_be_caused(&error) || self.path().is_none() {
            return error;
        }
        let state = FrameState::of(self).ok();
        if self.is_changed(state.as_ref(), chunk_file) { error.into_changing() } else { error }
    }
}

/// Whether a writer can be the cause of an error of reading.
pub(crate) fn can_be_caused(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Malformed
            | ErrorKind::Unsupported
            | ErrorKind::TooLarge
            | ErrorKind::Decode
            | ErrorKind::ArrayUnknown
            | ErrorKind::OrderUnknown
    )
}

/// Whether the frame at a path has this header and this state. False if there is no frame.
fn is_at(path: &Path, header: &[u8], state: Option<&FrameState>) -> bool {
    let Ok(now) = open_frame(path) else { return false };
    now.header_bytes() == header
        && state.is_none_or(|state| FrameState::of(&now).is_ok_and(|now| now.has_content_of(state)))
}
