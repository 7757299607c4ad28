//! Where written bytes go. A file appears at its name whole or not at all.

use crate::temporary::{folder_of, hold, make_beside, name_beside, sweep};
use crate::{Error, Result};
use bytes::Bytes;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Takes bytes in order. Dropping a sink without [`Sink::commit`] leaves nothing behind.
pub trait Sink: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes everything written so far permanent and visible.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// A local file that appears at its name when it is complete, synced, and not before.
///
/// Until then it has no name at all where the system allows that, so that not even a kill leaves anything behind.
/// Elsewhere it has a temporary name beside the target; what a killed process left of it is removed by the next one that
/// writes into the same folder.
pub struct FileSink {
    target: PathBuf,
    out: BufWriter<File>,
    temporary: Temporary,
}

/// The temporary name beside the target. Removed on drop, unless the file was renamed or never had it.
struct Temporary {
    path: PathBuf,
    exists: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.exists {
            // Nothing useful can be done if even this fails; the file is recognisable by its name.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl FileSink {
    /// Starts a file that will appear at `target`.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        let target = target.as_ref().to_path_buf();
        if target.file_name().is_none() {
            return Err(Error::request("not_a_file_name", "expected the name of a file to write")
                .file(target.display().to_string()));
        }
        let folder = folder_of(&target);
        sweep(folder);
        let (temporary, file) = match nameless_file(folder) {
            Some(file) => {
                // Nobody else can see it; locked, it stays so when it gets its first name.
                hold(&file);
                (Temporary { path: name_beside(&target), exists: false }, file)
            }
            None => {
                let create = |path: &Path| File::options().write(true).create_new(true).open(path);
                let (path, file) = make_beside(&target, create).map_err(|e| {
                    Error::from(e)
                        .file(target.display().to_string())
                        .part("creating a temporary file beside the target")
                        .hint("check that the folder exists and can be written to")
                })?;
                (Temporary { path, exists: true }, file)
            }
        };
        Ok(FileSink { target, out: BufWriter::with_capacity(1 << 18, file), temporary })
    }

    fn named(&self, e: impl Into<Error>) -> Error {
        e.into().file(self.target.display().to_string())
    }
}

/// A file in this folder that has no name yet, if the system and the file system can do that.
#[cfg(target_os = "linux")]
fn nameless_file(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    // Giving it a name later goes through /proc.
    if !Path::new("/proc/self/fd").exists() {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn nameless_file(_: &Path) -> Option<File> {
    None
}

/// Gives a nameless file its first name.
#[cfg(target_os = "linux")]
fn give_name(file: &File, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    use std::os::fd::AsRawFd;
    let descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, descriptor, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &File, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

impl Sink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| self.named(e))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.out.flush().map_err(|e| self.named(e))?;
        self.out.get_ref().sync_all().map_err(|e| self.named(e))?;
        if !self.temporary.exists {
            // A link cannot replace what is there, a rename can.
            give_name(self.out.get_ref(), &self.temporary.path).map_err(|e| self.named(e))?;
            self.temporary.exists = true;
        }
        std::fs::rename(&self.temporary.path, &self.target).map_err(|e| self.named(e))?;
        self.temporary.exists = false;
        sync_folder(&self.target);
        Ok(())
    }
}

/// Makes the rename itself durable. Some file systems refuse to sync folders; the rename is atomic all the same.
fn sync_folder(target: &Path) {
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
}

/// A stream such as standard output: what was written cannot be taken back.
pub struct StreamSink<W>(pub W);

impl<W: Write + Send> Sink for StreamSink<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.0.write_all(bytes)?)
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        Ok(self.0.flush()?)
    }
}

/// A sink in memory. The bytes become visible through every clone once committed.
#[derive(Clone, Default)]
pub struct MemorySink {
    unfinished: Vec<u8>,
    committed: Arc<Mutex<Option<Bytes>>>,
}

impl MemorySink {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes, once committed.
    pub fn bytes(&self) -> Option<Bytes> {
        self.committed.lock().ok().and_then(|c| c.clone())
    }
}

impl Sink for MemorySink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.unfinished.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let bytes = std::mem::take(&mut self.unfinished);
        if let Ok(mut committed) = self.committed.lock() {
            *committed = Some(bytes.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.bin");
        let entries = || std::fs::read_dir(folder.path()).unwrap().count();
        let mut sink = FileSink::create(&target).unwrap();
        sink.write(b"half").unwrap();
        drop(sink);
        assert_eq!(entries(), 0, "an abandoned write leaves nothing");

        std::fs::write(&target, b"old").unwrap();
        let mut sink = Box::new(FileSink::create(&target).unwrap());
        sink.write(b"whole").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"old", "the old file stays until the new one is complete");
        sink.commit().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert_eq!(entries(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_unfinished_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        if nameless_file(folder.path()).is_none() {
            return; // This file system cannot; the other tests cover what happens then.
        }
        let mut sink = Box::new(FileSink::create(folder.path().join("out.bin")).unwrap());
        sink.write(b"half").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        sink.commit().unwrap();
        assert_eq!(std::fs::read(folder.path().join("out.bin")).unwrap(), b"half");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = FileSink::create("/nonexistent-folder/x.bin").err().unwrap();
        assert_eq!(error.file_name(), Some("/nonexistent-folder/x.bin"));
    }
}
