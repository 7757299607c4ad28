//! Input: one narrow trait to read bytes from, with wrappers instead of flags.

#[cfg(feature = "fs")]
mod file;
#[cfg(feature = "fs")]
mod folder;
#[cfg(feature = "fs")]
mod handles;
#[cfg(feature = "mmap")]
mod mapped;
#[cfg(feature = "fs")]
mod sparse;

#[cfg(feature = "fs")]
pub use file::FileSource;
#[cfg(feature = "fs")]
pub use folder::FolderSource;
#[cfg(feature = "object-store")]
pub(crate) use folder::elsewhere;
#[cfg(feature = "mmap")]
pub use mapped::MappedSource;

use crate::range::coalesce;
use crate::{ByteRange, Error, Result};
use bytes::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Random access to the bytes of one file. Reads may come from many threads at once.
pub trait Source: Send + Sync {
    /// The length in bytes, fixed for as long as the source lives.
    fn size(&self) -> u64;

    /// Exactly these bytes. A range beyond the end is an error.
    fn read(&self, range: ByteRange) -> Result<Bytes>;

    /// Several requests, sorted and apart from each other, answered in order: where a source can do better than one
    /// by one.
    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        requests.iter().map(|r| self.read(*r)).collect()
    }

    /// Ranges at most this far apart are read together: below it, another request costs more than the bytes between.
    fn gap(&self) -> u64 {
        0
    }

    /// The same bytes for a scan that is going to want these ranges and little else; `None` if knowing that is of no use.
    fn for_ranges(&self, _wanted: &[ByteRange]) -> Option<Arc<dyn Source>> {
        None
    }

    /// Several ranges, answered in the order asked. Ranges that touch or lie close together are read together.
    fn read_many(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        if let [only] = ranges {
            return Ok(vec![self.read(*only)?]);
        }
        let requests = coalesce(ranges, self.gap());
        let parts = self.read_each(&requests)?;
        if requests == ranges {
            return Ok(parts);
        }
        cut(ranges, &requests, &parts)
    }
}

/// Cuts the ranges that were asked for out of the merged requests that were read.
pub(crate) fn cut(ranges: &[ByteRange], requests: &[ByteRange], parts: &[Bytes]) -> Result<Vec<Bytes>> {
    ranges
        .iter()
        .map(|range| {
            if range.is_empty() {
                return Ok(Bytes::new());
            }
            let after = requests.partition_point(|r| r.start() <= range.start());
            let found = after.checked_sub(1).and_then(|i| Some((requests.get(i)?, parts.get(i)?)));
            match found {
                Some((request, bytes)) if request.contains(*range) && bytes.len() as u64 == request.len() => {
                    let from = usize::try_from(range.start() - request.start()).unwrap_or(usize::MAX);
                    Ok(bytes.slice(from..from + range.len_usize()?))
                }
                _ => Err(short_read(*range)),
            }
        })
        .collect()
}

/// The error for bytes that should be there and are not.
fn short_read(range: ByteRange) -> Error {
    Error::io("short_read", format!("bytes {range} could not be read whole"))
        .at(range.start())
        .hint("the file may have been cut or changed while it was being read")
}

/// Whether a source has brought what was asked for.
pub(crate) fn check_lengths(ranges: &[ByteRange], got: &[Bytes]) -> Result<()> {
    let lacking = |(i, range): (usize, &ByteRange)| {
        (got.get(i).map(|bytes| bytes.len() as u64) != Some(range.len())).then_some(*range)
    };
    match ranges.iter().enumerate().find_map(lacking) {
        Some(range) => Err(short_read(range)),
        None => Ok(()),
    }
}

fn check_inside(range: ByteRange, size: u64) -> Result<()> {
    if range.end() > size { Err(short_read(range)) } else { Ok(()) }
}

/// Bytes that are in memory already.
impl Source for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        check_inside(range, self.size())?;
        let start = usize::try_from(range.start()).unwrap_or(usize::MAX);
        Ok(self.slice(start..start + range.len_usize()?))
    }

    fn read_many(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        // Nothing is gained by merging what is not copied.
        ranges.iter().map(|r| self.read(*r)).collect()
    }
}

/// How much was read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCount {
    /// Requests made.
    pub requests: u64,
    /// Bytes received.
    pub bytes: u64,
}

/// Counts what passes through, and remembers which ranges: how `--json` reports bytes read, how progress is
/// measured, and how tests prove that a pruned read touches nothing else.
#[derive(Debug)]
pub struct Counting<S> {
    inner: S,
    counted: Arc<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    requests: AtomicU64,
    bytes: AtomicU64,
    ranges: Option<Mutex<Vec<ByteRange>>>,
}

impl<S: Source> Counting<S> {
    /// Counts requests and bytes.
    pub fn new(inner: S) -> Self {
        Counting { inner, counted: Arc::default() }
    }

    /// Also remembers every range; [`Counting::ranges`] returns them.
    pub fn remembering(inner: S) -> Self {
        Counting { inner, counted: Arc::new(Counted { ranges: Some(Mutex::default()), ..Counted::default() }) }
    }

    fn count_in(&self, requests: &[ByteRange]) {
        self.counted.requests.fetch_add(requests.len() as u64, Ordering::Relaxed);
        self.counted.bytes.fetch_add(requests.iter().map(|r| r.len()).sum(), Ordering::Relaxed);
        if let Some(Ok(mut ranges)) = self.counted.ranges.as_ref().map(Mutex::lock) {
            ranges.extend_from_slice(requests);
        }
    }

    /// What was read so far.
    pub fn count(&self) -> ReadCount {
        let Counted { requests, bytes, .. } = self.counted.as_ref();
        ReadCount { requests: requests.load(Ordering::Relaxed), bytes: bytes.load(Ordering::Relaxed) }
    }

    /// The ranges read so far, in the order they were asked for (empty unless remembering).
    pub fn ranges(&self) -> Vec<ByteRange> {
        match &self.counted.ranges {
            Some(ranges) => ranges.lock().map(|r| r.clone()).unwrap_or_default(),
            None => Vec::new(),
        }
    }
}

impl<S: Source> Source for Counting<S> {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn for_ranges(&self, wanted: &[ByteRange]) -> Option<Arc<dyn Source>> {
        Some(Arc::new(Counting { inner: self.inner.for_ranges(wanted)?, counted: self.counted.clone() }))
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let bytes = self.inner.read(range)?;
        self.count_in(&[range]);
        Ok(bytes)
    }

    fn gap(&self) -> u64 {
        self.inner.gap()
    }

    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        let parts = self.inner.read_each(requests)?;
        self.count_in(requests);
        Ok(parts)
    }
}

impl<S: Source + ?Sized> Source for Arc<S> {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn for_ranges(&self, wanted: &[ByteRange]) -> Option<Arc<dyn Source>> {
        (**self).for_ranges(wanted)
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        (**self).read(range)
    }

    fn gap(&self) -> u64 {
        (**self).gap()
    }

    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        (**self).read_each(requests)
    }

    fn read_many(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        (**self).read_many(ranges)
    }
}

#[cfg(feature = "fs")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_and_its_bytes_answer_alike() {
        let data: Vec<u8> = (0..=255).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&data).unwrap();
        let file = Counting::remembering(FileSource::from_file(file).unwrap());
        let memory = Bytes::from(data);
        let ranges = [ByteRange::between(3, 9), ByteRange::between(200, 256), ByteRange::between(9, 20)];
        assert_eq!(file.read_many(&ranges).unwrap(), memory.read_many(&ranges).unwrap());
        assert_eq!(file.ranges(), vec![ByteRange::between(3, 20), ByteRange::between(200, 256)]);
        assert_eq!(file.count(), ReadCount { requests: 2, bytes: 73 });
        assert_eq!(file.read(ByteRange::between(250, 257)).unwrap_err().code(), "short_read");
    }
}
