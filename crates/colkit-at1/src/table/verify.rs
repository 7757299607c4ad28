//! Checking a whole file without keeping it: restore it part by part, hash it, compare.
//!
//! For queryable files the zone maps are checked too.

use super::File;
use crate::checksum::Whole;
use crate::output::Output;
use crate::queryable::Queryable;
use crate::restore::host::Host;
use crate::restore::part::{Parts, READ, Work};
use crate::stream_set::Entry;
use bytes::Bytes;
use colkit_core::drive::ordered::Receiver;
use colkit_core::{ByteRange, Checksums, Limits, Machine, Result, Step, Verified};
use sha2::{Digest, Sha256};
use std::iter::Peekable;
use std::sync::Arc;

/// Restores a file step by step.
pub struct Verify {
    file: Arc<File>,
    state: State,
    hash: Hash,
    /// The checksums over all bytes, which come last: what restoring finds says more.
    whole: Option<Whole>,
    /// Whether the file carries them.
    has_checksums: bool,
}

enum State {
    /// Nothing was asked for yet. The lines, if the file is queryable and has been opened.
    Start(Option<Arc<Queryable>>),
    /// The streams that the codec reads at once were asked for.
    Fetching,
    /// The first of these parts is being restored.
    Restoring(Peekable<Parts>),
    /// All is restored; this range was asked for to compare checksums.
    Comparing(Option<ByteRange>),
}

struct Hash {
    sha: Option<Sha256>,
    bytes: u64,
    limits: Limits,
}

impl Receiver for Hash {
    fn write(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Limits::check("the restored file", self.bytes, self.limits.output_bytes)?;
        if let Some(sha) = &mut self.sha {
            sha.update(&bytes);
        }
        Ok(())
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        Limits::check_memory("unpacking", bytes, self.limits.memory)
    }
}

impl Verify {
    /// Checks `file`; `lines` if it is queryable and has been opened.
    pub fn new(file: Arc<File>, lines: Option<Arc<Queryable>>) -> Self {
        let hash = Hash { sha: file.container.trailer.map(|_| Sha256::new()), bytes: 0, limits: file.limits.clone() };
        let whole = Whole::of(&file.container);
        let has_checksums = whole.is_some();
        Verify { file, state: State::Start(lines), hash, whole, has_checksums }
    }

    /// The streams that the codec reads at once. What opening has read of them is read again.
    fn read_at_once(&self) -> impl Iterator<Item = &Entry> {
        let coder = self.file.container.codec.coder();
        self.file.container.entries().iter().filter(|e| coder.reads(e) && !e.data.is_empty())
    }

    /// All streams, with what was got for those that are read at once.
    fn entries(&self, got: Vec<Bytes>) -> Vec<Entry> {
        let mut got = got.into_iter();
        let coder = self.file.container.codec.coder();
        let mut packed = |entry: &Entry| match coder.reads(entry) {
            true if entry.data.is_empty() => Some(Bytes::new()),
            true => got.next(),
            false => None,
        };
        self.file.container.entries().iter().map(|e| Entry { packed: packed(e), ..e.clone() }).collect()
    }

    fn begin(&mut self, work: Work) -> Result<()> {
        self.state = match work {
            Work::Parts { parts, .. } => State::Restoring(parts.peekable()),
            Work::Streams(streams) => {
                let mut out = Output::new(&mut self.hash, self.file.limits.output_bytes);
                out.hold_input(streams.size())?;
                self.file.container.codec.coder().restore(&streams, &mut Host::Here(&mut out))?;
                out.flush()?;
                self.compare()?
            }
        };
        Ok(())
    }

    /// Compares the hash of what was restored.
    fn compare(&mut self) -> Result<State> {
        let container = &self.file.container;
        match (container.trailer, self.hash.sha.take().map(Sha256::finalize)) {
            (Some(want), Some(found)) if found[..] != want => Err(crate::restore::mismatch(container)),
            _ => Ok(State::Comparing(None)),
        }
    }

    fn verified(&self) -> Verified {
        Verified::by(match self.file.container.trailer {
            _ if self.has_checksums => Checksums::All,
            Some(_) => Checksums::Parts("the restored content (SHA-256)".into()),
            None => Checksums::None,
        })
    }
}

impl Machine for Verify {
    type Output = Verified;

    fn step(&mut self, mut got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        if let State::Start(lines) = &mut self.state {
            match lines.take() {
                Some(lines) => self.begin(Work::groups(lines, 0, true))?,
                None => {
                    self.state = State::Fetching;
                    let ranges: Vec<ByteRange> = self.read_at_once().map(|e| e.data).collect();
                    if !ranges.is_empty() {
                        return Ok(Step::Need(ranges));
                    }
                }
            }
        }
        if let State::Fetching = self.state {
            let entries = self.entries(std::mem::take(&mut got));
            self.begin(Work::new(&self.file.container, &entries, self.file.limits.memory, 1, true)?)?;
        }
        while let State::Restoring(parts) = &mut self.state {
            let Some(part) = parts.peek_mut() else {
                self.state = self.compare()?;
                break;
            };
            let mut out = Output::new(&mut self.hash, self.file.limits.output_bytes);
            let step = part.step(std::mem::take(&mut got), &mut out)?;
            out.flush()?;
            match step {
                Step::Need(ranges) => return Ok(Step::Need(ranges)),
                Step::Ready(()) => drop(parts.next()),
            }
        }
        if let (State::Comparing(Some(range)), Some(whole)) = (&self.state, &mut self.whole) {
            whole.take(*range, &got.into_iter().next().unwrap_or_default());
        }
        if let Some(range) = self.whole.as_ref().and_then(|whole| whole.next(READ)) {
            self.state = State::Comparing(Some(range));
            return Ok(Step::Need(vec![range]));
        }
        self.whole.take().map_or(Ok(()), Whole::finish)?;
        Ok(Step::Ready(self.verified()))
    }
}
