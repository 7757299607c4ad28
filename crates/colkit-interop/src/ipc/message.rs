//! Messages: what the metadata of one says, as plain numbers that were checked against its body.

use super::index::MessageBody;
use crate::decoder_panics::guarded;
use arrow::datatypes::{Field, Schema};
use arrow::ipc::{CompressionType, MessageHeader, MetadataVersion};
use arrow::record_batch::RecordBatch;
use colkit_core::{ByteRange, Error, Limits, Result};
use std::sync::Arc;

/// At the start and at the end of a file.
pub(super) const MAGIC: &[u8] = b"ARROW1";

/// In front of the length of every message since format version 0.15.
pub(super) const CONTINUATION: [u8; 4] = [0xFF; 4];

/// A batch of columns, or of the values of a dictionary.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub rows: u64,
    /// Length and null count of each array, parents before children.
    pub nodes: Vec<(i64, i64)>,
    /// Where each buffer lies in the file.
    pub buffers: Vec<ByteRange>,
    /// How many buffers each array of views has beyond its fixed two.
    pub variadic: Vec<i64>,
    pub compression: Option<CompressionType>,
    pub version: MetadataVersion,
}

/// What a message brings.
pub(super) enum Content {
    /// With whether the other byte order is used.
    Schema(Schema, bool),
    Batch(Batch),
    Dictionary {
        id: i64,
        delta: bool,
        values: Batch,
    },
}

/// The length of a message's prefix and of its metadata, from its first 8 bytes. `None` is the end of the stream.
pub(super) fn prefix(bytes: &[u8], at: u64) -> Result<Option<(u64, u64)>> {
    let word = |from: usize| Some(i32::from_le_bytes(*bytes.get(from..)?.first_chunk()?));
    let (prefix, length) = if bytes.starts_with(&CONTINUATION) { (8, word(4)) } else { (4, word(0)) };
    match length.map(u64::try_from) {
        Some(Ok(0)) => Ok(None),
        Some(Ok(length)) => Ok(Some((prefix, length))),
        Some(Err(_)) => Err(Error::corrupt("bad_message", "the length of a message is negative").at(at)),
        None => Err(Error::corrupt("truncated", "expected the length of a message, found the end").at(at)),
    }
}

/// Reads a message's metadata. `body` is where its body would start; it must lie inside the first `size` bytes.
pub(super) fn read(metadata: &[u8], body: u64, size: u64, limits: &Limits) -> Result<(Content, u64)> {
    guarded("message", || {
        let bad = |e: flatbuffers::InvalidFlatbuffer| Error::corrupt("bad_message", e.to_string());
        let message = arrow::ipc::root_as_message(metadata).map_err(bad)?;
        let length =
            u64::try_from(message.bodyLength()).ok().filter(|n| body.checked_add(*n).is_some_and(|e| e <= size));
        let Some(length) = length else {
            let message = format!("a body of {} bytes from byte {body} on, in {size} bytes", message.bodyLength());
            return Err(Error::corrupt("block_out_of_range", message));
        };
        let version = message.version();
        check_version(version)?;
        let place = MessageBody { offset: body, length };
        let content = match message.header_type() {
            MessageHeader::Schema => {
                let schema = message.header_as_schema().ok_or_else(missing)?;
                Content::Schema(read_schema(schema)?, is_byte_swapped(schema))
            }
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or_else(missing)?;
                Content::Batch(read_batch(batch, place, version, limits)?)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().ok_or_else(missing)?;
                let values = read_batch(dictionary.data().ok_or_else(missing)?, place, version, limits)?;
                Content::Dictionary { id: dictionary.id(), delta: dictionary.isDelta(), values }
            }
            other => return Err(Error::unsupported("message_kind", format!("messages of kind {other:?}"))),
        };
        Ok((content, length))
    })
}

/// A version from the future may mean anything by what it says.
pub(super) fn check_version(version: MetadataVersion) -> Result<()> {
    if (MetadataVersion::ENUM_MIN..=MetadataVersion::ENUM_MAX).contains(&version.0) {
        return Ok(());
    }
    let newest = MetadataVersion::V5.0 + 1;
    let message =
        format!("version {} of the Arrow format; versions up to {newest} are known", version.0.saturating_add(1));
    Err(Error::unsupported("unknown_version", message))
}

fn missing() -> Error {
    Error::corrupt("bad_message", "a message without its header")
}

/// Whether buffers are in the other byte order than this machine's.
pub(super) fn is_byte_swapped(schema: arrow::ipc::Schema<'_>) -> bool {
    !schema.endianness().equals_to_target_endianness()
}

/// The schema of a file or stream.
pub(super) fn read_schema(schema: arrow::ipc::Schema<'_>) -> Result<Schema> {
    guarded("schema", || {
        // Field by field: arrow's own function for schemas refuses decimals of the other byte order.
        let fields: Vec<Field> = schema.fields().into_iter().flatten().map(Field::from).collect();
        let pairs = schema.custom_metadata().into_iter().flatten();
        let metadata = pairs.filter_map(|pair| Some((pair.key()?.to_string(), pair.value()?.to_string())));
        let schema = Schema::new_with_metadata(fields, metadata.collect());
        // Types that cannot be, such as a union without members, show when there is to be an array of them.
        let _ = RecordBatch::new_empty(Arc::new(schema.clone()));
        Ok::<_, Error>(schema)
    })
}

fn read_batch(
    batch: arrow::ipc::RecordBatch<'_>,
    body: MessageBody,
    version: MetadataVersion,
    limits: &Limits,
) -> Result<Batch> {
    let rows = u64::try_from(batch.length())
        .map_err(|_| Error::corrupt("bad_message", format!("a batch of {} rows", batch.length())))?;
    let nodes = batch.nodes().into_iter().flatten().map(|n| (n.length(), n.null_count())).collect();
    let buffers = batch.buffers().into_iter().flatten().map(|b| body.inside(b.offset(), b.length()));
    let buffers = buffers.collect::<Result<Vec<_>>>()?;
    if buffers.iter().all(|b| b.is_empty()) {
        // Arrays of nulls need no bytes: nothing else bounds how many rows there are.
        Limits::check("rows of a batch without bytes", rows, 1 << 31)?;
    }
    // Every row of anything else takes at least a bit; compressed, as good as none.
    Limits::check("rows of a batch", rows, limits.output_bytes)?;
    let compression = match batch.compression() {
        None => None,
        Some(c) => match c.codec() {
            codec @ (CompressionType::LZ4_FRAME | CompressionType::ZSTD) => Some(codec),
            other => return Err(Error::unsupported("unknown_compression", format!("compression {other:?}"))),
        },
    };
    let variadic = batch.variadicBufferCounts().into_iter().flatten().collect();
    Ok(Batch { rows, nodes, buffers, variadic, compression, version })
}
