//! The state of a frame in its file, to find out whether a writer has changed it.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io::{Read, Seek};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::chunk::entry::index_start;
use crate::error::{Error, ErrorKind};
use crate::header::frame::Frame;
use crate::read::lock::share_sidecar;

/// If index and trailer together are longer than twice this number of bytes, only this number of their first and of their
/// last bytes is compared. A damaged header can claim any length.
const COMPARED: u64 = 1 << 22;

/// If a file was written this short time ago, its writer may not have finished.
const RECENT: Duration = Duration::from_secs(1);

/// The pause between two looks at a file that was written recently.
const INTERVAL: Duration = Duration::from_millis(10);

/// The largest number of looks.
const LOOKS: usize = 20;

/// The header of a frame, and a hash of its index and trailer.
// The header alone does not tell: a change of a sparse frame can leave an equal one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameState {
    header: Vec<u8>,
    index_and_trailer: u64,
}

impl FrameState {
    pub(crate) fn of<R: Read + Seek>(frame: &mut Frame<R>) -> Result<Self, Error> {
        let header = frame.header();
        // The header of a frame without items can still count bytes of chunks.
        let start = if header.nbytes > 0 { index_start(header) } else { header.header_len as u64 };
        let len = header.frame_len.saturating_sub(start);
        let mut hasher = DefaultHasher::new();
        hasher.write(&frame.read_range(start, len.min(COMPARED))?);
        let last = len.saturating_sub(COMPARED).min(COMPARED);
        hasher.write(&frame.read_range(start.saturating_add(len - last), last)?);
        Ok(Self { header: frame.header_bytes().to_vec(), index_and_trailer: hasher.finish() })
    }
}

impl Frame {
    /// Looks whether the frame at the path is another one by now, and if so, replaces this frame by it. Returns whether it
    /// did. So a program can follow an array that another process changes.
    ///
    /// The header, the chunk index and the trailer are compared. A program can also change a chunk without a trace in
    /// them: C-Blosc2 overwrites a chunk in its place if the new one is not longer.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) if the frame was not opened by its path, and the errors of
    /// [`open`](Self::open).
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.b2nd");
    /// # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
    /// let mut frame = Frame::open(&path)?;
    /// assert!(!frame.refresh()?);
    ///
    /// // Another program changes the array.
    /// Frame::open(&path)?.edit().shape(&[4, 6]).apply()?;
    /// assert!(frame.refresh()?);
    /// assert_eq!(frame.array()?.expect("an array").shape(), [4, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let path = self.path().ok_or_else(|| Error::invalid_input("the frame was not opened by its path"))?;
        let mut now = Self::open(path)?;
        if now.header_bytes() == self.header_bytes() {
            match [FrameState::of(self), FrameState::of(&mut now)] {
                [Ok(before), Ok(now)] if before == now => return Ok(false),
                _ => {}
            }
        }
        *self = Self { by_directory: self.by_directory, ..now };
        Ok(true)
    }
}

impl<R: Read + Seek> Frame<R> {
    /// Replaces an error of reading by [`ErrorKind::Changing`] if a writer may have caused it.
    ///
    /// A frame that was opened by its path can be changed or replaced while it is read. What was read of it then
    /// contradicts what is read later, as if it were damaged.
    #[cold]
    pub(crate) fn or_changing(&mut self, error: Error) -> Error {
        let can_be_caused = matches!(
            error.kind(),
            ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::TooLarge | ErrorKind::Decode
        );
        if can_be_caused && self.is_changed() { error.into_changing() } else { error }
    }

    /// Whether the frame at the path is another one than this frame, or is being changed.
    fn is_changed(&mut self) -> bool {
        let Some(path) = self.path().map(Path::to_path_buf) else { return false };
        let (is_sparse, state) = (self.header().is_sparse(), FrameState::of(self));
        let mut before = None;
        for _ in 0..LOOKS {
            match Frame::open(&path) {
                Ok(mut now) if now.header_bytes() == self.header_bytes() => {
                    match (&state, FrameState::of(&mut now)) {
                        (Ok(state), Ok(now)) if *state != now => return true,
                        _ => {}
                    }
                }
                // The file has gone, or has another header, or an unfinished one.
                _ => return true,
            }
            // A writer of C-Blosc2 with locks changes the frame.
            if share_sidecar(&path, is_sparse, Some(Instant::now())).is_err() {
                return true;
            }
            // A writer without locks may have overwritten the chunk index, but not the header yet. Only the time of the
            // last write can show it.
            let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
            let is_recent = modified.is_some_and(|modified| {
                // A time in the future is that of another clock.
                SystemTime::now().duration_since(modified).unwrap_or_default() < RECENT
            });
            if !is_recent || before == Some(modified) {
                return false;
            }
            before = Some(modified);
            thread::sleep(INTERVAL);
        }
        true
    }
}
