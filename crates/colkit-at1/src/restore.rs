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

use crate::backend::Unpacker;
use crate::codec;
use crate::codec::columnar::Chunks;
use crate::codec::queryable::Queryable;
use crate::codec::shape::is_stored_blocks;
use crate::container::{Codec, Container, Content, Frame, Payload, Walk};
use crate::drive::{Means, Piece, in_order};
use crate::output::Output;
use crate::stream_set::{Entry, Streams, entries_in, total_raw_size};
use colkit_core::drive::{blocking, parallel};
use colkit_core::{ByteRange, Error, Limits, Result, Sink, Source, available_threads};
use sha2::{Digest, Sha256};

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
    let container = walk(source, &options.limits)?;
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

/// Whether opening a file fetches this stream: all but those that can be read in parts.
pub(crate) fn wanted(codec: Codec, entry: &Entry) -> bool {
    match codec {
        Codec::Qcolumnar | Codec::Qjson | Codec::Qjson2 => !is_stored_blocks(entry),
        Codec::Bundle => entry.name == "manifest" || entry.backend != crate::backend::Backend::Stored,
        _ => true,
    }
}

/// Local files and stores alike deliver this much in one go.
const PREFETCH: u64 = 64 << 10;

pub(crate) fn walk(source: &dyn Source, limits: &Limits) -> Result<Container> {
    blocking::run(Box::new(Walk::new(source.size(), PREFETCH, limits, wanted)), source)
}

fn run(
    container: &Container,
    source: &dyn Source,
    options: &RestoreOptions,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let limits = &options.limits;
    let means = Means { threads: options.threads, memory: limits.memory, output: limits.output_bytes };
    match &container.content {
        Content::Raw(payload) => {
            let piece: Piece<'_> = Box::new(|out| raw(*payload, source, out));
            in_order([piece].into_iter(), beside(means), take)
        }
        Content::Frames { frames, .. } => {
            let codec = container.codec;
            let piece = |(number, f): (usize, &Frame)| -> Piece<'_> {
                let (frame, head) = (*f, container.head_of_frame(number));
                Box::new(move |out| print_frame(codec, frame, head, source, out))
            };
            in_order(frames.iter().enumerate().map(piece), means, take)
        }
        Content::Streams(entries) => {
            let held = total_raw_size(entries, limits.memory)?;
            let fetched: Vec<&Entry> = entries.iter().filter(|e| e.packed.is_some()).collect();
            let streams = Streams::new(parallel::map(fetched.iter().collect(), means.threads, |entry| {
                entry.unpack(limits.memory)
            })?);
            let means = Means { memory: means.memory - held, ..means };
            match container.codec {
                Codec::Columnar => columnar(&streams, means, take),
                Codec::Qcolumnar | Codec::Qjson | Codec::Qjson2 => {
                    let lines = Queryable::open(container.codec, streams, entries)?;
                    queryable(&lines, source, means, take)
                }
                codec => {
                    let piece: Piece<'_> = Box::new(|out| codec::restore(codec, &streams, entries, 0, out));
                    in_order([piece].into_iter(), beside(means), take)
                }
            }
        }
    }
}

/// For a single piece: one thread makes the output, beside the one that hashes and writes it.
fn beside(means: Means) -> Means {
    Means { threads: means.threads.min(2), ..means }
}

/// Bytes of packed data read at a time.
pub(crate) const READ: u64 = 256 << 10;

/// A payload that is being unpacked.
pub(crate) struct Unpacking {
    unpacker: Unpacker,
    start: u64,
}

impl Unpacking {
    /// Starts.
    pub fn new(payload: Payload) -> Result<Self> {
        Ok(Unpacking { unpacker: Unpacker::new(payload.backend)?, start: payload.data.start() })
    }

    /// Unpacks the next bytes.
    pub fn push(&mut self, bytes: &[u8], out: &mut Output<'_>) -> Result<()> {
        self.unpacker.push(bytes, out).map_err(|e| e.at(self.start).part("payload"))
    }

    /// There are no more.
    pub fn finish(self, out: &mut Output<'_>) -> Result<()> {
        self.unpacker.finish(out).map_err(|e| e.at(self.start).part("payload"))
    }
}

/// A payload, unpacked as it is read.
fn raw(payload: Payload, source: &dyn Source, out: &mut Output<'_>) -> Result<()> {
    let mut unpacking = Unpacking::new(payload)?;
    let mut at = payload.data.start();
    while at < payload.data.end() {
        let range = ByteRange::between(at, payload.data.end().min(at + READ));
        unpacking.push(&source.read(range)?, out)?;
        at = range.end();
    }
    unpacking.finish(out)
}

/// A frame: a payload, or a stream set of its own, whose checksums cover `head` too.
pub(crate) fn print_frame(
    codec: Codec,
    frame: Frame,
    head: &[u8],
    source: &dyn Source,
    out: &mut Output<'_>,
) -> Result<()> {
    let located = |e: Error| e.at(frame.payload.start()).part(format!("frame at byte {}", frame.header.start()));
    if !frame.structured {
        let start = ByteRange::between(frame.payload.start(), frame.payload.end().min(frame.payload.start() + 6));
        let payload = Payload::parse(&source.read(start)?, frame.payload).map_err(located)?;
        return raw(payload, source, out).map_err(located);
    }
    out.hold(frame.payload.len())?;
    let bytes = source.read(frame.payload)?;
    let restore = |out: &mut Output<'_>| {
        let entries = entries_in(&bytes, frame.payload.start(), head)?;
        let held = total_raw_size(&entries, u64::MAX)?.saturating_add(frame.payload.len());
        out.hold(held)?;
        codec::restore(codec, &Streams::unpack(&entries, held)?, &entries, held, out)
    };
    restore(out).map_err(located)
}

fn columnar(streams: &Streams, means: Means, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let chunks = Chunks::open(streams)?;
    let needed = chunks.memory();
    if needed > means.memory {
        return Err(crate::backend::too_large(needed, means.memory).part("columns"));
    }
    let decode = |chunk: &_| chunks.decode_alone(chunk);
    let decoded = parallel::map(chunks.chunks().iter().collect(), means.threads, decode)?;
    let table = chunks.finish(decoded)?;
    let piece = |i: usize| -> Piece<'_> {
        let table = &table;
        Box::new(move |out| table.print(i, out))
    };
    in_order((0..table.pieces()).map(piece), means, take)
}

/// Lines that a piece has at least, as far as there are so many.
const PIECE_LINES: u64 = 8192;

fn queryable(
    lines: &Queryable,
    source: &dyn Source,
    means: Means,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    let runs = std::iter::from_fn(|| {
        let first = lines.cuts.get(start).filter(|_| start < lines.pieces())?.line;
        let long = |i: &usize| lines.cuts.get(*i).is_none_or(|cut| cut.line - first >= PIECE_LINES);
        let end = (start + 1..lines.pieces()).find(long).unwrap_or(lines.pieces());
        let run = start..end;
        start = end;
        Some(run)
    });
    let piece = |run: std::ops::Range<usize>| -> Piece<'_> {
        let read = |range: ByteRange| source.read(range);
        Box::new(move |out| lines.print(run, &read, 0, out))
    };
    in_order(runs.map(piece), means, take)
}
