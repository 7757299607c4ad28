//! A split in progress: its lanes, the batches they have ready, and the state of its conditions.

use crate::lanes::LaneOutput;
use crate::{BatchMachine, Error, Lane, Result, Selection, Split};
use arrow::array::{Array, AsArray, BooleanArray};
use arrow::compute::{concat, concat_batches, filter_record_batch};
use arrow::record_batch::RecordBatch;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A split under way. What is done for each batch of a lane must not take longer with more lanes: there may be a hundred
/// thousand of them.
pub(super) struct ActiveSplit {
    pub id: u64,
    pub split: Split,
    /// The rows that the lanes give.
    pub rows: Selection,
    pub lanes: Vec<ActiveLane>,
    /// The lanes that have more to give, by the rows they have given so far: the one that is furthest behind goes first.
    pub open: BinaryHeap<Reverse<(u64, usize)>>,
    /// Lanes that have nothing ready.
    pub awaited: usize,
    /// Stages that are still to be decided, the next one last.
    pub stages: Vec<usize>,
    pub deciding: Option<StageInProgress>,
    /// Whether the rows that are joined have been decided by all stages.
    pub decided: bool,
    /// Rows still to give when there are no columns.
    pub bare_rows: u64,
    /// Rows joined so far.
    pub joined: u64,
    /// Why it ended early.
    pub error: Option<Error>,
}

/// A stage that is being decided on.
pub(super) struct StageInProgress {
    pub stage: usize,
    /// Its lanes are those from here on; those before hold what earlier stages read.
    pub first: usize,
    /// Joined, and not decided yet.
    pub waiting: VecDeque<RecordBatch>,
    /// A task is deciding on a batch.
    pub busy: bool,
    /// All rows have been joined.
    pub complete: bool,
    /// Rows decided so far, and what is kept of them.
    pub rows: u64,
    pub masks: Vec<BooleanArray>,
    pub kept: Selection,
    pub batches: Vec<RecordBatch>,
    pub bytes: u64,
}

pub(super) struct ActiveLane {
    pub output: LaneOutput,
    /// `None` while a task has it, and at its end.
    pub machine: Option<BatchMachine>,
    /// Rows given so far.
    pub rows: u64,
    /// Why it ended early. Reported after the rows that came before.
    pub error: Option<Error>,
}

impl ActiveLane {
    pub fn new(lane: Lane) -> Self {
        ActiveLane { output: LaneOutput::new(lane.columns), machine: Some(lane.machine), rows: 0, error: None }
    }

    /// Rows that are there already.
    pub fn held(columns: Vec<usize>, batches: Vec<RecordBatch>) -> Self {
        let ready = batches.into_iter().filter(|b| b.num_rows() > 0).collect();
        let output = LaneOutput { columns, ready, finished: true };
        ActiveLane { output, machine: None, rows: 0, error: None }
    }

    /// Whether there is something to join: rows, the end, or an error.
    pub fn is_ready(&self) -> bool {
        !self.output.ready.is_empty() || self.output.finished || self.error.is_some()
    }

    pub fn can_run(&self, batches: usize) -> bool {
        self.machine.is_some() && self.output.ready.len() < batches
    }
}

/// The lanes that have more to give, and how many have nothing ready.
pub(super) fn survey(lanes: &[ActiveLane]) -> (BinaryHeap<Reverse<(u64, usize)>>, usize) {
    let open = lanes.iter().enumerate().filter(|(_, l)| l.machine.is_some());
    let open = open.map(|(i, l)| Reverse((l.rows, i))).collect();
    (open, lanes.iter().filter(|l| !l.is_ready()).count())
}

/// The error of a lane that has nothing more to give before it.
pub(super) fn lane_error(lanes: &mut [ActiveLane]) -> Option<Error> {
    let drained = |l: &&mut ActiveLane| l.error.is_some() && l.output.ready.is_empty();
    lanes.iter_mut().find(drained).and_then(|l| l.error.take())
}

impl ActiveSplit {
    /// Looks at all lanes again.
    pub fn survey(&mut self) {
        (self.open, self.awaited) = survey(&self.lanes);
    }

    /// The lane to work on next, unless it has so many batches ready; then all others have more.
    pub fn pick_lane(&mut self, batches: usize) -> Option<(usize, BatchMachine)> {
        while let Some(Reverse((_, index))) = self.open.peek() {
            let index = *index;
            let lane = self.lanes.get_mut(index).filter(|lane| lane.machine.is_some());
            if lane.as_ref().is_some_and(|lane| !lane.can_run(batches)) {
                return None;
            }
            self.open.pop();
            if let Some(machine) = lane.and_then(|lane| lane.machine.take()) {
                return Some((index, machine));
            }
        }
        None
    }

    /// Takes in what a lane gave.
    pub fn lane_gave(&mut self, index: usize, machine: BatchMachine, result: Result<Option<RecordBatch>>) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let was_ready = lane.is_ready();
        match result {
            Err(error) => lane.error = Some(error),
            Ok(output) => {
                lane.rows += output.as_ref().map_or(0, |b| b.num_rows() as u64);
                lane.output.push(output);
                if !lane.output.finished {
                    lane.machine = Some(machine);
                }
            }
        }
        if lane.is_ready() && !was_ready {
            self.awaited -= 1;
        }
        if lane.machine.is_some() {
            self.open.push(Reverse((lane.rows, index)));
        }
    }

    /// Ends it.
    pub fn end(&mut self, error: Option<Error>) {
        (self.lanes, self.deciding, self.stages, self.bare_rows) = (Vec::new(), None, Vec::new(), 0);
        self.open.clear();
        (self.awaited, self.rows, self.joined) = (0, Selection::default(), 0);
        self.error = error;
    }

    /// The columns that no lane of this split reads yet.
    pub fn unread(&self, columns: usize) -> Vec<usize> {
        let mut unread: Vec<bool> = vec![true; columns];
        for position in self.lanes.iter().flat_map(|l| &l.output.columns) {
            if let Some(unread) = unread.get_mut(*position) {
                *unread = false;
            }
        }
        (0..columns).filter(|c| unread.get(*c) == Some(&true)).collect()
    }
}

/// Keeps of what lanes hold the rows for which the masks, one after another, are true.
pub(super) fn narrow(lanes: &mut [ActiveLane], masks: &[BooleanArray]) -> Result<()> {
    if lanes.is_empty() {
        return Ok(());
    }
    let masks: Vec<&dyn Array> = masks.iter().map(|m| m as &dyn Array).collect();
    let mask = concat(&masks)?;
    let mask = mask.as_boolean();
    for lane in lanes {
        let Some(schema) = lane.output.ready.front().map(RecordBatch::schema) else { continue };
        let all = concat_batches(&schema, lane.output.ready.iter())?;
        lane.output.ready = VecDeque::from([filter_record_batch(&all, mask)?]);
    }
    Ok(())
}
