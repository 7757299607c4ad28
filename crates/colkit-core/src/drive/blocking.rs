//! The blocking driver: positioned reads, threads, no runtime.
//!
//! A scan is cut into splits, a split into lanes. Workers take the earliest lane that has room for another batch, run
//! it until it gives one, and put it back: so all columns of the front split advance together, later splits are
//! prepared meanwhile, and what waits to be consumed stays bounded whatever the shape of the table.

use crate::drive::decoded_bytes;
use crate::lanes::{Joined, LaneOutput, bare_batch, join};
use crate::plan::ReadPlan;
use crate::source::check_lengths;
use crate::{BatchMachine, Boxed, Error, Limits, Result, Scan, Source, Split, Step, Table, memory};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Runs a machine to its result.
pub fn run<T>(mut machine: Boxed<T>, source: &dyn Source) -> Result<T> {
    next(&mut machine, source)
}

/// Runs a machine to its next result.
pub fn next<T>(machine: &mut Boxed<T>, source: &dyn Source) -> Result<T> {
    let mut got = Vec::new();
    loop {
        memory::check()?;
        match machine.step(got)? {
            Step::Ready(value) => return Ok(value),
            Step::Need(ranges) => {
                got = source.read_many(&ranges)?;
                // Machines rely on it; a source may be anybody's.
                check_lengths(&ranges, &got)?;
            }
        }
    }
}

/// Starts reading: all rows of `scan`, in order, on `threads` threads.
pub fn scan(table: Arc<dyn Table>, source: Arc<dyn Source>, scan: &Scan, threads: usize) -> Result<Batches> {
    let plan = ReadPlan::new(table.as_ref(), scan)?;
    let splits = run(table.splits(&plan.scan)?, source.as_ref())?;
    let state = State { splits: splits.into(), active: VecDeque::new(), opened: 0, stop: false };
    let shared =
        Arc::new(Shared { table, source, plan, state: Mutex::new(state), room: Condvar::new(), rows: Condvar::new() });
    let mut batches = Batches { shared, workers: Vec::new(), finished: false, given: 0, most: u64::MAX };
    for _ in 0..threads.max(1) {
        let shared = batches.shared.clone();
        match std::thread::Builder::new().name("colkit-read".into()).spawn(move || shared.work()) {
            Ok(worker) => batches.workers.push(worker),
            // One is enough.
            Err(_) if !batches.workers.is_empty() => break,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(batches)
}

/// Batches that lie ready per lane before its worker turns to something else.
const LOOK_AHEAD: usize = 2;

/// Splits under way at once.
const ACTIVE_SPLITS: usize = 4;

struct Shared {
    table: Arc<dyn Table>,
    source: Arc<dyn Source>,
    plan: ReadPlan,
    state: Mutex<State>,
    /// Tells workers that there is something to do again.
    room: Condvar,
    /// Tells the consumer that the next rows are complete. It is not woken for anything less: with many columns that
    /// would be most of the work.
    rows: Condvar,
}

struct State {
    /// Not started yet.
    splits: VecDeque<Split>,
    /// Being read, in order; the front one is being consumed.
    active: VecDeque<ActiveSplit>,
    /// Number of splits started so far; gives each its identity.
    opened: u64,
    stop: bool,
}

/// What is done for each batch of a lane must not take longer with more lanes: there may be a hundred thousand of them.
struct ActiveSplit {
    id: u64,
    lanes: Vec<ActiveLane>,
    /// The lanes that can be run now, by the rows they have given so far: the one that is furthest behind goes first.
    open: BinaryHeap<Reverse<(u64, usize)>>,
    /// Lanes that the consumer waits for.
    awaited: usize,
    /// Rows still to give when there are no columns.
    bare_rows: u64,
}

struct ActiveLane {
    output: LaneOutput,
    /// `None` while a worker runs it, and at its end.
    machine: Option<BatchMachine>,
    /// Rows given so far.
    rows: u64,
    /// Why it ended early. Reported after the rows that came before.
    error: Option<Error>,
}

impl ActiveLane {
    fn new(columns: Vec<usize>, machine: Option<BatchMachine>, error: Option<Error>) -> Self {
        ActiveLane { output: LaneOutput::new(columns), machine, rows: 0, error }
    }

    /// Whether there is something for the consumer: rows, the end, or an error.
    fn is_ready(&self) -> bool {
        !self.output.ready.is_empty() || self.output.finished || self.error.is_some()
    }

    fn can_run(&self) -> bool {
        self.machine.is_some() && self.output.ready.len() < LOOK_AHEAD
    }
}

impl ActiveSplit {
    fn new(id: u64, lanes: Vec<ActiveLane>, bare_rows: u64) -> Self {
        let mut split = ActiveSplit { id, lanes, open: BinaryHeap::new(), awaited: 0, bare_rows };
        split.survey();
        split
    }

    /// Looks at all lanes again, after rows of all of them were consumed.
    fn survey(&mut self) {
        let lanes = self.lanes.iter().enumerate();
        self.open = lanes.filter(|(_, l)| l.can_run()).map(|(i, l)| Reverse((l.rows, i))).collect();
        self.awaited = self.lanes.iter().filter(|l| !l.is_ready()).count();
    }

    /// The lane to work on next.
    fn pick(&mut self) -> Option<(usize, BatchMachine)> {
        while let Some(Reverse((_, index))) = self.open.pop() {
            if let Some(machine) = self.lanes.get_mut(index).and_then(|lane| lane.machine.take()) {
                return Some((index, machine));
            }
        }
        None
    }

    /// Changes a lane, and notes what that means for the split.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut ActiveLane)) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let was_ready = lane.is_ready();
        change(lane);
        if lane.is_ready() && !was_ready {
            self.awaited -= 1;
        }
        if lane.can_run() {
            self.open.push(Reverse((lane.rows, index)));
        }
    }
}

/// Which lane of which split.
#[derive(Clone, Copy)]
struct LaneId {
    split: u64,
    lane: usize,
}

impl State {
    /// The next lane to work on, taken out of the state.
    fn pick(&mut self) -> Option<(LaneId, BatchMachine)> {
        self.active.iter_mut().find_map(|split| {
            let (lane, machine) = split.pick()?;
            Some((LaneId { split: split.id, lane }, machine))
        })
    }

    /// Whether there is something for the consumer: rows of every column of the front split, its end, or an error.
    fn next_is_ready(&self) -> bool {
        match self.active.front() {
            None => self.splits.is_empty(),
            Some(front) => front.awaited == 0,
        }
    }

    fn change(&mut self, id: LaneId, change: impl FnOnce(&mut ActiveLane)) {
        if let Some(split) = self.active.iter_mut().find(|s| s.id == id.split) {
            split.change(id.lane, change);
        }
    }

    fn put_back(&mut self, id: LaneId, machine: BatchMachine, result: Result<Option<RecordBatch>>) {
        self.change(id, |lane| match result {
            Err(error) => lane.error = Some(error),
            Ok(output) => {
                lane.rows += output.as_ref().map_or(0, |b| b.num_rows() as u64);
                lane.output.push(output);
                if !lane.output.finished {
                    lane.machine = Some(machine);
                }
            }
        });
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Poisoned means that a worker panicked; `ReportPanic` has told the consumer.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        while !state.stop {
            if let Some((id, mut machine)) = state.pick() {
                drop(state);
                let report = ReportPanic { shared: self, id };
                let result = next(&mut machine, self.source.as_ref());
                std::mem::forget(report);
                state = self.lock();
                state.put_back(id, machine, result);
                if state.next_is_ready() {
                    self.rows.notify_one();
                }
            } else if !self.open_split(&mut state) {
                state = wait(&self.room, state);
            }
        }
    }

    /// Starts the next split, if there is one and few enough are under way.
    fn open_split(&self, state: &mut State) -> bool {
        // What is read ahead can wait for memory; what the consumer waits for cannot.
        let most = if memory::is_scarce() { 1 } else { ACTIVE_SPLITS };
        if state.active.len() >= most {
            return false;
        }
        let Some(split) = state.splits.pop_front() else { return false };
        let (lanes, bare_rows) = match self.table.read(&split, &self.plan.scan) {
            Err(error) => (vec![ActiveLane::new(Vec::new(), None, Some(error))], 0),
            Ok(lanes) if lanes.is_empty() => (Vec::new(), split.rows.end.saturating_sub(split.rows.start)),
            Ok(lanes) => (lanes.into_iter().map(|l| ActiveLane::new(l.columns, Some(l.machine), None)).collect(), 0),
        };
        state.active.push_back(ActiveSplit::new(state.opened, lanes, bare_rows));
        state.opened += 1;
        self.room.notify_all();
        if state.next_is_ready() {
            self.rows.notify_one();
        }
        true
    }
}

fn wait<'a>(condition: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    condition.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// Should a decoder panic in spite of all, the reader gets an error instead of waiting forever.
struct ReportPanic<'a> {
    shared: &'a Shared,
    id: LaneId,
}

impl Drop for ReportPanic<'_> {
    fn drop(&mut self) {
        let error = Error::request("decoder_panicked", "a decoder panicked; this is a bug in colkit");
        self.shared.lock().change(self.id, |lane| lane.error = Some(error));
        self.shared.rows.notify_one();
    }
}

/// The batches of a scan, in row order. After an error there is nothing more.
pub struct Batches {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    finished: bool,
    /// Bytes decoded so far, and how many there may be.
    given: u64,
    most: u64,
}

impl Batches {
    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.shared.plan.schema.clone()
    }

    /// Ends with an error once more bytes than this have been decoded, whether or not a condition keeps them: a file of
    /// a few bytes may say that it has any number of rows.
    pub fn giving_at_most(mut self, bytes: u64) -> Self {
        self.most = bytes;
        self
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let plan = &self.shared.plan;
        let mut state = self.shared.lock();
        loop {
            let Some(front) = state.active.front_mut() else {
                if state.splits.is_empty() {
                    return Ok(None);
                }
                state = wait(&self.shared.rows, state);
                continue;
            };
            let joined = if front.lanes.is_empty() {
                bare_batch(&plan.read_schema, &mut front.bare_rows)?.map_or(Joined::Finished, Joined::Batch)
            } else {
                let drained = |l: &&mut ActiveLane| l.error.is_some() && l.output.ready.is_empty();
                if let Some(error) = front.lanes.iter_mut().find(drained).and_then(|l| l.error.take()) {
                    return Err(error);
                }
                let mut outputs: Vec<&mut LaneOutput> = front.lanes.iter_mut().map(|l| &mut l.output).collect();
                let joined = join(&mut outputs, &plan.read_schema)?;
                if matches!(joined, Joined::Batch(_)) {
                    front.survey();
                }
                joined
            };
            match joined {
                Joined::Waiting => state = wait(&self.shared.rows, state),
                Joined::Finished => {
                    state.active.pop_front();
                    self.shared.room.notify_all();
                }
                Joined::Batch(batch) => {
                    drop(state);
                    self.shared.room.notify_all();
                    self.given = self.given.saturating_add(decoded_bytes(&batch));
                    Limits::check_output(self.given, self.most)?;
                    let batch = plan.finish(batch)?;
                    if batch.num_rows() > 0 {
                        return Ok(Some(batch));
                    }
                    state = self.shared.lock();
                }
            }
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let result = self.next_batch().transpose();
        self.finished = !matches!(result, Some(Ok(_)));
        result
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.room.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}
