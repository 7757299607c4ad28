//! Random access: rows by number, read in file order and returned in the requested order.

use super::decoded_bytes;
use crate::plan::batch_of;
use crate::{Limits, Result, Selection, Table, check_rows};
use arrow::array::UInt64Array;
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

/// Rows being taken.
pub(super) struct TakenRows {
    rows: Selection,
    /// Where each row asked for is among those read, unless that is the same.
    order: Option<UInt64Array>,
    batches: Vec<RecordBatch>,
    bytes: u64,
    memory: u64,
}

impl TakenRows {
    pub fn new(table: &dyn Table, rows: &[u64], limits: &Limits) -> Result<Self> {
        check_rows(rows, table.row_count())?;
        let (rows, order) = if rows.is_sorted_by(|a, b| a < b) {
            (Selection::sorted(rows.iter().copied()), None)
        } else {
            let mut sorted = rows.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            let order = rows.iter().map(|row| sorted.partition_point(|s| s < row) as u64).collect::<Vec<_>>();
            (Selection::sorted(sorted), Some(UInt64Array::from(order)))
        };
        Ok(TakenRows { rows, order, batches: Vec::new(), bytes: 0, memory: limits.memory })
    }

    /// The rows to read.
    pub fn rows(&self) -> Selection {
        self.rows.clone()
    }

    /// The next of them.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.bytes = self.bytes.saturating_add(decoded_bytes(&batch));
        Limits::check_memory("taking these rows", self.bytes, self.memory)?;
        self.batches.push(batch);
        Ok(())
    }

    /// All of them, in the order asked for.
    pub fn finish(self, schema: &SchemaRef) -> Result<RecordBatch> {
        if schema.fields().is_empty() {
            let rows = self.order.map_or(self.rows.len(), |order| order.len() as u64);
            return batch_of(schema, Vec::new(), usize::try_from(rows).unwrap_or(usize::MAX));
        }
        let found = match self.batches.as_slice() {
            [one] => one.clone(),
            several => concat_batches(schema, several)?,
        };
        Ok(match &self.order {
            None => found,
            Some(order) => take_record_batch(&found, order)?,
        })
    }
}
