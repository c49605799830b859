//! Versions of files, to find out whether a file was changed or replaced.
//!
//! This table lists the comparisons that show whether a frame has changed. If they find a difference, the read or the
//! change fails with the error `Changing`.
//!
//! | function | compares | when |
//! |---|---|---|
//! | `Array::check_version` | the header, and the version of the file at the path | after each slice, after `attributes` |
//! | `Frame::check_version` | the header, and the version of the open source or, for a sparse frame, of the file at the path | at the end of a check |
//! | `trailer_or_changing` | the version of the open source | after the trailer was read |
//! | `Frame::or_changing` | header, index, trailer and version at the path, the last chunk file, the lock of C-Blosc2 | after an error that a writer can cause |
//! | `Frame::file_bytes` | the version of a chunk file before and after the read; the identity of the file at the path (`can_precede`), or its version if the chunk file is missing | each read of a chunk file |
//! | `StoredChunk::check_version` | the version of a chunk file: now, and when the chunk was first read | each later read of the chunk in a slice |
//! | `FrameState::reopen` | header, index, trailer, and the version of the file at the path | before a commit is written, and again before it becomes valid |
//! | `FrameState::has_version_of` | the header, and the version of the file at the path | before an `ArrayUpdate` reads an old chunk |
//! | `Frame::check_same` | the header at the path | before an edit, a rewrite or a commit |
//! | `Job::check_again` | the `FrameState` of the old frame | at the end of a rewrite |
//! | `DamagedFile::unless_changed` | the first bytes, the length of the open source, and the version of the file at the path | when a salvage has found the chunks, and again when it has read them |
//!
//! Two functions repeat their reads until nothing changes any more. `open_stable` compares the headers of two reads.
//! `repeated_check::repeat` compares the findings of two checks, and the versions of all files of the frame.

use core::num::NonZeroU64;
use std::collections::hash_map::DefaultHasher;
use std::fs::{File, Metadata};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The largest error of a file's modification time. The FAT file system rounds such times to two seconds. If a chunk
/// file was modified more than two seconds before the frame was opened, it does not belong to a later commit.
const CLOCK: Duration = Duration::from_secs(2);

/// The version of a file or of another source. If two versions of a source are equal, its bytes count as unchanged.
///
/// The version of a file consists of its length, its modification time, and its identity. So the version also changes
/// if another file replaces the file at a path. Outside Unix, a version contains no identity, so another file with the
/// same length and time has the same version.
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
///
/// For an object on a server, any bytes can be the version, such as those of the `ETag`:
///
/// ```
/// use b2nd_frame::FileVersion;
///
/// let [old, new] = [r#""5d41402a""#, r#""7d793037""#].map(|etag| FileVersion::from(etag.as_bytes()));
/// assert_ne!(old, new);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    File(FileStamp),
    Bytes(Arc<[u8]>),
}

impl From<&Metadata> for FileVersion {
    fn from(metadata: &Metadata) -> Self {
        Self(Kind::File(FileStamp::of(metadata)))
    }
}

impl From<&[u8]> for FileVersion {
    fn from(bytes: &[u8]) -> Self {
        Self(Kind::Bytes(bytes.into()))
    }
}

/// Whether two versions of a source differ. An unknown version counts as unchanged, because a source on a server may
/// know its version only after the first read.
pub(crate) fn has_changed<V: PartialEq>(before: Option<V>, now: Option<V>) -> bool {
    before.zip(now).is_some_and(|(before, now)| before != now)
}

impl FileVersion {
    /// Whether `chunk_file` can belong to a later commit than the index file with this version. This is possible if
    /// another file is now at the path `index`, and the chunk file was modified after `opened`, or at most [`CLOCK`]
    /// before `opened`.
    pub(crate) fn can_precede(&self, opened: SystemTime, chunk_file: &Metadata, index: &Path) -> bool {
        let is_recent = |modified: SystemTime| modified.checked_add(CLOCK).is_none_or(|time| time >= opened);
        let Kind::File(FileStamp { identity, .. }) = self.0 else { return false };
        chunk_file.modified().is_ok_and(is_recent)
            && index.metadata().ok().map(|now| FileIdentity::of(&now)) != Some(identity)
    }
}

/// The version of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileStamp {
    /// `None` if the system does not record modification times.
    modified: Option<SystemTime>,
    len: u64,
    identity: FileIdentity,
}

impl FileStamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let (modified, identity) = (metadata.modified().ok(), FileIdentity::of(metadata));
        Self { modified, len: metadata.len(), identity }
    }

    pub(crate) fn to_hash(self) -> StampHash {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        StampHash(NonZeroU64::new(hasher.finish()).unwrap_or(NonZeroU64::MIN))
    }
}

/// The hash of a [`FileStamp`]. A hash needs little memory, so a slice can keep a hash for each of its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StampHash(NonZeroU64);

/// The device and inode of a file. They are unique only while the file is open. Outside Unix, all files compare equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileIdentity {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
}

impl FileIdentity {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device_and_inode: (metadata.dev(), metadata.ino()) }
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self {}
    }
}

/// Whether this open file is the file at the path. If the system is neither Unix nor Windows, the result is always
/// `true`.
#[cfg(not(windows))]
pub(crate) fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    Ok(FileIdentity::of(&file.metadata()?) == FileIdentity::of(&path.metadata()?))
}

/// Whether this open file is the file at the path. The volumes are not compared, because wine does not know the volume
/// of a renamed file.
#[cfg(windows)]
pub(crate) fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    let index = |file: &File| winapi_util::file::information(file).map(|file| file.file_index());
    Ok(index(file)? == index(&File::open(path)?)?)
}
