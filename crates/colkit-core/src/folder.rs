//! Opens paths inside a directory without ever leaving it: symbolic links in it are never followed.

use crate::{Error, Result};
use std::fs::File;
use std::path::Path;

/// An open folder.
pub(crate) struct Folder {
    handle: imp::Handle,
    /// How it is called in messages.
    name: String,
}

impl Folder {
    /// The folder at `path`; links on the way to it are followed, as those who named it meant.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let handle = imp::open(path).map_err(|e| Error::from(e).file(name.clone()))?;
        Ok(Folder { handle, name })
    }

    fn io(&self, path: &str) -> impl Fn(std::io::Error) -> Error {
        let file = self.path(path);
        move |e| Error::from(e).file(file.clone())
    }

    fn path(&self, path: &str) -> String {
        format!("{}/{path}", self.name)
    }

    fn blocked(&self, path: &str, message: &str) -> Error {
        Error::request("blocked_name", message)
            .file(self.path(path))
            .hint("nothing was written; move it away, or restore to another folder")
    }

    /// The folder inside this one that is called `name`, if there is one.
    fn child(&self, name: &str) -> Result<Option<Self>> {
        match imp::child(&self.handle, name).map_err(self.io(name))? {
            imp::Found::Nothing => Ok(None),
            imp::Found::Folder(handle) => Ok(Some(Folder { handle, name: self.path(name) })),
            imp::Found::Other => Err(self.blocked(name, "a folder is needed here, but there is a file or a link")),
        }
    }

    fn child_or_new(&self, name: &str) -> Result<Self> {
        if let Some(child) = self.child(name)? {
            return Ok(child);
        }
        imp::make(&self.handle, name).map_err(self.io(name))?;
        self.child(name)?.ok_or_else(|| self.blocked(name, "the folder was removed as soon as it was made"))
    }

    /// Checks that a file can be put at `path`: that all on the way to it are folders or absent, that nothing but a file is
    /// there, and that we may write here.
    pub fn check_file(&self, path: &str) -> Result<()> {
        match path.split_once('/') {
            Some((first, rest)) => match self.child(first)? {
                Some(child) => child.check_file(rest),
                None => self.check_writable(first),
            },
            None => match imp::is_replaceable(&self.handle, path).map_err(self.io(path))? {
                true => self.check_writable(path),
                false => Err(self.blocked(path, "a file is to be put here, but there is something else, or a link")),
            },
        }
    }

    /// Checks that there is, or can be, a folder at `path`.
    pub fn check_folder(&self, path: &str) -> Result<()> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match self.child(first)? {
            Some(child) if !rest.is_empty() => child.check_folder(rest),
            Some(_) => Ok(()),
            None => self.check_writable(first),
        }
    }

    fn check_writable(&self, name: &str) -> Result<()> {
        imp::check_writable(&self.handle).map_err(self.io(name))
    }

    /// Makes the folder at `path`, and those on the way to it, unless they are there. Whether it is new.
    pub fn make_folder(&self, path: &str) -> Result<bool> {
        match path.split_once('/') {
            Some((first, rest)) => self.child_or_new(first)?.make_folder(rest),
            None => {
                let is_new = self.child(path)?.is_none();
                self.child_or_new(path).map(|_| is_new)
            }
        }
    }

    /// Moves the file at `from` to `path`, and replaces a file that is there.
    pub fn put(&self, from: &Path, path: &str) -> Result<()> {
        match path.split_once('/') {
            Some((first, rest)) => self.child_or_new(first)?.put(from, rest),
            None => imp::rename(from, &self.handle, path).map_err(self.io(path)),
        }
    }

    /// The folder at `path`, to set its attributes; `None` where the system cannot open folders.
    pub fn file(&self, path: &str) -> Result<Option<File>> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match self.child(first)? {
            Some(child) if !rest.is_empty() => child.file(rest),
            Some(child) => imp::file(child.handle).map_err(self.io(path)),
            None => Ok(None),
        }
    }
}

#[cfg(unix)]
mod imp {
    use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
    use rustix::io::Errno;
    use std::fs::File;
    use std::io::Result;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    pub type Handle = OwnedFd;

    pub enum Found {
        Nothing,
        Folder(Handle),
        Other,
    }

    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    pub fn open(path: &Path) -> Result<Handle> {
        Ok(rustix::fs::open(path, FOLDER, Mode::empty())?)
    }

    pub fn child(folder: &Handle, name: &str) -> Result<Found> {
        match rustix::fs::openat(folder, name, FOLDER.union(OFlags::NOFOLLOW), Mode::empty()) {
            Ok(child) => Ok(Found::Folder(child)),
            Err(Errno::NOENT) => Ok(Found::Nothing),
            // Systems differ in what they say about a link.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::MLINK) => Ok(Found::Other),
            Err(e) => Err(e.into()),
        }
    }

    pub fn make(folder: &Handle, name: &str) -> Result<()> {
        Ok(rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777))?)
    }

    pub fn is_replaceable(folder: &Handle, name: &str) -> Result<bool> {
        match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(FileType::from_raw_mode(found.st_mode) == FileType::RegularFile),
            Err(Errno::NOENT) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    pub fn check_writable(folder: &Handle) -> Result<()> {
        Ok(rustix::fs::accessat(folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty())?)
    }

    pub fn rename(from: &Path, folder: &Handle, name: &str) -> Result<()> {
        Ok(rustix::fs::renameat(CWD, from, folder, name)?)
    }

    pub fn file(folder: Handle) -> Result<Option<File>> {
        Ok(Some(File::from(folder)))
    }
}

/// Where folders cannot be opened, their names are looked at before they are used.
#[cfg(not(unix))]
mod imp {
    use std::fs::File;
    use std::io::{ErrorKind, Result};
    use std::path::{Path, PathBuf};

    pub type Handle = PathBuf;

    pub enum Found {
        Nothing,
        Folder(Handle),
        Other,
    }

    pub fn open(path: &Path) -> Result<Handle> {
        if path.is_dir() { Ok(path.to_path_buf()) } else { Err(ErrorKind::NotADirectory.into()) }
    }

    pub fn child(folder: &Handle, name: &str) -> Result<Found> {
        let path = folder.join(name);
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Found::Folder(path)),
            Ok(_) => Ok(Found::Other),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Found::Nothing),
            Err(e) => Err(e),
        }
    }

    pub fn make(folder: &Handle, name: &str) -> Result<()> {
        std::fs::create_dir(folder.join(name))
    }

    pub fn is_replaceable(folder: &Handle, name: &str) -> Result<bool> {
        match std::fs::symlink_metadata(folder.join(name)) {
            Ok(found) => Ok(found.is_file()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(true),
            Err(e) => Err(e),
        }
    }

    pub fn check_writable(_: &Handle) -> Result<()> {
        Ok(())
    }

    pub fn rename(from: &Path, folder: &Handle, name: &str) -> Result<()> {
        std::fs::rename(from, folder.join(name))
    }

    pub fn file(_: Handle) -> Result<Option<File>> {
        Ok(None)
    }
}
