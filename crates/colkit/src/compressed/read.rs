//! Decompressing to a temporary file.
//!
//! Memory holds a buffer and what the decompressor needs, which is bounded too. What comes out is counted against the
//! limits as it comes, so that a small file that decompresses to a disk full of zeros is refused.

use super::Compression;
use bzip2::bufread::MultiBzDecoder;
use colkit_core::{ByteRange, Class, Error, FileSource, Limits, Result, Setting, Source};
use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::io::{BufRead, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read and decompressed at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// The part of the memory that a decompressor may have to look back in.
const WINDOW_SHARE: u64 = 4;

/// The content of `source`, which is compressed like that, in a temporary file.
pub(crate) fn decompressed(source: &dyn Source, compression: Compression, limits: &Limits) -> Result<FileSource> {
    match decompressed_prefix(source, compression, limits)? {
        (content, None) => Ok(content),
        (_, Some(error)) => Err(error),
    }
}

/// The same up to where `source` is damaged, and what is wrong there.
pub(crate) fn decompressed_prefix(
    source: &dyn Source,
    compression: Compression,
    limits: &Limits,
) -> Result<(FileSource, Option<Error>)> {
    let read = Arc::new(AtomicU64::new(0));
    let stored = Stored { source, read: read.clone(), ahead: bytes::Bytes::new() };
    let failed = |e: std::io::Error| located(e, compression, read.load(Ordering::Relaxed));
    let mut content = content(stored, compression, limits.memory / WINDOW_SHARE).map_err(failed)?;
    let mut file = tempfile::tempfile()?;
    let most = limits.output_of(source.size());
    let mut total = 0;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = match content.read(&mut buffer) {
            Ok(0) => return Ok((FileSource::from_file(file)?, None)),
            Ok(length) => length,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => match failed(e) {
                damage if damage.class() == Class::Corrupt => return Ok((FileSource::from_file(file)?, Some(damage))),
                other => return Err(other),
            },
        };
        total += length as u64;
        Limits::check_output(total, most).map_err(|e| e.part(format!("decompressing {}", compression.name())))?;
        file.write_all(buffer.get(..length).unwrap_or_default())?;
    }
}

/// The bytes that come out. `window` is what decompressing may take, beside buffers.
fn content<'a>(stored: Stored<'a>, compression: Compression, window: u64) -> std::io::Result<Box<dyn Read + 'a>> {
    Ok(match compression {
        Compression::Gzip => Box::new(MultiGzDecoder::new(stored)),
        Compression::Bzip2 => Box::new(MultiBzDecoder::new(stored)),
        Compression::Xz => {
            let stream = Stream::new_stream_decoder(window, CONCATENATED).map_err(std::io::Error::from)?;
            Box::new(XzDecoder::new_stream(stored, stream))
        }
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(stored)?;
            decoder.window_log_max(window.checked_ilog2().unwrap_or(0).clamp(10, 31))?;
            Box::new(decoder)
        }
    })
}

/// What went wrong, as of byte `read` of the file.
fn located(e: std::io::Error, compression: Compression, read: u64) -> Error {
    let name = compression.name();
    let told = e.to_string();
    if e.get_ref().is_some_and(|inner| inner.is::<Error>()) {
        return e.into();
    }
    let error = if e.kind() == ErrorKind::UnexpectedEof {
        Error::corrupt("truncated", format!("the file ends inside its {name} data"))
            .hint("the file may have been cut; get another copy of it")
    } else if told.contains("too much memory") || told.contains("memory limit") {
        Error::limit(format!("decompressing {name}"), "more memory", "a quarter of all of it")
            .hint(Setting::Memory.does("allows more"))
    } else {
        Error::corrupt("bad_compressed_data", format!("this is not {name} data: {told}"))
    };
    error.at(read).caused_by(e)
}

/// The file as it is stored, read from its start to its end. Counts what the decompressor has taken of it.
struct Stored<'a> {
    source: &'a dyn Source,
    read: Arc<AtomicU64>,
    ahead: bytes::Bytes,
}

impl Read for Stored<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let mut ahead = self.fill_buf()?;
        let length = ahead.read(out)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Stored<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        let at = self.read.load(Ordering::Relaxed);
        if self.ahead.is_empty() && at < self.source.size() {
            let range = ByteRange::between(at, at.saturating_add(BUFFER_BYTES as u64).min(self.source.size()));
            self.ahead = self.source.read(range).map_err(std::io::Error::other)?;
        }
        Ok(&self.ahead)
    }

    fn consume(&mut self, count: usize) {
        let count = count.min(self.ahead.len());
        let _ = self.ahead.split_to(count);
        self.read.fetch_add(count as u64, Ordering::Relaxed);
    }
}
