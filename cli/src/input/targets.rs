//! The files to visit: those that the user named, and those in folders and below URLs.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use b2nd_frame::{SPARSE_INDEX, is_store_folder};
use clap::{Args, ValueHint};
use walkdir::{DirEntry, WalkDir};

use super::address::{Inside, Location};
use super::list::Roots;
use super::target::{Found, Target, find_table, is_sparse};
use crate::code;
use crate::names::{ends_with_slash, has_extension, is_leftover, is_named_blosc2, may_be_prefix};
use crate::problem::Problem;
use crate::remote::{self, Objects};
use crate::terminal::remark;
use crate::text;

/// The heading in `--help` for the options that many commands share. Because of the heading, these options are listed
/// after the command's own options.
pub(super) const VISIT: &str = "Visiting files";

/// How folders are searched.
#[derive(Args, Default)]
pub(crate) struct Search {
    /// In folders, visit only files with these extensions, such as b2nd,b2z
    #[arg(long, value_name = "EXT", value_delimiter = ',', value_parser = extension, value_hint = ValueHint::Other, hide_short_help = true, help_heading = VISIT)]
    ext: Vec<String>,
    /// Follow symbolic links in folders
    #[arg(short = 'L', long, hide_short_help = true, help_heading = VISIT)]
    follow: bool,
    /// Print results in any order, as soon as they are known; uses less memory
    #[arg(long, hide_short_help = true, help_heading = VISIT)]
    pub(crate) unordered: bool,
}

/// Parses an extension, with or without its dot.
fn extension(text: &str) -> Result<String, String> {
    let extension = text.strip_prefix('.').unwrap_or(text);
    if extension.is_empty() || extension.contains(['*', '?', '/']) {
        return Err("must be the end of a file name, such as b2nd or tar.gz".into());
    }
    Ok(extension.into())
}

/// The treatment of a folder that is a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// The folder is searched, like any other folder.
    Folders,
    /// The store is one target, and its files are not visited.
    Whole,
    /// The store is one target, and its files are the next targets.
    WithFiles,
}

impl Search {
    /// Whether the name has one of the requested extensions.
    fn wants(&self, path: &Path) -> bool {
        self.ext.is_empty() || self.ext.iter().any(|ext| has_extension(path, ext))
    }

    fn walk(&self, folder: &Path) -> walkdir::IntoIter {
        let walk = WalkDir::new(folder).min_depth(1).follow_links(self.follow);
        // To sort a folder, all its entries are read before the first file is visited. With --unordered, this is not
        // done.
        if self.unordered {
            return walk.into_iter();
        }
        // Both entries are in the same folder, so their paths have the same order as their names. Comparing the paths
        // is faster, because no name has to be split off.
        walk.sort_by(|a, b| a.path().as_os_str().cmp(b.path().as_os_str())).into_iter()
    }
}

/// The objects below a URL.
struct Prefix {
    url: PathBuf,
    objects: Objects,
    /// Whether no object and no error was found so far.
    is_empty: bool,
}

/// An iterator of the files to visit, which searches folders lazily.
pub(crate) struct Targets {
    roots: Roots,
    search: Search,
    stores: Stores,
    walk: Option<walkdir::IntoIter>,
    objects: Option<Prefix>,
    /// Whether the searched folder is `.`, which is omitted from the paths.
    is_here: bool,
    /// The number of symbolic links that were found in folders and not followed. `None` in a store, where links are
    /// never followed.
    skipped_links: Option<u64>,
}

impl Iterator for Targets {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let found = match (&self.walk, &self.objects) {
                (Some(_), _) => self.walk_on(),
                (_, Some(_)) => self.next_object(),
                _ => {
                    let Some(found) = self.next_root() else {
                        self.report_links();
                        return None;
                    };
                    found
                }
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

impl Targets {
    pub(crate) fn new(roots: Roots, search: Search, stores: Stores) -> Self {
        Self { roots, search, stores, walk: None, objects: None, is_here: false, skipped_links: Some(0) }
    }

    /// All files in the folder of a store.
    pub(crate) fn in_store(folder: &Path) -> Self {
        let roots = Box::new(iter::empty());
        let all = Self::new(roots, Search::default(), Stores::Folders);
        let mut targets = Self { skipped_links: None, ..all };
        targets.enter(folder);
        targets
    }

    /// Reports the number of skipped links once, at the end.
    fn report_links(&mut self) {
        if let Some(links) = self.skipped_links.take().filter(|&links| links > 0) {
            remark(&format_args!("{} skipped; -L follows them", text::count(links, "link")));
        }
    }

    /// Begins to search a folder.
    fn enter(&mut self, folder: &Path) {
        self.is_here = folder == Path::new(".");
        self.walk = Some(self.search.walk(folder));
    }

    /// The target of the next root. `None` means that there are no more roots. `Some(None)` means that the root is a
    /// folder, or a URL that may be a prefix. This folder or prefix is searched next.
    #[expect(clippy::option_option, reason = "None is the end, Some(None) a folder")]
    fn next_root(&mut self) -> Option<Option<Found>> {
        let address = match self.roots.next()? {
            Ok(address) => address,
            Err(failure) => return Some(Some(Err(failure))),
        };
        Some(match address.inside {
            Inside::Whole => self.path(address.path),
            Inside::Url(None) if may_be_prefix(&address.path) => match remote::list(&address.path) {
                Ok(objects) => {
                    self.objects = Some(Prefix { url: address.path, objects, is_empty: true });
                    None
                }
                Err(problem) => Some(Err(address.location().failure(problem))),
            },
            _ => Some(Ok(Target::given(address))),
        })
    }

    /// The target at a path that is a root; `None` for a folder, which is searched next.
    fn path(&mut self, path: PathBuf) -> Option<Found> {
        let location = Location::new(&path);
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) => return Some(Err(location.failure(error))),
        };
        // A pipe or a device is refused, because reading it may never end.
        if !metadata.is_file() && !metadata.is_dir() {
            return Some(Err(location.failure(Problem::new(code::IO, "neither a file nor a directory"))));
        }
        let is_sparse = metadata.is_dir() && is_sparse(&path);
        let is_store = metadata.is_dir() && !is_sparse && self.is_store(&path);
        let is_folder = metadata.is_dir() && !is_sparse && !is_store;
        if is_folder
            && self.stores != Stores::Folders
            && let Some(table) = find_table(&path)
        {
            return Some(Ok(Target::given(table)));
        }
        // A folder that is a store is a target. With `Stores::WithFiles`, the files in this folder are the next
        // targets.
        if is_folder || is_store && self.stores == Stores::WithFiles {
            self.enter(&path);
        }
        let is_target = metadata.is_file() || is_sparse || is_store;
        is_target.then_some(Ok(Target { path, inside: Inside::Whole, depth: 0, is_sparse, is_store }))
    }

    /// Whether a folder is visited as a store.
    fn is_store(&self, folder: &Path) -> bool {
        self.stores != Stores::Folders && is_store_folder(folder)
    }

    /// The target of the next entry of the searched folder. `None` if the entry is not visited, or if there are no more
    /// entries.
    fn walk_on(&mut self) -> Option<Found> {
        let walk = self.walk.as_mut()?;
        let entry = match walk.next() {
            Some(Ok(entry)) => entry,
            Some(Err(error)) => {
                let path = self.shown(error.path().unwrap_or(Path::new("")).into());
                let message = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                return Some(Err(Location::new(&path).failure(Problem::new(code::IO, message))));
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
                "{path}: skipped: the temporary file of a command that was killed or is still running"
            ));
            return None;
        }
        self.entry(entry).map(Ok)
    }

    /// The target of an entry of the searched folder; `None` if the entry is not visited.
    fn entry(&mut self, entry: DirEntry) -> Option<Target> {
        let is_wanted = self.search.wants(entry.path());
        if entry.path_is_symlink() && !self.search.follow && is_wanted {
            self.skipped_links = self.skipped_links.map(|links| links + 1);
        }
        let is_folder = entry.file_type().is_dir();
        let is_sparse = is_folder && is_sparse(entry.path());
        let is_store = is_folder && !is_sparse && is_wanted && self.is_store(entry.path());
        // A sparse frame and its chunk files are one target. With `Stores::Whole`, a store and its files are one target
        // too.
        if is_sparse || is_store && self.stores == Stores::Whole {
            self.walk.as_mut()?.skip_current_dir();
        }
        let is_target = is_sparse || is_store || entry.file_type().is_file();
        (is_target && is_wanted).then(|| {
            let depth = entry.depth();
            let path = self.shown(entry.into_path());
            Target { path, inside: Inside::Whole, depth, is_sparse, is_store }
        })
    }

    /// The target of the next object below a URL; `None` if the object is not visited. Each object costs a request. So
    /// only sparse frames and objects with a Blosc2 extension are visited. With --ext, a sparse frame or object is
    /// visited only if it has one of the given extensions.
    fn next_object(&mut self) -> Option<Found> {
        let object = |path: PathBuf, depth, is_sparse| {
            Some(Ok(Target { path, inside: Inside::Url(None), depth, is_sparse, is_store: false }))
        };
        let prefix = self.objects.as_mut()?;
        let Some(path) = prefix.objects.next() else {
            let Prefix { url, is_empty, .. } = self.objects.take()?;
            return match (is_empty, ends_with_slash(&url)) {
                // Nothing is below the URL, so the URL must name an object.
                (true, false) => object(url, 0, false),
                (true, true) => {
                    let problem = Problem::new(code::IO, "there is no object below it");
                    Some(Err(Location::of_url(&url).failure(problem)))
                }
                (false, _) => None,
            };
        };
        prefix.is_empty = false;
        let path = match path {
            Ok(path) => path,
            Err(problem) => return Some(Err(Location::of_url(&prefix.url).failure(problem))),
        };
        // If the object is the index of a sparse frame, the target is the folder of the frame. The URL of this folder
        // ends with a slash. By the slash, `remote::open` recognizes a sparse frame, so it needs only one request to
        // open the frame.
        let folder = path.to_str().and_then(|path| path.strip_suffix(SPARSE_INDEX));
        let (path, is_sparse) = match folder.filter(|folder| folder.ends_with('/')) {
            Some(folder) => (folder.into(), true),
            None => (path, false),
        };
        let is_wanted = if self.search.ext.is_empty() {
            is_sparse || is_named_blosc2(&path)
        } else {
            self.search.wants(&path)
        };
        // A sparse frame can be at the URL itself, so that its path has no components below the URL. The depth of this
        // sparse frame is 1 nevertheless, because 0 is for targets that the user named.
        let depth = path.strip_prefix(&prefix.url).map_or(1, |name| name.components().count().max(1));
        if is_wanted { object(path, depth, is_sparse) } else { None }
    }

    /// The displayed path of a file in the searched folder.
    fn shown(&self, path: PathBuf) -> PathBuf {
        match path.strip_prefix(".") {
            Ok(rest) if self.is_here => rest.into(),
            _ => path,
        }
    }
}
