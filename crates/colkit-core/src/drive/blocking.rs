//! The blocking driver: positioned reads and threads, no async runtime. With one thread, or without the feature `threads`,
//! nothing is spawned.

use super::allowed;
use super::take::TakenRows;
use crate::plan::{Planned, ReadPlan};
use crate::source::check_lengths;
use crate::{
    Boxed, ByteRange, Error, Limits, Next, Projection, ReadAhead, Result, Scan, Scanner, Source, Split, Step, Table,
    Task, memory,
};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Runs a machine to its result.
pub fn run<T>(mut machine: Boxed<T>, source: &dyn Source) -> Result<T> {
    next(&mut machine, source)
}

/// Runs a machine to its next result.
pub fn next<T>(machine: &mut Boxed<T>, source: &dyn Source) -> Result<T> {
    feed(source, |got| machine.step(got))
}

/// Brings `step` what it asks for until it has its result: for what is stepped like a machine, but borrows.
pub fn feed<T>(source: &dyn Source, mut step: impl FnMut(Vec<Bytes>) -> Result<Step<T>>) -> Result<T> {
    let mut got = Vec::new();
    loop {
        memory::check()?;
        match step(got)? {
            Step::Ready(value) => return Ok(value),
            Step::Need(ranges) => got = fetch(source, &ranges)?,
        }
    }
}

fn fetch(source: &dyn Source, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
    let got = source.read_many(ranges)?;
    // Machines rely on it; a source may be anybody's.
    check_lengths(ranges, &got)?;
    Ok(got)
}

/// Starts reading: all rows of `scan`, in order, on `threads` threads. It ends with an error once more than `most` bytes have
/// been decoded.
pub fn scan(table: Arc<dyn Table>, source: Arc<dyn Source>, scan: &Scan, threads: usize, most: u64) -> Result<Batches> {
    let (plan, splits) = plan(table.as_ref(), source.as_ref(), scan)?;
    let planned = Planned::new(&plan, &splits);
    let wanted: Vec<ByteRange> = splits.iter().flat_map(|s| s.ranges.iter().copied()).collect();
    let source = source.for_ranges(&wanted).unwrap_or(source);
    let threads = allowed(threads);
    let ahead = if threads <= 1 { ReadAhead::NOT } else { ReadAhead::THREADS };
    let batches = Batches::new(Scanner::new(table, plan, splits, ahead, most), source, threads)?;
    Ok(Batches { planned, ..batches })
}

fn plan(table: &dyn Table, source: &dyn Source, scan: &Scan) -> Result<(ReadPlan, Vec<Split>)> {
    let plan = ReadPlan::new(table, scan)?;
    let splits = run(table.splits(&plan.scan)?, source)?;
    Ok((plan, splits))
}

/// What `scan` would read.
pub fn planned(table: &dyn Table, source: &dyn Source, scan: &Scan) -> Result<Planned> {
    let (plan, splits) = plan(table, source, scan)?;
    Ok(Planned::new(&plan, &splits))
}

/// So many values are worth several threads.
const MANY_VALUES: usize = 1 << 12;

/// These rows, in this order; rows may repeat. What comes out must fit the limits' memory.
pub fn take(
    table: Arc<dyn Table>,
    source: Arc<dyn Source>,
    rows: &[u64],
    projection: &Projection,
    limits: &Limits,
    threads: usize,
) -> Result<RecordBatch> {
    let mut taking = TakenRows::new(table.as_ref(), rows, limits)?;
    let scan = Scan { memory: limits.memory, ..Scan::of(projection.clone()) };
    let columns = projection.resolve(&table.schema())?.len();
    let threads = if rows.len().saturating_mul(columns) < MANY_VALUES { 1 } else { allowed(threads).min(columns) };
    let ahead = if threads <= 1 { ReadAhead::NOT } else { ReadAhead::THREADS };
    let scanner = Scanner::of_rows(table, &scan, taking.rows(), ahead, u64::MAX)?;
    let batches = Batches::new(scanner, source, threads)?;
    let schema = batches.schema();
    for batch in batches {
        taking.push(batch?)?;
    }
    taking.finish(&schema)
}

/// The batches of a scan, in row order. After an error there is nothing more.
pub struct Batches {
    execution: Execution,
    schema: SchemaRef,
    read_schema: SchemaRef,
    planned: Planned,
    finished: bool,
}

enum Execution {
    SingleThread(SingleThread),
    Shared(Workers),
}

impl Batches {
    fn new(scanner: Scanner, source: Arc<dyn Source>, threads: usize) -> Result<Self> {
        let (schema, read_schema) = (scanner.schema(), scanner.plan().read_schema.clone());
        let execution = match threads {
            0 | 1 => Execution::SingleThread(SingleThread { scanner, source }),
            _ => Execution::Shared(Workers::start(scanner, source, threads)),
        };
        Ok(Batches { execution, schema, read_schema, planned: Planned::default(), finished: false })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// What was planned to be read.
    pub fn planned(&self) -> Planned {
        self.planned
    }

    /// How many rows have been decoded so far of each column that is read: those asked for, then those of conditions.
    pub fn decoded(&self) -> Vec<(String, u64)> {
        let rows = match &self.execution {
            Execution::SingleThread(single) => single.scanner.decoded().to_vec(),
            Execution::Shared(workers) => workers.shared.lock().scanner.decoded().to_vec(),
        };
        self.read_schema.fields().iter().map(|f| f.name().clone()).zip(rows).collect()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let rows = match &mut self.execution {
                Execution::SingleThread(single) => single.next_rows()?,
                Execution::Shared(workers) => workers.next_rows()?,
            };
            let Some(rows) = rows else { return Ok(None) };
            let batch = rows.finish()?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
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

/// Everything in turn, on the thread that asks.
struct SingleThread {
    scanner: Scanner,
    source: Arc<dyn Source>,
}

impl SingleThread {
    fn next_rows(&mut self) -> Result<Option<crate::Rows>> {
        loop {
            match self.scanner.next_rows()? {
                Next::Rows(rows) => return Ok(Some(rows)),
                Next::Finished => return Ok(None),
                Next::Waiting => self.work(),
            }
        }
    }

    /// Runs all tasks there are to their ends, with one read for what all of them need.
    fn work(&mut self) {
        let mut waiting: Vec<(Task, Vec<ByteRange>)> = Vec::new();
        while let Some(mut task) = self.scanner.task() {
            match task.step(Vec::new()) {
                Some(needed) => waiting.push((task, needed)),
                None => self.scanner.put_back(task),
            }
        }
        while !waiting.is_empty() {
            let all: Vec<ByteRange> = waiting.iter().flat_map(|(_, needed)| needed.iter().copied()).collect();
            let mut got = match fetch(self.source.as_ref(), &all) {
                Ok(got) => got.into_iter(),
                // Perhaps only one of them needed what could not be had.
                Err(_) => return self.one_by_one(waiting),
            };
            for (mut task, needed) in std::mem::take(&mut waiting) {
                match task.step(got.by_ref().take(needed.len()).collect()) {
                    Some(needed) => waiting.push((task, needed)),
                    None => self.scanner.put_back(task),
                }
            }
        }
    }

    fn one_by_one(&mut self, waiting: Vec<(Task, Vec<ByteRange>)>) {
        for (mut task, needed) in waiting {
            run_task(&mut task, needed, self.source.as_ref());
            self.scanner.put_back(task);
        }
    }
}

/// Brings a task what it needs until it is done.
fn run_task(task: &mut Task, mut needed: Vec<ByteRange>, source: &dyn Source) {
    loop {
        match fetch(source, &needed) {
            Err(error) => return task.fail(error),
            Ok(got) => match task.step(got) {
                Some(more) => needed = more,
                None => return,
            },
        }
    }
}

/// Threads that take tasks and put them back. The one that asks for rows is one of them, as long as it waits: then it does not
/// have to be woken for each batch.
struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    source: Arc<dyn Source>,
    state: Mutex<State>,
    /// Tells those who wait that there is something to do again, or that the next rows are complete.
    changed: Condvar,
}

struct State {
    scanner: Scanner,
    stop: bool,
    /// A worker panicked with a task in hand.
    lost: bool,
    /// How many threads have nothing to do, and whether the consumer is one of them.
    idle: usize,
    consumer_idle: bool,
}

impl Workers {
    fn start(scanner: Scanner, source: Arc<dyn Source>, threads: usize) -> Self {
        let state = State { scanner, stop: false, lost: false, idle: 0, consumer_idle: false };
        let shared = Arc::new(Shared { source, state: Mutex::new(state), changed: Condvar::new() });
        let mut workers = Workers { shared, threads: Vec::new() };
        for _ in 1..threads {
            let shared = workers.shared.clone();
            match std::thread::Builder::new().name("colkit-read".into()).spawn(move || shared.work()) {
                Ok(thread) => workers.threads.push(thread),
                // The one that asks is enough.
                Err(_) => break,
            }
        }
        workers
    }

    fn next_rows(&mut self) -> Result<Option<crate::Rows>> {
        let shared = &self.shared;
        let mut state = shared.lock();
        loop {
            if state.lost {
                return Err(Error::panicked("a decoder"));
            }
            match state.scanner.next_rows()? {
                Next::Rows(rows) => {
                    shared.wake_one(&state);
                    return Ok(Some(rows));
                }
                Next::Finished => return Ok(None),
                Next::Waiting => match state.scanner.task() {
                    Some(task) => state = shared.run(task, state),
                    None => {
                        state.consumer_idle = true;
                        state = shared.wait(state);
                        state.consumer_idle = false;
                    }
                },
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Poisoned means that a worker panicked; `ReportPanic` has told the consumer.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.idle += 1;
        let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        state
    }

    /// There may be something to do for another thread.
    fn wake_one(&self, state: &State) {
        if state.idle > 0 {
            self.changed.notify_one();
        }
    }

    /// The consumer is woken for complete rows only: with many columns anything less would be most of the work.
    fn wake_consumer(&self, state: &State) {
        if state.consumer_idle && state.scanner.is_ready() {
            self.changed.notify_all();
        }
    }

    fn work(&self) {
        let mut state = self.lock();
        while !state.stop {
            match state.scanner.task() {
                Some(task) => state = self.run(task, state),
                None => {
                    self.wake_consumer(&state);
                    state = self.wait(state);
                }
            }
        }
    }

    /// Runs a task while others have the state.
    fn run<'a>(&'a self, mut task: Task, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        // Starting a split may have made more for others to do.
        self.wake_one(&state);
        drop(state);
        let report = ReportPanic(self);
        if let Some(needed) = task.step(Vec::new()) {
            run_task(&mut task, needed, self.source.as_ref());
        }
        std::mem::forget(report);
        let mut state = self.lock();
        state.scanner.put_back(task);
        self.wake_consumer(&state);
        state
    }
}

/// Should a decoder panic in spite of all, the consumer gets an error instead of waiting forever.
struct ReportPanic<'a>(&'a Shared);

impl Drop for ReportPanic<'_> {
    fn drop(&mut self) {
        self.0.lock().lost = true;
        self.0.changed.notify_all();
    }
}
