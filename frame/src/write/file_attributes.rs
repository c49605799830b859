//! The file attributes that a new frame takes over from the old frame: mode, owner, group and access control list.

use std::fs::{self, File, Permissions};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
#[cfg(target_os = "linux")]
use rustix::io::Errno;

use crate::chunk_file::folder_of;
use crate::read::open::open_at_once;
use crate::write::destination::NewFrame;

/// The old frame from which a new frame is made. The new frame gets the file attributes of the old one.
pub(crate) struct OldFrame {
    /// The file with the header.
    pub(crate) source: PathBuf,
    pub(crate) is_in_place: bool,
    /// Whether the old frame is sparse. The path of the lock file depends on this value, so the value is read before
    /// the lock is taken. The value stays correct, because no writer changes a frame in place from sparse to contiguous
    /// or back.
    pub(crate) is_sparse: bool,
}

/// Gives a copy of a frame the mode and the access control list of the old frame, as far as the system allows. If
/// `has_copied_files` is true, the chunk files of the new frame are copies that already have these attributes.
// Errors are ignored, because they are harmless: without these attributes, only the owner can read the new frame.
pub(crate) fn keep(new: &NewFrame, old: &OldFrame, has_copied_files: bool) {
    let _ = try_keep(new, old, has_copied_files);
}

fn try_keep(new: &NewFrame, old: &OldFrame, has_copied_files: bool) -> io::Result<()> {
    let of_file = FileAttributes::of(&open_at_once(&old.source)?)?;
    let of_directory = || FileAttributes::of(&File::open(folder_of(&old.source))?);
    let Some(directory) = new.directory() else {
        // Windows does not open a directory as a file.
        let is_from_directory = cfg!(unix) && old.is_sparse;
        let attributes = if is_from_directory { of_file.outside(&of_directory()?) } else { of_file };
        attributes.give_to(new.file(), false);
        return Ok(());
    };
    of_file.give_to(new.file(), false);
    if cfg!(unix) && !has_copied_files {
        for entry in fs::read_dir(directory)? {
            of_file.give_to(&File::open(entry?.path())?, false);
        }
    }
    let attributes = if old.is_sparse { of_directory()? } else { of_file.for_directory() };
    attributes.give_to(&File::open(directory)?, false);
    Ok(())
}

/// The mode, owner, group and access control list of a file or directory.
#[derive(Debug)]
pub(crate) struct FileAttributes {
    permissions: Permissions,
    #[cfg(unix)]
    owner: u32,
    #[cfg(unix)]
    group: u32,
    #[cfg(target_os = "linux")]
    acl: Acl,
}

impl FileAttributes {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            permissions: metadata.permissions(),
            #[cfg(unix)]
            owner: metadata.uid(),
            #[cfg(unix)]
            group: metadata.gid(),
            #[cfg(target_os = "linux")]
            acl: acl(file),
        })
    }

    /// Gives a new file or directory the mode and the access control list, as far as the system allows. If the new one
    /// replaces the old one (`is_in_place`), it also gets the owner and the group. If an attribute cannot be kept,
    /// nobody gets more permissions than before.
    // Errors are ignored, because the data matters more. Only root can change the owner of a file, and some file
    // systems have no owners or modes.
    pub(crate) fn give_to(&self, new: &File, is_in_place: bool) {
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has groups"))]
        let mut permissions = self.permissions.clone();
        #[cfg(unix)]
        {
            // Only root can change the owner. A process without root permissions can still set the group if this is one
            // of its own groups.
            if is_in_place && fchown(new, Some(self.owner), Some(self.group)).is_err() {
                let _ = fchown(new, None, Some(self.group));
            }
            let has_group = !is_in_place || new.metadata().is_ok_and(|new| new.gid() == self.group);
            if !has_group {
                permissions.set_mode(in_other_group(self.mode_without_acl()));
            }
            #[cfg(target_os = "linux")]
            if !set_acl(new, if has_group { &self.acl } else { &Ok(None) }) {
                permissions.set_mode(permissions.mode() & !0o077);
            }
        }
        #[cfg(not(unix))]
        let _ = is_in_place;
        // The mode is set after the owner, because a change of the owner clears some bits of the mode.
        let _ = new.set_permissions(permissions);
    }
}

#[cfg(unix)]
impl FileAttributes {
    /// The mode for a new file that gets no access control list. If the old file has a list, its mode does not show the
    /// permissions of the group, so only the owner keeps permissions.
    fn mode_without_acl(&self) -> u32 {
        let mode = self.permissions.mode();
        #[cfg(target_os = "linux")]
        if !matches!(self.acl, Ok(None)) {
            return mode & !0o077;
        }
        mode
    }

    fn with_mode(mut self, mode: u32) -> Self {
        self.permissions.set_mode(mode);
        #[cfg(target_os = "linux")]
        {
            self.acl = Ok(None);
        }
        self
    }

    /// The attributes for a directory that is made from a file: users who could read the file may also enter it.
    fn for_directory(self) -> Self {
        let mode = self.mode_without_acl();
        // In a mode, the bit for reading is two bits above the bit for entering a directory.
        self.with_mode(mode | (mode & 0o444) >> 2)
    }

    /// The attributes for a copy of a file outside its directory: users who may not enter the directory get no
    /// permissions.
    fn outside(self, directory: &Self) -> Self {
        let enter = directory.mode_without_acl() & 0o111;
        if enter == 0o111 {
            return self;
        }
        let mode = self.mode_without_acl();
        // Multiplied by 7, the bit for entering becomes all three permission bits of the same users: owner, group or
        // others.
        self.with_mode(mode & (enter * 0o7))
    }
}

/// The mode of a file that cannot keep its group. The members of the new group counted as others before, and the
/// members of the old group count as others now. So the group and the others get only the permissions that both had
/// before.
#[cfg(unix)]
fn in_other_group(mode: u32) -> u32 {
    let both = mode & (mode >> 3) & 0o007;
    mode & !0o077 | both << 3 | both
}

#[cfg(not(unix))]
impl FileAttributes {
    fn for_directory(self) -> Self {
        self
    }

    fn outside(self, _: &Self) -> Self {
        self
    }
}

/// An access control list, if there is one. In the mode of a file with a list, the bits of the group are the *mask*: the
/// most that any user or group in the list can have. They are not the permissions of the group.
#[cfg(target_os = "linux")]
type Acl = Result<Option<Vec<u8>>, Errno>;

/// The extended attribute with the access control list.
#[cfg(target_os = "linux")]
const ACL: &str = "system.posix_acl_access";

/// The length in bytes of the longest extended attribute of Linux.
#[cfg(target_os = "linux")]
const MAX_XATTR_LEN: usize = 1 << 16;

#[cfg(target_os = "linux")]
fn acl(file: &File) -> Acl {
    let mut acl = vec![0; MAX_XATTR_LEN];
    match fgetxattr(file, ACL, acl.as_mut_slice()) {
        Ok(len) => {
            acl.truncate(len);
            Ok(Some(acl))
        }
        // The file has no list, or the file system has no lists.
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a new file this access control list. If there is no list, removes the list that the new file has inherited
/// from its directory. Returns false if this fails, or if `list` is an error.
#[cfg(target_os = "linux")]
fn set_acl(new: &File, list: &Acl) -> bool {
    match list {
        Ok(Some(list)) => fsetxattr(new, ACL, list, XattrFlags::empty()).is_ok(),
        Ok(None) => acl(new) == Ok(None) || fremovexattr(new, ACL).is_ok(),
        Err(_) => false,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn in_other_group_gives_nobody_more_permissions() {
        for (mode, expected) in [(0o640, 0o600), (0o664, 0o644), (0o604, 0o600), (0o646, 0o644)] {
            assert_eq!(in_other_group(mode), expected, "{mode:o}");
        }
    }
}
