//! Reading a frame that another process may be writing.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::frame::check::agreement;
use crate::frame::find::lock::SharedLock;
use crate::frame::find::open::{PAUSE, file_with_header};
use crate::frame::finding::{Code, Finding, Severity};
use crate::frame::{Error, ErrorKind, Frame};

impl Frame<File> {
    /// Reads the header of a frame that another process may be writing: until two reads agree, and what they say of the
    /// array agrees with itself and with the file.
    ///
    /// One read alone can catch a shape that never was, or more often, the shape of an array that has not all of its
    /// chunks yet. Where the frame has a `.b2lock`, as C-Blosc2 makes when it is told to lock, its shared lock is held
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Changing`] if the patience ends before that: another process is writing, or was broken off while it
    /// wrote, which [`check`](crate::frame::check()) can tell. Otherwise as [`open`](Self::open).
    ///
    /// ```
    /// use std::time::Duration;
    /// use b2nd_serde::frame::Frame;
    ///
    /// let frame = Frame::open_stable("tests/data/int32_3x5.b2nd", Duration::from_secs(1))?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn open_stable(path: impl AsRef<Path>, patience: Duration) -> Result<Self, Error> {
        let path = path.as_ref();
        let start = Instant::now();
        // Which lock it is depends on the frame, of which this never changes while it is written. Where nothing can be
        // read yet, it is what it looks like.
        let is_sparse = Self::open(path).map_or(path.is_dir(), |frame| frame.header().is_sparse());
        let file = file_with_header(path)?;
        let _lock = match SharedLock::take(&file, is_sparse, start, patience) {
            Err(error) if error.kind() == ErrorKind::Locked => return Err(Error::changing(None)),
            lock => lock?,
        };
        let mut before: Option<Self> = None;
        loop {
            let is_first;
            let wrong = match Self::open(path) {
                Ok(frame) => {
                    let wrong = frame.disagreement();
                    let is_same = before.as_ref().is_some_and(|before| before.bytes == frame.bytes);
                    if is_same && wrong.is_none() {
                        return Ok(frame);
                    }
                    is_first = before.replace(frame).is_none();
                    wrong
                }
                Err(error) => {
                    let finding = error.into_finding()?;
                    if finding.code() == Code::NotAFrame {
                        return Err(Error::malformed(finding));
                    }
                    (before, is_first) = (None, false);
                    Some(finding)
                }
            };
            // A frame at rest needs no patience, only a second read.
            match wrong {
                None if is_first => {}
                wrong if start.elapsed() >= patience => return Err(Error::changing(wrong)),
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// What of the array is wrong by itself, or does not agree with the header.
    fn disagreement(&self) -> Option<Finding> {
        match self.read_array()? {
            Ok(array) => agreement(&array, self.header())
                .into_iter()
                .find(|finding| finding.severity() == Severity::Error),
            Err(finding) => Some(finding),
        }
    }
}
