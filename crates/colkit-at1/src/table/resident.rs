//! Tables of the codecs that must be unpacked as a whole: all columns in memory.

use super::{File, batch_rows};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::{
    BatchMachine, Boxed, ColumnStatistics, Lane, Layout, Machine, Result, Scan, Selection, Split, Step, Table,
    Verified, ready, select_rows,
};
use std::ops::Range;
use std::sync::Arc;

/// Rows of a split.
const SPLIT_ROWS: u64 = 64 << 10;

/// A table in memory.
pub struct Resident {
    /// The file it comes from.
    pub file: Arc<File>,
    /// All rows.
    pub batch: RecordBatch,
    /// What else is to be said about it.
    pub properties: Vec<(&'static str, String)>,
}

impl Resident {
    fn slice(&self, rows: &Range<u64>, scan: &Scan) -> Result<RecordBatch> {
        let columns = scan.projection.indices(&self.batch.schema())?;
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let part = self.batch.project(&columns)?;
        let start = size(rows.start).min(part.num_rows());
        Ok(part.slice(start, size(rows.end - rows.start).min(part.num_rows() - start)))
    }
}

impl Table for Resident {
    fn schema(&self) -> SchemaRef {
        self.batch.schema()
    }

    fn row_count(&self) -> u64 {
        self.batch.num_rows() as u64
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        [self.file.properties(), self.properties.clone()].concat()
    }

    fn statistics(&self) -> Vec<ColumnStatistics> {
        let known = |column: &ArrayRef| ColumnStatistics {
            null_count: Some(column.null_count() as u64),
            ..ColumnStatistics::default()
        };
        self.batch.columns().iter().map(known).collect()
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = scan.row_range(self.row_count())?;
        let mut splits = Vec::new();
        let mut at = rows.start;
        while at < rows.end {
            let end = rows.end.min(at.saturating_add(SPLIT_ROWS));
            splits.push(Split { rows: at..end, ranges: Vec::new() });
            at = end;
        }
        Ok(ready(splits))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let span = rows.span();
        let part = self.slice(&span, scan)?;
        if part.num_columns() == 0 {
            return Ok(Vec::new());
        }
        let step = batch_rows(&part, scan);
        let columns = (0..part.num_columns()).collect();
        let machine: BatchMachine = Box::new(Slices { part, at: 0, step });
        Ok(select_rows(rows, vec![(span, vec![Lane { columns, machine }])]))
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        Ok(ready(self.file.layout(None)?))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        Ok(self.file.verify())
    }
}

/// Gives a batch in slices.
struct Slices {
    part: RecordBatch,
    at: usize,
    step: usize,
}

impl Machine for Slices {
    type Output = Option<RecordBatch>;

    fn step(&mut self, _: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let rows = self.step.min(self.part.num_rows() - self.at);
        if rows == 0 {
            return Ok(Step::Ready(None));
        }
        let slice = self.part.slice(self.at, rows);
        self.at += rows;
        Ok(Step::Ready(Some(slice)))
    }
}
