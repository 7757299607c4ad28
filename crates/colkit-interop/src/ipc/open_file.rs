//! Opening a file: its footer says where the messages are.
//!
//! ```text
//! last 10 bytes -> length of the footer -> footer: schema, places of the messages -> metadata of all messages
//! ```

use super::index::Index;
use super::message::{self, Content, MAGIC};
use super::table::IpcTable;
use crate::decoder_panics::guarded;
use crate::footer::FooterLayout;
use arrow::datatypes::Schema;
use colkit_core::coroutine::coroutine;
use colkit_core::{Boxed, ByteRange, Error, Limits, ReadOptions, Region, RegionKind, Result, Table};
use std::sync::Arc;

/// The magic and its padding.
const HEAD: u64 = 8;

/// Where the schema message may start after the magic: writers align it to 8 bytes, or to 64.
const SCHEMA_START: u64 = 72;

/// Opens a file of `size` bytes.
pub(super) fn open(size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
    let limits = options.limits.clone();
    coroutine(move |io| async move {
        let ending = FooterLayout { size, head: HEAD, magic: MAGIC };
        let footer = ending.footer(&ending.read(&io).await?, &limits)?;
        let (mut index, messages) = read_footer(&io.read_one(footer).await?, footer, ending, &limits)?;
        // The schema is there once more, in front of the other messages.
        let first = messages.iter().map(|m| m.metadata.start()).min().unwrap_or(footer.start());
        let mut ranges: Vec<ByteRange> = messages.iter().map(|m| m.metadata).collect();
        ranges.push(ByteRange::between(HEAD, first.min(HEAD + SCHEMA_START)));
        let mut got = io.read(ranges).await?;
        let start = got.pop().unwrap_or_default();
        for (number, (message, bytes)) in messages.iter().zip(&got).enumerate() {
            add(&mut index, message, bytes, &limits)
                .map_err(|e| e.at(message.metadata.start()).part(format!("message {number}")))?;
            let name = if message.dictionary { "dictionary message" } else { "record batch message" };
            index.regions.push(Region::new(message.metadata, RegionKind::Metadata, format!("{name} {number}")));
        }
        let (range, name) = schema_message(&start, first);
        index.regions.push(Region::new(range, RegionKind::Metadata, name));
        let last = messages.iter().map(|m| m.body.end()).max();
        index.end_of_messages = Some(last.unwrap_or(range.end()));
        let table: Arc<dyn Table> = Arc::new(IpcTable::new(index));
        Ok(table)
    })
}

/// The place of the schema message, from the bytes that follow the magic. It ends before the message at `first`.
fn schema_message(bytes: &[u8], first: u64) -> (ByteRange, &'static str) {
    let zeros = bytes.chunks(8).take_while(|word| word.iter().all(|b| *b == 0)).count() * 8;
    let message = bytes.get(zeros..).filter(|rest| rest.starts_with(&message::CONTINUATION));
    let length = message.and_then(|rest| message::prefix(rest, 0).ok().flatten());
    let framed = length.and_then(|(prefix, length)| ByteRange::at(HEAD, zeros as u64 + prefix + length).ok());
    match framed.filter(|range| range.end() <= first) {
        Some(range) => (range, "schema message"),
        // Some writers leave out the frame. Nothing depends on it: the footer has the schema.
        None => (ByteRange::between(HEAD, first), "schema"),
    }
}

/// Where a message lies.
#[derive(Clone, Copy)]
struct MessagePlace {
    metadata: ByteRange,
    body: ByteRange,
    dictionary: bool,
}

/// The schema and the places of all messages.
fn read_footer(
    bytes: &[u8],
    range: ByteRange,
    ending: FooterLayout,
    limits: &Limits,
) -> Result<(Index, Vec<MessagePlace>)> {
    guarded("footer", || {
        let options = flatbuffers::VerifierOptions { max_tables: 10_000_000, ..Default::default() };
        let footer = arrow::ipc::root_as_footer_with_opts(&options, bytes)
            .map_err(|e| Error::corrupt("bad_footer", e.to_string()).at(range.start()))?;
        message::check_version(footer.version())?;
        let schema = footer.schema().ok_or_else(|| Error::corrupt("bad_footer", "there is no schema"))?;
        let byte_swapped = message::is_byte_swapped(schema);
        let schema: Schema = message::read_schema(schema)?;
        let mut metadata = schema.metadata.clone();
        for pair in footer.custom_metadata().iter().flatten() {
            if let (Some(key), Some(value)) = (pair.key(), pair.value()) {
                metadata.entry(key.to_string()).or_insert_with(|| value.to_string());
            }
        }
        let mut index = Index::new(Arc::new(schema.with_metadata(metadata)), byte_swapped, ending.size, limits)?;
        let place = |block: &arrow::ipc::Block, dictionary: bool| {
            let whole = |n: i64| u64::try_from(n).unwrap_or(u64::MAX);
            let metadata = ByteRange::at(whole(block.offset()), whole(block.metaDataLength().into()))?;
            let body = ByteRange::at(metadata.end(), whole(block.bodyLength()))?;
            if body.end() > range.start() || metadata.len() < 8 || metadata.start() < HEAD {
                let message = format!("a message at {metadata} with a body at {body}");
                return Err(Error::corrupt("block_out_of_range", message).at(range.start()));
            }
            Ok(MessagePlace { metadata, body, dictionary })
        };
        let mut messages = Vec::new();
        for block in footer.dictionaries().iter().flatten() {
            messages.push(place(block, true)?);
        }
        for block in footer.recordBatches().iter().flatten() {
            messages.push(place(block, false)?);
        }
        let metadata = messages.iter().map(|m| m.metadata.len()).fold(0, u64::saturating_add);
        Limits::check_memory("the metadata of all messages", metadata, limits.memory / 4)?;
        index.properties.push(("version", format!("{:?}", footer.version())));
        index.regions.push(Region::new(ByteRange::between(0, HEAD), RegionKind::Header, "magic"));
        index.regions.push(Region::new(range, RegionKind::Metadata, "footer"));
        index.regions.push(Region::new(ending.range(), RegionKind::Header, "length of the footer, magic"));
        Ok::<_, Error>((index, messages))
    })
}

/// Adds what a message's metadata says.
fn add(index: &mut Index, place: &MessagePlace, bytes: &[u8], limits: &Limits) -> Result<()> {
    let Some((prefix, length)) = message::prefix(bytes, place.metadata.start())? else {
        return Err(Error::corrupt("bad_message", "an end of stream where a message should be"));
    };
    let end = usize::try_from(prefix + length).unwrap_or(usize::MAX);
    let from = usize::try_from(prefix).unwrap_or(usize::MAX);
    let metadata = bytes.get(from..end).ok_or_else(|| {
        Error::corrupt("block_out_of_range", format!("{length} bytes of metadata in {}", place.metadata))
    })?;
    let (content, _) = message::read(metadata, place.metadata.end(), place.body.end(), limits)?;
    match (content, place.dictionary) {
        (Content::Batch(batch), false) => index.add_batch(batch),
        (Content::Dictionary { id, delta, values }, true) => index.add_dictionary(id, delta, values),
        _ => Err(Error::corrupt("bad_message", "a message of another kind than the footer says")),
    }
}
