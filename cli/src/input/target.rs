//! The targets of a visit: a file, a folder that is a frame or a store, or a place inside a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use b2nd_frame::{Store, is_sparse_frame, is_store_folder};

use super::address::{Address, Inside, Location};
use super::failure::Failure;
use crate::names::{file_of, folder_or_here, has_extension, is_named_blosc2, name_in};

/// A file, the directory of a sparse frame, the folder of a store, or a place inside a file.
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) inside: Inside<String>,
    /// The number of path components below the searched folder or URL; 0 if the user named the target.
    pub(crate) depth: usize,
    pub(crate) is_sparse: bool,
    pub(crate) is_store: bool,
}

impl Target {
    /// The target of an address that the user named.
    pub(crate) fn given(Address { path, inside }: Address) -> Self {
        let is_whole = inside == Inside::Whole;
        let is_sparse = is_whole && is_sparse_frame(&path);
        let is_store = is_whole && !is_sparse && is_store_folder(&path);
        Self { path, inside, depth: 0, is_sparse, is_store }
    }

    /// The zip file, or the folder of the store, that contains a member.
    pub(crate) fn container(&self) -> Option<Self> {
        let inside = match self.inside {
            Inside::Member(_) => Inside::Whole,
            Inside::Url(Some(_)) => Inside::Url(None),
            _ => return None,
        };
        Some(Self::given(Address { path: self.path.clone(), inside }))
    }

    /// Whether the user named the target. Otherwise it was found in a folder or below a URL.
    pub(crate) fn is_given(&self) -> bool {
        self.depth == 0
    }

    pub(crate) fn location(&self) -> Location<'_> {
        Location { path: &self.path, inside: self.inside.borrowed() }
    }

    /// Whether the target is a sparse frame, or has a Blosc2 extension.
    pub(crate) fn is_named_blosc2(&self) -> bool {
        self.is_sparse || is_named_blosc2(file_of(&self.path))
    }

    pub(crate) fn is_named_zip(&self) -> bool {
        self.inside == Inside::Whole && has_extension(&self.path, "b2z")
    }

    /// Whether the target is a whole object with the extension of a zip file.
    pub(crate) fn is_zip_object(&self) -> bool {
        self.inside == Inside::Url(None) && has_extension(file_of(&self.path), "b2z")
    }
}

/// A target, or the failure to find one.
pub(crate) type Found = Result<Target, Failure>;

/// Whether a path is the directory of a sparse frame. A directory with a Blosc2 extension and chunk files counts too,
/// because it is a sparse frame that has lost its header.
pub(crate) fn is_sparse(path: &Path) -> bool {
    let is_chunk =
        |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| has_extension(&entry.path(), "chunk"));
    let is_remnant =
        || is_named_blosc2(path) && fs::read_dir(path).is_ok_and(|mut entries| entries.any(is_chunk));
    is_sparse_frame(path) || is_remnant()
}

/// The address of the table in a folder; `None` if the folder is not a table in a store. The store must be one of the
/// parent folders that the text of the path contains: symbolic links and `..` are not resolved. If the path is
/// relative, the store can also be the current folder.
pub(crate) fn find_table(folder: &Path) -> Option<Address> {
    if !folder.join(Store::TABLE_FILE).is_file() {
        return None;
    }
    let path = folder.ancestors().skip(1).map(folder_or_here).find(|folder| is_store_folder(folder))?;
    let key = format!("/{}", name_in(path, folder));
    let store = Store::open(path).ok()??;
    let is_table = store.tables().any(|(table, _)| table == key);
    is_table.then(|| Address { path: path.into(), inside: Inside::Member(key) })
}
