//! Where written bytes go. A file appears at its name whole or not at all.

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

/// A local file: written under a temporary name beside the target, synced, then renamed over it.
pub struct FileSink {
    target: PathBuf,
    out: BufWriter<File>,
    temporary: Temporary,
}

/// The unfinished file; removed on drop unless it was renamed.
struct Temporary(Option<PathBuf>);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // Nothing useful can be done if even this fails; the file is recognisable by its name.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl FileSink {
    /// Starts a file that will appear at `target`.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        let target = target.as_ref().to_path_buf();
        let Some(name) = target.file_name() else {
            return Err(Error::request("not_a_file_name", "expected the name of a file to write")
                .file(target.display().to_string()));
        };
        let mut temporary_name = std::ffi::OsString::from(".");
        temporary_name.push(name);
        temporary_name.push(format!(".{}-{}.colkit-tmp", std::process::id(), next_number()));
        let path = target.with_file_name(temporary_name);
        let file = File::options().write(true).create_new(true).open(&path).map_err(|e| {
            Error::from(e)
                .file(target.display().to_string())
                .part("creating a temporary file beside the target")
                .hint("check that the folder exists and can be written to")
        })?;
        Ok(FileSink { target, out: BufWriter::with_capacity(1 << 18, file), temporary: Temporary(Some(path)) })
    }

    fn named(&self, e: impl Into<Error>) -> Error {
        e.into().file(self.target.display().to_string())
    }
}

/// Tells apart the temporary files of one process.
fn next_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

impl Sink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| self.named(e))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.out.flush().map_err(|e| self.named(e))?;
        self.out.get_ref().sync_all().map_err(|e| self.named(e))?;
        if let Some(path) = &self.temporary.0 {
            std::fs::rename(path, &self.target).map_err(|e| self.named(e))?;
            self.temporary.0 = None;
        }
        sync_folder(&self.target);
        Ok(())
    }
}

/// Makes the rename itself durable. Some file systems refuse to sync folders; the rename is atomic all the same.
fn sync_folder(target: &Path) {
    let folder = match target.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    if let Ok(folder) = File::open(folder) {
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

    #[test]
    fn a_missing_folder_is_named() {
        let error = FileSink::create("/nonexistent-folder/x.bin").err().unwrap();
        assert_eq!(error.file_name(), Some("/nonexistent-folder/x.bin"));
    }
}
