//! Restoring: the original bytes, to a sink, on all cores, in bounded memory.
//!
//! | container | what runs at once | what is held |
//! |-----------|-------------------|--------------|
//! | RAW | unpacking and hashing | a window of the packed and of the unpacked bytes |
//! | qcolumnar, qjson, qjson2 | row groups | the index, and the groups being printed |
//! | streaming | frames | the frames being printed |
//! | columnar | unpacking of streams, decoding of columns, printing of rows | all streams and columns |
//! | the others | unpacking of streams, then printing and hashing | all streams |
//!
//! Everything unpacked is within [`Limits::memory`], the output within [`Limits::output_bytes`].

pub mod host;
pub mod part;

use crate::codec::Codec;
use crate::container::{Container, Walk};
use crate::output::Output;
use crate::stream_set::Entry;
use colkit_core::drive::blocking;
use colkit_core::drive::ordered::Budget;
use colkit_core::{Error, Limits, Result, Sink, Source, available_threads};
use host::{Host, Piece};
use part::{Part, Work};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// What to make of the hash at the end of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrity {
    /// Compare it if there is one.
    #[default]
    Verify,
    /// There must be one: the only way to notice every truncation.
    Require,
    /// Do not look at it.
    Skip,
}

/// How to restore.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// Ceilings for what the file may make us do.
    pub limits: Limits,
    /// Threads to use.
    pub threads: usize,
    /// What to make of the hash at the end.
    pub integrity: Integrity,
}

impl Default for RestoreOptions {
    fn default() -> Self {
        RestoreOptions { limits: Limits::default(), threads: available_threads(), integrity: Integrity::default() }
    }
}

/// What was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Bytes of the original.
    pub bytes: u64,
    /// Whether they were compared with a hash.
    pub verified: bool,
}

/// Restores the file that `source` packs. The sink is committed only if everything was right, hash included;
/// otherwise it is dropped, and what it received is gone (as far as it can take it back).
pub fn restore(source: &dyn Source, mut sink: Box<dyn Sink>, options: &RestoreOptions) -> Result<Restored> {
    let restored = restore_with(source, options, &mut |bytes| sink.write(bytes))?;
    sink.commit()?;
    Ok(restored)
}

/// Restores the file that `source` packs, and gives the bytes to `write` in order. They are only to be trusted once
/// this returns without error.
pub fn restore_with(
    source: &dyn Source,
    options: &RestoreOptions,
    write: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Restored> {
    let options = &RestoreOptions { limits: options.limits.of_file(source.size()), ..options.clone() };
    let container = Arc::new(walk(source, &options.limits)?);
    if options.integrity == Integrity::Require && container.trailer.is_none() {
        return Err(Error::corrupt("trailer_missing", "the file has no trailer, but one was required")
            .at(container.size)
            .hint("the file may be cut short"));
    }
    let want = container.trailer.filter(|_| options.integrity != Integrity::Skip);
    let mut hash = want.map(|_| Sha256::new());
    let mut bytes = 0u64;
    run(&container, source, options, &mut |chunk| {
        bytes = bytes.saturating_add(chunk.len() as u64);
        Limits::check("the restored file", bytes, options.limits.output_bytes)?;
        if let Some(hash) = &mut hash {
            hash.update(chunk);
        }
        write(chunk)
    })?;
    if let (Some(want), Some(hash)) = (want, hash)
        && hash.finalize()[..] != want
    {
        return Err(mismatch(&container));
    }
    Ok(Restored { bytes, verified: want.is_some() })
}

/// The error for a file whose content is not what its trailer says.
pub(crate) fn mismatch(container: &Container) -> Error {
    Error::corrupt("checksum_mismatch", "the restored bytes do not have the SHA-256 of the original")
        .at(container.body_end)
        .part("trailer")
}

/// Local files and stores alike deliver this much in one go.
const PREFETCH: u64 = 64 << 10;

/// Which streams are fetched to restore a file: those that its codec does not read in parts.
fn wanted(codec: Codec, entry: &Entry) -> bool {
    codec.coder().reads(entry)
}

pub(crate) fn walk(source: &dyn Source, limits: &Limits) -> Result<Container> {
    blocking::run(Box::new(Walk::new(source.size(), PREFETCH, limits, wanted)), source)
}

fn run(
    container: &Arc<Container>,
    source: &dyn Source,
    options: &RestoreOptions,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let RestoreOptions { limits, threads, .. } = options;
    let work = Work::new(container, container.entries(), limits.memory, *threads, false)?;
    let budget = Budget { threads: *threads, memory: limits.memory.saturating_sub(work.held()) };
    let mut host = Host::Threads { budget, most: limits.output_bytes, take };
    match work {
        Work::Parts { parts, .. } => host.run(parts.map(|part| piece(part, source))),
        Work::Streams(streams) => container.codec.coder().restore(&streams, &mut host),
    }
}

/// A part, brought what it needs.
fn piece<'a>(mut part: Box<dyn Part>, source: &'a dyn Source) -> Piece<'a> {
    Box::new(move |out: &mut Output<'_>| blocking::feed(source, |got| part.step(got, out)))
}
