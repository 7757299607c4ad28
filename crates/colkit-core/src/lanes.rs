//! Laying the lanes of a split side by side.
//!
//! Each lane yields some of the columns, cut into batches as it likes. Here the pieces are joined into whole batches:
//! as many rows at a time as every lane has ready.

use crate::plan::batch_of;
use crate::{Error, Lane, Machine, Result, Step};
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::collections::VecDeque;

/// What one lane has ready.
pub(crate) struct LaneOutput {
    /// Positions of its columns in the joined batch.
    pub columns: Vec<usize>,
    /// Batches that wait for the other lanes.
    pub ready: VecDeque<RecordBatch>,
    /// Nothing more will come.
    pub finished: bool,
}

impl LaneOutput {
    pub fn new(columns: Vec<usize>) -> Self {
        LaneOutput { columns, ready: VecDeque::new(), finished: false }
    }

    pub fn push(&mut self, output: Option<RecordBatch>) {
        match output {
            Some(batch) if batch.num_rows() == 0 => {}
            Some(batch) => self.ready.push_back(batch),
            None => self.finished = true,
        }
    }
}

/// What joining the lanes gave.
pub(crate) enum Joined {
    /// The next rows.
    Batch(RecordBatch),
    /// A lane that is not finished has nothing ready.
    Waiting,
    /// All rows have been given.
    Finished,
}

/// Joins the next rows of all lanes of a split.
pub(crate) fn join(lanes: &mut [&mut LaneOutput], schema: &SchemaRef) -> Result<Joined> {
    if lanes.iter().any(|lane| lane.ready.is_empty() && !lane.finished) {
        return Ok(Joined::Waiting);
    }
    let ready_rows = |lane: &&mut LaneOutput| lane.ready.front().map_or(0, RecordBatch::num_rows);
    let rows = lanes.iter().map(ready_rows).min().unwrap_or(0);
    if rows == 0 {
        if lanes.iter().any(|lane| !lane.ready.is_empty()) {
            return Err(Error::corrupt("row_count_mismatch", "the columns do not have the same number of rows"));
        }
        return Ok(Joined::Finished);
    }
    let mut columns: Vec<Option<ArrayRef>> = vec![None; schema.fields().len()];
    for lane in lanes {
        let Some(batch) = lane.ready.pop_front() else { continue };
        let part = if batch.num_rows() > rows {
            lane.ready.push_front(batch.slice(rows, batch.num_rows() - rows));
            batch.slice(0, rows)
        } else {
            batch
        };
        for (position, array) in lane.columns.iter().zip(part.columns()) {
            if let Some(slot) = columns.get_mut(*position) {
                *slot = Some(array.clone());
            }
        }
    }
    let columns: Option<Vec<ArrayRef>> = columns.into_iter().collect();
    match columns {
        Some(columns) => Ok(Joined::Batch(batch_of(schema, columns, rows)?)),
        None => Err(Error::request("lane_missing", "a column of the projection belongs to no lane")),
    }
}

/// All lanes of a split as one machine: what an async driver runs, and a sequential read.
pub struct SideBySide {
    schema: SchemaRef,
    lanes: Vec<RunningLane>,
    /// Rows still to give when there are no lanes, that is, no columns.
    bare_rows: u64,
}

struct RunningLane {
    output: LaneOutput,
    lane: Lane,
    asked: usize,
}

impl SideBySide {
    /// The lanes of a split with `rows` rows, read to batches of `schema`.
    pub fn new(schema: SchemaRef, lanes: Vec<Lane>, rows: u64) -> Self {
        let bare_rows = if lanes.is_empty() { rows } else { 0 };
        let lanes = lanes
            .into_iter()
            .map(|lane| RunningLane { output: LaneOutput::new(lane.columns.clone()), lane, asked: 0 })
            .collect();
        SideBySide { schema, lanes, bare_rows }
    }
}

/// The next batch of a table without columns: row counts only.
pub(crate) fn bare_batch(schema: &SchemaRef, rows_left: &mut u64) -> Result<Option<RecordBatch>> {
    if *rows_left == 0 {
        return Ok(None);
    }
    let rows = (*rows_left).min(1 << 20);
    *rows_left -= rows;
    Ok(Some(batch_of(schema, Vec::new(), usize::try_from(rows).unwrap_or(0))?))
}

impl Machine for SideBySide {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        if self.lanes.is_empty() {
            return Ok(Step::Ready(bare_batch(&self.schema, &mut self.bare_rows)?));
        }
        let mut got = got.into_iter();
        loop {
            let mut needs = Vec::new();
            for lane in &mut self.lanes {
                let bytes: Vec<Bytes> = got.by_ref().take(lane.asked).collect();
                lane.asked = 0;
                if lane.output.finished || (bytes.is_empty() && !lane.output.ready.is_empty()) {
                    continue;
                }
                match lane.lane.machine.step(bytes)? {
                    Step::Need(ranges) => {
                        lane.asked = ranges.len();
                        needs.extend(ranges);
                    }
                    Step::Ready(output) => lane.output.push(output),
                }
            }
            if !needs.is_empty() {
                return Ok(Step::Need(needs));
            }
            let mut outputs: Vec<&mut LaneOutput> = self.lanes.iter_mut().map(|lane| &mut lane.output).collect();
            match join(&mut outputs, &self.schema)? {
                Joined::Batch(batch) => return Ok(Step::Ready(Some(batch))),
                Joined::Finished => return Ok(Step::Ready(None)),
                Joined::Waiting => {}
            }
        }
    }
}
