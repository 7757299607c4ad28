//! The scan engine. It schedules the work of a scan and assembles the rows; it has no threads and does no I/O.
//!
//! A scan is a list of splits. With late materialization, each split first finds the rows that match the conditions,
//! then reads the other columns of these rows: the columns of the cheapest condition are read first and give a
//! [`Selection`], then the columns of the next condition within it, and finally all remaining columns. If most rows
//! match, this does not pay off; then all columns are read together, and the conditions are evaluated on whole rows.
//!
//! The work is divided into [tasks](Task): advancing one lane to its next batch, or evaluating a condition on one
//! batch. A driver takes tasks, runs them anywhere, fetches the bytes they request, returns them to the engine, and
//! collects rows.

mod split;

use crate::drive::decoded_bytes;
use crate::encoded::batch_as_stored;
use crate::lanes::{Joined, join};
use crate::plan::{ReadPlan, batch_of};
use crate::views::Views;
use crate::{
    BatchMachine, ByteRange, Error, LateMaterialization, Limits, Machine, Result, Scan, Selection, Split, Step, Table,
    memory, select_rows,
};
use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use split::{ActiveLane, ActiveSplit, StageInProgress, lane_error, narrow, survey};
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// How far a scan may run ahead of who takes its rows.
#[derive(Clone, Copy, Debug)]
pub struct ReadAhead {
    /// Splits under way at once.
    pub splits: usize,
    /// Batches of each lane that lie ready in the split whose rows are next.
    pub batches: usize,
    /// Decoded bytes that lie ready, beyond which only those batches are made.
    pub bytes: u64,
    /// Bytes that can be had in the time that one more answer takes. What is smaller is read without deciding first.
    pub round_trip: u64,
}

impl ReadAhead {
    /// For one thread that does everything in turn.
    pub const NOT: ReadAhead = ReadAhead { splits: 1, batches: 1, bytes: 0, round_trip: 0 };

    /// For several threads.
    pub const THREADS: ReadAhead = ReadAhead { splits: 4, batches: 2, bytes: 16 << 20, round_trip: 0 };
}

/// Batches of a lane that lie ready at most, however small.
const MOST_BATCHES: usize = 64;

/// Where at most one row of so many survives, other columns are read for the survivors alone.
const SPARSE: u64 = 8;

/// Rows that must have been decided before their share of survivors is believed.
const ENOUGH_ROWS: u64 = 4096;

/// Rows of a split at most that are decided before the first survivor is given.
const PATIENCE: u64 = 1 << 20;

/// A scan under way.
pub struct Scanner {
    table: Arc<dyn Table>,
    plan: Arc<ReadPlan>,
    ahead: ReadAhead,
    /// Not started yet.
    splits: VecDeque<Split>,
    /// Being read, in order; the front one is being consumed.
    active: VecDeque<ActiveSplit>,
    /// Number of splits started so far; gives each its identity.
    opened: u64,
    /// For each stage how many rows it has looked at, and how many it kept.
    measured: Vec<(u64, u64)>,
    /// Decoded bytes that lie ready in lanes, about.
    ready: u64,
    /// Bytes decoded so far, and how many there may be.
    given: u64,
    most: u64,
    /// Rows decoded so far of each column that is read.
    decoded: Vec<u64>,
}

/// What a scanner has for its consumer.
pub enum Next {
    /// The next rows.
    Rows(Rows),
    /// A task must be put back first.
    Waiting,
    /// There are no more.
    Finished,
}

/// Rows that are complete. What remains to be done with them needs no scanner.
pub struct Rows {
    plan: Arc<ReadPlan>,
    batch: RecordBatch,
    decided: bool,
}

impl Rows {
    /// The rows and columns that were asked for; possibly none.
    pub fn finish(self) -> Result<RecordBatch> {
        self.plan.finish(&self.batch, self.decided)
    }
}

/// A piece of work that can be done anywhere.
pub struct Task {
    split: u64,
    work: Work,
}

enum Work {
    /// Run a lane to its next batch.
    Lane { lane: usize, machine: BatchMachine, result: Option<Result<Option<RecordBatch>>> },
    /// Find out which rows of a batch a stage keeps.
    Decide {
        plan: Arc<ReadPlan>,
        stage: usize,
        batch: RecordBatch,
        result: Option<Result<(BooleanArray, RecordBatch)>>,
    },
}

impl Task {
    /// Which split it belongs to: they are counted in the order in which they are started.
    pub fn split(&self) -> u64 {
        self.split
    }

    /// Goes on with the bytes asked for last, of which there are none at first. `None` means that it is done.
    pub fn step(&mut self, got: Vec<Bytes>) -> Option<Vec<ByteRange>> {
        match &mut self.work {
            Work::Lane { machine, result, .. } => {
                *result = Some(match memory::check().and_then(|()| machine.step(got)) {
                    Ok(Step::Need(ranges)) => return Some(ranges),
                    Ok(Step::Ready(output)) => Ok(output),
                    Err(error) => Err(error),
                });
            }
            Work::Decide { plan, stage, batch, result } => {
                let decided = plan.stages.get(*stage).map(|stage| {
                    let mask = plan.decide(stage, batch)?;
                    let kept = plan.kept(stage, batch, &mask)?;
                    Ok((mask, kept))
                });
                *result = decided;
            }
        }
        None
    }

    /// Ends it with an error: its bytes could not be had.
    pub fn fail(&mut self, error: Error) {
        match &mut self.work {
            Work::Lane { result, .. } => *result = Some(Err(error)),
            Work::Decide { result, .. } => *result = Some(Err(error)),
        }
    }
}

impl Scanner {
    /// A scan of these splits of a table. It ends with an error once more than `most` bytes have been decoded, whether or
    /// not a condition keeps them: a file of a few bytes may say that it has any number of rows.
    pub fn new(table: Arc<dyn Table>, plan: ReadPlan, splits: Vec<Split>, ahead: ReadAhead, most: u64) -> Self {
        let ahead = ReadAhead { bytes: ahead.bytes.min(plan.scan.memory / 16), ..ahead };
        Scanner {
            measured: vec![(0, 0); plan.stages.len()],
            decoded: vec![0; plan.read_schema.fields().len()],
            table,
            plan: Arc::new(plan),
            ahead,
            splits: splits.into(),
            active: VecDeque::new(),
            opened: 0,
            ready: 0,
            given: 0,
            most,
        }
    }

    /// A read of these rows, whatever the scan's conditions.
    pub fn of_rows(table: Arc<dyn Table>, scan: &Scan, rows: Selection, ahead: ReadAhead, most: u64) -> Result<Self> {
        let scan = Scan { predicate: None, filters: Vec::new(), rows: None, ..scan.clone() };
        let plan = ReadPlan::new(table.as_ref(), &scan)?;
        let mut scanner = Scanner::new(table, plan, Vec::new(), ahead, most);
        if !rows.is_empty() {
            scanner.start(Split { rows: rows.span(), ranges: Vec::new() }, rows);
        }
        Ok(scanner)
    }

    /// The schema of the rows.
    pub fn schema(&self) -> SchemaRef {
        self.plan.schema.clone()
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<ReadPlan> {
        &self.plan
    }

    /// The rows of the splits that have not been started.
    pub fn pending(&self) -> Option<Range<u64>> {
        Some(self.splits.front()?.rows.start..self.splits.back()?.rows.end)
    }

    /// Reads these instead of the splits that have not been started.
    pub fn set_pending(&mut self, splits: Vec<Split>) {
        self.splits = splits.into();
    }

    /// How many splits have not been started.
    pub fn pending_count(&self) -> usize {
        self.splits.len()
    }

    /// What a split under way is sure to need, if nothing is to be decided before.
    pub fn planned(&self, split: u64) -> &[ByteRange] {
        let of = self.active.iter().find(|s| s.id == split && s.deciding.is_none() && s.rows.is_range());
        of.map_or(&[], |s| &s.split.ranges)
    }

    /// How many rows have been decoded of each column that is read: those asked for, then those of conditions.
    pub fn decoded(&self) -> &[u64] {
        &self.decoded
    }

    /// Something to do now; `None` until a task is put back or rows are taken.
    pub fn task(&mut self) -> Option<Task> {
        // What is read ahead can wait for memory; what the consumer waits for cannot.
        let scarce = memory::is_scarce();
        let room = self.ready < self.ahead.bytes && !scarce;
        loop {
            for (index, split) in self.active.iter_mut().enumerate() {
                if let Some(deciding) = &mut split.deciding
                    && !deciding.busy
                    && let Some(batch) = deciding.waiting.pop_front()
                {
                    deciding.busy = true;
                    let work = Work::Decide { plan: self.plan.clone(), stage: deciding.stage, batch, result: None };
                    return Some(Task { split: split.id, work });
                }
                let batches = match (room, index) {
                    (true, _) => MOST_BATCHES,
                    (false, 0) => self.ahead.batches,
                    (false, _) => 0,
                };
                if let Some((lane, machine)) = split.pick_lane(batches) {
                    return Some(Task { split: split.id, work: Work::Lane { lane, machine, result: None } });
                }
            }
            if self.active.len() >= if scarce { 1 } else { self.ahead.splits } {
                return None;
            }
            let split = self.splits.pop_front()?;
            let rows = Selection::range(split.rows.clone());
            self.start(split, rows);
        }
    }

    /// Takes a task back that is done.
    pub fn put_back(&mut self, task: Task) {
        let Some(index) = self.active.iter().position(|s| s.id == task.split) else { return };
        let Some(split) = self.active.get_mut(index) else { return };
        match task.work {
            Work::Lane { lane, machine, result } => {
                let result = result.unwrap_or_else(|| Err(abandoned()));
                if let (Ok(Some(batch)), Some(lane)) = (&result, split.lanes.get(lane)) {
                    self.ready = self.ready.saturating_add(decoded_bytes(batch));
                    for column in &lane.output.columns {
                        if let Some(rows) = self.decoded.get_mut(*column) {
                            *rows += batch.num_rows() as u64;
                        }
                    }
                }
                split.lane_gave(lane, machine, result);
            }
            Work::Decide { result, .. } => match result.unwrap_or_else(|| Err(abandoned())) {
                Err(error) => split.end(Some(error)),
                Ok((mask, kept)) => {
                    let Some(deciding) = &mut split.deciding else { return };
                    deciding.busy = false;
                    deciding.kept.push_kept(&split.rows, deciding.rows, &mask);
                    deciding.rows += mask.len() as u64;
                    deciding.bytes = deciding.bytes.saturating_add(decoded_bytes(&kept));
                    deciding.batches.push(kept);
                    if deciding.first > 0 {
                        deciding.masks.push(mask);
                    }
                }
            },
        }
        if let Err(error) = self.go_on(index)
            && let Some(split) = self.active.get_mut(index)
        {
            split.end(Some(error));
        }
    }

    /// Whether the consumer should ask now: rows of every column of the front split, its end, or an error.
    pub fn is_ready(&self) -> bool {
        match self.active.front() {
            None => self.splits.is_empty(),
            Some(front) => front.deciding.is_none() && front.awaited == 0,
        }
    }

    /// The next rows.
    pub fn next_rows(&mut self) -> Result<Next> {
        loop {
            let Some(front) = self.active.front_mut() else {
                self.ready = 0;
                return Ok(if self.splits.is_empty() { Next::Finished } else { Next::Waiting });
            };
            if let Some(error) = front.error.take() {
                return Err(error);
            }
            if front.deciding.is_some() {
                return Ok(Next::Waiting);
            }
            if front.bare_rows > 0 {
                let rows = front.bare_rows.min(1 << 20);
                front.bare_rows -= rows;
                let decided = front.decided;
                let batch = batch_of(&self.plan.read_schema, Vec::new(), usize::try_from(rows).unwrap_or(0))?;
                return self.give(batch, decided);
            }
            // Looking at all lanes each time that one of them has more would be most of the work with many columns.
            if front.awaited > 0 {
                return Ok(Next::Waiting);
            }
            if let Some(error) = lane_error(&mut front.lanes) {
                return Err(error);
            }
            match join(front.lanes.iter_mut().map(|l| &mut l.output))? {
                Joined::Waiting => return Ok(Next::Waiting),
                Joined::Finished => {
                    if !front.lanes.is_empty() && front.joined != front.rows.len() {
                        let message = format!("{} rows where there should be {}", front.joined, front.rows.len());
                        return Err(Error::corrupt("row_count_mismatch", message));
                    }
                    self.active.pop_front();
                }
                Joined::Rows(rows, columns) => {
                    front.joined += rows as u64;
                    front.survey();
                    let decided = front.decided;
                    let batch = arranged(&self.plan.read_schema, rows, columns)?;
                    return self.give(batch, decided);
                }
            }
        }
    }

    fn give(&mut self, batch: RecordBatch, decided: bool) -> Result<Next> {
        self.joined(&batch)?;
        Ok(Next::Rows(Rows { plan: self.plan.clone(), batch, decided }))
    }

    /// Counts what lanes have given.
    fn joined(&mut self, batch: &RecordBatch) -> Result<()> {
        let bytes = decoded_bytes(batch);
        self.ready = self.ready.saturating_sub(bytes);
        self.given = self.given.saturating_add(bytes);
        Limits::check_output(self.given, self.most)
    }

    /// Starts a split.
    fn start(&mut self, split: Split, rows: Selection) {
        let mut stages: Vec<usize> = (0..self.plan.stages.len()).collect();
        // What removes most for its cost comes first, that is, last in the list.
        stages.sort_by(|a, b| self.rank(*b).total_cmp(&self.rank(*a)));
        let mut active = ActiveSplit {
            id: self.opened,
            split,
            rows,
            lanes: Vec::new(),
            open: BinaryHeap::new(),
            awaited: 0,
            stages,
            deciding: None,
            decided: true,
            bare_rows: 0,
            joined: 0,
            error: None,
        };
        self.opened += 1;
        if let Err(error) = self.next_stage(&mut active) {
            active.end(Some(error));
        }
        self.active.push_back(active);
    }

    /// The cost of a stage for each row that it removes.
    fn rank(&self, stage: usize) -> f64 {
        let cost = self.plan.stages.get(stage).map_or(0, |s| s.cost);
        let (seen, kept) = self.measured.get(stage).copied().unwrap_or_default();
        let removed = if seen < ENOUGH_ROWS { 1.0 } else { (seen - kept) as f64 / seen as f64 };
        cost as f64 / removed.max(1e-3)
    }

    /// Whether it is worth deciding a stage before the columns that are left are read.
    fn is_worth_it(&self, stage: usize, split: &ActiveSplit) -> bool {
        let columns = self.plan.read_schema.fields().len();
        let Some(stage_columns) = self.plan.stages.get(stage).map(|s| s.columns.len()) else { return false };
        let left = split.unread(columns).len();
        if stage_columns == 0 || left <= stage_columns {
            return false;
        }
        let (seen, kept) = self.measured.get(stage).copied().unwrap_or_default();
        match self.plan.scan.late {
            LateMaterialization::Always => true,
            LateMaterialization::Never => false,
            LateMaterialization::Adaptive => {
                let bytes = split.split.ranges.iter().map(|r| r.len()).fold(0, u64::saturating_add);
                bytes >= self.ahead.round_trip && (seen < ENOUGH_ROWS || kept <= seen / SPARSE)
            }
        }
    }

    /// Opens the lanes of the next stage, or of all columns that are left.
    fn next_stage(&mut self, split: &mut ActiveSplit) -> Result<()> {
        match split.stages.pop() {
            Some(stage) if self.is_worth_it(stage, split) => {
                let columns = self.plan.stages.get(stage).map(|s| s.columns.clone()).unwrap_or_default();
                let first = split.lanes.len();
                self.open(split, columns, true)?;
                split.deciding = Some(StageInProgress {
                    stage,
                    first,
                    waiting: VecDeque::new(),
                    busy: false,
                    complete: false,
                    rows: 0,
                    masks: Vec::new(),
                    kept: Selection::default(),
                    batches: Vec::new(),
                    bytes: 0,
                });
            }
            stage => {
                // A stage that is not decided now leaves its question to whole rows.
                split.decided = stage.is_none();
                split.stages.clear();
                let columns = split.unread(self.plan.read_schema.fields().len());
                let of_conditions =
                    |c: &usize| !split.decided && self.plan.stages.iter().any(|s| s.columns.contains(c));
                let (of_conditions, others) = columns.into_iter().partition(of_conditions);
                self.open(split, of_conditions, true)?;
                self.open(split, others, false)?;
                if split.lanes.is_empty() {
                    split.bare_rows = split.rows.len();
                }
            }
        }
        Ok(())
    }

    /// Opens lanes for these columns of the split's rows. Those of conditions may stay encoded, and so may what becomes views:
    /// a view of a dictionary's value costs less than the value.
    fn open(&self, split: &mut ActiveSplit, columns: Vec<usize>, encoded: bool) -> Result<()> {
        let (stay, change): (Vec<usize>, Vec<usize>) =
            columns.into_iter().partition(|c| encoded || self.plan.is_view(*c));
        self.open_lanes(split, stay, true)?;
        self.open_lanes(split, change, false)?;
        split.survey();
        Ok(())
    }

    fn open_lanes(&self, split: &mut ActiveSplit, columns: Vec<usize>, encoded: bool) -> Result<()> {
        let row_count = self.table.row_count();
        if split.rows.end() > row_count {
            let message = format!("rows up to {} of a table with {row_count} rows", split.rows.end());
            return Err(Error::request("no_such_rows", message));
        }
        if !columns.is_empty() {
            let scan = self.plan.scan_of(&columns, encoded);
            let (rows, span) = (&split.rows, split.rows.span());
            let dense = !rows.is_range()
                && rows.len() > (span.end - span.start) / SPARSE
                && self.plan.scan.late != LateMaterialization::Always;
            let lanes = if dense {
                select_rows(rows, vec![(span.clone(), self.table.read(&scan, &Selection::range(span))?)])
            } else {
                self.table.read(&scan, rows)?
            };
            if lanes.is_empty() {
                return Err(Error::internal("columns that belong to no lane"));
            }
            for mut lane in lanes {
                // A lane knows its columns by their places in its own scan.
                let known: Option<Vec<usize>> = lane.columns.iter().map(|c| columns.get(*c).copied()).collect();
                lane.columns = known.ok_or_else(|| Error::internal("a lane of columns not asked for"))?;
                if lane.columns.iter().any(|c| self.plan.is_view(*c)) {
                    lane.machine = Box::new(Views::new(lane.machine, self.plan.fields_of(&lane.columns)));
                }
                split.lanes.push(ActiveLane::new(lane));
            }
        }
        Ok(())
    }

    /// Goes on with what is being decided, after something was put back.
    fn go_on(&mut self, index: usize) -> Result<()> {
        let ahead = self.ahead.batches;
        let Some(split) = self.active.get_mut(index) else { return Ok(()) };
        let Some(deciding) = &mut split.deciding else { return Ok(()) };
        let mut counted = Vec::new();
        while split.awaited == 0 && !deciding.complete && deciding.waiting.len() < ahead {
            if let Some(error) = lane_error(&mut split.lanes) {
                return Err(error);
            }
            let lanes = split.lanes.iter_mut().skip(deciding.first);
            match join(lanes.map(|l| &mut l.output))? {
                Joined::Waiting => break,
                Joined::Finished => deciding.complete = true,
                Joined::Rows(rows, mut columns) => {
                    columns.sort_by_key(|(position, _)| *position);
                    let (positions, columns): (Vec<usize>, Vec<ArrayRef>) = columns.into_iter().unzip();
                    let batch = batch_as_stored(&self.plan.fields_of(&positions), columns, rows)?;
                    counted.push(batch.clone());
                    deciding.waiting.push_back(batch);
                }
            }
            // Lanes have room again.
            (split.open, split.awaited) = survey(&split.lanes);
        }
        let idle = !deciding.busy;
        let done = idle && deciding.complete && deciding.waiting.is_empty();
        let slow = deciding.rows >= PATIENCE && !deciding.kept.is_empty();
        let full = deciding.bytes > self.plan.scan.memory / 16;
        for batch in counted {
            self.joined(&batch)?;
        }
        if done {
            self.change(index, Self::end_stage);
        } else if idle && (slow || full) {
            self.change(index, Self::leave_stage);
        }
        Ok(())
    }

    /// Changes a split, which ends with the error if that fails.
    fn change(&mut self, index: usize, change: fn(&mut Self, &mut ActiveSplit) -> Result<()>) {
        let Some(mut split) = self.active.remove(index) else { return };
        if let Err(error) = change(self, &mut split) {
            split.end(Some(error));
        }
        self.active.insert(index, split);
    }

    /// A stage has been decided on all rows.
    fn end_stage(&mut self, split: &mut ActiveSplit) -> Result<()> {
        let Some(deciding) = split.deciding.take() else { return Ok(()) };
        if deciding.rows != split.rows.len() {
            let message = format!("{} rows where there should be {}", deciding.rows, split.rows.len());
            return Err(Error::corrupt("row_count_mismatch", message));
        }
        self.measure(&deciding);
        if deciding.kept.is_empty() {
            split.end(None);
            return Ok(());
        }
        let columns = self.plan.stages.get(deciding.stage).map(|s| s.columns.clone()).unwrap_or_default();
        split.lanes.truncate(deciding.first);
        narrow(&mut split.lanes, &deciding.masks)?;
        split.lanes.push(ActiveLane::held(columns, deciding.batches));
        split.rows = deciding.kept;
        self.next_stage(split)
    }

    fn measure(&mut self, deciding: &StageInProgress) {
        if let Some((seen, kept)) = self.measured.get_mut(deciding.stage) {
            *seen += deciding.rows;
            *kept += deciding.kept.len();
        }
    }

    /// Decides no more in this split: the rows that are left are read whole. Those decided so far are looked at once more
    /// with them, which does not change what is kept.
    fn leave_stage(&mut self, split: &mut ActiveSplit) -> Result<()> {
        let Some(mut deciding) = split.deciding.take() else { return Ok(()) };
        self.measure(&deciding);
        let tail = usize::try_from(split.rows.len() - deciding.rows).unwrap_or(0);
        deciding.masks.push(BooleanArray::from(vec![true; tail]));
        let (held, stage) = split.lanes.split_at_mut(deciding.first);
        narrow(held, &deciding.masks)?;
        split.rows.after(deciding.rows).take(u64::MAX, |rows| deciding.kept.push(rows));
        split.rows = deciding.kept;
        // What was joined goes back to the lanes that it came from.
        let positions = self.plan.stages.get(deciding.stage).map(|s| s.columns.as_slice()).unwrap_or_default();
        for batch in deciding.batches.into_iter().chain(deciding.waiting).filter(|b| b.num_rows() > 0).rev() {
            for lane in stage.iter_mut() {
                let places: Vec<usize> =
                    lane.output.columns.iter().filter_map(|c| positions.binary_search(c).ok()).collect();
                lane.output.ready.push_front(batch.project(&places)?);
            }
        }
        split.stages.clear();
        split.decided = false;
        let columns = split.unread(self.plan.read_schema.fields().len());
        self.open(split, columns, false)
    }
}

fn abandoned() -> Error {
    Error::panicked("a decoder")
}

/// Columns in the order of the schema.
fn arranged(schema: &SchemaRef, rows: usize, columns: Vec<(usize, ArrayRef)>) -> Result<RecordBatch> {
    let mut arranged = vec![None; schema.fields().len()];
    for (position, array) in columns {
        if let Some(place) = arranged.get_mut(position) {
            *place = Some(array);
        }
    }
    match arranged.into_iter().collect::<Option<Vec<_>>>() {
        Some(columns) => batch_as_stored(schema.fields(), columns, rows),
        None => Err(Error::internal("a column of the projection belongs to no lane")),
    }
}
