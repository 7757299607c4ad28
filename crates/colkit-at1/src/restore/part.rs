//! What a file is restored from, part by part: the one way from packed bytes to the original, whoever asks.
//!
//! | content | parts |
//! |---------|-------|
//! | RAW | one payload, unpacked as it comes |
//! | streaming | frames |
//! | qcolumnar, qjson, qjson2 | runs of row groups |
//! | any other stream set | none: its codec restores it from the streams |
//!
//! Parts say which bytes they need and do no I/O. `unpack` runs them on several threads, `verify` one after another inside a
//! machine, and opening a table reads frames with the same [`FrameReader`].

use super::host::Host;
use crate::backend::Unpacker;
use crate::codec::{Codec, View};
use crate::container::{Container, Content, Frame, HEAD, Payload};
use crate::fetched::Fetched;
use crate::output::Output;
use crate::queryable::Queryable;
use crate::stream_set::{Entry, Streams, entries_in, total_raw_size};
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Result, Step};
use std::ops::Range;
use std::sync::Arc;

/// A part of a file that can be restored on its own. It is stepped like a [`colkit_core::Machine`].
pub trait Part: Send {
    /// Goes on with the bytes asked for last, and writes what they hold.
    fn step(&mut self, got: Vec<Bytes>, out: &mut Output<'_>) -> Result<Step<()>>;
}

/// Parts in the order of the file.
pub type Parts = Box<dyn Iterator<Item = Box<dyn Part>> + Send>;

/// What there is to do to restore a file.
pub enum Work {
    /// These parts, in this order.
    Parts {
        /// The parts.
        parts: Parts,
        /// Bytes that they share.
        held: u64,
    },
    /// The codec restores these streams.
    Streams(Streams),
}

impl Work {
    /// What there is to do for `container`. `entries` are its streams, if it has any: those that its codec reads at once are
    /// fetched, and are unpacked on so many threads into so much memory. With `check_zones`, every cell of a queryable file must
    /// lie inside its zone map.
    pub fn new(
        container: &Arc<Container>,
        entries: &[Entry],
        memory: u64,
        threads: usize,
        check_zones: bool,
    ) -> Result<Self> {
        let parts: Parts = match &container.content {
            Content::Raw(_) => {
                let payload = ByteRange::between(HEAD, container.body_end);
                Box::new(std::iter::once(Box::new(PayloadReader::new(payload)) as Box<dyn Part>))
            }
            Content::Frames { frames, .. } => {
                let container = container.clone();
                Box::new((0..frames.len()).filter_map(move |i| Some(Box::new(FramePart::new(&container, i)?) as _)))
            }
            Content::Streams(_) => {
                let streams = Streams::unpack(entries, memory, threads)?;
                let held = streams.size();
                return match container.codec.coder().view() {
                    View::Groups(open) => Ok(Work::groups(Arc::new(open(streams)?), held, check_zones)),
                    _ => Ok(Work::Streams(streams)),
                };
            }
        };
        Ok(Work::Parts { parts, held: 0 })
    }

    /// The lines of a queryable file, whose streams hold so many bytes.
    pub fn groups(lines: Arc<Queryable>, held: u64, check_zones: bool) -> Self {
        let runs = lines.runs();
        let part = move |run| -> Box<dyn Part> {
            Box::new(GroupsPart { lines: lines.clone(), run, check_zones, asked: None })
        };
        Work::Parts { parts: Box::new(runs.into_iter().map(part)), held }
    }

    /// Bytes that are held as long as there is something to do.
    pub fn held(&self) -> u64 {
        match self {
            Work::Parts { held, .. } => *held,
            Work::Streams(streams) => streams.size(),
        }
    }
}

/// Bytes of packed data read at a time.
pub const READ: u64 = 256 << 10;

/// A payload, unpacked as it comes.
pub struct PayloadReader {
    range: ByteRange,
    /// How far it has been read.
    at: u64,
    /// Known once its first bytes have come, with the offset of its data.
    unpacker: Option<(Unpacker, u64)>,
}

impl PayloadReader {
    /// The payload that lies here, its backend byte included.
    pub fn new(range: ByteRange) -> Self {
        PayloadReader { range, at: range.start(), unpacker: None }
    }

    fn take(&mut self, bytes: &[u8], out: &mut Output<'_>) -> Result<()> {
        self.at = self.at.saturating_add(bytes.len() as u64);
        let (skip, (unpacker, start)) = match &mut self.unpacker {
            Some(known) => (0, known),
            none => {
                let payload = Payload::parse(bytes, self.range)?;
                let start = payload.data.start();
                let skip = usize::try_from(start - self.range.start()).unwrap_or(0);
                (skip, none.insert((Unpacker::new(payload.backend)?, start)))
            }
        };
        let located = |e: Error| e.at(*start).part("payload");
        unpacker.push(bytes.get(skip..).unwrap_or_default(), out).map_err(located)
    }
}

impl Part for PayloadReader {
    fn step(&mut self, got: Vec<Bytes>, out: &mut Output<'_>) -> Result<Step<()>> {
        for bytes in got {
            self.take(&bytes, out)?;
        }
        if self.at < self.range.end() {
            let end = self.range.end().min(self.at.saturating_add(READ));
            return Ok(Step::Need(vec![ByteRange::between(self.at, end)]));
        }
        match self.unpacker.take() {
            Some((unpacker, start)) => unpacker.finish(out).map_err(|e| e.at(start).part("payload"))?,
            // Nothing came: the error for that.
            None => self.take(&[], out)?,
        }
        Ok(Step::Ready(()))
    }
}

/// Reads a frame: raw text goes to the output; a stream set comes back unpacked.
pub struct FrameReader {
    frame: Frame,
    /// What its checksums cover besides the frame.
    head: Bytes,
    raw: Option<PayloadReader>,
    asked: bool,
}

impl FrameReader {
    /// Reads a frame of a container, if it has so many.
    pub fn new(container: &Container, number: usize) -> Option<Self> {
        let Content::Frames { frames, head, .. } = &container.content else { return None };
        let frame = *frames.get(number)?;
        let raw = (!frame.structured).then(|| PayloadReader::new(frame.payload));
        let head = if number == 0 { head.clone() } else { Bytes::new() };
        Some(FrameReader { frame, head, raw, asked: false })
    }

    /// Goes on with the bytes asked for last. The streams, if the frame has been taken apart.
    pub fn step(&mut self, got: Vec<Bytes>, out: &mut Output<'_>) -> Result<Step<Option<Streams>>> {
        self.advance(got, out).map_err(|e| self.locate(e))
    }

    fn advance(&mut self, got: Vec<Bytes>, out: &mut Output<'_>) -> Result<Step<Option<Streams>>> {
        let payload = self.frame.payload;
        if let Some(raw) = &mut self.raw {
            return Ok(match raw.step(got, out)? {
                Step::Need(ranges) => Step::Need(ranges),
                Step::Ready(()) => Step::Ready(None),
            });
        }
        if !std::mem::replace(&mut self.asked, true) && !payload.is_empty() {
            out.hold_input(payload.len())?;
            return Ok(Step::Need(vec![payload]));
        }
        let bytes = got.into_iter().next().unwrap_or_default();
        let entries = entries_in(&bytes, payload.start(), &self.head)?;
        let held = total_raw_size(&entries, u64::MAX)?.saturating_add(payload.len());
        out.hold_input(held)?;
        Ok(Step::Ready(Some(Streams::unpack(&entries, held, 1)?)))
    }

    /// An error in the frame.
    pub fn locate(&self, error: Error) -> Error {
        error.at(self.frame.payload.start()).part(format!("frame at byte {}", self.frame.header.start()))
    }
}

/// Restores a frame.
struct FramePart {
    codec: Codec,
    reader: FrameReader,
}

impl FramePart {
    fn new(container: &Container, number: usize) -> Option<Self> {
        Some(FramePart { codec: container.codec, reader: FrameReader::new(container, number)? })
    }
}

impl Part for FramePart {
    fn step(&mut self, got: Vec<Bytes>, out: &mut Output<'_>) -> Result<Step<()>> {
        match self.reader.step(got, out)? {
            Step::Need(ranges) => return Ok(Step::Need(ranges)),
            Step::Ready(None) => {}
            Step::Ready(Some(streams)) => {
                let restored = self.codec.coder().restore(&streams, &mut Host::Here(out));
                restored.map_err(|e| self.reader.locate(e))?;
            }
        }
        Ok(Step::Ready(()))
    }
}

/// Restores the lines of some row groups.
struct GroupsPart {
    lines: Arc<Queryable>,
    /// The pieces of the lines.
    run: Range<usize>,
    check_zones: bool,
    asked: Option<Vec<ByteRange>>,
}

impl Part for GroupsPart {
    fn step(&mut self, got: Vec<Bytes>, out: &mut Output<'_>) -> Result<Step<()>> {
        let asked = match self.asked.take() {
            Some(asked) => asked,
            None => {
                let ranges = self.lines.ranges(self.run.clone())?;
                out.hold_input(ranges.iter().map(|r| r.len()).sum())?;
                if !ranges.is_empty() {
                    self.asked = Some(ranges.clone());
                    return Ok(Step::Need(ranges));
                }
                ranges
            }
        };
        let fetched = Fetched::new(asked, got);
        if self.check_zones {
            self.lines.check_zones(self.run.clone(), &fetched, out)?;
        }
        self.lines.print(self.run.clone(), &fetched, out)?;
        Ok(Step::Ready(()))
    }
}
