//! The sources of the frames in stores.

use core::fmt;
use core::ops::Range;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::file_version::FileVersion;
#[cfg(feature = "decompress")]
use crate::find::embedded::EmbeddedFrames;
use crate::find::zip::{MemberContent, zip_member};
use crate::header::frame::Frame;
use crate::read::open::{is_sparse_frame, open_frame, read_frame_at};
use crate::source::ReadAt;

/// The name of the file whose data can hold small frames of a store.
pub(super) const STORE_FILE: &str = "embed.b2e";

/// The source of a frame in a [`Store`](crate::Store): a file, a zip file, or the compressed data of the store.
#[derive(Clone)]
pub struct MemberSource(Arc<dyn ReadAt + Send + Sync>);

impl MemberSource {
    pub(super) fn new(source: impl ReadAt + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }
}

impl fmt::Debug for MemberSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberSource").finish_non_exhaustive()
    }
}

impl ReadAt for MemberSource {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn version(&self) -> Option<FileVersion> {
        self.0.version()
    }

    fn bytes_per_round_trip(&self) -> u64 {
        self.0.bytes_per_round_trip()
    }

    fn read_ahead(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        self.0.read_ahead(ranges)
    }
}

/// Where the files of a store are.
#[derive(Clone, Debug)]
pub(super) enum Container {
    Folder(PathBuf),
    /// All frames share the source of the zip file.
    Zip(MemberSource),
    /// A file `.b2e`, which is a store by itself: its data has all frames.
    Alone(PathBuf),
}

impl Container {
    /// Opens the first of these files that the store has; `None` if it has none of them.
    pub(super) fn frame(
        &self,
        names: impl IntoIterator<Item = String>,
    ) -> Result<Option<Frame<MemberSource>>, Error> {
        for name in names {
            let found = match self {
                Self::Folder(folder) if is_below(&name) => in_folder(&folder.join(&name))?,
                Self::Folder(_) => None,
                Self::Zip(zip) => in_zip(zip, &name)?,
                Self::Alone(file) => in_folder(file)?.filter(|_| name == STORE_FILE),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Opens the frame with this key, from the data of the store; `None` if the data has no such frame.
    #[cfg(feature = "decompress")]
    pub(super) fn embedded(&self, key: &str) -> Result<Option<Frame<MemberSource>>, Error> {
        let Some(embed) = self.frame([STORE_FILE.to_owned()])? else { return Ok(None) };
        let version = embed.version.clone();
        let mut frames = EmbeddedFrames::new(embed)?.without_limit();
        if !frames.select(key)? {
            return Ok(None);
        }
        let frame = read_frame_at(MemberSource::new(frames), 0)?;
        // This is the version before the first read of the store.
        Ok(Some(Frame { version, ..frame }))
    }
}

/// Whether a name leads to a place below the folder of the store.
fn is_below(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

fn in_folder(path: &Path) -> Result<Option<Frame<MemberSource>>, Error> {
    if !path.is_file() && !is_sparse_frame(path) {
        return Ok(None);
    }
    Ok(Some(open_frame(path)?.map_reader(MemberSource::new)))
}

fn in_zip(zip: &MemberSource, name: &str) -> Result<Option<Frame<MemberSource>>, Error> {
    let version = zip.version();
    let Some(member) = zip_member(zip, name)? else { return Ok(None) };
    match member.content() {
        MemberContent::Broken(finding) => Err(Error::malformed(finding.clone())),
        MemberContent::Compressed => Err(Error::unsupported(format_args!(
            "the member {name} is compressed in the zip file: extract it to read its frame"
        ))),
        MemberContent::Frame(_) | MemberContent::Other => {
            let frame = read_frame_at(zip.clone(), member.offset())?;
            // This is the version before the list of members was read.
            Ok(Some(Frame { version, ..frame }))
        }
    }
}
