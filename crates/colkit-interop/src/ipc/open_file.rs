//! Opening a file: its footer says where the messages are.
//!
//! ```text
//! last 10 bytes -> length of the footer -> footer: schema, places of the messages -> metadata of all messages
//! ```

use super::index::Index;
use super::message::{self, Content, MAGIC};
use super::table::IpcTable;
use crate::guard::guarded;
use arrow::datatypes::Schema;
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Limits, Machine, ReadOptions, Region, RegionKind, Result, Step, Table};
use std::sync::Arc;

/// After the footer: its length and the magic.
const TAIL: u64 = 10;

pub(super) struct Open {
    size: u64,
    limits: Limits,
    state: State,
}

enum State {
    Start,
    Tail,
    Footer(ByteRange),
    /// With the places of the messages, and where the footer starts.
    Messages(Box<Index>, Vec<Block>, u64),
}

/// Where the schema message may start after the magic: writers align it to 8 bytes, or to 64.
const SCHEMA_START: u64 = 72;

/// Where the first message that the footer names starts.
fn blocks_start(blocks: &[Block], footer: u64) -> u64 {
    blocks.iter().map(|b| b.metadata.start()).min().unwrap_or(footer)
}

/// The place of the schema message, from the bytes that follow the magic. It ends before the message at `first`.
fn schema_message(bytes: &[u8], first: u64) -> (ByteRange, &'static str) {
    let zeros = bytes.chunks(8).take_while(|word| word.iter().all(|b| *b == 0)).count() * 8;
    let message = bytes.get(zeros..).filter(|rest| rest.starts_with(&message::CONTINUATION));
    let length = message.and_then(|rest| message::prefix(rest, 0).ok().flatten());
    let framed = length.and_then(|(prefix, length)| ByteRange::at(8, zeros as u64 + prefix + length).ok());
    match framed.filter(|range| range.end() <= first) {
        Some(range) => (range, "schema message"),
        // Some writers leave out the frame. Nothing depends on it: the footer has the schema.
        None => (ByteRange::between(8, first), "schema"),
    }
}

/// Where a message lies.
#[derive(Clone, Copy)]
struct Block {
    metadata: ByteRange,
    body: ByteRange,
    dictionary: bool,
}

impl Open {
    pub fn new(size: u64, options: &ReadOptions) -> Self {
        Open { size, limits: options.limits.clone(), state: State::Start }
    }

    fn footer_range(&self, tail: &[u8]) -> Result<ByteRange> {
        let at = self.size - TAIL;
        if !tail.ends_with(MAGIC) {
            return Err(Error::corrupt("bad_magic", "expected \"ARROW1\" at the end")
                .at(self.size - MAGIC.len() as u64)
                .hint("the file may have been cut, or never finished"));
        }
        let length = tail.first_chunk().map_or(0, |b| i32::from_le_bytes(*b));
        match u64::try_from(length).ok().and_then(|n| Some((n, at.checked_sub(n)?))) {
            Some((length, start)) if start >= 8 && length > 0 => {
                Limits::check_memory("the footer", length, self.limits.memory / 4)?;
                ByteRange::at(start, length)
            }
            _ => Err(Error::corrupt("block_out_of_range", format!("a footer of {length} bytes")).at(at)),
        }
    }

    /// The schema and the places of all messages.
    fn read_footer(&self, bytes: &[u8], range: ByteRange) -> Result<(Index, Vec<Block>)> {
        guarded("footer", || {
            let options = flatbuffers::VerifierOptions { max_tables: 10_000_000, ..Default::default() };
            let footer = arrow::ipc::root_as_footer_with_opts(&options, bytes)
                .map_err(|e| Error::corrupt("bad_footer", e.to_string()).at(range.start()))?;
            message::check_version(footer.version())?;
            let schema = footer.schema().ok_or_else(|| Error::corrupt("bad_footer", "there is no schema"))?;
            let turned = message::is_turned(schema);
            let schema: Schema = message::read_schema(schema)?;
            let mut metadata = schema.metadata.clone();
            for pair in footer.custom_metadata().iter().flatten() {
                if let (Some(key), Some(value)) = (pair.key(), pair.value()) {
                    metadata.entry(key.to_string()).or_insert_with(|| value.to_string());
                }
            }
            let mut index = Index::new(Arc::new(schema.with_metadata(metadata)), turned, self.size, &self.limits)?;
            let place = |block: &arrow::ipc::Block, dictionary: bool| {
                let whole = |n: i64| u64::try_from(n).unwrap_or(u64::MAX);
                let metadata = ByteRange::at(whole(block.offset()), whole(block.metaDataLength().into()))?;
                let body = ByteRange::at(metadata.end(), whole(block.bodyLength()))?;
                if body.end() > range.start() || metadata.len() < 8 || metadata.start() < 8 {
                    let message = format!("a message at {metadata} with a body at {body}");
                    return Err(Error::corrupt("block_out_of_range", message).at(range.start()));
                }
                Ok(Block { metadata, body, dictionary })
            };
            let mut blocks = Vec::new();
            for block in footer.dictionaries().iter().flatten() {
                blocks.push(place(block, true)?);
            }
            for block in footer.recordBatches().iter().flatten() {
                blocks.push(place(block, false)?);
            }
            let metadata = blocks.iter().map(|b| b.metadata.len()).fold(0, u64::saturating_add);
            Limits::check_memory("the metadata of all messages", metadata, self.limits.memory / 4)?;
            index.properties.push(("version", format!("{:?}", footer.version())));
            index.regions.push(Region::new(ByteRange::between(0, 8), RegionKind::Header, "magic"));
            index.regions.push(Region::new(range, RegionKind::Metadata, "footer"));
            index.regions.push(Region::new(
                ByteRange::between(self.size - TAIL, self.size),
                RegionKind::Header,
                "length of the footer, magic",
            ));
            Ok::<_, Error>((index, blocks))
        })
    }

    fn add(&self, index: &mut Index, number: usize, block: &Block, bytes: &[u8]) -> Result<()> {
        let located = |e: Error| e.at(block.metadata.start()).part(format!("message {number}"));
        let (prefix, length) = message::prefix(bytes, block.metadata.start())?
            .ok_or_else(|| located(Error::corrupt("bad_message", "an end of stream where a message should be")))?;
        let end = usize::try_from(prefix + length).unwrap_or(usize::MAX);
        let from = usize::try_from(prefix).unwrap_or(usize::MAX);
        let metadata = bytes.get(from..end).ok_or_else(|| {
            located(Error::corrupt("block_out_of_range", format!("{length} bytes of metadata in {}", block.metadata)))
        })?;
        let content = message::read(metadata, block.metadata.end(), block.body.end(), &self.limits);
        match (content.map_err(located)?.0, block.dictionary) {
            (Content::Batch(batch), false) => index.add_batch(batch).map_err(located)?,
            (Content::Dictionary { id, delta, values }, true) => {
                index.add_dictionary(id, delta, values).map_err(located)?
            }
            _ => return Err(located(Error::corrupt("bad_message", "a message of another kind than the footer says"))),
        }
        let name = if block.dictionary { "dictionary message" } else { "record batch message" };
        index.regions.push(Region::new(block.metadata, RegionKind::Metadata, format!("{name} {number}")));
        Ok(())
    }
}

impl Machine for Open {
    type Output = Arc<dyn Table>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let first = got.first().cloned().unwrap_or_default();
        match std::mem::replace(&mut self.state, State::Start) {
            State::Start => {
                if self.size < 8 + TAIL {
                    return Err(Error::corrupt("truncated", format!("{} bytes are too few", self.size)).at(0));
                }
                self.state = State::Tail;
                Ok(Step::Need(vec![ByteRange::between(self.size - TAIL, self.size)]))
            }
            State::Tail => {
                let range = self.footer_range(&first)?;
                self.state = State::Footer(range);
                Ok(Step::Need(vec![range]))
            }
            State::Footer(range) => {
                let (index, blocks) = self.read_footer(&first, range)?;
                let ranges: Vec<ByteRange> = blocks.iter().map(|b| b.metadata).collect();
                // The schema is there once more, in front of the other messages.
                let first = blocks_start(&blocks, range.start());
                self.state = State::Messages(Box::new(index), blocks, range.start());
                Ok(Step::Need([ranges, vec![ByteRange::between(8, first.min(8 + SCHEMA_START))]].concat()))
            }
            State::Messages(mut index, blocks, footer) => {
                for (number, (block, bytes)) in blocks.iter().zip(&got).enumerate() {
                    self.add(&mut index, number, block, bytes)?;
                }
                let first = blocks_start(&blocks, footer);
                let (range, name) = schema_message(got.last().map(Bytes::as_ref).unwrap_or_default(), first);
                index.regions.push(Region::new(range, RegionKind::Metadata, name));
                let last = blocks.iter().map(|b| b.body.end()).max();
                index.end_of_messages = Some(last.unwrap_or(range.end()));
                Ok(Step::Ready(Arc::new(IpcTable::new(*index))))
            }
        }
    }
}
