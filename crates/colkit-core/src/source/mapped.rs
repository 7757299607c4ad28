//! Files mapped into memory.

use super::{FileSource, Source};
use crate::{ByteRange, Error, Result};
use bytes::Bytes;
use std::path::Path;

/// A memory-mapped local file: no bytes are copied, and none are read twice.
///
/// Much faster than [`FileSource`] for single rows of a file in the page cache, slower for one that is not. Never the
/// default, since nothing keeps other processes from changing the file.
#[derive(Debug)]
pub struct MappedSource(Bytes);

impl MappedSource {
    /// Maps the file at `path`.
    ///
    /// # Safety
    ///
    /// No process may modify or truncate the file while this source, or anything read from it, is alive. Decoders rely on
    /// bytes that stay what they were when they were checked, and reading beyond the end of a truncated file kills the
    /// process.
    #[expect(unsafe_code, reason = "mapping is what this type is for")]
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let handle = FileSource::open(path)?.handle()?;
        // SAFETY: the caller promises that nobody changes the file; it is only ever read.
        let map = unsafe { memmap2::Mmap::map(&handle.file) };
        Ok(MappedSource(Bytes::from_owner(map.map_err(|e| Error::from(e).file(path.display().to_string()))?)))
    }
}

impl Source for MappedSource {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        self.0.read(range)
    }

    fn read_many(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        self.0.read_many(ranges)
    }
}
