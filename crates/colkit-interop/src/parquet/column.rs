//! Reading a column: the push decoder of the parquet crate as a machine.

use super::thrift::check_pages;
use crate::guard::guarded;
use crate::parts::keep;
use ::parquet::DecodeResult;
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowSelection};
use ::parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::plan::batch_of;
use colkit_core::{ByteRange, Error, Machine, Result, Step};
use std::ops::Range;

/// What to read of the file.
pub(super) struct Wanted {
    pub mask: ProjectionMask,
    pub groups: Vec<usize>,
    pub selection: Option<RowSelection>,
    /// Rows that the decoder gives.
    pub rows: u64,
    /// Which of them are wanted, counted from the first one; sorted.
    pub kept: Vec<Range<u64>>,
    pub batch_rows: usize,
}

/// Gives the rows of one column.
pub(super) struct Column {
    decoder: ParquetPushDecoder,
    /// What to keep of the column, as many times as it is wanted.
    schema: SchemaRef,
    asked: Vec<Range<u64>>,
    /// Rows decoded so far, and in all.
    at: u64,
    rows: u64,
    kept: Vec<Range<u64>>,
    size: u64,
    part: String,
}

impl Column {
    pub fn new(
        reader: &ArrowReaderMetadata,
        wanted: Wanted,
        schema: SchemaRef,
        size: u64,
        part: String,
    ) -> Result<Self> {
        let decoder = guarded(&part, || {
            let builder = ParquetPushDecoderBuilder::new_with_metadata(reader.clone())
                .with_projection(wanted.mask)
                .with_row_groups(wanted.groups)
                .with_batch_size(wanted.batch_rows.max(1));
            match wanted.selection {
                Some(selection) => builder.with_row_selection(selection).build(),
                None => builder.build(),
            }
        })?;
        Ok(Column { decoder, schema, asked: Vec::new(), at: 0, rows: wanted.rows, kept: wanted.kept, size, part })
    }

    fn need(&mut self, ranges: Vec<Range<u64>>) -> Result<Step<Option<RecordBatch>>> {
        let needed: Vec<ByteRange> = ranges.iter().map(|r| ByteRange::between(r.start, r.end)).collect();
        if let Some(beyond) = needed.iter().find(|r| r.end() > self.size) {
            let message = format!("its data would lie at {beyond}, beyond the end of the file");
            return Err(Error::corrupt("block_out_of_range", message).part(self.part.clone()));
        }
        self.asked = ranges;
        if needed.is_empty() {
            return Err(Error::corrupt("decoder_failed", "the decoder waits for nothing").part(self.part.clone()));
        }
        Ok(Step::Need(needed))
    }

    /// The rows of a batch that are wanted.
    fn give(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let here = self.at..self.at + batch.num_rows() as u64;
        if here.end > self.rows {
            return Err(self.miscounted());
        }
        self.at = here.end;
        let first = self.kept.partition_point(|k| k.end <= here.start);
        let kept: Vec<&Range<u64>> = self.kept.iter().skip(first).take_while(|k| k.start < here.end).collect();
        let whole = matches!(kept.as_slice(), [only] if only.start <= here.start && here.end <= only.end);
        let batch = if whole {
            batch
        } else {
            let wanted = |row: u64| kept.get(kept.partition_point(|k| k.end <= row)).is_some_and(|k| k.start <= row);
            let mask = BooleanArray::from_iter(here.map(|row| Some(wanted(row))));
            filter_record_batch(&batch, &mask)?
        };
        let rows = batch.num_rows();
        let Some(array) = batch.columns().first() else {
            return Err(Error::corrupt("decoder_failed", "a batch without its column").part(self.part.clone()));
        };
        let columns = self.schema.fields().iter().map(|f| keep(array, f)).collect::<Result<Vec<_>>>()?;
        batch_of(&self.schema, columns, rows)
            .map_err(|e| Error::corrupt("decoder_failed", e.message().to_string()).part(self.part.clone()))
    }

    fn miscounted(&self) -> Error {
        Error::corrupt("row_count_mismatch", "the column has another number of rows than the footer says")
            .part(self.part.clone())
    }
}

impl Machine for Column {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let asked = std::mem::take(&mut self.asked);
        for (range, bytes) in asked.iter().zip(&got) {
            check_pages(bytes).map_err(|e| e.part(self.part.clone()).at(range.start))?;
        }
        let decoder = &mut self.decoder;
        let decoded = guarded(&self.part, || {
            if !asked.is_empty() {
                decoder.push_ranges(asked, got)?;
            }
            decoder.try_decode()
        })?;
        match decoded {
            DecodeResult::NeedsData(ranges) => self.need(ranges),
            DecodeResult::Data(batch) => Ok(Step::Ready(Some(self.give(batch)?))),
            DecodeResult::Finished if self.at < self.rows => Err(self.miscounted()),
            DecodeResult::Finished => Ok(Step::Ready(None)),
        }
    }
}
