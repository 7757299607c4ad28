//! Ownership and permissions of output files: an overwritten file keeps its owner, mode and ACL, and a new file is no
//! more readable than the files it is made from.

use std::fs::{File, Metadata};
use std::io::Result;
use std::path::Path;

/// Gives `file` the owner, mode and access list of the file at `path`, which it is to replace.
#[cfg(unix)]
pub(crate) fn take_over(file: &File, path: &Path, old: &Metadata) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    // The folder may have given it a list of its own, which the mode would then be a part of.
    let list = access_list::of(path)?;
    access_list::remove(file);
    set_mode(file, old.mode() & 0o777)?;
    match list {
        Some(list) => access_list::set(file, &list),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
pub(crate) fn take_over(file: &File, _: &Path, old: &Metadata) -> Result<()> {
    file.set_permissions(old.permissions())
}

/// Takes rights away from `file` until nobody can read it who cannot read the file at `input`. Its owner keeps all.
#[cfg(unix)]
pub(crate) fn restrict(file: &File, input: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let (input_is, new) = (std::fs::metadata(input)?, file.metadata()?);
    let others = input_is.mode() & 0o004 != 0;
    // The group of another file says nothing about this one's, nor does the mode of a file with an access list.
    let same_group = input_is.gid() == new.gid() && access_list::of(input)?.is_none();
    let group = others || (same_group && input_is.mode() & 0o040 != 0);
    let mut mode = new.mode() & 0o777;
    if !others {
        mode &= !0o007;
        // A list that the folder gave it may name anybody; without it, the mode of the group is that of the list.
        if access_list::remove(file) {
            mode &= !0o070;
        }
    }
    if !group {
        mode &= !0o070;
    }
    if mode == new.mode() & 0o777 { Ok(()) } else { set_mode(file, mode) }
}

#[cfg(not(unix))]
pub(crate) fn restrict(_: &File, _: &Path) -> Result<()> {
    Ok(())
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Access lists, as the system keeps them.
#[cfg(target_os = "linux")]
mod access_list {
    use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr, getxattr};
    use rustix::io::Errno;
    use std::fs::File;
    use std::io::Result;
    use std::path::Path;

    const NAME: &str = "system.posix_acl_access";

    /// The most that the system keeps under a name.
    const MOST: usize = 64 << 10;

    /// The list of the file at `path`, if it has one.
    pub fn of(path: &Path) -> Result<Option<Vec<u8>>> {
        let mut list = vec![0; MOST];
        match getxattr(path, NAME, list.as_mut_slice()) {
            Ok(length) => {
                list.truncate(length);
                Ok(Some(list))
            }
            // None, or none on this file system.
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    pub fn set(file: &File, list: &[u8]) -> Result<()> {
        Ok(fsetxattr(file, NAME, list, XattrFlags::empty())?)
    }

    /// Whether there was one. Removing what is not there succeeds, too.
    pub fn remove(file: &File) -> bool {
        let mut list = vec![0; MOST];
        fgetxattr(file, NAME, list.as_mut_slice()).is_ok() && fremovexattr(file, NAME).is_ok()
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod access_list {
    use std::fs::File;
    use std::io::Result;
    use std::path::Path;

    pub fn of(_: &Path) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    pub fn set(_: &File, _: &[u8]) -> Result<()> {
        Ok(())
    }

    pub fn remove(_: &File) -> bool {
        false
    }
}
