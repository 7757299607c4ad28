//! Reads rows of several parts, one part after another.

use super::table::Inner;
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::coroutine::coroutine;
use colkit_core::plan::batch_of;
use colkit_core::{BatchMachine, Boxed, Machine, Result, Scan, Selection, Step, join_lanes};
use std::collections::VecDeque;
use std::sync::Arc;

/// Columns of parts, which are opened when it is their turn.
pub(super) struct PartsLane {
    inner: Arc<Inner>,
    scan: Scan,
    schema: SchemaRef,
    pending: VecDeque<(usize, Selection)>,
    opening: Option<Boxed<BatchMachine>>,
    running: Option<BatchMachine>,
}

impl PartsLane {
    pub fn new(inner: Arc<Inner>, scan: Scan, schema: SchemaRef, parts: Vec<(usize, Selection)>) -> Self {
        PartsLane { inner, scan, schema, pending: parts.into(), opening: None, running: None }
    }

    fn open(&self, part: usize, rows: Selection) -> Boxed<BatchMachine> {
        let (inner, scan, schema) = (self.inner.clone(), self.scan.clone(), self.schema.clone());
        coroutine(move |io| async move {
            let table = inner.table(part, &io).await?;
            let lanes = table.read(&scan, &rows).map_err(inner.named(part))?;
            Ok(inner.inside(part, join_lanes(lanes, schema)))
        })
    }
}

impl Machine for PartsLane {
    type Output = Option<RecordBatch>;

    fn step(&mut self, mut got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        loop {
            let got = std::mem::take(&mut got);
            if let Some(running) = &mut self.running {
                match running.step(got)? {
                    Step::Ready(None) => self.running = None,
                    step => return Ok(step),
                }
            } else if let Some(opening) = &mut self.opening {
                match opening.step(got)? {
                    Step::Need(ranges) => return Ok(Step::Need(ranges)),
                    Step::Ready(running) => (self.opening, self.running) = (None, Some(running)),
                }
            } else {
                let Some((part, rows)) = self.pending.pop_front() else { return Ok(Step::Ready(None)) };
                self.opening = Some(self.open(part, rows));
            }
        }
    }
}

/// Columns whose values are the same for all rows of a part.
pub(super) struct Constants {
    /// The values, and for how many rows.
    pending: VecDeque<(Vec<Option<String>>, u64)>,
    batch_rows: usize,
}

/// Rows of a batch at most: names of files may be long.
const MOST_ROWS: usize = 8192;

impl Constants {
    pub fn new(parts: VecDeque<(Vec<Option<String>>, u64)>, batch_rows: usize) -> Self {
        Constants { pending: parts, batch_rows: batch_rows.clamp(1, MOST_ROWS) }
    }
}

impl Machine for Constants {
    type Output = Option<RecordBatch>;

    fn step(&mut self, _: Vec<Bytes>) -> Result<Step<Self::Output>> {
        while self.pending.front().is_some_and(|(_, rows)| *rows == 0) {
            self.pending.pop_front();
        }
        let Some((values, left)) = self.pending.front_mut() else { return Ok(Step::Ready(None)) };
        let rows = usize::try_from(*left).unwrap_or(usize::MAX).min(self.batch_rows);
        *left -= rows as u64;
        let column = |value: &Option<String>| -> ArrayRef {
            Arc::new(std::iter::repeat_n(value.as_deref(), rows).collect::<StringArray>())
        };
        let fields = values.iter().map(|_| Field::new("", DataType::Utf8, true)).collect::<Vec<_>>();
        let batch = batch_of(&Arc::new(Schema::new(fields)), values.iter().map(column).collect(), rows)?;
        Ok(Step::Ready(Some(batch)))
    }
}
