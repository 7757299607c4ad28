//! How many files are open at a time.
//!
//! A table may be made of thousands of files, and systems allow about a thousand open ones. So a file that was opened by its
//! path is open while it is read and for some time after; then the one that was used longest ago is closed, and opened again
//! when somebody reads it. It must be the same file then.

use crate::{Error, Result};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

/// An open file.
#[derive(Debug)]
pub(super) struct Handle {
    pub file: File,
    /// The same file, opened again for scattered reads, once there are any.
    pub scattered: OnceLock<Option<File>>,
}

impl From<File> for Handle {
    fn from(file: File) -> Self {
        Handle { file, scattered: OnceLock::new() }
    }
}

/// A file that may be closed and opened again.
#[derive(Debug)]
pub(super) struct Reopened {
    number: u64,
    path: PathBuf,
    identity: Identity,
}

/// What tells a file from another that has its name.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    length: u64,
    modified: Option<SystemTime>,
    place: Option<(u64, u64)>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let place = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let place = None;
        Identity { length: metadata.len(), modified: metadata.modified().ok(), place }
    }
}

impl Reopened {
    /// This file, which was just opened by this path.
    pub fn new(file: File, path: &Path, metadata: &Metadata) -> std::io::Result<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        // The folder that the process works in may be another one by then.
        let path = std::path::absolute(path)?;
        pool().insert(number, Arc::new(file.into()));
        Ok(Reopened { number, path, identity: Identity::of(metadata) })
    }

    /// The open file.
    pub fn handle(&self) -> Result<Arc<Handle>> {
        if let Some(handle) = pool().get(self.number) {
            return Ok(handle);
        }
        let named = |e: std::io::Error| Error::from(e).file(self.path.display().to_string());
        let file = open(&self.path).map_err(named)?;
        if Identity::of(&file.metadata().map_err(named)?) != self.identity {
            return Err(Error::io("object_changed", "the file changed while it was being read")
                .file(self.path.display().to_string())
                .hint("read it again"));
        }
        let handle = Arc::new(Handle::from(file));
        pool().insert(self.number, handle.clone());
        Ok(handle)
    }
}

impl Drop for Reopened {
    fn drop(&mut self) {
        pool().handles.remove(&self.number);
    }
}

/// Opens a file; if too many are open, those that can be opened again are closed first.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    let opened = File::open(path);
    match &opened {
        Err(e) if too_many(e) => {
            pool().handles.clear();
            File::open(path)
        }
        _ => opened,
    }
}

#[cfg(unix)]
fn too_many(e: &std::io::Error) -> bool {
    let known = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    known.iter().any(|errno| e.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(not(unix))]
fn too_many(_: &std::io::Error) -> bool {
    false
}

fn pool() -> MutexGuard<'static, Pool> {
    static POOL: Mutex<Pool> = Mutex::new(Pool { handles: BTreeMap::new(), clock: 0 });
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files that are open and can be opened again, by number, with when each was used last.
struct Pool {
    handles: BTreeMap<u64, (Arc<Handle>, u64)>,
    clock: u64,
}

impl Pool {
    fn get(&mut self, number: u64) -> Option<Arc<Handle>> {
        self.clock += 1;
        let (handle, used) = self.handles.get_mut(&number)?;
        *used = self.clock;
        Some(handle.clone())
    }

    fn insert(&mut self, number: u64, handle: Arc<Handle>) {
        while self.handles.len() >= most_open() {
            let oldest = self.handles.iter().min_by_key(|(_, (_, used))| *used).map(|(number, _)| *number);
            let Some(oldest) = oldest else { break };
            self.handles.remove(&oldest);
        }
        self.clock += 1;
        self.handles.insert(number, (handle, self.clock));
    }
}

/// Files kept open at most: a part of what the process may have, since each may be open twice and others open files too.
pub(crate) fn most_open() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| (allowed().unwrap_or(512) / 8).clamp(4, 1024))
}

/// Open files that the system allows this process.
fn allowed() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::{ByteRange, FileSource, Source};

    #[test]
    fn many_files_are_read_with_few_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = |i: usize| folder.path().join(i.to_string());
        let files: Vec<FileSource> = (0..3 * super::most_open())
            .map(|i| {
                std::fs::write(path(i), i.to_string()).unwrap();
                FileSource::open(path(i)).unwrap()
            })
            .collect();
        for (i, file) in files.iter().enumerate() {
            assert_eq!(file.read(ByteRange::between(0, file.size())).unwrap(), i.to_string());
        }
        // The first has been closed meanwhile; another one in its place is not what was opened.
        std::fs::remove_file(path(0)).unwrap();
        std::fs::write(path(0), "x").unwrap();
        assert_eq!(files[0].read(ByteRange::between(0, 1)).unwrap_err().code(), "object_changed");
    }
}
