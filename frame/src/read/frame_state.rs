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
use crate::file_version::{FileStamp, FileVersion, StampHash, has_changed, leads_to};
use crate::header::frame::Frame;
use crate::read::lock::share_sidecar;
use crate::read::open::open_frame;
use crate::source::ReadAt;

/// The maximum number of bytes to compare at each end of the range from the index to the trailer. The bytes between the
/// two ends are not compared, because a damaged header can claim any length, and a long range takes long to read.
const COMPARED: u64 = 1 << 22;

/// If a file was written within this time, its writer may not have finished.
const RECENT: Duration = Duration::from_secs(1);

/// The pause between two looks at a file that was written recently.
pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

/// The maximum number of looks at a file that was written recently.
const LOOKS: usize = 20;

/// A file that was written recently counts as finished if this many looks in a row find no further write.
// On a busy system, a writer can wait for the processor between two writes for longer than `INTERVAL`.
pub(crate) const EQUAL_LOOKS: usize = 6;

/// Whether a file was written so recently that its writer may not have finished. False for a time in the future: it
/// comes from another clock, so the age of the file is not known.
pub(crate) fn is_recent(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age <= RECENT)
}

/// The header of a frame, a hash of its index and trailer, and the version of its file.
// The header alone does not show every change, because a sparse frame can change without a change of its header. The
// index and the trailer do not show every change either, because C-Blosc2 overwrites a chunk in place if the new chunk
// is not longer. The version of the file shows such a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameState {
    header: Vec<u8>,
    index_and_trailer: u64,
    version: Option<FileVersion>,
}

impl FrameState {
    /// Reads the state of a frame, for a comparison with a later state.
    pub(crate) fn of<R: ReadAt>(frame: &Frame<R>) -> Result<Self, Error> {
        // The version is read first. If the file is written after that, the recorded version is older than the recorded
        // bytes, so a later comparison finds a change.
        let version = frame.reader.version();
        let header = frame.header();
        // In a frame without items, `cbytes` in the header can still be above 0, and then `index_start` would be wrong.
        let start = if header.nbytes > 0 { index_start(header) } else { header.header_len as u64 };
        let len = header.frame_len.saturating_sub(start);
        let mut hasher = DefaultHasher::new();
        hasher.write(&frame.read_range(start, len.min(COMPARED))?);
        let last = len.saturating_sub(COMPARED).min(COMPARED);
        hasher.write(&frame.read_range(start.saturating_add(len - last), last)?);
        Ok(Self { header: frame.header_bytes().to_vec(), index_and_trailer: hasher.finish(), version })
    }

    /// Opens the frame again. Fails if the frame is no longer in this state, or if a file other than `locked` is now at
    /// its path.
    pub(crate) fn reopen(&self, path: &Path, locked: Option<&File>) -> Result<Frame, Error> {
        let is_same = |frame: &Frame| {
            let is_locked = locked.is_none_or(|locked| leads_to(path, locked).unwrap_or(false));
            Ok(is_locked && self.has_version_of(frame) && Self::of(frame)? == *self)
        };
        match open_frame(path).and_then(|frame| Ok(is_same(&frame)?.then_some(frame))) {
            Ok(Some(frame)) => Ok(frame),
            Err(error) if error.kind() != ErrorKind::Malformed => Err(error),
            Ok(None) | Err(_) => Err(Error::changing(None)),
        }
    }

    /// Whether a frame has the header and the version of this state. Index and trailer are not read.
    pub(crate) fn has_version_of<R: ReadAt>(&self, frame: &Frame<R>) -> bool {
        self.header == frame.header_bytes() && self.version == frame.reader.version()
    }

    /// Calls `write`, which changes the file of the frame. Then records the new version of the file in this state,
    /// unless another program has written to the file before the call.
    pub(crate) fn follow<T>(&mut self, file: &File, write: impl FnOnce() -> T) -> T {
        let is_of_file = self.version == file.version();
        let written = write();
        if is_of_file {
            self.record_version(file);
        }
        written
    }

    /// Records the version of the file of the frame, which no other program has written since this state was read.
    pub(crate) fn record_version(&mut self, file: &File) {
        self.version = file.version();
    }

    /// Whether another state has the same header, index and trailer. The versions of the files are not compared.
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
    /// The metadata of the chunk file or, if the file is missing as before, of the directory. `None` if the file has
    /// changed since it was read.
    // C-Blosc2 truncates a chunk file before it writes the new chunk. If C-Blosc2 replaces the whole frame, it removes
    // the chunk files one by one. In both cases, a chunk file has changed, but the index can still be the old index.
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
    /// given, the index and the trailer are compared too. If `chunk_file` is given, this file is compared too.
    fn is_changed(&self, state: Option<&FrameState>, chunk_file: Option<&ChunkFileState>) -> bool {
        let Some(path) = self.path() else { return false };
        let (mut before, mut equal_looks) = (None, 0);
        for _ in 0..LOOKS {
            // `is_at` is also false if the file was removed, or if its new header is not complete yet.
            if !is_at(path, self.header_bytes(), state) {
                return true;
            }
            // If the lock file is locked, a writer of C-Blosc2 is changing the frame.
            let lock = share_sidecar(path, self.header().is_sparse(), Some(Instant::now()));
            if lock.is_err_and(|error| error.kind() == ErrorKind::Locked) {
                return true;
            }
            // `is_at` has found the file just before, so the file was removed after that.
            let Ok(metadata) = path.metadata() else { return true };
            // A chunk can be overwritten in place. Only the version of the file shows this change.
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
            // header yet. In this case, more writes follow soon, and a later look finds them.
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
