//! Where segments wait: in a temporary file or, in a program without files, in memory.

#[cfg(feature = "fs")]
pub(super) use file::Store;
#[cfg(not(feature = "fs"))]
pub(super) use memory::Store;

#[cfg(feature = "fs")]
mod file {
    use crate::spill::{Extent, SEGMENT};
    use colkit_core::{ByteRange, Error, FileSource, Result, Sink, Source};
    use std::fs::File;
    use std::io::Write;
    use std::path::{Path, PathBuf};

    /// The temporary file, made when it is first needed, gone when it is dropped.
    pub struct Store {
        folder: PathBuf,
        file: Option<File>,
    }

    impl Store {
        pub fn new(folder: Option<&Path>) -> Self {
            Store { folder: folder.map_or_else(std::env::temp_dir, Path::to_path_buf), file: None }
        }

        fn failed(&self, e: std::io::Error) -> Error {
            Error::from(e)
                .part("temporary file for columns that do not fit into memory")
                .file(self.folder.display().to_string())
                .hint("free some space there, set TMPDIR to another folder, or allow more memory")
        }

        pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
            let file = match self.file.take() {
                Some(file) => file,
                None => tempfile::tempfile_in(&self.folder).map_err(|e| self.failed(e))?,
            };
            let written = self.file.insert(file).write_all(bytes);
            written.map_err(|e| self.failed(e))
        }

        pub fn copy(&self, extent: Extent, sink: &mut dyn Sink) -> Result<()> {
            let Some(file) = &self.file else { return Ok(()) };
            let source = FileSource::from_file(file.try_clone().map_err(|e| self.failed(e))?)?;
            let mut at = extent.offset;
            while at < extent.offset + extent.length {
                let end = (at + SEGMENT as u64).min(extent.offset + extent.length);
                sink.write(&source.read(ByteRange::between(at, end))?)?;
                at = end;
            }
            Ok(())
        }
    }
}

#[cfg(not(feature = "fs"))]
mod memory {
    use crate::spill::Extent;
    use colkit_core::{Result, Sink};
    use std::path::Path;

    /// The segments, one after the other.
    pub struct Store(Vec<u8>);

    impl Store {
        pub fn new(_: Option<&Path>) -> Self {
            Store(Vec::new())
        }

        pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }

        pub fn copy(&self, extent: Extent, sink: &mut dyn Sink) -> Result<()> {
            let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
            let segment = self.0.get(at(extent.offset)..at(extent.offset + extent.length));
            sink.write(segment.unwrap_or_default())
        }
    }
}
