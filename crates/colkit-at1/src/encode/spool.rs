//! Bytes on their way into a file: in memory while they are few, in a temporary file once they are many; and sources made of
//! several such parts, so that a file can be verified before any of it is copied.

use bytes::Bytes;
use colkit_core::{ByteRange, Error, FileSource, Result, Sink, Source};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Takes bytes, and gives them back as a source.
pub struct Spool {
    memory: Vec<u8>,
    /// What may stay in memory.
    limit: usize,
    file: Option<File>,
    folder: Option<PathBuf>,
}

impl Spool {
    /// Keeps up to `limit` bytes in memory and what is more in `folder`.
    pub fn new(limit: usize, folder: Option<PathBuf>) -> Self {
        Spool { memory: Vec::new(), limit, file: None, folder }
    }

    fn failed(&self, e: std::io::Error) -> Error {
        let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        Error::from(e)
            .part("temporary file for what does not fit into memory")
            .file(folder.display().to_string())
            .hint("free some space there, or set TMPDIR to another folder")
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.memory.extend_from_slice(bytes);
        if self.memory.len() <= self.limit {
            return Ok(());
        }
        self.spill().map_err(|e| self.failed(e))
    }

    fn spill(&mut self) -> std::io::Result<()> {
        if self.file.is_none() {
            self.file = Some(match &self.folder {
                Some(folder) => tempfile::tempfile_in(folder)?,
                None => tempfile::tempfile()?,
            });
        }
        if let Some(file) = &mut self.file {
            file.write_all(&self.memory)?;
            self.memory.clear();
        }
        Ok(())
    }

    /// The bytes, to be read in any order.
    pub fn into_source(mut self) -> Result<Arc<dyn Source>> {
        if self.file.is_some() {
            self.spill().map_err(|e| self.failed(e))?;
        }
        match self.file.take() {
            Some(file) => Ok(Arc::new(FileSource::from_file(file)?)),
            None => Ok(Arc::new(Bytes::from(self.memory))),
        }
    }
}

/// Several sources, one after another.
#[derive(Clone, Default)]
pub struct Parts {
    /// Each with its offset.
    parts: Vec<(u64, Arc<dyn Source>)>,
    size: u64,
}

impl Parts {
    /// Appends a source.
    pub fn push(&mut self, part: Arc<dyn Source>) {
        let size = part.size();
        self.parts.push((self.size, part));
        self.size += size;
    }

    /// Appends bytes.
    pub fn push_bytes(&mut self, bytes: Vec<u8>) {
        self.push(Arc::new(Bytes::from(bytes)));
    }

    /// Appends all parts of another.
    pub fn append(&mut self, other: Parts) {
        other.parts.into_iter().for_each(|(_, part)| self.push(part));
    }

    /// Writes all bytes to a sink.
    pub fn copy_to(&self, sink: &mut dyn Sink) -> Result<()> {
        self.parts.iter().try_for_each(|(_, part)| each_piece(part.as_ref(), |piece| sink.write(piece)))
    }
}

/// Goes through a source from its first byte to its last.
pub fn each_piece(source: &dyn Source, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    const PIECE: u64 = 1 << 20;
    let mut at = 0;
    while at < source.size() {
        let range = ByteRange::between(at, source.size().min(at + PIECE));
        take(&source.read(range)?)?;
        at = range.end();
    }
    Ok(())
}

impl Source for Parts {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let inside = |at: u64, part: &Arc<dyn Source>| {
            let start = range.start().max(at);
            let end = range.end().min(at + part.size());
            (start < end).then(|| ByteRange::between(start - at, end - at))
        };
        let mut pieces = self.parts.iter().filter_map(|(at, part)| Some((inside(*at, part)?, part)));
        let first = match pieces.next() {
            Some((piece, part)) => part.read(piece)?,
            None => Bytes::new(),
        };
        if first.len() as u64 == range.len() {
            return Ok(first);
        }
        let mut all = first.to_vec();
        for (piece, part) in pieces {
            all.extend_from_slice(&part.read(piece)?);
        }
        if all.len() as u64 != range.len() {
            return Err(Error::io("short_read", format!("bytes {range} of {}", self.size)));
        }
        Ok(all.into())
    }
}

/// Text in pieces that end with a line end, except the last.
pub struct Chunks<'a> {
    source: &'a dyn Source,
    at: u64,
    rest: Vec<u8>,
    size: u64,
}

/// A line longer than this is not one.
const LONGEST_LINE: usize = 64 << 20;

impl<'a> Chunks<'a> {
    /// Reads `size` bytes at a time, or as much more as a line needs.
    pub fn new(source: &'a dyn Source, size: u64) -> Self {
        Chunks { source, at: 0, rest: Vec::new(), size: size.max(1) }
    }

    /// The next piece; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let range = ByteRange::between(self.at, self.source.size().min(self.at + self.size));
            let searched = self.rest.len();
            self.rest.extend_from_slice(&self.source.read(range)?);
            self.at = range.end();
            if self.at >= self.source.size() {
                let last = std::mem::take(&mut self.rest);
                return Ok((!last.is_empty()).then_some(last));
            }
            let found = memchr::memrchr(b'\n', self.rest.get(searched..).unwrap_or_default());
            if let Some(end) = found {
                let after = self.rest.split_off(searched + end + 1);
                return Ok(Some(std::mem::replace(&mut self.rest, after)));
            }
            if self.rest.len() > LONGEST_LINE {
                let message = format!("a line of more than {LONGEST_LINE} bytes");
                return Err(Error::data("line_too_long", message).at(self.at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spool_gives_back_what_it_took() {
        for limit in [0, 3, 100] {
            let mut spool = Spool::new(limit, None);
            for piece in [&b"ab"[..], b"", b"cdef", b"g"] {
                spool.write(piece).unwrap();
            }
            let mut parts = Parts::default();
            parts.push_bytes(b"<".to_vec());
            parts.push(spool.into_source().unwrap());
            parts.push_bytes(b">".to_vec());
            for (start, end) in [(0, 9), (0, 1), (1, 8), (3, 4), (0, 5), (5, 9), (4, 4)] {
                let expected = &b"<abcdefg>"[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()];
                assert_eq!(parts.read(ByteRange::between(start, end)).unwrap(), expected);
            }
            assert!(parts.read(ByteRange::between(5, 10)).is_err());
        }
    }

    #[test]
    fn chunks_end_with_lines() {
        let text = Bytes::from_static(b"a\nbb\nccc\n\nddddddddd\ne");
        for size in 1..30 {
            let mut chunks = Chunks::new(&text, size);
            let mut all = Vec::new();
            while let Some(chunk) = chunks.next().unwrap() {
                all.push(chunk);
            }
            assert_eq!(all.concat(), text);
            assert!(all.iter().rev().skip(1).all(|c| c.ends_with(b"\n")), "{size}: {all:?}");
        }
    }
}
