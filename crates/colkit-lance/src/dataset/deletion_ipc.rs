//! Deleted rows as an Arrow IPC file: one batch of one column, found through the footer.
//!
//! ```text
//! "ARROW1", padding | schema message | record batch message, its body | footer | u32 length of the footer | "ARROW1"
//! ```

use crate::bytes_at::{slice_at, u32_at};
use crate::codec::zstd;
use arrow::array::UInt32Array;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::writer::FileWriter;
use arrow::ipc::{Block, CompressionType, Schema as IpcSchema, Type, root_as_footer, root_as_message};
use arrow::record_batch::RecordBatch;
use colkit_core::{Error, Limits, Result};
use std::io::Read;
use std::sync::Arc;

const MAGIC: &[u8] = b"ARROW1";

/// In front of the length of a message.
const CONTINUATION: u32 = u32::MAX;

fn bad(what: impl Into<String>) -> Error {
    Error::corrupt("bad_deletions", what)
}

/// The values of the column, as they come; at most one for each of `rows`.
pub(super) fn parse(bytes: &[u8], rows: u64) -> Result<Vec<u32>> {
    let footer_at = |length: usize| bytes.len().checked_sub(10)?.checked_sub(length);
    if !bytes.starts_with(MAGIC) || !bytes.ends_with(MAGIC) || bytes.len() < 20 {
        return Err(bad("expected an Arrow file").at(0));
    }
    let length = usize::try_from(u32_at(bytes, bytes.len() - 10)?).unwrap_or(usize::MAX);
    let start = footer_at(length).ok_or_else(|| bad(format!("a footer of {length} bytes")))?;
    let footer = root_as_footer(slice_at(bytes, start, length)?).map_err(|e| bad(e.to_string()).at(start as u64))?;
    check_schema(footer.schema())?;
    let blocks = footer.recordBatches().filter(|blocks| blocks.len() == 1);
    match blocks {
        Some(blocks) => batch(bytes, blocks.get(0), rows),
        None => Err(bad("expected one batch")),
    }
}

/// A file with these values.
pub(super) fn write(values: Vec<u32>) -> Result<Vec<u8>> {
    let schema = Arc::new(Schema::new(vec![Field::new("row_id", DataType::UInt32, false)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(UInt32Array::from(values))])?;
    let mut writer = FileWriter::try_new(Vec::new(), &schema)?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?)
}

fn check_schema(schema: Option<IpcSchema<'_>>) -> Result<()> {
    let fields = schema.and_then(|s| s.fields()).filter(|fields| fields.len() == 1);
    let field = fields.map(|fields| fields.get(0));
    let is_row_id = field.is_some_and(|field| {
        let is_u32 = field.type_type() == Type::Int
            && field.type_as_int().is_some_and(|int| int.bitWidth() == 32 && !int.is_signed());
        field.name() == Some("row_id") && is_u32 && !field.nullable() && field.dictionary().is_none()
    });
    if is_row_id { Ok(()) } else { Err(bad("expected one column \"row_id\" of uint32 without nulls")) }
}

fn batch(bytes: &[u8], block: &Block, rows: u64) -> Result<Vec<u32>> {
    let whole = |n: i64| usize::try_from(n).map_err(|_| bad("a negative length"));
    let (start, length) = (whole(block.offset())?, whole(block.metaDataLength().into())?);
    let metadata = slice_at(bytes, start, length)?;
    let skip = if u32_at(metadata, 0)? == CONTINUATION { 8 } else { 4 };
    let message = root_as_message(metadata.get(skip..).unwrap_or_default()).map_err(|e| bad(e.to_string()))?;
    let batch = message.header_as_record_batch().ok_or_else(|| bad("expected a record batch"))?;
    let body = slice_at(bytes, start + length, whole(block.bodyLength())?)?;
    let count = whole(batch.length())?;
    if count as u64 > rows {
        return Err(bad(format!("{count} rows are deleted, of a fragment with {rows} rows")));
    }
    // Validity comes first; there are no nulls to be told of.
    let values = batch.buffers().filter(|buffers| buffers.len() == 2).map(|buffers| *buffers.get(1));
    let values = values.ok_or_else(|| bad("expected two buffers"))?;
    let values = slice_at(body, whole(values.offset())?, whole(values.length())?)?;
    let wanted = count * 4;
    let unpacked = match batch.compression().map(|c| c.codec()) {
        None => values.to_vec(),
        Some(codec) => unpack(codec, values, wanted)?,
    };
    let words = slice_at(&unpacked, 0, wanted)?.chunks_exact(4);
    Ok(words.filter_map(|word| Some(u32::from_le_bytes(*word.first_chunk()?))).collect())
}

/// A buffer that begins with the length of its content; -1 says that it was not compressed.
fn unpack(codec: CompressionType, buffer: &[u8], wanted: usize) -> Result<Vec<u8>> {
    if buffer.is_empty() {
        return Ok(Vec::new());
    }
    let content = slice_at(buffer, 8, buffer.len().saturating_sub(8))?;
    if buffer.starts_with(&[0xFF; 8]) {
        return Ok(content.to_vec());
    }
    let mut unpacked = Vec::new();
    // However much there is, only what is asked for is unpacked.
    let read = match codec {
        CompressionType::ZSTD => {
            zstd::reader(content, &Limits::default())?.take(wanted as u64).read_to_end(&mut unpacked)
        }
        CompressionType::LZ4_FRAME => {
            lz4_flex::frame::FrameDecoder::new(content).take(wanted as u64).read_to_end(&mut unpacked)
        }
        other => return Err(Error::unsupported("unknown_compression", format!("compression {other:?}"))),
    };
    read.map_err(|e| Error::corrupt("bad_compressed_data", e.to_string()))?;
    Ok(unpacked)
}
