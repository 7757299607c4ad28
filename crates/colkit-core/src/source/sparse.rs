//! A local file for a scan that wants some of its bytes: nothing between them is fetched from the disk.
//!
//! The system reads ahead of whoever reads in order, and so from one wanted column into the next that is not. Here it is told
//! not to. What it would have done right, fetching the next wanted bytes while the last are being decoded, is done by asking
//! for exactly those, as soon as a read has shown that the file is not in the page cache.

use super::file::FileSource;
use crate::{ByteRange, Result, Source};
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is asked for ahead of a read.
const AHEAD: u64 = 4 << 20;

/// What is asked for ahead is remembered in blocks of this size, so that it is asked for once.
const BLOCK: u64 = 1 << 20;

/// A read from the page cache takes less than this for each call, and for each MiB.
const CACHED_CALL: Duration = Duration::from_micros(60);
const CACHED_MIB: Duration = Duration::from_micros(500);

pub(super) struct SparseFile {
    /// The file without read-ahead.
    file: FileSource,
    /// What is wanted, sorted and apart from each other.
    wanted: Vec<ByteRange>,
    /// For each block of the file whether what is wanted of it has been asked for.
    asked: Vec<AtomicBool>,
    /// Whether a read has taken as long as a disk takes.
    from_disk: AtomicBool,
}

impl SparseFile {
    /// `wanted` must be sorted, apart from each other, and within the file.
    pub fn new(file: FileSource, wanted: Vec<ByteRange>) -> Self {
        let blocks = usize::try_from(file.size().div_ceil(BLOCK)).unwrap_or(0);
        let asked = std::iter::repeat_with(AtomicBool::default).take(blocks).collect();
        SparseFile { file, wanted, asked, from_disk: AtomicBool::new(false) }
    }

    /// Asks for what is wanted in the next blocks, if the file comes from a disk.
    fn ask_after(&self, end: u64) {
        if !self.from_disk.load(Ordering::Relaxed) {
            return;
        }
        let window = ByteRange::between(end, end.saturating_add(AHEAD).min(self.file.size()));
        let first = self.wanted.partition_point(|w| w.end() <= window.start());
        let mut next = Vec::new();
        for wanted in self.wanted.iter().skip(first).take_while(|w| w.start() < window.end()) {
            let (mut at, end) = (wanted.start().max(window.start()), wanted.end().min(window.end()));
            while at < end {
                let block_end = (at / BLOCK + 1) * BLOCK;
                let asked = usize::try_from(at / BLOCK).ok().and_then(|block| self.asked.get(block));
                if asked.is_some_and(|asked| !asked.swap(true, Ordering::Relaxed)) {
                    let of_block = |w: &&ByteRange| w.start() < block_end && w.end() > at;
                    let all = self.wanted.iter().skip(first).take_while(|w| w.start() < block_end).filter(of_block);
                    next.extend(all.map(|w| ByteRange::between(w.start().max(at), w.end().min(block_end))));
                }
                at = block_end;
            }
        }
        self.file.ask_ahead(&next);
    }

    fn timed<T>(&self, calls: usize, bytes: u64, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.from_disk.load(Ordering::Relaxed) {
            return read();
        }
        let start = Instant::now();
        let got = read()?;
        let calls = CACHED_CALL.saturating_mul(u32::try_from(calls).unwrap_or(u32::MAX));
        let copy = CACHED_MIB.saturating_mul(u32::try_from(bytes >> 20).unwrap_or(u32::MAX));
        if start.elapsed() > calls.saturating_add(copy) {
            self.from_disk.store(true, Ordering::Relaxed);
        }
        Ok(got)
    }
}

impl Source for SparseFile {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        self.ask_after(range.end());
        self.timed(1, range.len(), || self.file.read(range))
    }

    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        if let Some(last) = requests.last() {
            self.ask_after(last.end());
        }
        let bytes = requests.iter().map(|r| r.len()).fold(0, u64::saturating_add);
        self.timed(requests.len(), bytes, || self.file.read_each(requests))
    }

    fn gap(&self) -> u64 {
        self.file.gap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_sparse_file_has_the_same_bytes() {
        let content: Vec<u8> = (0..5u32 << 20).map(|i| u8::try_from(i % 251).unwrap()).collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&content).unwrap();
        let whole = FileSource::open(file.path()).unwrap();
        let mib = |at: u64| ByteRange::between(at << 18, (at << 18) + (300 << 10));
        let wanted = [mib(1), mib(6), mib(12), mib(14)];
        let sparse = whole.for_ranges(&wanted).expect("a quarter of the file is wanted");
        assert_eq!(sparse.size(), whole.size());
        for range in wanted.into_iter().chain([mib(0), ByteRange::between(0, whole.size())]) {
            assert_eq!(sparse.read(range).unwrap(), whole.read(range).unwrap());
        }
        assert_eq!(sparse.read_many(&wanted).unwrap(), whole.read_many(&wanted).unwrap());
        assert!(sparse.read(ByteRange::between(0, whole.size() + 1)).is_err());
    }

    #[test]
    fn what_is_wanted_is_asked_for_once() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; 9 << 20]).unwrap();
        let wanted = vec![ByteRange::between(100, 3 << 20), ByteRange::between(6 << 20, 7 << 20)];
        let sparse = SparseFile::new(FileSource::open(file.path()).unwrap(), wanted);
        let asked = |s: &SparseFile| s.asked.iter().map(|a| a.load(Ordering::Relaxed)).collect::<Vec<_>>();
        sparse.ask_after(0);
        assert!(asked(&sparse).iter().all(|a| !a), "nothing as long as reads are quick");
        sparse.from_disk.store(true, Ordering::Relaxed);
        sparse.ask_after(0);
        assert_eq!(asked(&sparse), [true, true, true, false, false, false, false, false, false]);
        sparse.ask_after(3 << 20);
        assert_eq!(asked(&sparse), [true, true, true, false, false, false, true, false, false]);
    }

    #[test]
    fn what_wants_nearly_all_is_read_in_order() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; 4 << 20]).unwrap();
        let source = FileSource::open(file.path()).unwrap();
        assert!(source.for_ranges(&[ByteRange::between(0, 2 << 20), ByteRange::between(2 << 20, 4 << 20)]).is_none());
        assert!(source.for_ranges(&[ByteRange::between(0, 10), ByteRange::between(3 << 20, 4 << 20)]).is_some());
        assert!(
            source.for_ranges(&[ByteRange::between(0, 10), ByteRange::between(1000, 2000)]).is_none(),
            "too little"
        );
    }
}
