//! The file of an opened frame: when it was opened, and whether it was changed or another file has taken its path.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A file that was written this long before a frame was opened is not from a later commit. Times of files are less exact
/// than the clock of the system; on FAT, they are even seconds.
const CLOCK: Duration = Duration::from_secs(2);

/// The opening of a frame's file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenedFile {
    /// The time after the file was opened, and before it was read.
    pub(crate) time: SystemTime,
    /// The identity of the file; `None` if the frame is not sparse.
    identity: Option<FileIdentity>,
}

impl OpenedFile {
    /// `index` is the file if it is the index of a sparse frame.
    pub(crate) fn new(time: SystemTime, index: Option<&File>) -> Self {
        let metadata = index.and_then(|file| file.metadata().ok());
        Self { time, identity: metadata.map(|metadata| FileIdentity::of(&metadata)) }
    }

    /// Whether a chunk file can be from a later commit than this index: another index has taken its path, and the chunk
    /// file was not written long before.
    pub(crate) fn can_precede(&self, file: &Metadata, path: &Path) -> bool {
        let is_recent =
            |modified: SystemTime| modified.checked_add(CLOCK).is_none_or(|time| time >= self.time);
        let is_recent = file.modified().is_ok_and(is_recent);
        is_recent
            && self.identity.is_some()
            && path.metadata().ok().map(|now| FileIdentity::of(&now)) != self.identity
    }
}

/// The time of the last write to a file, and the identity of the file: two versions of an open file are equal if it was not
/// written between them. A path has another version if another file has taken it.
///
/// ```
/// use std::fs::{self, File};
/// use b2nd_frame::{FileVersion, ReadAt};
///
/// # let folder = tempfile::tempdir()?;
/// # let (path, new) = (folder.path().join("a.b2nd"), folder.path().join("new"));
/// # fs::copy("tests/data/int32_3x5.b2nd", &path)?;
/// let file = File::open(&path)?;
/// assert_eq!(file.version(), Some(FileVersion::from(&fs::metadata(&path)?)));
///
/// fs::write(&new, "other bytes")?;
/// fs::rename(&new, &path)?;
/// assert_ne!(file.version(), Some(FileVersion::from(&fs::metadata(&path)?)));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// `None` if the system has no such time.
    modified: Option<SystemTime>,
    identity: FileIdentity,
}

impl From<&Metadata> for FileVersion {
    fn from(metadata: &Metadata) -> Self {
        Self { modified: metadata.modified().ok(), identity: FileIdentity::of(metadata) }
    }
}

/// The identity of a file as long as it is open. Where a system has none, all files are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
}

impl FileIdentity {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device_and_inode: (metadata.dev(), metadata.ino()) }
    }

    #[cfg(not(unix))]
    pub(crate) fn of(_: &Metadata) -> Self {
        Self {}
    }
}

/// Whether a path leads to this open file. Where files have no identity, the answer is yes.
pub(crate) fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    Ok(FileIdentity::of(&file.metadata()?) == FileIdentity::of(&path.metadata()?))
}
