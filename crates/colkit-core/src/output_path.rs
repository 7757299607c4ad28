//! What exists under the name of an output file, and how it may be replaced.

use crate::temporary::folder_of;
use crate::{Error, Existing, Result, Setting};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Seek};
use std::path::{Path, PathBuf};

/// What is at a name.
pub(crate) enum OutputPath {
    Nothing,
    /// A regular file, which may be replaced.
    File(Metadata),
    /// A device or a pipe: it is never replaced, only written to.
    Special(Metadata),
}

/// The error for a file that would be lost.
pub fn already_exists(path: &Path) -> Error {
    Error::request("already_exists", "a file of this name is there already")
        .file(path.display().to_string())
        .hint(Setting::Overwrite.does("overwrites it"))
}

/// Links followed before it must be a circle; as many as the system follows.
const MOST_LINKS: usize = 40;

/// Where a name leads through symbolic links. The last one need not lead to anything yet.
pub(crate) fn followed(path: &Path) -> Result<PathBuf> {
    let mut at = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&at) {
            Ok(next) => at = folder_of(&at).join(next),
            Err(_) => return Ok(at),
        }
    }
    let what = "symbolic links lead from one to the next without end";
    Err(Error::io("too_many_links", what).file(path.display().to_string()))
}

/// Looks at what is at `path`. What must not be replaced is refused.
pub(crate) fn look(path: &Path, existing: Existing) -> Result<OutputPath> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(OutputPath::Nothing),
        Err(e) => return Err(Error::from(e).file(path.display().to_string())),
    };
    if metadata.is_dir() {
        return Err(Error::request("is_a_folder", "expected the name of a file to write, found a folder")
            .file(path.display().to_string()));
    }
    if !metadata.is_file() {
        return special(path, metadata, existing);
    }
    match existing {
        Existing::Refuse => Err(already_exists(path)),
        Existing::Replace => Ok(OutputPath::File(metadata)),
    }
}

/// Devices and pipes take a stream. What a block device holds is data like that of a file; a socket takes nothing.
fn special(path: &Path, metadata: Metadata, existing: Existing) -> Result<OutputPath> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_socket() {
            return Err(Error::request("is_a_socket", "a socket cannot be written to like a file")
                .file(path.display().to_string())
                .hint("write to standard output and pipe that to a program that knows the socket"));
        }
        if kind.is_block_device() && existing == Existing::Refuse {
            return Err(Error::request("already_exists", "what is on this block device would be lost")
                .file(path.display().to_string())
                .hint(Setting::Overwrite.does("overwrites it")));
        }
    }
    #[cfg(not(unix))]
    let _ = (path, existing);
    Ok(OutputPath::Special(metadata))
}

/// Opens what was found to be a device or a pipe. A pipe waits here for its reader.
pub(crate) fn open_special(path: &Path, found: &Metadata) -> Result<File> {
    let open = || -> std::io::Result<Option<File>> {
        let file = File::options().write(true).open(path)?;
        Ok(Some(file.metadata()?).filter(|m| !m.is_file() && is_same(m, found)).map(|_| file))
    };
    let named = |e: Error| e.file(path.display().to_string());
    open().map_err(|e| named(e.into()))?.ok_or_else(|| named(changed()))
}

/// The error for names that somebody else uses at the same time.
pub(crate) fn changed() -> Error {
    Error::io("target_changed", "what is at this name was changed by somebody else meanwhile")
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Whether the file has this name alone.
#[cfg(unix)]
pub(crate) fn has_one_name(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) <= 1
}

#[cfg(not(unix))]
pub(crate) fn has_one_name(_: &Metadata) -> bool {
    true
}

/// Writes a complete file into another one, which stays the file it is: with all its names, its owner and its rights.
/// Unlike a rename this takes a while, and whoever reads meanwhile sees some of both.
pub(crate) fn copy_into(mut complete: &File, path: &Path, old: &Metadata) -> Result<()> {
    let mut into = File::options().write(true).open(path)?;
    if !is_same(&into.metadata()?, old) {
        return Err(changed());
    }
    let length = complete.metadata()?.len();
    // A full disk should show before anything of the old file is lost.
    reserve(&into, length)?;
    complete.rewind()?;
    std::io::copy(&mut complete, &mut into)?;
    into.set_len(length)?;
    Ok(into.sync_all()?)
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, length: u64) -> Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    if length == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, length) {
        Err(rustix::io::Errno::NOSPC) => Err(std::io::Error::from(rustix::io::Errno::NOSPC).into()),
        // Not every file system can.
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> Result<()> {
    Ok(())
}

/// Renames a file that has a temporary name, unless something is at `to`.
pub(crate) fn rename_new(from: &Path, to: &Path) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => {}
            done => return Ok(done?),
        }
    }
    // A link replaces nothing; where there are none, looking first is the best there is.
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(e),
        Err(_) if to.symlink_metadata().is_ok() => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}
