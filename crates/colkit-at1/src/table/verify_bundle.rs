//! Checking a bundle: each entry is compared with its CRC-32 in the manifest and restored like a file of its own. All that are
//! broken are named.

use super::File;
use super::verify::Verify;
use crate::backend::Backend;
use crate::codec::Codec;
use crate::codec::bundle::{Listed, Manifest, Place, nested, place};
use crate::container::{Container, Walk};
use crate::restore::part::READ;
use crate::stream_set::{Entry, Streams};
use bytes::Bytes;
use colkit_core::{Boxed, ByteRange, Checksums, Error, Limits, Machine, Result, Step, Verified};
use crc32fast::Hasher;
use std::collections::VecDeque;
use std::sync::Arc;

/// Checks a bundle.
pub struct VerifyBundle {
    file: Arc<File>,
    /// The entries that are still to be checked; `None` before the manifest was read.
    left: Option<VecDeque<Packed>>,
    /// The first of them.
    now: State,
    found: Found,
}

/// An entry.
struct Packed {
    listed: Listed,
    place: Place,
}

enum State {
    Hashing(Hasher, u64),
    Walking(Boxed<Container>, Option<Error>),
    Checking(Boxed<Verified>, Option<Error>),
}

impl State {
    fn start() -> Self {
        State::Hashing(Hasher::new(), 0)
    }
}

/// What is known so far.
#[derive(Default)]
struct Found {
    verified: Verified,
    /// Entries without any checksum.
    unchecked: usize,
    /// Whether every byte so far is covered.
    all: bool,
}

impl Place {
    fn size(&self) -> u64 {
        match self {
            Place::File(range) => range.len(),
            Place::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Goes on with a machine that reads the entry as if it were a file.
    fn step<T>(&self, machine: &mut dyn Machine<Output = T>, mut got: Vec<Bytes>) -> Result<Step<T>> {
        loop {
            let ranges = match machine.step(got)? {
                Step::Ready(done) => return Ok(Step::Ready(done)),
                Step::Need(ranges) => ranges,
            };
            if let Some(beyond) = ranges.iter().find(|r| r.end() > self.size()) {
                return Err(Error::corrupt(
                    "truncated",
                    format!("bytes {beyond} of an entry of {} bytes", self.size()),
                ));
            }
            match self {
                Place::File(whole) => {
                    let moved = ranges.iter().map(|r| ByteRange::at(whole.start() + r.start(), r.len()));
                    return Ok(Step::Need(moved.collect::<Result<_>>()?));
                }
                Place::Memory(bytes) => {
                    let size = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                    got = ranges.iter().map(|r| bytes.slice(size(r.start())..size(r.end()))).collect();
                }
            }
        }
    }

    /// The error of a machine that took the entry for a file.
    fn locate(&self, error: Error) -> Error {
        match self {
            Place::File(range) => error.moved(range.start()),
            Place::Memory(_) => error,
        }
    }
}

impl VerifyBundle {
    /// Checks `file`.
    pub fn new(file: Arc<File>) -> Self {
        VerifyBundle { file, left: None, now: State::start(), found: Found::default() }
    }

    fn entries(&mut self) -> Result<VecDeque<Packed>> {
        let entries = self.file.container.entries();
        let streams = Streams::unpack(entries, self.file.limits.memory, 1)?;
        let is_xz = |e: &Entry| e.name == "manifest" && e.backend == Backend::Xz;
        self.found.all = entries.iter().any(is_xz);
        let packed = |(i, listed)| Packed { listed, place: place(i, &streams) };
        Ok(Manifest::of(&streams)?.files.into_iter().enumerate().map(packed).collect())
    }

    /// Goes on with an entry; `None` when it is done.
    fn advance(&mut self, entry: &Packed, mut got: Vec<Bytes>) -> Result<Option<Vec<ByteRange>>> {
        loop {
            match &mut self.now {
                State::Hashing(hash, at) => {
                    let mut pieces = Pieces { hash, at, size: entry.place.size() };
                    if entry.listed.crc32.is_some()
                        && let Step::Need(ranges) = entry.place.step(&mut pieces, std::mem::take(&mut got))?
                    {
                        return Ok(Some(ranges));
                    }
                    let found = hash.clone().finalize();
                    let changed = entry.listed.crc32.is_some_and(|right| right != found).then(|| {
                        let message = "the packed bytes differ from what was written: their CRC-32 is another";
                        Error::corrupt("checksum_mismatch", message).at(0)
                    });
                    let walk = Walk::new(entry.place.size(), 0, &self.file.limits, |_, _| false);
                    self.now = State::Walking(Box::new(walk), changed);
                }
                State::Walking(walk, changed) => match entry.place.step(walk.as_mut(), std::mem::take(&mut got))? {
                    Step::Need(ranges) => return Ok(Some(ranges)),
                    Step::Ready(container) => {
                        let check = check(container, &self.file.limits, &entry.listed.name)?;
                        self.now = State::Checking(Box::new(check), changed.take());
                    }
                },
                State::Checking(check, changed) => match entry.place.step(check.as_mut(), std::mem::take(&mut got))? {
                    Step::Need(ranges) => return Ok(Some(ranges)),
                    Step::Ready(verified) => {
                        if let Some(changed) = changed.take() {
                            return Err(changed);
                        }
                        self.found.all &= entry.listed.crc32.is_some();
                        let checked = entry.listed.crc32.is_some() || verified.checksums != Checksums::None;
                        self.found.unchecked += usize::from(!checked);
                        self.found.verified.findings.extend(verified.findings);
                        return Ok(None);
                    }
                },
            }
        }
    }

    fn finish(&mut self) -> Verified {
        let Found { mut verified, unchecked, all } = std::mem::take(&mut self.found);
        let count = self.file.container.entries().len().saturating_sub(1);
        verified.checksums = match unchecked {
            0 if all => Checksums::All,
            0 => Checksums::Parts("the restored content of every entry (SHA-256), not their names".into()),
            n if n == count => Checksums::None,
            n => Checksums::Parts(format!("the restored content of {} of {count} entries (SHA-256)", count - n)),
        };
        verified
    }
}

/// Asks for the entry in pieces, and hashes them.
struct Pieces<'a> {
    hash: &'a mut Hasher,
    at: &'a mut u64,
    size: u64,
}

impl Machine for Pieces<'_> {
    type Output = ();

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<()>> {
        for piece in got {
            self.hash.update(&piece);
            *self.at += piece.len() as u64;
        }
        if *self.at >= self.size {
            return Ok(Step::Ready(()));
        }
        Ok(Step::Need(vec![ByteRange::between(*self.at, self.size.min(self.at.saturating_add(READ)))]))
    }
}

/// Checks an entry like a file of its own. Its streams are read when it is restored.
fn check(container: Container, limits: &Limits, name: &str) -> Result<Verify> {
    if container.codec == Codec::Bundle {
        return Err(nested(name));
    }
    Ok(Verify::new(Arc::new(File { container: Arc::new(container), limits: limits.clone() }), None))
}

impl Machine for VerifyBundle {
    type Output = Verified;

    fn step(&mut self, mut got: Vec<Bytes>) -> Result<Step<Verified>> {
        let mut left = match self.left.take() {
            Some(left) => left,
            None => self.entries()?,
        };
        while let Some(entry) = left.pop_front() {
            match self.advance(&entry, std::mem::take(&mut got)) {
                Ok(Some(ranges)) => {
                    left.push_front(entry);
                    self.left = Some(left);
                    return Ok(Step::Need(ranges));
                }
                Ok(None) => {}
                Err(error) => {
                    let part = format!("entry {:?}", entry.listed.name);
                    self.found.verified.errors.push(entry.place.locate(error).part(part));
                }
            }
            self.now = State::start();
        }
        Ok(Step::Ready(self.finish()))
    }
}
