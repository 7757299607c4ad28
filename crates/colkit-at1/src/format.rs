//! AT-1 as a format among others: recognising, opening, writing.

use crate::backend::Backend;
use crate::codec::queryable::Queryable;
use crate::codec::shape::is_stored_blocks;
use crate::container::{Codec, Container, Content, Frame, Payload, Walk};
use crate::output::{InMemory, Output};
use crate::restore::Unpacking;
use crate::stream_set::{Entry, Streams, entries_in};
use crate::table::File;
use crate::table::collect::Collector;
use crate::table::groups::Groups;
use crate::table::opaque::Opaque;
use crate::table::resident::Resident;
use crate::writer::At1Writer;
use arrow::datatypes::{DataType, SchemaRef};
use bytes::Bytes;
use colkit_core::{
    Boxed, ByteRange, Error, Format, Limits, Machine, ReadOptions, Result, Sink, Step, Table, TableWriter, WriteOptions,
};
use std::sync::Arc;

/// The AT-1 format.
#[derive(Clone, Copy, Debug, Default)]
pub struct At1;

impl Format for At1 {
    fn name(&self) -> &'static str {
        "at1"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["at1"]
    }

    fn sniff(&self, head: &[u8], _: &[u8]) -> bool {
        is_at1(head)
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        let walk = Walk::new(size, options.prefetch, &options.limits, wanted);
        Box::new(Open { state: State::Walking(Box::new(walk)), limits: options.limits.of_file(size) })
    }

    /// The types of a queryable file.
    fn stores(&self, data_type: &DataType) -> bool {
        matches!(data_type, DataType::Int64 | DataType::Float64 | DataType::Utf8)
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(At1Writer::new(schema, sink, options)?))
    }
}

/// Whether a file begins like this.
pub fn is_at1(head: &[u8]) -> bool {
    matches!(head, [b'A', b'T', b'1', 2 | 3, ..])
}

/// Which streams are fetched to see the table: those that hold its shape, or all if it must be unpacked as a whole.
fn wanted(codec: Codec, entry: &Entry) -> bool {
    match codec {
        Codec::Qcolumnar | Codec::Qjson | Codec::Qjson2 => !is_stored_blocks(entry),
        Codec::Bundle => entry.name == "manifest" || entry.backend != Backend::Stored,
        codec => Collector::knows(codec),
    }
}

/// Opens a file.
struct Open {
    state: State,
    limits: Limits,
}

enum State {
    Walking(Box<Walk>),
    /// The frames of this container were asked for.
    Frames(Box<Container>),
    Done,
}

impl Open {
    /// The table, or the ranges it still needs.
    fn table(&mut self, container: Container) -> Result<Step<Arc<dyn Table>>> {
        let codec = container.codec;
        match &container.content {
            Content::Streams(entries) => match codec {
                Codec::Qcolumnar | Codec::Qjson | Codec::Qjson2 => {
                    let streams = Streams::unpack(entries, self.limits.memory)?;
                    let lines = Queryable::open(codec, streams, entries)?;
                    Ok(Step::Ready(Arc::new(Groups::new(self.file(container), lines)?)))
                }
                codec if Collector::knows(codec) => {
                    let mut rows = Collector::new(codec, &self.limits);
                    rows.push(&Streams::unpack(entries, self.limits.memory)?)?;
                    self.resident(container, rows)
                }
                Codec::Bundle => {
                    crate::codec::bundle::Manifest::of(&Streams::unpack(entries, self.limits.memory)?, entries)?;
                    Ok(Step::Ready(Arc::new(Opaque(self.file(container)))))
                }
                _ => Ok(Step::Ready(Arc::new(Opaque(self.file(container))))),
            },
            Content::Frames { frames, .. } if Collector::knows(codec) => {
                let ranges: Vec<ByteRange> = frames.iter().map(|f| f.payload).filter(|r| !r.is_empty()).collect();
                let packed = ranges.iter().map(|r| r.len()).fold(0u64, u64::saturating_add);
                Limits::check_memory("the frames of a file", packed, self.limits.memory)?;
                if ranges.is_empty() {
                    return self.frames(container, Vec::new());
                }
                self.state = State::Frames(Box::new(container));
                Ok(Step::Need(ranges))
            }
            _ => Ok(Step::Ready(Arc::new(Opaque(self.file(container))))),
        }
    }

    fn file(&self, container: Container) -> Arc<File> {
        Arc::new(File { container, limits: self.limits.clone() })
    }

    fn resident(&self, container: Container, rows: Collector) -> Result<Step<Arc<dyn Table>>> {
        let (batch, properties) = rows.finish()?;
        Ok(Step::Ready(Arc::new(Resident { file: self.file(container), batch, properties })))
    }

    fn frames(&self, container: Container, got: Vec<Bytes>) -> Result<Step<Arc<dyn Table>>> {
        let mut rows = Collector::new(container.codec, &self.limits);
        let mut got = got.into_iter();
        if let Content::Frames { frames, .. } = &container.content {
            for (number, frame) in frames.iter().enumerate() {
                let bytes = if frame.payload.is_empty() { Bytes::new() } else { got.next().unwrap_or_default() };
                self.frame(frame, container.head_of_frame(number), &bytes, &mut rows)
                    .map_err(|e| e.at(frame.payload.start()).part(format!("frame at byte {}", frame.header.start())))?;
            }
        }
        self.resident(container, rows)
    }

    fn frame(&self, frame: &Frame, head: &[u8], bytes: &Bytes, rows: &mut Collector) -> Result<()> {
        if frame.structured {
            let entries = entries_in(bytes, frame.payload.start(), head)?;
            return rows.push(&Streams::unpack(&entries, self.limits.memory)?);
        }
        let payload = Payload::parse(bytes.get(..bytes.len().min(6)).unwrap_or_default(), frame.payload)?;
        let skip = usize::try_from(payload.data.start() - frame.payload.start()).unwrap_or(0);
        let mut text = InMemory { limit: self.limits.memory, ..InMemory::default() };
        let mut out = Output::new(&mut text);
        let mut unpacking = Unpacking::new(payload)?;
        unpacking.push(bytes.get(skip..).unwrap_or_default(), &mut out)?;
        unpacking.finish(&mut out)?;
        out.flush()?;
        rows.push_raw(&text.bytes)
    }
}

impl Machine for Open {
    type Output = Arc<dyn Table>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Arc<dyn Table>>> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Walking(mut walk) => match walk.step(got)? {
                Step::Need(ranges) => {
                    self.state = State::Walking(walk);
                    Ok(Step::Need(ranges))
                }
                Step::Ready(container) => self.table(container),
            },
            State::Frames(container) => self.frames(*container, got),
            State::Done => Err(Error::internal("the machine has given its result already")),
        }
    }
}
