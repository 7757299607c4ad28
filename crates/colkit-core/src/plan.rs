//! From what was asked to what must be read, and back.
//!
//! A predicate needs columns that the caller may not want. The plan widens the projection by them, and afterwards
//! keeps the rows that match and the columns that were asked for.

use crate::table::ColumnRef;
use crate::{BoundPredicate, Projection, Result, Scan, Table};
use arrow::array::RecordBatchOptions;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;

/// A scan as it will be run.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    /// The scan with the predicate's columns added to the projection.
    pub scan: Scan,
    /// The schema of the batches read.
    pub read_schema: SchemaRef,
    /// The schema of the batches returned.
    pub schema: SchemaRef,
    columns: Vec<ColumnRef>,
    output: usize,
}

impl ReadPlan {
    /// Plans `scan` of `table`.
    pub fn new(table: &dyn Table, scan: &Scan) -> Result<Self> {
        let table_schema: SchemaRef = table.schema();
        let mut columns = scan.projection.resolve(&table_schema)?;
        let output = columns.len();
        for index in scan.predicate.iter().flat_map(BoundPredicate::columns) {
            if position(&columns, index).is_none() {
                columns.push(ColumnRef { index, within: Vec::new() });
            }
        }
        let projection = Projection::parts(columns.clone());
        let read_schema = projection.schema(&table_schema)?;
        let schema = scan.projection.schema(&table_schema)?;
        let (batch_rows, batch_bytes) = batch_size(scan, columns.len());
        let scan = Scan { projection, batch_rows, batch_bytes, ..scan.clone() };
        Ok(ReadPlan { scan, read_schema, schema, columns, output })
    }

    /// Keeps what was asked for of a batch that was read.
    pub fn finish(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let batch = match &self.scan.predicate {
            None => batch,
            Some(predicate) => {
                let mask = predicate.evaluate(&batch, &|index| position(&self.columns, index))?;
                filter_record_batch(&batch, &mask)?
            }
        };
        if self.output == self.columns.len() {
            return Ok(batch);
        }
        let kept = batch.columns().iter().take(self.output).cloned().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), kept, &options)?)
    }
}

/// Batches small enough that all columns together, with what lies ready and what is being made, stay within the scan's
/// memory: up to four splits with three batches each are under way, and decoders need some room too.
fn batch_size(scan: &Scan, columns: usize) -> (usize, usize) {
    let share = usize::try_from(scan.memory / 16).unwrap_or(usize::MAX) / columns.max(1);
    (scan.batch_rows.min((share / 8).max(64)), scan.batch_bytes.min(share.max(4096)))
}

/// Where a whole column of the table stands in the projection.
fn position(columns: &[ColumnRef], index: usize) -> Option<usize> {
    columns.iter().position(|c| c.index == index && c.within.is_empty())
}

/// A batch of no columns, or of columns that fit the schema.
pub fn batch_of(schema: &SchemaRef, columns: Vec<arrow::array::ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// An empty batch of this schema.
pub fn empty_batch(schema: &Schema) -> RecordBatch {
    RecordBatch::new_empty(std::sync::Arc::new(schema.clone()))
}
