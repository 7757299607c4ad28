//! Taking rows out of a format that can only be read from the front.

use crate::lanes::SideBySide;
use crate::plan::{batch_of, empty_batch};
use crate::{Boxed, Error, Lane, Machine, Result, Step};
use arrow::array::UInt64Array;
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;

/// An error unless every row number lies inside the table.
pub fn check_rows(rows: &[u64], row_count: u64) -> Result<()> {
    match rows.iter().find(|r| **r >= row_count) {
        None => Ok(()),
        Some(row) => {
            Err(Error::request("no_such_rows", format!("there is no row {row} in a table with {row_count} rows"))
                .hint("rows are counted from 0"))
        }
    }
}

/// Reads `pieces` in order, each the rows of a range of the table, and picks `rows` out of them.
/// The pieces must be in row order and contain every row asked for.
pub fn take_by_scan(
    schema: SchemaRef,
    rows: &[u64],
    pieces: Vec<(Range<u64>, Vec<Lane>)>,
) -> Result<Boxed<RecordBatch>> {
    if schema.fields().is_empty() {
        // Nothing to read: only the number of rows matters.
        return Ok(crate::ready(batch_of(&schema, Vec::new(), rows.len())?));
    }
    let mut wanted = rows.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let pieces = pieces
        .into_iter()
        .map(|(range, lanes)| {
            (range.start, SideBySide::new(schema.clone(), lanes, range.end.saturating_sub(range.start)))
        })
        .collect();
    Ok(Box::new(TakeByScan { schema, rows: rows.to_vec(), wanted, pieces, found: Vec::new(), picked: 0 }))
}

struct TakeByScan {
    schema: SchemaRef,
    /// What was asked for, in order.
    rows: Vec<u64>,
    /// The same, sorted, each row once.
    wanted: Vec<u64>,
    /// What is still to be read: the row each piece stands at, and the piece.
    pieces: VecDeque<(u64, SideBySide)>,
    found: Vec<RecordBatch>,
    picked: usize,
}

impl Machine for TakeByScan {
    type Output = RecordBatch;

    fn step(&mut self, mut got: Vec<Bytes>) -> Result<Step<RecordBatch>> {
        while self.picked < self.wanted.len() {
            let Some((row, piece)) = self.pieces.front_mut() else {
                return Err(Error::corrupt("row_count_mismatch", "the table ended before the last row asked for"));
            };
            match piece.step(std::mem::take(&mut got))? {
                Step::Need(ranges) => return Ok(Step::Need(ranges)),
                Step::Ready(None) => {
                    self.pieces.pop_front();
                }
                Step::Ready(Some(batch)) => {
                    let start = *row;
                    *row += batch.num_rows() as u64;
                    let here = self.wanted.iter().skip(self.picked).take_while(|w| **w < *row);
                    let indices: Vec<u64> = here.map(|w| w.saturating_sub(start)).collect();
                    if !indices.is_empty() {
                        self.picked += indices.len();
                        self.found.push(take_record_batch(&batch, &UInt64Array::from(indices))?);
                    }
                }
            }
        }
        if self.found.is_empty() {
            return Ok(Step::Ready(empty_batch(&self.schema)));
        }
        let found = concat_batches(&self.schema, &self.found)?;
        if self.rows == self.wanted {
            return Ok(Step::Ready(found));
        }
        let order = self.rows.iter().map(|r| self.wanted.partition_point(|w| w < r) as u64).collect::<Vec<_>>();
        Ok(Step::Ready(take_record_batch(&found, &UInt64Array::from(order))?))
    }
}
