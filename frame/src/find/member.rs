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
use crate::find::zip::{MemberContent, members_to_read};
use crate::header::frame::Frame;
use crate::read::open::{is_sparse_frame, open_frame, read_frame_at};
use crate::source::ReadAt;

/// The name of a file in a store. The data of this file can contain small frames.
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

/// The folder or file that contains the frames of a store.
#[derive(Clone, Debug)]
pub(super) enum Container {
    Folder(PathBuf),
    /// All frames share the source of the zip file.
    Zip(MemberSource),
    /// A `.b2e` file, which is a whole store: all frames are in its data.
    Alone(PathBuf),
}

impl Container {
    /// Opens the first of the files `names` that the store has; `None` if the store has none of them.
    pub(super) fn frame(
        &self,
        names: impl IntoIterator<Item = String>,
    ) -> Result<Option<Frame<MemberSource>>, Error> {
        let names: Vec<String> = names.into_iter().collect();
        match self {
            Self::Folder(folder) => {
                in_files(names.iter().filter(|name| is_below(name)).map(|name| folder.join(name)))
            }
            Self::Zip(zip) => in_zip(zip, &names),
            Self::Alone(file) => {
                in_files(names.iter().any(|name| name == STORE_FILE).then(|| file.clone()).into_iter())
            }
        }
    }

    /// Opens the frame with this key, from the data of the store; `None` if the data has no such frame.
    #[cfg(feature = "decompress")]
    pub(super) fn embedded(&self, key: &str) -> Result<Option<Frame<MemberSource>>, Error> {
        let Some(embed) = self.frame([STORE_FILE.to_owned()])? else { return Ok(None) };
        let version = embed.version.clone();
        let mut frames = EmbeddedFrames::new(embed)?.without_total_limit();
        if !frames.select(key)? {
            return Ok(None);
        }
        let frame = read_frame_at(MemberSource::new(frames), 0)?;
        // Keep the version from before the first read of the store, so that every later change of the file is noticed.
        Ok(Some(Frame { version, ..frame }))
    }
}

/// Whether a path stays inside the folder of the store: each component must be the name of a folder or file, not `..`.
fn is_below(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Opens the first of these files that exists.
fn in_files(mut paths: impl Iterator<Item = PathBuf>) -> Result<Option<Frame<MemberSource>>, Error> {
    let path = paths.find(|path| path.is_file() || is_sparse_frame(path));
    path.map(|path| Ok(open_frame(&path)?.map_reader(MemberSource::new))).transpose()
}

/// Opens the first of these members that the zip file has.
fn in_zip(zip: &MemberSource, names: &[String]) -> Result<Option<Frame<MemberSource>>, Error> {
    let version = zip.version();
    let members = members_to_read(zip, |other| names.iter().any(|name| name == other))?;
    // If several members have the same name, the last one counts, as in `zip_member`.
    let find = |name: &String| members.iter().rfind(|member| member.name() == name);
    let Some(member) = names.iter().find_map(find) else { return Ok(None) };
    match member.content() {
        MemberContent::Broken(finding) => Err(Error::malformed(finding.clone())),
        MemberContent::Compressed => Err(Error::unsupported(format_args!(
            "the member {} is compressed in the zip file: extract it to read its frame",
            member.name()
        ))),
        MemberContent::Frame(_) | MemberContent::Other => {
            let frame = read_frame_at(zip.clone(), member.offset())?;
            // Keep the version from before the list of members was read, so that every later change of the file is
            // noticed.
            Ok(Some(Frame { version, ..frame }))
        }
    }
}
