//! Arrow IPC over a mapped file: nothing is decoded, so this is the floor.

use crate::answer::Answer;
use crate::contest::Result;
use crate::reading::{Open, Range, Reader};
use arrow::array::{AsArray, BooleanArray, RecordBatch, UInt32Array, UInt64Array};
use arrow::buffer::Buffer;
use arrow::compute::{filter_record_batch, interleave_record_batch, take_record_batch};
use arrow::datatypes::Int64Type;
use arrow::ipc::reader::{FileDecoder, read_footer_length};
use arrow::ipc::{convert::fb_to_schema, root_as_footer};
use std::sync::Arc;

pub struct Ipc;

struct Opened {
    batches: Vec<RecordBatch>,
    starts: Vec<u64>,
}

impl Reader for Ipc {
    fn name(&self) -> &'static str {
        "arrow ipc, mapped"
    }

    fn file(&self) -> &'static str {
        ".ipc"
    }

    fn open(&self, path: &str) -> Result<Box<dyn Open>> {
        let bytes = Buffer::from(crate::mapped(path)?);
        let trailer = bytes.len().checked_sub(10).ok_or("too short")?;
        let footer_length = read_footer_length(bytes[trailer..].try_into()?)?;
        let footer = root_as_footer(&bytes[trailer - footer_length..trailer]).map_err(|e| e.to_string())?;
        let schema = Arc::new(fb_to_schema(footer.schema().ok_or("no schema")?));
        let decoder = FileDecoder::new(schema, footer.version());
        let (mut batches, mut starts, mut rows) = (Vec::new(), Vec::new(), 0);
        for block in footer.recordBatches().ok_or("no batches")? {
            let length = block.bodyLength() as usize + block.metaDataLength() as usize;
            let data = bytes.slice_with_length(block.offset() as usize, length);
            if let Some(batch) = decoder.read_record_batch(block, &data)? {
                starts.push(rows);
                rows += batch.num_rows() as u64;
                batches.push(batch);
            }
        }
        Ok(Box::new(Opened { batches, starts }))
    }
}

impl Open for Opened {
    fn take(&self, rows: &[u64]) -> Result<Answer> {
        let places = rows.iter().map(|row| {
            let batch = self.starts.partition_point(|s| s <= row) - 1;
            (batch, (row - self.starts[batch]) as usize)
        });
        let places: Vec<_> = places.collect();
        let batch = match self.batches.as_slice() {
            [only] => take_record_batch(only, &UInt64Array::from_iter_values(rows.iter().copied()))?,
            all => interleave_record_batch(&all.iter().collect::<Vec<_>>(), &places)?,
        };
        Ok(Answer::Arrow59(vec![batch]))
    }

    fn scan(&self, columns: Option<&[&str]>) -> Result<Answer> {
        // Copied, since the others' answers are in memory of their own too.
        let mut answer = Vec::new();
        for batch in &self.batches {
            let batch = match columns {
                None => batch.clone(),
                Some(names) => {
                    let places = names.iter().map(|n| batch.schema().index_of(n));
                    batch.project(&places.collect::<std::result::Result<Vec<_>, _>>()?)?
                }
            };
            let all = UInt32Array::from_iter_values(0..batch.num_rows() as u32);
            answer.push(take_record_batch(&batch, &all)?);
        }
        Ok(Answer::Arrow59(answer))
    }

    fn filter(&self, columns: &[&str], range: &Range) -> Result<Answer> {
        let picked = self.batches.iter().map(|batch| {
            let values = batch.column_by_name(range.column).ok_or("no such column")?;
            let values = values.as_primitive::<Int64Type>().values();
            let wanted = values.iter().map(|v| (range.low..=range.high).contains(v)).collect::<Vec<_>>();
            let places =
                columns.iter().map(|n| batch.schema().index_of(n)).collect::<std::result::Result<Vec<_>, _>>()?;
            Ok(filter_record_batch(&batch.project(&places)?, &BooleanArray::from(wanted))?)
        });
        Ok(Answer::Arrow59(picked.collect::<Result<_>>()?))
    }
}

/// Writes a file without compression.
pub fn write(path: &str, batches: &[RecordBatch]) -> Result<()> {
    let schema = batches.first().ok_or("no batch")?.schema();
    let mut writer = arrow::ipc::writer::FileWriter::try_new_buffered(std::fs::File::create(path)?, &schema)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(())
}
