//! Which files to look at: those of the command line, of a list, and in folders.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::thread;

use b2nd_serde::frame::is_sparse_frame;
use clap::Args;
use walkdir::WalkDir;

use crate::json::{Failure, Place, Problem};

/// The names that a frame or a zip file of frames goes by.
const EXTENSIONS: [&str; 5] = ["b2nd", "b2frame", "b2e", "b2z", "caterva"];

/// Threads for a disk that answers slowly: a fast one is not slowed down by them.
const MIN_JOBS: usize = 16;

/// Where to look, and how.
#[derive(Args)]
pub(crate) struct Paths {
    /// Files, directories of sparse frames, and folders, which are looked through
    #[arg(id = "paths", value_name = "PATH", default_value = ".")]
    roots: Vec<PathBuf>,
    /// Reads the paths from a file, one a line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    files_from: Option<PathBuf>,
    /// Paths of --files-from end with NUL, as `find -print0` writes them
    #[arg(short = '0', long, requires = "files_from")]
    null: bool,
    /// In folders, looks only at names that end so
    #[arg(long, value_name = "EXT", value_delimiter = ',')]
    ext: Vec<String>,
    /// Follows symbolic links in folders
    #[arg(short = 'L', long)]
    follow: bool,
    /// Prints results as they come, in any order and in little memory
    #[arg(long)]
    pub(crate) unordered: bool,
    /// Threads
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
}

impl Paths {
    pub(crate) fn jobs(&self) -> usize {
        let fit = || thread::available_parallelism().map_or(MIN_JOBS, |cores| cores.get().max(MIN_JOBS));
        self.jobs.map_or_else(fit, std::num::NonZeroUsize::get)
    }

    /// The paths that were given, as they were given.
    pub(crate) fn given(&self) -> &[PathBuf] {
        if self.files_from.is_some() { &[] } else { &self.roots }
    }

    /// All that is to be looked at, in the order of the paths given, and in folders by name.
    pub(crate) fn targets(self) -> Result<Targets, Failure> {
        let roots: Box<dyn Iterator<Item = io::Result<PathBuf>> + Send> = match self.files_from {
            None => Box::new(self.roots.into_iter().map(Ok)),
            Some(list) => {
                let end = if self.null { 0 } else { b'\n' };
                Box::new(open(&list)?.split(end).map(|line| line.map(path_of)))
            }
        };
        let (ext, follow, unordered) = (self.ext, self.follow, self.unordered);
        Ok(Targets { roots, walk: None, ext, follow, unordered, is_here: false })
    }
}

fn open(list: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if list == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    match File::open(list) {
        Ok(file) => Ok(Box::new(BufReader::new(file))),
        Err(error) => Err(Place { path: list, member: None }.failure(error)),
    }
}

#[cfg(unix)]
fn path_of(line: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(line).into()
}

#[cfg(not(unix))]
fn path_of(line: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line)).into_owned().into()
}

/// A file, or the directory of a sparse frame.
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    /// Whether it was named, not found in a folder.
    pub(crate) is_given: bool,
    pub(crate) is_sparse: bool,
}

impl Target {
    /// A file or directory that was named.
    pub(crate) fn given(path: PathBuf) -> Self {
        let is_sparse = is_sparse_frame(&path);
        Self { path, is_given: true, is_sparse }
    }

    /// Whether its name says that it is one of Blosc2.
    pub(crate) fn is_named_blosc2(&self) -> bool {
        self.is_sparse || EXTENSIONS.into_iter().any(|name| has_extension(&self.path, name))
    }

    pub(crate) fn is_named_zip(&self) -> bool {
        has_extension(&self.path, "b2z")
    }
}

fn has_extension(path: &Path, name: &str) -> bool {
    path.extension().is_some_and(|extension| extension == OsStr::new(name))
}

/// What there is to look at, found on the way.
pub(crate) struct Targets {
    roots: Box<dyn Iterator<Item = io::Result<PathBuf>> + Send>,
    walk: Option<walkdir::IntoIter>,
    ext: Vec<String>,
    follow: bool,
    unordered: bool,
    /// Whether the folder that is walked is the current one, whose files need no folder in their paths.
    is_here: bool,
}

impl Iterator for Targets {
    type Item = Result<Target, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = match &mut self.walk {
                Some(_) => self.walk_on(),
                None => self.next_root()?,
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

impl Targets {
    /// The next root, if there is one; a folder is then walked.
    #[expect(clippy::option_option, reason = "the end, and a folder")]
    fn next_root(&mut self) -> Option<Option<Result<Target, Failure>>> {
        let path = match self.roots.next()? {
            Ok(path) => path,
            Err(error) => {
                let list = Place { path: Path::new("-"), member: None };
                self.roots = Box::new(std::iter::empty());
                return Some(Some(Err(list.failure(error))));
            }
        };
        let place = Place { path: &path, member: None };
        Some(match fs::metadata(&path) {
            Err(error) => Some(Err(place.failure(error))),
            Ok(metadata) if metadata.is_file() => Some(Ok(Target { path, is_given: true, is_sparse: false })),
            Ok(metadata) if !metadata.is_dir() => {
                Some(Err(place.failure(Problem::new("io", "neither a file nor a directory"))))
            }
            Ok(_) if is_sparse_frame(&path) => Some(Ok(Target { path, is_given: true, is_sparse: true })),
            Ok(_) => {
                let is_here = path == Path::new(".");
                let mut walk = WalkDir::new(path).min_depth(1).follow_links(self.follow);
                if !self.unordered {
                    walk = walk.sort_by_file_name();
                }
                self.is_here = is_here;
                self.walk = Some(walk.into_iter());
                None
            }
        })
    }

    /// The next entry of the folder, if it is worth a look.
    fn walk_on(&mut self) -> Option<Result<Target, Failure>> {
        let walk = self.walk.as_mut()?;
        let entry = match walk.next() {
            Some(Ok(entry)) => entry,
            Some(Err(error)) => {
                let path = error.path().unwrap_or(Path::new("")).to_owned();
                let message = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                return Some(Err(Place { path: &path, member: None }.failure(Problem::new("io", message))));
            }
            None => {
                self.walk = None;
                return None;
            }
        };
        let is_sparse = entry.file_type().is_dir() && is_sparse_frame(entry.path());
        if is_sparse {
            walk.skip_current_dir();
        }
        let is_wanted = self.ext.is_empty() || self.ext.iter().any(|ext| ends_with(entry.path(), ext));
        ((is_sparse || entry.file_type().is_file()) && is_wanted)
            .then(|| Ok(Target { path: self.shown(entry.into_path()), is_given: false, is_sparse }))
    }

    /// The path of a file in the folder that is walked, as it is shown.
    fn shown(&self, path: PathBuf) -> PathBuf {
        match path.strip_prefix(".") {
            Ok(rest) if self.is_here => rest.into(),
            _ => path,
        }
    }
}

/// Whether a name has this extension, which may be given with its dot.
fn ends_with(path: &Path, ext: &str) -> bool {
    has_extension(path, ext.strip_prefix('.').unwrap_or(ext))
}
