//! AT-1 as a format among others: recognising, opening, writing.

use crate::codec::bundle::Manifest;
use crate::codec::{Codec, View};
use crate::container::{Container, Content, Walk};
use crate::fetched::Fetched;
use crate::output::{InMemory, Output};
use crate::restore::part::FrameReader;
use crate::stream_set::{Entry, Streams};
use crate::table::File;
use crate::table::groups::Groups;
use crate::table::opaque::Opaque;
use crate::table::resident::Resident;
use crate::table::rows::RowCollector;
#[cfg(feature = "write")]
use crate::writer::At1Writer;
use arrow::datatypes::{DataType, SchemaRef};
use bytes::Bytes;
use colkit_core::drive::blocking;
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

    #[cfg(feature = "write")]
    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(At1Writer::new(schema, sink, options)?))
    }

    #[cfg(not(feature = "write"))]
    fn writer(&self, _: SchemaRef, _: Box<dyn Sink>, _: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Err(Error::unsupported("not_built", "AT-1: this program was built without the feature `write`"))
    }
}

/// Whether a file begins like this.
pub fn is_at1(head: &[u8]) -> bool {
    matches!(head, [b'A', b'T', b'1', 2 | 3, ..])
}

/// Which streams are fetched to see the table: none if there is no table.
fn wanted(codec: Codec, entry: &Entry) -> bool {
    let coder = codec.coder();
    !matches!(coder.view(), View::Opaque) && coder.reads(entry)
}

/// Opens a file.
struct Open {
    state: State,
    limits: Limits,
}

enum State {
    Walking(Box<Walk>),
    /// The frames of this container were asked for.
    Frames(Arc<Container>, Vec<ByteRange>, Box<dyn RowCollector>),
    Done,
}

impl Open {
    /// The table, or the ranges it still needs.
    fn table(&mut self, container: Container) -> Result<Step<Arc<dyn Table>>> {
        let container = Arc::new(container);
        let streams = |entries: &[Entry]| Streams::unpack(entries, self.limits.memory, 1);
        match (&container.content, container.codec.coder().view()) {
            (Content::Streams(entries), View::Groups(open)) => {
                let lines = open(streams(entries)?)?;
                Ok(Step::Ready(Arc::new(Groups::new(self.file(&container), lines)?)))
            }
            (Content::Streams(entries), View::Rows(collect)) => {
                let mut rows = collect(&self.limits);
                rows.push(&streams(entries)?)?;
                self.resident(&container, rows)
            }
            (Content::Streams(entries), View::Files) => {
                Manifest::of(&streams(entries)?)?;
                Ok(Step::Ready(Arc::new(Opaque(self.file(&container)))))
            }
            (Content::Frames { frames, .. }, View::Rows(collect)) => {
                let ranges: Vec<ByteRange> = frames.iter().map(|f| f.payload).filter(|r| !r.is_empty()).collect();
                let packed = ranges.iter().map(|r| r.len()).fold(0u64, u64::saturating_add);
                Limits::check_memory("the frames of a file", packed, self.limits.memory)?;
                let rows = collect(&self.limits);
                if ranges.is_empty() {
                    return self.frames(&container, &Fetched::default(), rows);
                }
                self.state = State::Frames(container, ranges.clone(), rows);
                Ok(Step::Need(ranges))
            }
            _ => Ok(Step::Ready(Arc::new(Opaque(self.file(&container))))),
        }
    }

    fn file(&self, container: &Arc<Container>) -> Arc<File> {
        Arc::new(File { container: container.clone(), limits: self.limits.clone() })
    }

    fn resident(&self, container: &Arc<Container>, rows: Box<dyn RowCollector>) -> Result<Step<Arc<dyn Table>>> {
        let (batch, properties) = rows.finish()?;
        Ok(Step::Ready(Arc::new(Resident { file: self.file(container), batch, properties })))
    }

    fn frames(
        &self,
        container: &Arc<Container>,
        fetched: &Fetched,
        mut rows: Box<dyn RowCollector>,
    ) -> Result<Step<Arc<dyn Table>>> {
        let memory = self.limits.memory;
        for mut frame in (0..).map_while(|number| FrameReader::new(container, number)) {
            let mut text = InMemory { limit: memory, ..InMemory::default() };
            let mut out = Output::new(&mut text, memory);
            let streams = blocking::feed(fetched, |got| frame.step(got, &mut out))?;
            out.flush()?;
            let pushed = match streams {
                Some(streams) => rows.push(&streams),
                None => rows.push_raw(&text.bytes),
            };
            pushed.map_err(|e| frame.locate(e))?;
        }
        self.resident(container, rows)
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
            State::Frames(container, ranges, rows) => self.frames(&container, &Fetched::new(ranges, got), rows),
            State::Done => Err(Error::internal("the machine has given its result already")),
        }
    }
}
