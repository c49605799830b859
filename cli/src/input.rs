//! The files to visit: from the command line, from a list, and in folders.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{self, Path, PathBuf};
use std::{iter, thread};

use b2nd_frame::{is_sparse_frame, is_store_folder};
use clap::{Args, ValueHint};
use walkdir::WalkDir;

use crate::address::{Address, Inside, Location, SPARSE_INDEX, file_of, given, is_folder, is_url, path_of};
use crate::failure::{Failure, Problem};
use crate::output::{await_stdin, remark};
use crate::remote::{self, Objects};
use crate::text;

/// The extensions of frames and of zip files of frames.
const EXTENSIONS: [&str; 7] = ["b2nd", "b2frame", "b2e", "b2f", "b2b", "b2z", "caterva"];

/// More threads than cores hide the latency of a slow disk, and do not slow down a fast one.
const MIN_JOBS: usize = 16;

/// Requests to an object store at a time. It answers each of them slowly, and many of them at once.
const REMOTE_JOBS: usize = 64;

/// Which files to visit, and how.
#[derive(Args)]
pub(crate) struct Paths {
    /// Files, sparse frames (directories), folders to search, `FILE:MEMBER`, `FILE@OFFSET`, URLs, or - (standard input)
    #[arg(id = "paths", value_name = "PATH", default_value = ".")]
    roots: Vec<PathBuf>,
    /// Read paths or other addresses from FILE, one per line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    files_from: Option<PathBuf>,
    /// Lines of --files-from end with a NUL byte, as `find -print0` and `ls --print0` write them
    #[arg(short = '0', long, requires = "files_from", conflicts_with = "paths")]
    null: bool,
    /// In folders, visit only files with these extensions, such as b2nd,b2z
    #[arg(long, value_name = "EXT", value_delimiter = ',', value_parser = extension, value_hint = ValueHint::Other)]
    ext: Vec<String>,
    /// Follow symbolic links in folders
    #[arg(short = 'L', long)]
    follow: bool,
    /// Print results in any order, as soon as they are known; uses less memory
    #[arg(long)]
    pub(crate) unordered: bool,
    /// Number of threads [default: number of cores, at least 16; 64 if a PATH is a URL]
    #[arg(short, long, value_name = "N", value_parser = jobs, value_hint = ValueHint::Other)]
    jobs: Option<u16>,
}

/// Parses a number of threads.
fn jobs(text: &str) -> Result<u16, &'static str> {
    text.parse().ok().filter(|jobs| (1..=1024).contains(jobs)).ok_or("must be a number from 1 to 1024")
}

/// Parses an extension, with or without its dot.
fn extension(text: &str) -> Result<String, String> {
    let extension = text.strip_prefix('.').unwrap_or(text);
    if extension.is_empty() || extension.contains(['*', '?', '/']) {
        return Err("must be the end of a file name, such as b2nd or tar.gz".into());
    }
    Ok(extension.into())
}

impl Paths {
    pub(crate) fn jobs(&self) -> usize {
        let least = if self.are_remote() { REMOTE_JOBS } else { MIN_JOBS };
        let fit = || thread::available_parallelism().map_or(least, |cores| cores.get().max(least));
        self.jobs.map_or_else(fit, usize::from)
    }

    /// Whether there are URLs on the command line.
    pub(crate) fn are_remote(&self) -> bool {
        self.given().iter().any(|path| is_url(path))
    }

    /// The paths of the command line.
    pub(crate) fn given(&self) -> &[PathBuf] {
        if self.files_from.is_some() { &[] } else { &self.roots }
    }

    /// All files to visit, in the order of the paths; in folders by name.
    pub(crate) fn targets(self, stores: Stores) -> Targets {
        let are_named = self.files_from.is_none();
        let roots = match self.files_from {
            None => Box::new(given(self.roots).map(Ok)),
            Some(list) => listed(list, if self.null { 0 } else { b'\n' }),
        };
        let (ext, follow, unordered) = (self.ext, self.follow, self.unordered);
        Targets {
            roots,
            are_named,
            walk: None,
            objects: None,
            ext,
            follow,
            stores,
            unordered,
            is_here: false,
            skipped_links: Some(0),
        }
    }
}

/// What a folder is that is a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// Any other folder.
    Folders,
    /// One target, whose files are not visited.
    Whole,
    /// One target, and then its files.
    WithFiles,
}

/// The paths that were given. An error in reading their list is the last item.
type Roots = Box<dyn Iterator<Item = Result<Address, Failure>> + Send>;

fn listed(list: PathBuf, end: u8) -> Roots {
    let reader: Box<dyn BufRead + Send> = if list == Path::new("-") {
        await_stdin("paths");
        Box::new(BufReader::new(io::stdin()))
    } else {
        match File::open(&list) {
            Ok(file) => Box::new(BufReader::new(file)),
            Err(error) => {
                return Box::new(iter::once(Err(Location::of(&list).failure(error))));
            }
        }
    };
    let mut lines = Some(reader.split(end));
    let paths = iter::from_fn(move || {
        loop {
            match lines.as_mut()?.next()? {
                Ok(line) => {
                    let line = without_return(line, end);
                    if !line.is_empty() {
                        return Some(listed_address(line));
                    }
                }
                Err(error) => {
                    lines = None;
                    return Some(Err(Location::of(&list).failure(error)));
                }
            }
        }
    });
    // Each thread asks for more, but a terminal must be told its end only once.
    Box::new(paths.fuse())
}

/// Reads a line of a list. It may be one that `ls` has printed. `find` prints paths that exist, or begin with `./`.
fn listed_address(line: Vec<u8>) -> Result<Address, Failure> {
    let address = Address::read(path_of(line));
    if address.inside == Inside::Stdin {
        let message =
            "standard input must be given as an argument, not in a list; a file of this name is ./-";
        return Err(address.location().failure(Problem::new("refused", message)));
    }
    Ok(address)
}

/// A line of a file from Windows ends with a carriage return too.
fn without_return(mut line: Vec<u8>, end: u8) -> Vec<u8> {
    if end == b'\n' && line.last() == Some(&b'\r') {
        line.pop();
    }
    line
}

/// A file, the directory of a sparse frame, or the folder of a store; or what is inside of a file.
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) inside: Inside<String>,
    /// Whether the user named it; otherwise it was found in a folder.
    pub(crate) is_given: bool,
    pub(crate) is_sparse: bool,
    pub(crate) is_store: bool,
}

impl Target {
    /// A file or directory of the command line.
    pub(crate) fn given(Address { path, inside }: Address) -> Self {
        let is_whole = inside == Inside::Whole;
        let is_sparse = is_whole && is_sparse_frame(&path);
        let is_store = is_whole && !is_sparse && is_store_folder(&path);
        Self { path, inside, is_given: true, is_sparse, is_store }
    }

    pub(crate) fn location(&self) -> Location<'_> {
        Location { path: &self.path, inside: self.inside.borrowed() }
    }

    /// Whether it has a Blosc2 extension.
    pub(crate) fn is_named_blosc2(&self) -> bool {
        self.is_sparse || is_named_blosc2(file_of(&self.path))
    }

    pub(crate) fn is_named_zip(&self) -> bool {
        self.inside == Inside::Whole && has_extension(&self.path, "b2z")
    }

    /// Whether it is a zip file in an object store.
    pub(crate) fn is_zip_object(&self) -> bool {
        self.inside == Inside::Url(None) && has_extension(file_of(&self.path), "b2z")
    }
}

/// Whether this is the directory of a sparse frame, even of one that lost its header.
fn is_sparse(path: &Path) -> bool {
    let is_chunk =
        |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| has_extension(&entry.path(), "chunk"));
    let is_remnant =
        || is_named_blosc2(path) && fs::read_dir(path).is_ok_and(|mut entries| entries.any(is_chunk));
    is_sparse_frame(path) || is_remnant()
}

pub(crate) fn is_named_blosc2(path: &Path) -> bool {
    EXTENSIONS.into_iter().any(|name| has_extension(path, name))
}

/// Whether a URL may be a prefix, below which there are objects. A web server can hardly list them.
fn may_be_prefix(url: &Path) -> bool {
    let is_web = url.as_os_str().as_encoded_bytes().starts_with(b"http");
    !is_named_blosc2(file_of(url)) && (is_folder(url) || !is_web)
}

/// Whether this is the temporary name of a file that a rewrite makes.
fn is_leftover(path: &Path) -> bool {
    has_extension(path, "tmp")
        && path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".b2nd-"))
}

/// Whether the name of a file ends with a dot and this extension, in any case. Something must be before the dot.
fn has_extension(path: &Path, extension: &str) -> bool {
    let is_separator = |byte: u8| path::is_separator(byte.into());
    let mut path = path.as_os_str().as_encoded_bytes();
    while let [rest @ .., byte] = path
        && is_separator(*byte)
    {
        path = rest;
    }
    let Some((stem, end)) = path.len().checked_sub(extension.len()).map(|at| path.split_at(at)) else {
        return false;
    };
    end.eq_ignore_ascii_case(extension.as_bytes())
        && matches!(stem, [.., before, b'.'] if !is_separator(*before))
}

/// The files to visit. Folders are searched while they are visited.
#[expect(clippy::struct_excessive_bools, reason = "as many options")]
pub(crate) struct Targets {
    roots: Roots,
    /// Whether they are from the command line, not from a list, which can be long.
    are_named: bool,
    walk: Option<walkdir::IntoIter>,
    /// What is below a URL, which is the path.
    objects: Option<(PathBuf, Objects)>,
    ext: Vec<String>,
    follow: bool,
    stores: Stores,
    unordered: bool,
    /// Whether the folder is `.`, whose name is left out of the paths.
    is_here: bool,
    /// The symbolic links in folders that were not followed. `None` in a store, where links never are.
    skipped_links: Option<u64>,
}

impl Iterator for Targets {
    type Item = Result<Target, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = match (&self.walk, &self.objects) {
                (Some(_), _) => self.walk_on(),
                (_, Some(_)) => self.next_object(),
                _ => self.next_root().or_else(|| self.tell_links())?,
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

impl Targets {
    /// All files in the folder of a store.
    pub(crate) fn in_store(folder: &Path) -> Self {
        let mut targets = Self {
            roots: Box::new(iter::empty()),
            are_named: false,
            walk: None,
            objects: None,
            ext: Vec::new(),
            follow: false,
            stores: Stores::Folders,
            unordered: false,
            is_here: false,
            skipped_links: None,
        };
        targets.enter(folder);
        targets
    }

    /// At the end, says once how many links were skipped.
    fn tell_links<T>(&mut self) -> Option<T> {
        if let Some(links) = self.skipped_links.take().filter(|&links| links > 0) {
            remark(&format_args!("{} skipped; -L follows them", text::count(links, "link")));
        }
        None
    }

    /// Searches a folder next.
    fn enter(&mut self, folder: &Path) {
        let mut walk = WalkDir::new(folder).min_depth(1).follow_links(self.follow);
        if !self.unordered {
            // Files of the same folder: comparing their paths compares their names, without looking for these.
            walk = walk.sort_by(|a, b| a.path().as_os_str().cmp(b.path().as_os_str()));
        }
        self.is_here = folder == Path::new(".");
        self.walk = Some(walk.into_iter());
    }

    /// Whether a folder is visited as a store.
    fn is_store(&self, folder: &Path) -> bool {
        self.stores != Stores::Folders && self.is_wanted(folder) && is_store_folder(folder)
    }

    /// Whether the name is one of those that were asked for.
    fn is_wanted(&self, path: &Path) -> bool {
        self.ext.is_empty() || self.ext.iter().any(|ext| has_extension(path, ext))
    }

    /// The next path that was given; `None` for a folder, which is searched next.
    #[expect(clippy::option_option, reason = "the end, and a folder")]
    fn next_root(&mut self) -> Option<Option<Result<Target, Failure>>> {
        let Address { path, inside } = match self.roots.next()? {
            Ok(address) => address,
            Err(failure) => return Some(Some(Err(failure))),
        };
        let target = |path, is_sparse, is_store| {
            let inside = Inside::Whole;
            Some(Ok(Target { path, inside, is_given: true, is_sparse, is_store }))
        };
        if inside == Inside::Url(None)
            && (may_be_prefix(&path) || self.are_named && is_folder(&path) && remote::is_prefix(&path))
        {
            return Some(match remote::list(&path) {
                Ok(objects) => {
                    self.objects = Some((path, objects));
                    None
                }
                Err(problem) => Some(Err(Location::of_url(&path).failure(problem))),
            });
        }
        if inside != Inside::Whole {
            return Some(Some(Ok(Target {
                path,
                inside,
                is_given: true,
                is_sparse: false,
                is_store: false,
            })));
        }
        let place = Location::of(&path);
        Some(match fs::metadata(&path) {
            Err(error) => Some(Err(place.failure(error))),
            Ok(metadata) if metadata.is_file() => target(path, false, false),
            Ok(metadata) if !metadata.is_dir() => {
                Some(Err(place.failure(Problem::new("io", "neither a file nor a directory"))))
            }
            Ok(_) if is_sparse(&path) => target(path, true, false),
            Ok(_) if self.stores != Stores::Folders && is_store_folder(&path) => {
                if self.stores == Stores::WithFiles {
                    self.enter(&path);
                }
                target(path, false, true)
            }
            Ok(_) => {
                self.enter(&path);
                None
            }
        })
    }

    /// The next entry of the folder, if it is to be visited.
    fn walk_on(&mut self) -> Option<Result<Target, Failure>> {
        let walk = self.walk.as_mut()?;
        let entry = match walk.next() {
            Some(Ok(entry)) => entry,
            Some(Err(error)) => {
                let path = self.shown(error.path().unwrap_or(Path::new("")).into());
                let message = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                return Some(Err(Location::of(&path).failure(Problem::new("io", message))));
            }
            None => {
                self.walk = None;
                return None;
            }
        };
        if is_leftover(entry.path()) {
            if entry.file_type().is_dir() {
                walk.skip_current_dir();
            }
            let path = text::path(&self.shown(entry.into_path()));
            remark(&format_args!(
                "{path}: skipped: the temporary file of a rewrite that was killed or is still running"
            ));
            return None;
        }
        if entry.path_is_symlink() && !self.follow && self.is_wanted(entry.path()) {
            self.skipped_links = self.skipped_links.map(|links| links + 1);
        }
        let is_folder = entry.file_type().is_dir();
        let is_sparse = is_folder && is_sparse(entry.path());
        let is_store = is_folder && !is_sparse && self.is_store(entry.path());
        if is_sparse || is_store && self.stores == Stores::Whole {
            self.walk.as_mut()?.skip_current_dir();
        }
        let is_target = is_sparse || is_store || entry.file_type().is_file();
        (is_target && self.is_wanted(entry.path())).then(|| {
            let path = self.shown(entry.into_path());
            Ok(Target { path, inside: Inside::Whole, is_given: false, is_sparse, is_store })
        })
    }

    /// The next object below a URL, if it is to be visited. In a folder that is any file; but each object costs a request,
    /// so it needs a Blosc2 extension, or one of --ext.
    fn next_object(&mut self) -> Option<Result<Target, Failure>> {
        let (root, objects) = self.objects.as_mut()?;
        let object = |path: PathBuf, is_given, is_sparse| {
            Some(Ok(Target { path, inside: Inside::Url(None), is_given, is_sparse, is_store: false }))
        };
        let path = match objects.next() {
            Some(Ok(path)) => path,
            Some(Err(problem)) => {
                return Some(Err(Location::of_url(root).failure(problem)));
            }
            None => {
                let is_empty = objects.is_empty();
                let (root, _) = self.objects.take()?;
                return match (is_empty, is_folder(&root)) {
                    (true, false) => object(root, true, false),
                    (true, true) => {
                        let problem = Problem::new("io", "there is no object below it");
                        Some(Err(Location::of_url(&root).failure(problem)))
                    }
                    _ => None,
                };
            }
        };
        // The address of a sparse frame ends with a slash, so that it is opened with one request.
        let folder = path.to_str().and_then(|path| path.strip_suffix(SPARSE_INDEX));
        let (path, is_sparse) = match folder.filter(|folder| folder.ends_with('/')) {
            Some(folder) => (folder.into(), true),
            None => (path, false),
        };
        let is_wanted =
            if self.ext.is_empty() { is_sparse || is_named_blosc2(&path) } else { self.is_wanted(&path) };
        if is_wanted { object(path, false, is_sparse) } else { None }
    }

    /// The path that is shown for a file in the folder that is searched.
    fn shown(&self, path: PathBuf) -> PathBuf {
        match path.strip_prefix(".") {
            Ok(rest) if self.is_here => rest.into(),
            _ => path,
        }
    }
}
