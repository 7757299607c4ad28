//! The packed stream set: named streams, one after another.
//!
//! ```text
//! uv   n_streams                        at most 256
//! n_streams times:
//!     lp    name                        1 to 31 bytes
//!     byte  backend                     0, 1, 2; reference framing only
//!     uv    comp_len
//!     bytes data[comp_len]
//! ```
//!
//! The published framing has no backend byte and only xz. Which of the two an entry is in shows in the byte after its
//! name: no xz stream is shorter than 32 bytes, so the first byte of its length is never 0, 1 or 2.
//!
//! Streams form a map: order is free, unknown names are ignored, a missing stream is empty.

use crate::backend::{Backend, XZ_MAGIC, too_large};
use crate::checksum::{self, Opened};
use crate::container::Framing;
use crate::cursor::{Cells, Cursor, Place, split_uv};
use bytes::Bytes;
use colkit_core::drive::parallel;
use colkit_core::{ByteRange, Error, Result};

/// Streams of a set at most.
pub const MAX_STREAMS: u64 = 256;
const MAX_NAME: u64 = 31;
/// The length of the xz stream of nothing.
const SMALLEST_XZ: u64 = 32;

/// One stream of a set, still packed.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether the backend is written.
    pub framing: Framing,
    /// How it is packed.
    pub backend: Backend,
    /// Where name, backend and length lie.
    pub header: ByteRange,
    /// Where the data lies.
    pub data: ByteRange,
    /// The data, if it was fetched.
    pub packed: Option<Bytes>,
}

impl Entry {
    fn packed(&self) -> Result<&Bytes> {
        let not_read = || Error::internal("the stream was not fetched");
        self.packed.as_ref().ok_or_else(not_read).map_err(|e| self.locate(e))
    }

    fn locate(&self, e: Error) -> Error {
        e.at(self.data.start()).part(format!("stream {:?}", self.name))
    }

    /// How many bytes it says it unpacks to.
    pub fn raw_size(&self) -> Result<u64> {
        self.backend.raw_size(self.packed()?).map_err(|e| self.locate(e))
    }

    /// Unpacks it.
    pub fn unpack(&self, limit: u64) -> Result<Stream> {
        let packed = self.packed()?;
        if self.framing == Framing::Published && !packed.starts_with(&XZ_MAGIC) {
            return Err(
                self.locate(Error::corrupt("bad_backend", "expected an xz stream (or a backend byte before it)"))
            );
        }
        let bytes = self.backend.unpack(packed, limit).map_err(|e| self.locate(e))?;
        let stored = self.backend == Backend::Stored;
        Ok(Stream { name: self.name.clone(), bytes, offset: self.data.start(), stored })
    }
}

/// Reads a `uv` at offset `at` of the file; or says how many bytes from there are needed.
pub fn read_uv(bytes: &[u8], at: u64, end: u64) -> Result<std::result::Result<(u64, u64), u64>> {
    let inside = usize::try_from(end.saturating_sub(at)).map_or(bytes, |n| bytes.get(..n).unwrap_or(bytes));
    match split_uv(inside) {
        Some((value, rest)) => Ok(Ok((value, (inside.len() - rest.len()) as u64))),
        None if inside.len() >= 10 || inside.iter().any(|b| *b < 0x80) => {
            Err(Error::corrupt("bad_varint", "a number does not fit 64 bits").at(at))
        }
        None if inside.len() as u64 >= end.saturating_sub(at) => {
            Err(Error::corrupt("truncated", "expected a number, found the end").at(at))
        }
        None => Ok(Err(inside.len() as u64 + 1)),
    }
}

/// What comes next in a set.
pub enum Next {
    /// So many bytes from here are needed to say.
    More(u64),
    /// A stream.
    Entry(Entry),
    /// Nothing: the set is complete.
    End,
}

/// Walks through a set, given the bytes at its position.
pub struct SetWalk {
    at: u64,
    end: u64,
    left: Option<u64>,
    names: Vec<String>,
    sum: Opened,
}

impl SetWalk {
    /// The set that fills `range` of the file, after `head`.
    pub fn new(range: ByteRange, head: &[u8]) -> Self {
        SetWalk { at: range.start(), end: range.end(), left: None, names: Vec::new(), sum: Opened::after(head) }
    }

    /// The offset of what comes next.
    pub fn at(&self) -> u64 {
        self.at
    }

    fn corrupt(&self, code: &'static str, message: impl Into<String>) -> Error {
        Error::corrupt(code, message).at(self.at).part("stream set")
    }

    /// What comes next. `bytes` begins at [`SetWalk::at`] and may be as short as nothing.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Next> {
        let mut bytes = bytes;
        let left = match self.left {
            Some(left) => left,
            None => match read_uv(bytes, self.at, self.end).map_err(|e| e.part("number of streams"))? {
                Err(n) => return Ok(Next::More(n)),
                Ok((count, _)) if count > MAX_STREAMS => {
                    return Err(self.corrupt("bad_count", format!("{count} streams, expected {MAX_STREAMS} at most")));
                }
                Ok((count, length)) => {
                    self.left = Some(count);
                    self.at += length;
                    let (read, rest) = bytes.split_at_checked(usize::try_from(length).unwrap_or(0)).unwrap_or_default();
                    self.sum.header(read);
                    bytes = rest;
                    count
                }
            },
        };
        if left == 0 {
            return if self.at == self.end {
                Ok(Next::End)
            } else {
                Err(self.corrupt("bytes_left_over", format!("{} bytes after the last stream", self.end - self.at)))
            };
        }
        let step = self.entry(bytes).map_err(|e| e.part("stream header"))?;
        if let Next::Entry(entry) = &step {
            self.left = Some(left - 1);
            self.at = entry.data.end();
            self.sum.header(bytes.get(..entry.header.len_usize()?).unwrap_or_default());
            self.names.push(entry.name.clone());
        }
        Ok(step)
    }

    /// Adds the stream that came last to the checksum, with its data if that was fetched.
    pub fn took(&mut self, entry: &Entry) {
        self.sum.stream(entry);
    }

    /// Compares the checksum of what was walked through, if there is one.
    pub fn check(&self, entries: &[Entry]) -> Result<()> {
        self.sum.clone().check(entries)
    }

    fn entry(&self, bytes: &[u8]) -> Result<Next> {
        let (name_length, used) = match read_uv(bytes, self.at, self.end)? {
            Err(n) => return Ok(Next::More(n)),
            Ok(read) => read,
        };
        if !(1..=MAX_NAME).contains(&name_length) {
            let message = format!("a name of {name_length} bytes, expected 1 to {MAX_NAME}");
            return Err(self.corrupt("bad_name", message));
        }
        // After the name come at least a backend byte and one byte of length, or two bytes of a published entry.
        let after_name = used + name_length;
        let needed = after_name + 2;
        if self.at.saturating_add(needed) > self.end {
            return Err(self.corrupt("truncated", "the header of a stream is cut short"));
        }
        let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let (Some(name), Some(&[byte, _])) =
            (bytes.get(at(used)..at(after_name)), bytes.get(at(after_name)..at(needed)))
        else {
            return Ok(Next::More(needed));
        };
        if checksum::is_damaged_name(name) {
            return Err(self.corrupt("bad_name", format!("a name that is {:?} but for one bit", checksum::NAME)));
        }
        let name = std::str::from_utf8(name).map_err(|_| self.corrupt("bad_name", "a stream's name is not UTF-8"))?;
        if self.names.iter().any(|n| n == name) {
            return Err(self.corrupt("duplicate_stream", format!("there are two streams called {name:?}")));
        }
        let (framing, backend, length_at) = match Backend::from_id(byte) {
            Some(backend) => (Framing::Reference, backend, after_name + 1),
            None => (Framing::Published, Backend::Xz, after_name),
        };
        let file_at = self.at + length_at;
        let (length, used) = match read_uv(bytes.get(at(length_at)..).unwrap_or_default(), file_at, self.end)? {
            Err(n) => return Ok(Next::More(length_at + n)),
            Ok(read) => read,
        };
        let start = file_at + used;
        let Some(end) = start.checked_add(length).filter(|end| *end <= self.end) else {
            let found = self.end - start;
            let message = format!("stream {name:?} has {length} bytes, but only {found} remain");
            return Err(Error::corrupt("truncated", message).at(file_at));
        };
        if framing == Framing::Published && length < SMALLEST_XZ {
            let message = format!("stream {name:?}: expected a backend (0, 1, 2) or the length of an xz stream");
            return Err(Error::corrupt("bad_backend", message).at(file_at));
        }
        Ok(Next::Entry(Entry {
            name: name.to_string(),
            framing,
            backend,
            header: ByteRange::between(self.at, start),
            data: ByteRange::between(start, end),
            packed: None,
        }))
    }
}

/// The entries of a set that is in memory, as the frames of a streaming container are. `offset` is where it lies in
/// the file, `head` what its checksums cover besides it.
pub fn entries_in(bytes: &Bytes, offset: u64, head: &[u8]) -> Result<Vec<Entry>> {
    let mut walk = SetWalk::new(ByteRange::at(offset, bytes.len() as u64)?, head);
    let mut entries = Vec::new();
    let position = |at: u64| usize::try_from(at - offset).unwrap_or(usize::MAX);
    loop {
        match walk.next(bytes.get(position(walk.at())..).unwrap_or_default())? {
            Next::End => return walk.check(&entries).map(|()| entries),
            Next::More(_) => return Err(walk.corrupt("truncated", "the header of a stream is cut short")),
            Next::Entry(mut entry) => {
                entry.packed = Some(bytes.slice(position(entry.data.start())..position(entry.data.end())));
                walk.took(&entry);
                entries.push(entry);
            }
        }
    }
}

/// What the entries say they unpack to, together; an error if that is more than `limit`.
pub fn total_raw_size(entries: &[Entry], limit: u64) -> Result<u64> {
    let mut total = 0u64;
    for entry in entries.iter().filter(|e| e.packed.is_some()) {
        total = total.saturating_add(entry.raw_size()?);
    }
    if total > limit { Err(too_large(total, limit).part("streams")) } else { Ok(total) }
}

/// An unpacked stream.
#[derive(Clone, Debug)]
pub struct Stream {
    name: String,
    bytes: Bytes,
    offset: u64,
    stored: bool,
}

/// The streams of a set: those that were fetched, unpacked; of the others where they lie.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    unpacked: Vec<Stream>,
    in_file: Vec<(String, ByteRange)>,
}

impl Streams {
    /// Unpacks all entries that were fetched, on up to `threads` threads.
    pub fn unpack(entries: &[Entry], limit: u64, threads: usize) -> Result<Self> {
        total_raw_size(entries, limit)?;
        let (fetched, others): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(|e| e.packed.is_some());
        let unpacked = parallel::map(fetched, threads, |entry| entry.unpack(limit))?;
        Ok(Streams { unpacked, in_file: others.into_iter().map(|e| (e.name.clone(), e.data)).collect() })
    }

    /// Bytes that the unpacked streams take.
    pub fn size(&self) -> u64 {
        self.unpacked.iter().map(|s| s.bytes.len() as u64).sum()
    }

    /// The number of streams.
    pub fn count(&self) -> usize {
        self.unpacked.len() + self.in_file.len()
    }

    /// Whether there is a stream of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some() || self.in_file(name).is_some()
    }

    /// Where a stream lies that was not fetched.
    pub fn in_file(&self, name: &str) -> Option<ByteRange> {
        self.in_file.iter().find(|(n, _)| n == name).map(|(_, data)| *data)
    }

    fn find(&self, name: &str) -> Option<&Stream> {
        self.unpacked.iter().find(|s| s.name == name)
    }

    /// The bytes of a stream; empty if it is missing.
    pub fn bytes(&self, name: &str) -> Bytes {
        self.find(name).map(|s| s.bytes.clone()).unwrap_or_default()
    }

    /// The bytes of a stream and where they come from.
    pub fn get<'a>(&'a self, name: &'a str) -> (&'a [u8], Place<'a>) {
        match self.find(name) {
            Some(s) => (&s.bytes, Place { stream: &s.name, offset: s.offset, stored: s.stored }),
            None => (&[], Place { stream: name, offset: self.unpacked.first().map_or(0, |s| s.offset), stored: false }),
        }
    }

    /// Reads a stream from the front.
    pub fn cursor<'a>(&'a self, name: &'a str) -> Cursor<'a> {
        let (bytes, place) = self.get(name);
        Cursor::new(bytes, 0, place)
    }

    /// Reads the cells of a stream.
    pub fn cells<'a>(&'a self, name: &'a str) -> Cells<'a> {
        let (bytes, place) = self.get(name);
        Cells::new(bytes, 0, place)
    }

    /// The bytes of a stream that has one byte per line, each at most `max`.
    pub fn per_line<'a>(&'a self, name: &'a str, lines: u64, max: u8) -> Result<&'a [u8]> {
        let (bytes, place) = self.get(name);
        if bytes.len() as u64 != lines {
            let message = format!("{} bytes for {lines} lines", bytes.len());
            return Err(place.corrupt(bytes.len(), "row_count_mismatch", message));
        }
        match bytes.iter().position(|b| *b > max) {
            Some(at) => {
                let found = bytes.get(at).copied().unwrap_or_default();
                Err(place.corrupt(at, "bad_flag", format!("line mode {found}, expected {max} at most")))
            }
            None => Ok(bytes),
        }
    }
}
