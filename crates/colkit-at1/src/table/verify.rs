//! Checking a whole file without keeping it: restore it piece by piece, hash it, compare.
//!
//! For queryable files the zone maps are checked too: every cell of a group must lie inside them, or a query would miss
//! rows.

use super::File;
use super::column_reader::parse;
use crate::checksum::Whole;
use crate::codec;
use crate::codec::queryable::Queryable;
use crate::codec::shape::{Shape, Zone};
use crate::container::Content;
use crate::output::{Behind, Output};
use crate::restore::{READ, Unpacking, print_frame};
use crate::stream_set::{Streams, total_raw_size};
use bytes::Bytes;
use colkit_core::{ByteRange, Checksums, Error, Limits, Machine, Result, Source, Step, Verified};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Restores a file step by step.
pub struct Verify {
    file: Arc<File>,
    lines: Option<Arc<Queryable>>,
    job: usize,
    asked: Vec<ByteRange>,
    unpacking: Option<Unpacking>,
    hash: Hash,
    /// The checksums over all bytes, which come last: what restoring finds says more.
    whole: Option<Whole>,
    /// Whether the file carries them.
    has_checksums: bool,
    /// What was asked for to compare them.
    piece: Option<ByteRange>,
}

struct Hash {
    sha: Option<Sha256>,
    bytes: u64,
    limits: Limits,
}

impl Behind for Hash {
    fn hand_on(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Limits::check("the restored file", self.bytes, self.limits.output_bytes)?;
        if let Some(sha) = &mut self.sha {
            sha.update(&bytes);
        }
        Ok(())
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.limits.memory { Err(crate::backend::too_large(bytes, self.limits.memory)) } else { Ok(()) }
    }

    fn ceiling(&self) -> u64 {
        self.limits.output_bytes
    }
}

impl Verify {
    /// Checks `file`; `lines` if it is queryable and whole.
    pub fn new(file: Arc<File>, lines: Option<Arc<Queryable>>) -> Self {
        let hash = Hash { sha: file.container.trailer.map(|_| Sha256::new()), bytes: 0, limits: file.limits.clone() };
        let whole = Whole::of(&file.container);
        let has_checksums = whole.is_some();
        Verify { file, lines, job: 0, asked: Vec::new(), unpacking: None, hash, whole, has_checksums, piece: None }
    }

    /// What the next job reads; `None` when all are done.
    fn ranges(&self) -> Result<Option<Vec<ByteRange>>> {
        let job = self.job;
        Ok(match (&self.file.container.content, &self.lines) {
            (Content::Raw(payload), _) => {
                let at = payload.data.start().saturating_add(READ.saturating_mul(job as u64));
                let more = at < payload.data.end() || job == 0;
                more.then(|| vec![ByteRange::between(at, payload.data.end().min(at.saturating_add(READ)))])
            }
            (Content::Frames { frames, .. }, _) => frames.get(job).map(|frame| vec![frame.payload]),
            (Content::Streams(_), Some(lines)) => {
                if job >= lines.pieces() {
                    None
                } else {
                    Some(group_ranges(lines, job)?)
                }
            }
            (Content::Streams(entries), None) => {
                (job == 0).then(|| entries.iter().map(|e| e.data).filter(|r| !r.is_empty()).collect())
            }
        })
    }

    fn run(&mut self, got: Vec<Bytes>) -> Result<()> {
        let fetched = Fetched { size: self.file.container.size, parts: self.asked.iter().copied().zip(got).collect() };
        let limits = self.file.limits.clone();
        let mut out = Output::new(&mut self.hash);
        match (&self.file.container.content, &self.lines) {
            (Content::Raw(payload), _) => {
                let unpacking = match &mut self.unpacking {
                    Some(unpacking) => unpacking,
                    none => none.insert(Unpacking::new(*payload)?),
                };
                let bytes = fetched.parts.first().map(|(_, bytes)| bytes.clone()).unwrap_or_default();
                unpacking.push(&bytes, &mut out)?;
            }
            (Content::Frames { frames, .. }, _) => {
                if let Some(frame) = frames.get(self.job) {
                    let head = self.file.container.head_of_frame(self.job);
                    print_frame(self.file.container.codec, *frame, head, &fetched, &mut out)?;
                }
            }
            (Content::Streams(_), Some(lines)) => {
                check_zones(lines, self.job, &fetched, limits.memory)?;
                lines.print(self.job..self.job + 1, &|range| fetched.read(range), 0, &mut out)?;
            }
            (Content::Streams(entries), None) => {
                let mut entries = entries.clone();
                for entry in &mut entries {
                    entry.packed = Some(fetched.read(entry.data)?);
                }
                let held = total_raw_size(&entries, limits.memory)?;
                let streams = Streams::unpack(&entries, limits.memory)?;
                codec::restore(self.file.container.codec, &streams, &entries, held, &mut out)?;
            }
        }
        out.flush()
    }

    /// Compares the hash of what was restored.
    fn compare(&mut self) -> Result<()> {
        if let Some(unpacking) = self.unpacking.take() {
            let mut out = Output::new(&mut self.hash);
            unpacking.finish(&mut out)?;
            out.flush()?;
        }
        let container = &self.file.container;
        match (container.trailer, self.hash.sha.take().map(Sha256::finalize)) {
            (Some(want), Some(found)) if found[..] != want => Err(crate::restore::mismatch(container)),
            _ => Ok(()),
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

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        if let (Some(range), Some(whole)) = (self.piece.take(), &mut self.whole) {
            whole.take(range, &got.into_iter().next().unwrap_or_default());
        } else if !self.asked.is_empty() {
            self.run(got)?;
            self.job += 1;
            self.asked.clear();
        }
        while let Some(ranges) = self.ranges()? {
            if !ranges.is_empty() {
                self.asked = ranges.clone();
                return Ok(Step::Need(ranges));
            }
            self.run(Vec::new())?;
            self.job += 1;
        }
        self.compare()?;
        if let Some(range) = self.whole.as_ref().and_then(|whole| whole.next(READ)) {
            self.piece = Some(range);
            return Ok(Step::Need(vec![range]));
        }
        self.whole.take().map_or(Ok(()), Whole::finish)?;
        Ok(Step::Ready(self.verified()))
    }
}

/// The file ranges of all groups that a piece prints.
fn group_ranges(lines: &Queryable, piece: usize) -> Result<Vec<ByteRange>> {
    let mut ranges = Vec::new();
    for (_, shape, group) in groups(lines, piece) {
        ranges.extend(shape.file_range(group, 0..shape.width())?);
    }
    Ok(ranges)
}

/// The groups that a piece prints.
fn groups(lines: &Queryable, piece: usize) -> Vec<(usize, &Shape, u64)> {
    let row = |i: usize, s: usize| lines.cuts.get(i).map_or(0, |cut| cut.row(s));
    let of = |(s, shape): (usize, &'_ Shape)| {
        let (start, end) = (row(piece, s), row(piece + 1, s));
        if end > start { start / shape.group_rows..end.div_ceil(shape.group_rows) } else { 0..0 }
    };
    lines.shapes.iter().enumerate().flat_map(|(s, shape)| of((s, shape)).map(move |g| (s, shape, g))).collect()
}

fn check_zones(lines: &Queryable, piece: usize, fetched: &Fetched, memory: u64) -> Result<()> {
    for (_, shape, group) in groups(lines, piece) {
        for column in 0..shape.width() {
            let block = shape.block(group, column)?;
            let holds: &dyn Fn(&[u8]) -> bool = match block.zone {
                Zone::None => continue,
                Zone::Integer(min, max) => &move |cell| parse::<i64>(cell).is_none_or(|n| (min..=max).contains(&n)),
                // NaN in a map keeps its group in every query.
                Zone::Decimal(min, max) => &move |cell| {
                    parse::<f64>(cell).is_none_or(|x| min.is_nan() || max.is_nan() || (min..=max).contains(&x))
                },
            };
            let packed = match shape.file_range(group, column..column + 1)? {
                Some(range) => fetched.read(range)?,
                None => shape.in_memory(block).unwrap_or_default(),
            };
            let cells = shape.unpack(group, column, &packed, memory)?;
            if let Some(cell) = crate::cursor::cells(&cells).find(|cell| !holds(cell)) {
                let message = format!("the cell {:?} lies outside of {:?}", super::text::text(cell), block.zone);
                return Err(Error::corrupt("zone_map_mismatch", message)
                    .part(format!("zone map of column {column} in group {group}")));
            }
        }
    }
    Ok(())
}

/// The bytes that were asked for, as a source.
struct Fetched {
    size: u64,
    parts: Vec<(ByteRange, Bytes)>,
}

impl Source for Fetched {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let inside = self.parts.iter().find(|(part, _)| part.contains(range)).and_then(|(part, bytes)| {
            let start = usize::try_from(range.start() - part.start()).ok()?;
            let end = start.checked_add(range.len_usize().ok()?)?;
            (end <= bytes.len()).then(|| bytes.slice(start..end))
        });
        inside.ok_or_else(|| Error::internal(format!("bytes {range} were not fetched")).at(range.start()))
    }
}
