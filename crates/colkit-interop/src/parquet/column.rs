//! Reading a column, or a few together: the push decoder of the parquet crate as a machine, row group after row group.

use super::open::cannot_decrypt;
use super::plan::chunk_range;
use super::size::{Leaf, batch_rows};
use super::thrift::check_pages;
use super::types::{Readers, check_range};
use crate::decoder_panics::guarded;
use crate::parts::keep;
use ::parquet::DecodeResult;
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowSelection};
use ::parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::plan::batch_of;
use colkit_core::{ByteRange, Error, Machine, Result, Selection, Step, check_values, keep_rows};
use std::ops::Range;

/// What to read of the file.
pub(super) struct Wanted {
    pub mask: ProjectionMask,
    /// The leaves that the mask keeps.
    pub leaves: Vec<usize>,
    /// The row groups, and what to take of them.
    pub groups: Vec<(usize, Option<RowSelection>)>,
    /// Rows that the decoder gives.
    pub rows: u64,
    /// Which of them are wanted, counted from the first one.
    pub kept: Selection,
    pub batch_rows: usize,
    pub memory: u64,
    /// For each column that the decoder gives, how many times it is wanted, whole or in part.
    pub times: Vec<usize>,
}

/// The file, as its columns see it.
#[derive(Clone)]
pub(super) struct File {
    pub readers: Readers,
    pub size: u64,
    /// Whether every page and its header have checksums.
    pub sealed: bool,
    /// Whether the file says that some of its columns are encrypted.
    pub encrypted: bool,
}

/// Gives the rows of the columns of a lane.
pub(super) struct Columns {
    file: File,
    wanted: Wanted,
    /// What to keep of each column, as many times as it is wanted.
    schema: SchemaRef,
    /// Row groups started so far.
    started: usize,
    decoding: Option<Decoding>,
    asked: Vec<Range<u64>>,
    /// Rows decoded so far.
    at: u64,
    part: String,
}

/// A row group under way.
struct Decoding {
    decoder: ParquetPushDecoder,
    /// The same in types that hold whatever is stored, if the columns' own may not.
    wide: Option<ParquetPushDecoder>,
}

impl Columns {
    pub fn new(file: File, wanted: Wanted, schema: SchemaRef, part: String) -> Self {
        Columns { file, wanted, schema, started: 0, decoding: None, asked: Vec::new(), at: 0, part }
    }

    /// Starts on the row group under way, from its first row.
    fn start(&self, group: usize, selection: Option<&RowSelection>, batch_rows: usize) -> Result<Decoding> {
        let decoder = |reader: &ArrowReaderMetadata| {
            guarded(&self.part, || {
                let builder = ParquetPushDecoderBuilder::new_with_metadata(reader.clone())
                    .with_projection(self.wanted.mask.clone())
                    .with_row_groups(vec![group])
                    .with_batch_size(batch_rows.max(1));
                match selection {
                    Some(selection) => builder.with_row_selection(selection.clone()).build(),
                    None => builder.build(),
                }
            })
        };
        let wide = self.file.readers.wide(&self.wanted.leaves).map(decoder).transpose()?;
        Ok(Decoding { decoder: decoder(&self.file.readers.plain)?, wide })
    }

    fn need(&mut self, ranges: Vec<Range<u64>>) -> Result<Step<Option<RecordBatch>>> {
        let needed: Vec<ByteRange> = ranges.iter().map(|r| ByteRange::between(r.start, r.end)).collect();
        if let Some(beyond) = needed.iter().find(|r| r.end() > self.file.size) {
            let message = format!("its data would lie at {beyond}, beyond the end of the file");
            return Err(Error::corrupt("block_out_of_range", message).part(self.part.clone()));
        }
        self.asked = ranges;
        if needed.is_empty() {
            return Err(Error::corrupt("decoder_failed", "the decoder waits for nothing").part(self.part.clone()));
        }
        Ok(Step::Need(needed))
    }

    /// Checks pages that were asked for: their checksums, and how many rows of them a batch may have.
    fn check(&self, group: usize, asked: &[Range<u64>], got: &[Bytes]) -> Result<usize> {
        let chunks =
            self.file.readers.plain.metadata().row_groups().get(group).map(|g| g.columns()).unwrap_or_default();
        let mut leaves: Vec<(ByteRange, Leaf<'_>)> = Vec::new();
        for chunk in self.wanted.leaves.iter().filter_map(|leaf| chunks.get(*leaf)) {
            leaves.extend(chunk_range(chunk).map(|range| (range, Leaf { chunk, pieces: Vec::new() })));
        }
        for (range, bytes) in asked.iter().zip(got) {
            let pages = check_pages(bytes, range.start, self.file.sealed).map_err(|e| match self.file.encrypted {
                true => cannot_decrypt("the column is encrypted", range.start).part(self.part.clone()),
                false => e.part(self.part.clone()),
            })?;
            let place = ByteRange::between(range.start, range.end);
            if let Some((_, leaf)) = leaves.iter_mut().find(|(chunk, _)| chunk.contains(place)) {
                leaf.pieces.push((bytes.clone(), pages));
            }
        }
        let leaves: Vec<Leaf<'_>> = leaves.into_iter().map(|(_, leaf)| leaf).collect();
        batch_rows(&leaves, self.wanted.batch_rows, self.wanted.memory).map_err(|e| e.part(self.part.clone()))
    }

    /// The rows of a batch that are wanted.
    fn give(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let here = self.at..self.at + batch.num_rows() as u64;
        if here.end > self.wanted.rows {
            return Err(self.miscounted());
        }
        self.at = here.end;
        let batch = keep_rows(&batch, &self.wanted.kept, &here)?.unwrap_or_else(|| batch.slice(0, 0));
        let rows = batch.num_rows();
        if batch.num_columns() != self.wanted.times.len() {
            return Err(Error::corrupt("decoder_failed", "a batch without its columns").part(self.part.clone()));
        }
        let mut fields = self.schema.fields().iter();
        let mut columns = Vec::with_capacity(fields.len());
        for (array, times) in batch.columns().iter().zip(&self.wanted.times) {
            check_values(array).map_err(|e| e.part(self.part.clone()))?;
            for field in fields.by_ref().take(*times) {
                columns.push(keep(array, field)?);
            }
        }
        batch_of(&self.schema, columns, rows)
            .map_err(|e| Error::corrupt("decoder_failed", e.message().to_string()).part(self.part.clone()))
    }

    fn miscounted(&self) -> Error {
        Error::corrupt("row_count_mismatch", "the column has another number of rows than the footer says")
            .part(self.part.clone())
    }
}

impl Machine for Columns {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let mut got = got;
        loop {
            let Some((group, selection)) = self.wanted.groups.get(self.started) else {
                return if self.at < self.wanted.rows { Err(self.miscounted()) } else { Ok(Step::Ready(None)) };
            };
            let asked = std::mem::take(&mut self.asked);
            let mut decoding = match self.decoding.take() {
                Some(decoding) => decoding,
                None => self.start(*group, selection.as_ref(), self.wanted.batch_rows)?,
            };
            if !asked.is_empty() {
                let rows = self.check(*group, &asked, &got)?;
                if rows < self.wanted.batch_rows {
                    decoding = self.start(*group, selection.as_ref(), rows)?;
                }
            }
            let bytes = std::mem::take(&mut got);
            let (decoded, wide) = guarded(&self.part, || {
                let wide = decoding.wide.as_mut().map(|d| decode(d, asked.clone(), bytes.clone())).transpose()?;
                decode(&mut decoding.decoder, asked, bytes).map(|decoded| (decoded, wide))
            })?;
            if let (DecodeResult::Data(batch), Some(DecodeResult::Data(wide))) = (&decoded, &wide) {
                let mut columns = batch.columns().iter().zip(wide.columns());
                columns.try_for_each(|(a, b)| check_range(a, b)).map_err(|e| e.part(self.part.clone()))?;
            }
            match decoded {
                DecodeResult::NeedsData(ranges) => {
                    self.decoding = Some(decoding);
                    return self.need(ranges);
                }
                DecodeResult::Data(batch) => {
                    self.decoding = Some(decoding);
                    return Ok(Step::Ready(Some(self.give(batch)?)));
                }
                DecodeResult::Finished => self.started += 1,
            }
        }
    }
}

/// Takes in what was asked for and goes on.
fn decode(
    decoder: &mut ParquetPushDecoder,
    asked: Vec<Range<u64>>,
    got: Vec<Bytes>,
) -> ::parquet::errors::Result<DecodeResult<RecordBatch>> {
    if !asked.is_empty() {
        decoder.push_ranges(asked, got)?;
    }
    decoder.try_decode()
}
