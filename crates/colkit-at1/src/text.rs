//! Packed texts as tables that answer like the texts themselves.
//!
//! | file | table |
//! |------|-------|
//! | queryable, and says what the cells or members of its text are | read by range, with the types that the text would have |
//! | queryable, written from typed data | read by range, with its own types |
//! | other tables and JSON lines, RAW | the text is unpacked and read through |
//! | a text that does not read as a table, or too long to be held; anything else | what the codec itself shows |

use crate::codec::{Codec, View};
use crate::container::{Container, Content, Walk};
use crate::format::{At1, is_at1};
use crate::queryable::Queryable;
use crate::queryable::shape::RowTemplate;
use crate::queryable::typing::Typing;
use crate::restore::{RestoreOptions, restore_with};
use crate::stream_set::{Entry, Streams};
use crate::table::File;
use crate::table::groups::{Groups, first_line};
use crate::table::in_memory::InMemoryTable;
use arrow::datatypes::{DataType, SchemaRef};
use bytes::Bytes;
use colkit_core::cells::Inference;
use colkit_core::drive::blocking;
use colkit_core::{
    Boxed, ByteRange, Class, Error, Format, Limits, Machine, ReadOptions, Result, Sink, Step, Table, TableWriter,
    WriteOptions,
};
use std::sync::Arc;

/// How texts are read as tables. Formats do not know each other, so whoever knows them all says it.
pub trait TextReader: Send + Sync {
    /// Whether what begins like this may be a table in text.
    fn is_text(&self, head: &[u8]) -> bool;

    /// What separates the cells of CSV that begins like this.
    fn delimiter(&self, head: &[u8]) -> u8;

    /// Opens a text that begins like this.
    fn open(&self, head: &[u8], size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>>;

    /// How types follow from what the cells of CSV with a header or the members of objects are; `None` if that does not say it, as where words are
    /// null or rows are repaired.
    fn inference(&self) -> Option<&Arc<Inference>>;

    /// Types of columns, by name, instead of those.
    fn given(&self) -> &[(String, DataType)];
}

/// Bytes by which a text is known.
const HEAD: usize = 4096;

/// The share of the memory that a text may take.
const SHARE: u64 = 4;

/// The AT-1 format, with a view of packed texts as the tables they are.
#[derive(Clone)]
pub struct PackedText {
    reader: Arc<dyn TextReader>,
}

impl PackedText {
    /// Texts are read like this.
    pub fn new(reader: Arc<dyn TextReader>) -> Self {
        PackedText { reader }
    }
}

impl Format for PackedText {
    fn name(&self) -> &'static str {
        At1.name()
    }

    fn extensions(&self) -> &'static [&'static str] {
        At1.extensions()
    }

    fn sniff(&self, head: &[u8], _: &[u8]) -> bool {
        is_at1(head)
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        let walk = Walk::new(size, options.prefetch, &options.limits, wanted);
        Box::new(Open {
            reader: self.reader.clone(),
            options: options.clone(),
            limits: options.limits.of_file(size),
            size,
            state: State::Walking(Box::new(walk)),
        })
    }

    fn stores(&self, data_type: &DataType) -> bool {
        At1.stores(data_type)
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        At1.writer(schema, sink, options)
    }
}

/// Which streams are fetched to decide how to go on.
fn wanted(codec: Codec, entry: &Entry) -> bool {
    codec.is_queryable() && codec.coder().reads(entry)
}

struct Open {
    reader: Arc<dyn TextReader>,
    options: ReadOptions,
    limits: Limits,
    size: u64,
    state: State,
}

enum State {
    Walking(Box<Walk>),
    /// The whole file was asked for.
    Whole(Arc<Container>),
    /// What the codec shows.
    Own(Boxed<Arc<dyn Table>>),
}

impl Open {
    /// Goes on with what the codec shows.
    fn own(&mut self) -> Result<Step<Arc<dyn Table>>> {
        let mut machine = At1.open(self.size, &self.options);
        let step = machine.step(Vec::new());
        self.state = State::Own(machine);
        step
    }

    fn decide(&mut self, container: Container) -> Result<Step<Arc<dyn Table>>> {
        let container = Arc::new(container);
        let coder = container.codec.coder();
        if let (Content::Streams(entries), View::Groups(open)) = (&container.content, coder.view()) {
            let streams = Streams::unpack(entries, self.limits.memory, 1)?;
            let typing = Typing::open(&streams)?;
            let lines = open(streams)?;
            match typing {
                Some(Typing::Given) if self.reader.given().is_empty() => {
                    return Ok(Step::Ready(Arc::new(Groups::new(self.file(&container), lines)?)));
                }
                Some(Typing::Text(kinds)) if self.is_as_packed(&lines)? => {
                    if let Some(inference) = self.reader.inference() {
                        let groups =
                            Groups::typed(self.file(&container), lines, &kinds, inference, self.reader.given());
                        return Ok(Step::Ready(Arc::new(groups?)));
                    }
                }
                Some(Typing::Objects(kinds)) if self.reader.given().is_empty() => {
                    let file = self.file(&container);
                    if let Some(inference) = self.reader.inference()
                        && let Some(groups) = Groups::objects(file, lines, &kinds, inference)?
                    {
                        return Ok(Step::Ready(Arc::new(groups)));
                    }
                }
                _ => {}
            }
        }
        if !coder.is_table_text() || self.size == 0 || self.size > self.limits.memory / SHARE {
            return self.own();
        }
        self.state = State::Whole(container);
        Ok(Step::Need(vec![ByteRange::between(0, self.size)]))
    }

    /// Whether the text would be cut into the cells that were packed.
    fn is_as_packed(&self, lines: &Queryable) -> Result<bool> {
        let ([shape], Some(header)) = (&lines.shapes[..], first_line(lines)?) else { return Ok(false) };
        Ok(matches!(&shape.glue, RowTemplate::Delimiter(d) if d[..] == [self.reader.delimiter(header)]))
    }

    fn file(&self, container: &Arc<Container>) -> Arc<File> {
        Arc::new(File { container: container.clone(), limits: self.limits.clone() })
    }

    /// The table of the text that these bytes pack.
    fn in_memory(&mut self, container: &Arc<Container>, packed: &Bytes) -> Result<Step<Arc<dyn Table>>> {
        let Some(text) = self.text(packed)? else { return self.own() };
        let head = text.get(..text.len().min(HEAD)).unwrap_or_default();
        let machine = self.reader.open(head, text.len() as u64, &self.options);
        match blocking::run(machine, &text) {
            Ok(table) => Ok(Step::Ready(Arc::new(InMemoryTable { file: self.file(container), text, table }))),
            Err(e) if e.class() == Class::Request => Err(e),
            // The text has no such table: then what the codec makes of it is better than nothing.
            Err(_) => self.own(),
        }
    }

    /// The text, if it is one and not too long.
    fn text(&self, packed: &Bytes) -> Result<Option<Bytes>> {
        let options = RestoreOptions { limits: self.limits.clone(), ..RestoreOptions::default() };
        let mut text: Vec<u8> = Vec::new();
        let mut known = false;
        let mut refused = false;
        let most = self.limits.memory / SHARE;
        let restored = restore_with(packed, &options, &mut |bytes| {
            text.extend_from_slice(bytes);
            let head = text.get(..HEAD).filter(|_| !known);
            known |= head.is_some();
            refused |= text.len() as u64 > most || head.is_some_and(|head| !self.reader.is_text(head));
            if refused { Err(Error::data("not_text", "not a text that can be held")) } else { Ok(()) }
        });
        if refused || (!known && !self.reader.is_text(&text)) {
            return Ok(None);
        }
        restored?;
        Ok(Some(text.into()))
    }
}

impl Machine for Open {
    type Output = Arc<dyn Table>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Arc<dyn Table>>> {
        match &mut self.state {
            State::Own(machine) => machine.step(got),
            State::Walking(walk) => match walk.step(got)? {
                Step::Need(ranges) => Ok(Step::Need(ranges)),
                Step::Ready(container) => self.decide(container),
            },
            State::Whole(container) => {
                let container = container.clone();
                let packed = got.into_iter().next().unwrap_or_default();
                self.in_memory(&container, &packed)
            }
        }
    }
}
