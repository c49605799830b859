//! The file attributes that a rewritten frame keeps: mode, owner and group.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};

use crate::chunk_file::folder_of;
use crate::write::destination::NewFrame;

/// The old frame. The new frame gets its attributes.
pub(crate) struct OldFrame {
    /// The file with the header.
    pub(crate) source: PathBuf,
    pub(crate) is_in_place: bool,
    /// Whether the old frame is sparse. The path of the lock depends on this value, so it is read before the lock is
    /// taken. The value stays correct, because no writer changes a frame in place from sparse to contiguous or back.
    pub(crate) is_sparse: bool,
}

/// Gives a new frame the attributes of the old frame, as far as the system allows. If `has_copied_files` is true, the
/// chunk files of the new frame are copies that already have the modes of the old chunk files.
pub(crate) fn keep(new: &NewFrame, old: &OldFrame, has_copied_files: bool) {
    let OldFrame { source, is_in_place, is_sparse } = old;
    if let Ok(metadata) = source.metadata() {
        keep_attributes(new.file(), &metadata, *is_in_place);
    }
    if let Some(directory) = new.directory() {
        if cfg!(unix) && !has_copied_files {
            keep_mode_of_files(directory, source);
        }
        keep_mode_of_directory(directory, source, *is_sparse);
    }
}

/// Gives a new file the mode of the old file and, in a rewrite in place, its owner and group too, as far as the system
/// allows.
// Errors are ignored, because the data matters more. Only root can change the owner of a file, and some file systems
// have no owners or modes.
pub(crate) fn keep_attributes(new: &File, old: &Metadata, is_in_place: bool) {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has groups"))]
    let mut permissions = old.permissions();
    #[cfg(unix)]
    if is_in_place {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        // Only root can change the owner. A process without root permissions can still set the group, if it is one of
        // the groups of the process.
        if fchown(new, Some(old.uid()), Some(old.gid())).is_err() {
            let _ = fchown(new, None, Some(old.gid()));
        }
        if new.metadata().map_or(true, |new| new.gid() != old.gid()) {
            // Here, the group of the new file differs from the group of the old file. The members of the new group must
            // not get the permissions of the old group. So they get only the permissions of users outside the group.
            let mode = old.mode();
            permissions.set_mode(mode & !0o070 | (mode & 0o007) << 3);
        }
    }
    #[cfg(not(unix))]
    let _ = is_in_place;
    // The mode is set after the owner, because a change of the owner clears some bits of the mode.
    let _ = new.set_permissions(permissions);
}

/// Gives all files of a new directory the mode of the old header file.
fn keep_mode_of_files(directory: &Path, source: &Path) {
    let Ok(mode) = fs::metadata(source).map(|metadata| metadata.permissions()) else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let _ = fs::set_permissions(entry.path(), mode.clone());
    }
}

/// Gives a new directory the mode of the old directory. If the old frame was a file, the new directory gets the mode of
/// this file, and users who could read the file may also enter the directory.
fn keep_mode_of_directory(directory: &Path, source: &Path, is_sparse: bool) {
    let old = if is_sparse { folder_of(source) } else { source };
    let Ok(old) = fs::metadata(old).map(|metadata| metadata.permissions()) else { return };
    #[cfg(unix)]
    if !is_sparse {
        use std::os::unix::fs::PermissionsExt;
        let mode = old.mode();
        // In a mode, the bit for reading is two bits above the bit for entering a directory.
        let _ = fs::set_permissions(directory, fs::Permissions::from_mode(mode | (mode & 0o444) >> 2));
        return;
    }
    let _ = fs::set_permissions(directory, old);
}
