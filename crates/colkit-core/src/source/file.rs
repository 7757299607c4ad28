//! Local files as sources.

use super::handles::{self, Handle, Reopened};
use super::sparse::SparseFile;
use super::{Source, check_inside, short_read};
use crate::pool::Pooled;
use crate::range::coalesce;
use crate::{ByteRange, Error, Result};
use bytes::Bytes;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A local file, read with positioned reads: no shared cursor, no runtime.
///
/// There may be more of them than the system allows open files: one that was opened by its path is closed if others are
/// read, and opened again when it is read.
#[derive(Debug)]
pub struct FileSource {
    file: Opened,
    size: u64,
}

#[derive(Debug)]
enum Opened {
    /// For as long as the source lives.
    Always(Arc<Handle>),
    /// While it is read, and some time after.
    AsNeeded(Reopened),
}

impl FileSource {
    /// Opens the file at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let named = |e: std::io::Error| Error::from(e).file(path.display().to_string());
        Self::opened(handles::open(path).map_err(named)?, path)
    }

    /// The file that was just opened by this path.
    pub fn opened(file: File, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let named = |e: std::io::Error| Error::from(e).file(path.display().to_string());
        let metadata = file.metadata().map_err(named)?;
        if metadata.is_dir() {
            return Err(
                Error::request("is_a_folder", "expected a file, found a folder").file(path.display().to_string())
            );
        }
        // What is no file may be something else, or gone, when it is opened again.
        let file = match metadata.is_file() {
            true => Opened::AsNeeded(Reopened::new(file, path, &metadata).map_err(named)?),
            false => Opened::Always(Arc::new(file.into())),
        };
        Ok(FileSource { file, size: metadata.len() })
    }

    /// Takes over an open file, such as a temporary one.
    pub fn from_file(file: File) -> Result<Self> {
        let size = file.metadata()?.len();
        Ok(FileSource { file: Opened::Always(Arc::new(file.into())), size })
    }

    /// The same open file, as long as it is now.
    pub fn regrown(&self) -> Result<Self> {
        let handle = self.handle()?;
        let size = handle.file.metadata()?.len();
        Ok(FileSource { file: Opened::Always(handle), size })
    }

    pub(super) fn handle(&self) -> Result<Arc<Handle>> {
        match &self.file {
            Opened::Always(handle) => Ok(handle.clone()),
            Opened::AsNeeded(file) => file.handle(),
        }
    }

    /// Tells the system what will be read.
    pub(super) fn ask_ahead(&self, requests: &[ByteRange]) {
        if let Ok(handle) = self.handle() {
            ask_ahead(&handle.file, requests);
        }
    }
}

impl Source for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    /// Without read-ahead, where that would fetch what lies between.
    fn for_ranges(&self, wanted: &[ByteRange]) -> Option<Arc<dyn Source>> {
        let mut wanted = coalesce(wanted, 0);
        wanted.retain(|w| w.end() <= self.size && !w.is_empty());
        let bytes = wanted.iter().map(|w| w.len()).fold(0, u64::saturating_add);
        let span = wanted.last()?.end() - wanted.first()?.start();
        if bytes < WORTH_ASKING || bytes > span / 10 * 9 {
            return None;
        }
        let file = without_read_ahead(&self.handle().ok()?.file)?;
        let file = FileSource { file: Opened::Always(Arc::new(file.into())), size: self.size };
        Some(Arc::new(SparseFile::new(file, wanted)))
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let mut buffer = Pooled::with_capacity(self.checked_len(range)?);
        append(&self.handle()?.file, range, &mut buffer)?;
        Ok(buffer.into_bytes())
    }

    /// Small requests share a buffer: a thousand rows are thousands of requests, and a buffer for each would cost as
    /// much as reading it.
    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        let mut parts = Vec::with_capacity(requests.len());
        // Large requests are pieces of a scan, which read-ahead helps.
        let bytes = requests.iter().map(|r| r.len()).fold(0, u64::saturating_add);
        let scattered = requests.len() > 1 && bytes / (requests.len() as u64) < SHARED_BUFFER as u64;
        let scattered = scattered && self.size > READ_AHEAD;
        let handle = self.handle()?;
        let file = if scattered { for_scattered_reads(&handle) } else { &handle.file };
        // For few requests it does not matter where they come from.
        let probed = if requests.len() > MANY { PROBES } else { requests.len() };
        let (probes, others) = requests.split_at(probed);
        let start = Instant::now();
        self.read_shared(file, probes, 0, &mut parts)?;
        if others.is_empty() {
            return Ok(parts);
        }
        let from_cache = start.elapsed() <= FROM_CACHE.saturating_mul(u32::try_from(probes.len()).unwrap_or(u32::MAX));
        if !from_cache {
            ask_ahead(file, others);
        }
        self.read_shared(file, others, if from_cache { NEAR } else { 0 }, &mut parts)?;
        Ok(parts)
    }
}

/// Requests smaller than this are read into a common buffer of at most this size.
const SHARED_BUFFER: usize = 64 << 10;

/// What systems read ahead. Smaller files are not worth a second descriptor.
const READ_AHEAD: u64 = 128 << 10;

/// Scans of less than this are over before read-ahead has done harm.
const WORTH_ASKING: u64 = 256 << 10;

/// Requests this far apart are read in one go if they come from the page cache: copying what lies between is cheaper than
/// another call of the system. From a disk it would be fetched in vain.
const NEAR: u64 = 4 << 10;

/// After so many requests it is clear whether they come from the disk.
const PROBES: usize = 8;

/// More requests than this are worth finding that out.
const MANY: usize = 32;

/// More than a small request from the page cache takes, less than one from a disk.
const FROM_CACHE: Duration = Duration::from_micros(30);

/// Where requests start in a common buffer: values of 16 bytes may be used in place.
const ALIGNED: usize = 16;

impl FileSource {
    fn checked_len(&self, range: ByteRange) -> Result<usize> {
        check_inside(range, self.size)?;
        range.len_usize()
    }

    /// Reads requests, sorted and apart from each other, into buffers of at most [`SHARED_BUFFER`] bytes or one request; those
    /// at most `gap` apart by one call.
    fn read_shared(&self, file: &File, requests: &[ByteRange], gap: u64, parts: &mut Vec<Bytes>) -> Result<()> {
        let mut rest = requests;
        while let Some((first, others)) = rest.split_first() {
            let mut bytes = self.checked_len(*first)?;
            let mut spans = vec![*first];
            let mut count = 1;
            for request in others {
                let length = self.checked_len(*request)?.next_multiple_of(ALIGNED);
                let near = spans.last_mut().filter(|s| request.start().saturating_sub(s.end()) <= gap);
                let between = near.as_ref().map_or(0, |s| request.start().saturating_sub(s.end()));
                let more = length.saturating_add(usize::try_from(between).unwrap_or(usize::MAX));
                if bytes.saturating_add(more) > SHARED_BUFFER {
                    break;
                }
                bytes += more;
                count += 1;
                match near {
                    Some(span) => *span = ByteRange::between(span.start(), request.end()),
                    None => spans.push(*request),
                }
            }
            let (together, others) = rest.split_at(count);
            // A buffer of full size can be had from the pool, one of its own size must be filled with zeros first.
            let room = if bytes < SHARED_BUFFER / 4 { bytes } else { bytes.max(SHARED_BUFFER) };
            let mut buffer = Pooled::with_capacity(room.saturating_add(ALIGNED));
            let mut requested = together.iter().peekable();
            let mut places = Vec::with_capacity(count);
            for span in spans {
                let padding = buffer.len().next_multiple_of(ALIGNED) - buffer.len();
                buffer.reserve(padding);
                buffer.advance(padding);
                while let Some(request) = requested.next_if(|r| span.contains(**r)) {
                    let within = usize::try_from(request.start() - span.start()).unwrap_or(usize::MAX);
                    places.push((buffer.len().saturating_add(within), request.len_usize()?));
                }
                append(file, span, &mut buffer)?;
            }
            let buffer = buffer.into_bytes();
            parts.extend(places.into_iter().map(|(start, length)| buffer.slice(start..start + length)));
            rest = others;
        }
        Ok(())
    }
}

/// The file without read-ahead: what lies between scattered rows would be fetched from the disk in vain, twice as much as
/// is wanted.
fn for_scattered_reads(handle: &Handle) -> &File {
    handle.scattered.get_or_init(|| without_read_ahead(&handle.file)).as_ref().unwrap_or(&handle.file)
}

/// The file, opened a second time: advice holds for everybody who reads through the same descriptor.
#[cfg(all(target_os = "linux", not(miri)))]
fn without_read_ahead(file: &File) -> Option<File> {
    use std::os::fd::AsRawFd;
    let file = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).ok()?;
    Some(file)
}

/// Tells the system what will be read, so that the disk works on all of it at once. Only worth it if it must be fetched
/// from a disk: telling costs as much as reading from the page cache.
#[cfg(all(target_os = "linux", not(miri)))]
fn ask_ahead(file: &File, requests: &[ByteRange]) {
    for request in requests {
        let _ = rustix::fs::fadvise(
            file,
            request.start(),
            std::num::NonZeroU64::new(request.len()),
            rustix::fs::Advice::WillNeed,
        );
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn ask_ahead(_: &File, _: &[ByteRange]) {}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn without_read_ahead(_: &File) -> Option<File> {
    None
}

/// Reads these bytes to the end of `buffer`.
fn append(file: &File, range: ByteRange, buffer: &mut Pooled) -> Result<()> {
    let length = range.len_usize()?;
    let room = buffer.room(length).get_mut(..length).unwrap_or_default();
    fill(file, range.start(), room).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => short_read(range),
        _ => Error::from(e).at(range.start()),
    })?;
    buffer.advance(length);
    Ok(())
}

/// Fills `room` with the bytes of the file from `offset` on.
fn fill(file: &File, mut offset: u64, mut room: &mut [u8]) -> std::io::Result<()> {
    while !room.is_empty() {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, room, offset);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, room, offset);
        #[cfg(not(any(unix, windows)))]
        let read: std::io::Result<usize> = {
            let _ = (file, offset);
            Err(std::io::ErrorKind::Unsupported.into())
        };
        match read {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                offset += read as u64;
                room = room.get_mut(read..).unwrap_or_default();
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn many_small_requests_share_buffers_and_large_ones_do_not() {
        let data: Vec<u8> = (0..3_000_000u32).map(|i| (i / 7 % 251) as u8).collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&data).unwrap();
        let memory = Bytes::from(data);
        let mut ranges: Vec<_> = (0..4000).map(|i| ByteRange::between(i * 700, i * 700 + 1 + i % 600)).collect();
        ranges.push(ByteRange::between(100, 2_000_000));
        ranges.reverse();
        let expected = memory.read_many(&ranges).unwrap();
        assert_eq!(FileSource::open(file.path()).unwrap().read_many(&ranges).unwrap(), expected);
        #[cfg(feature = "mmap")]
        {
            // SAFETY: only this test knows the file.
            #[expect(unsafe_code, reason = "mapping a file is")]
            let mapped = unsafe { crate::MappedSource::open(file.path()) };
            assert_eq!(mapped.unwrap().read_many(&ranges).unwrap(), expected);
        }
        let source = FileSource::open(file.path()).unwrap();
        file.as_file().set_len(1_000_000).unwrap();
        assert_eq!(source.read_many(&ranges).unwrap_err().code(), "short_read");
    }
}
