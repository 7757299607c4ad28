//! Joins the columns of several lanes into batches.
//!
//! Each lane yields some of the columns, in batches of any size. Here they are joined into whole rows, as many at a
//! time as every lane has ready.

use crate::plan::batch_of;
use crate::{BatchMachine, Error, Lane, Machine, Result, Step};
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::collections::VecDeque;

/// What one lane has ready.
#[derive(Debug)]
pub(crate) struct LaneOutput {
    /// Positions of its columns among those that are read.
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

/// What joining lanes gave.
pub(crate) enum Joined {
    /// The next rows: how many, and their columns by position.
    Rows(usize, Vec<(usize, ArrayRef)>),
    /// A lane that is not finished has nothing ready.
    Waiting,
    /// All rows have been given.
    Finished,
}

/// Joins the next rows of lanes.
pub(crate) fn join<'a>(lanes: impl Iterator<Item = &'a mut LaneOutput>) -> Result<Joined> {
    let mut lanes: Vec<&mut LaneOutput> = lanes.collect();
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
    let mut columns = Vec::new();
    for lane in &mut lanes {
        let Some(batch) = lane.ready.pop_front() else { continue };
        let part = if batch.num_rows() > rows {
            lane.ready.push_front(batch.slice(rows, batch.num_rows() - rows));
            batch.slice(0, rows)
        } else {
            batch
        };
        columns.extend(lane.columns.iter().copied().zip(part.columns().iter().cloned()));
    }
    Ok(Joined::Rows(rows, columns))
}

/// All lanes as one machine, whose batches have the columns of `schema`. What lanes need is asked for together.
pub fn join_lanes(lanes: Vec<Lane>, schema: SchemaRef) -> BatchMachine {
    let lane = |lane: Lane| (LaneOutput::new(lane.columns), lane.machine, 0);
    Box::new(JoinedLanes { lanes: lanes.into_iter().map(lane).collect(), schema })
}

struct JoinedLanes {
    /// Each with the number of ranges that it waits for.
    lanes: Vec<(LaneOutput, BatchMachine, usize)>,
    schema: SchemaRef,
}

impl Machine for JoinedLanes {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let mut got = got.into_iter();
        loop {
            match join(self.lanes.iter_mut().map(|(output, ..)| output))? {
                Joined::Rows(rows, mut columns) => {
                    columns.sort_by_key(|(position, _)| *position);
                    let columns = columns.into_iter().map(|(_, column)| column).collect();
                    return Ok(Step::Ready(Some(batch_of(&self.schema, columns, rows)?)));
                }
                Joined::Finished => return Ok(Step::Ready(None)),
                Joined::Waiting => {}
            }
            let mut needed = Vec::new();
            for (output, machine, awaited) in &mut self.lanes {
                if output.finished || !output.ready.is_empty() {
                    continue;
                }
                match machine.step(got.by_ref().take(std::mem::take(awaited)).collect())? {
                    Step::Ready(batch) => output.push(batch),
                    Step::Need(ranges) => {
                        *awaited = ranges.len();
                        needed.extend(ranges);
                    }
                }
            }
            if !needed.is_empty() {
                return Ok(Step::Need(needed));
            }
        }
    }
}
