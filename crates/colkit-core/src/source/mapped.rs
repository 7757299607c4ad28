//! Files mapped into memory.

use super::{FileSource, Source};
use crate::{ByteRange, Error, Result};
use bytes::Bytes;
use std::path::Path;

/// A local file mapped into memory: no bytes are copied, and none are asked for twice.
///
/// Much faster than [`FileSource`] for single rows of a file that is in the page cache, slower for one that is not.
/// Never the default: when somebody else cuts a mapped file, reading it kills the process.
#[derive(Debug)]
pub struct MappedSource(Bytes);

impl MappedSource {
    /// Maps the file at `path`, which nobody may change or cut as long as anything read from it lives.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = FileSource::open(path)?.file;
        // SAFETY: the caller has been told that nobody may change the file; it is only ever read.
        #[expect(unsafe_code, reason = "mapping is what this type is for")]
        let map = unsafe { memmap2::Mmap::map(&file) };
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
