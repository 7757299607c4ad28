//! A cluster in simulated time: one scheduler, executors with cores and a link each, one store.
//!
//! The scheduler does one thing at a time. A task is as many partitions as the executor has idle cores; its cores are idle again
//! when all of them have ended. A partition reads its splits in order, and while one is decoded the next is on its way. Links
//! carry one answer after another. Rows between stages are few: a piece of each partition before costs the same, whatever is in it.

use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::time::Duration;

/// Requests of one split that are under way at once.
const AT_ONCE: u64 = 8;

/// Round trips that opening a file takes: its end, and what that points to.
const OPENING: u32 = 2;

/// Files that are opened at once while a query is planned.
const OPENED_AT_ONCE: u64 = 16;

/// Those who open all files before tasks begin, one after the other: the client for columns, the scheduler for counts.
const PLANNERS: u32 = 2;

/// What things cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Costs {
    /// Seconds until a request is answered.
    pub latency: f64,
    /// Bytes per second to an executor.
    pub bandwidth: f64,
    /// Bytes per second from the store to all of them.
    pub total_bandwidth: f64,
    /// Bytes of files per second that a core decodes, and does with the rows what the query wants.
    pub decode: f64,
    /// Seconds of a core to open a file.
    pub file: f64,
    /// Seconds that a query takes which reads nothing.
    pub query: f64,
    /// Seconds of the scheduler to begin a stage.
    pub stage: f64,
    /// Seconds of the scheduler to hand out a task and to take note of its end.
    pub task: f64,
    /// Seconds of the scheduler for each task and each partition of its stage: it goes through all of them to cut out its own.
    pub partition: f64,
    /// Seconds of an executor to begin and end a task.
    pub start: f64,
    /// Seconds of an executor to fetch what one partition left for another.
    pub piece: f64,
}

/// What is fetched together and decoded.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The file.
    pub file: usize,
    /// Requests, after those close together have been merged.
    pub requests: u64,
    /// Bytes of those.
    pub bytes: u64,
}

/// Tasks that can run at the same time.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// The stages whose rows it takes.
    pub inputs: Vec<usize>,
    /// What each partition reads of files.
    pub partitions: Vec<Vec<Step>>,
}

/// How a query went.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Outcome {
    /// Until the last row has arrived.
    pub seconds: f64,
    /// Tasks of all stages.
    pub tasks: usize,
    /// Seconds that the scheduler was at work on tasks and stages.
    pub scheduler_seconds: f64,
}

/// Simulates a query.
pub fn run(stages: &[Stage], files: u64, executors: usize, cores: usize, costs: &Costs) -> Outcome {
    let idle = Executor { idle: cores, link: Duration::ZERO, opened: BTreeSet::new() };
    let mut cluster = Cluster {
        costs,
        executors: vec![idle; executors.max(1)],
        stages: stages
            .iter()
            .map(|stage| Pending {
                stage,
                waiting: VecDeque::new(),
                fetching: Duration::ZERO,
                running: 0,
                state: State::Blocked,
            })
            .collect(),
        tasks: Vec::new(),
        events: BinaryHeap::new(),
        scheduler: planning(files, costs),
        busy: Duration::ZERO,
        store: Duration::ZERO,
        count: 0,
    };
    cluster.begin_stages(cluster.scheduler);
    while let Some(Reverse(event)) = cluster.events.pop() {
        match event.what {
            What::Read(run) => cluster.read(event.at, run),
            What::Ended(task) => cluster.ended(event.at, task),
        }
    }
    let scheduler_seconds = cluster.busy.as_secs_f64();
    Outcome { seconds: cluster.scheduler.as_secs_f64(), tasks: cluster.tasks.len(), scheduler_seconds }
}

/// The time before the first task.
fn planning(files: u64, costs: &Costs) -> Duration {
    let rounds = u32::try_from(files.div_ceil(OPENED_AT_ONCE)).unwrap_or(u32::MAX);
    let opening = seconds(costs.latency).saturating_mul(OPENING).saturating_mul(rounds);
    seconds(costs.query) + (opening + seconds(costs.file * as_f64(files))).saturating_mul(PLANNERS)
}

struct Cluster<'a> {
    costs: &'a Costs,
    executors: Vec<Executor>,
    stages: Vec<Pending<'a>>,
    tasks: Vec<Task>,
    events: BinaryHeap<Reverse<Event>>,
    /// When the scheduler, the store are free again.
    scheduler: Duration,
    store: Duration,
    /// How long the scheduler has been at work.
    busy: Duration,
    /// Events so far: those at the same time happen in this order.
    count: u64,
}

#[derive(Clone)]
struct Executor {
    idle: usize,
    link: Duration,
    opened: BTreeSet<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Blocked,
    Running,
    Done,
}

struct Pending<'a> {
    stage: &'a Stage,
    waiting: VecDeque<&'a [Step]>,
    /// How long each partition takes to fetch what the stages before left for it.
    fetching: Duration,
    running: usize,
    state: State,
}

struct Task {
    stage: usize,
    executor: usize,
    cores: usize,
    left: usize,
}

/// A partition on its way.
struct Run {
    task: usize,
    steps: VecDeque<Step>,
    /// When the last step has been decoded, and the one before it.
    decoded: Duration,
    before: Duration,
}

enum What {
    Read(Run),
    Ended(usize),
}

struct Event {
    at: Duration,
    number: u64,
    what: What,
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

impl<'a> Cluster<'a> {
    fn happen(&mut self, at: Duration, what: What) {
        self.count += 1;
        self.events.push(Reverse(Event { at, number: self.count, what }));
    }

    /// Has the scheduler do something that takes so long; says when it has.
    fn schedule(&mut self, now: Duration, takes: f64) -> Duration {
        self.scheduler = self.scheduler.max(now) + seconds(takes);
        self.busy += seconds(takes);
        self.scheduler
    }

    /// Begins the stages whose inputs are there.
    fn begin_stages(&mut self, now: Duration) {
        let done: Vec<bool> = self.stages.iter().map(|s| s.state == State::Done).collect();
        let is_done = |stage: &usize| done.get(*stage).copied().unwrap_or(true);
        let left: Vec<usize> = self.stages.iter().map(|s| s.stage.partitions.len()).collect();
        let mut begun = 0;
        for pending in &mut self.stages {
            if pending.state == State::Blocked && pending.stage.inputs.iter().all(is_done) {
                pending.state = State::Running;
                pending.waiting = pending.stage.partitions.iter().map(Vec::as_slice).collect();
                let pieces: usize = pending.stage.inputs.iter().filter_map(|input| left.get(*input)).sum();
                pending.fetching = seconds(self.costs.piece * as_f64(pieces as u64));
                begun += 1;
            }
        }
        for _ in 0..begun {
            self.schedule(now, self.costs.stage);
        }
        self.hand_out(now);
    }

    /// Hands out what waits to executors with idle cores: to the one with the most first.
    fn hand_out(&mut self, now: Duration) {
        for stage in 0..self.stages.len() {
            loop {
                let most = self.executors.iter().enumerate().max_by_key(|(at, e)| (e.idle, Reverse(*at)));
                let Some((executor, idle)) = most.map(|(at, e)| (at, e.idle)).filter(|(_, idle)| *idle > 0) else {
                    return;
                };
                let Some(pending) = self.stages.get_mut(stage) else { break };
                let cores = idle.min(pending.waiting.len());
                let partitions: Vec<&'a [Step]> = pending.waiting.drain(..cores).collect();
                if partitions.is_empty() {
                    break;
                }
                pending.running += 1;
                let fetching = pending.fetching;
                let cutting = self.costs.partition * as_f64(pending.stage.partitions.len() as u64);
                if let Some(executor) = self.executors.get_mut(executor) {
                    executor.idle -= cores;
                }
                let task = self.tasks.len();
                self.tasks.push(Task { stage, executor, cores, left: cores });
                // Half of its work for a task comes before, half after.
                let handed_out = self.schedule(now, self.costs.task / 2.0 + cutting);
                let began = handed_out + seconds(self.costs.start) + fetching;
                for steps in partitions {
                    let run = Run { task, steps: steps.iter().copied().collect(), decoded: began, before: began };
                    self.happen(began, What::Read(run));
                }
            }
        }
    }

    /// The next step of a partition.
    fn read(&mut self, now: Duration, mut run: Run) {
        let Some(step) = run.steps.pop_front() else {
            return self.happen(run.decoded, What::Ended(run.task));
        };
        let executor = self.tasks.get(run.task).map_or(0, |task| task.executor);
        let Some(executor) = self.executors.get_mut(executor) else { return };
        let is_new = executor.opened.insert(step.file);
        let opening = if is_new { seconds(self.costs.latency).saturating_mul(OPENING) } else { Duration::ZERO };
        let rounds = u32::try_from(step.requests.div_ceil(AT_ONCE)).unwrap_or(u32::MAX);
        let asked = now + opening + seconds(self.costs.latency).saturating_mul(rounds);
        executor.link = executor.link.max(asked) + seconds(as_f64(step.bytes) / self.costs.bandwidth);
        self.store = self.store.max(asked) + seconds(as_f64(step.bytes) / self.costs.total_bandwidth);
        let arrived = executor.link.max(self.store);
        let work = as_f64(step.bytes) / self.costs.decode + if is_new { self.costs.file } else { 0.0 };
        run.before = run.decoded;
        run.decoded = run.decoded.max(arrived) + seconds(work);
        // The next one is asked for when this one is here and the one before it is decoded.
        let next = arrived.max(run.before);
        self.happen(next, What::Read(run));
    }

    /// A partition of a task has ended.
    fn ended(&mut self, now: Duration, number: usize) {
        let Some(task) = self.tasks.get_mut(number) else { return };
        task.left -= 1;
        if task.left > 0 {
            return;
        }
        let (stage, executor, cores) = (task.stage, task.executor, task.cores);
        let noted = self.schedule(now, self.costs.task / 2.0);
        if let Some(executor) = self.executors.get_mut(executor) {
            executor.idle += cores;
        }
        let Some(pending) = self.stages.get_mut(stage) else { return };
        pending.running -= 1;
        if pending.running == 0 && pending.waiting.is_empty() {
            pending.state = State::Done;
            self.begin_stages(noted);
        } else {
            self.hand_out(noted);
        }
    }
}

/// A span of time; what never ends is very long.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(1 << 40))
}

pub fn as_f64(n: u64) -> f64 {
    // What is lost beyond 2^53 does not matter here.
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Costs = Costs {
        latency: 0.0,
        bandwidth: f64::INFINITY,
        total_bandwidth: f64::INFINITY,
        decode: f64::INFINITY,
        file: 0.0,
        query: 0.0,
        stage: 0.0,
        task: 0.0,
        partition: 0.0,
        start: 0.0,
        piece: 0.0,
    };

    /// So many partitions of so many steps of 1 MB each, and one task that puts them together.
    fn stages(partitions: usize, steps: usize) -> Vec<Stage> {
        let step = Step { file: 0, requests: 1, bytes: 1_000_000 };
        let scan = Stage { inputs: Vec::new(), partitions: vec![vec![step; steps]; partitions] };
        vec![scan, Stage { inputs: vec![0], partitions: vec![Vec::new()] }]
    }

    fn check(stages: &[Stage], executors: usize, cores: usize, costs: Costs, expected: f64) {
        let found = run(stages, 0, executors, cores, &costs).seconds;
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }

    #[test]
    fn each_cost_alone_adds_up() {
        let costs = Costs { decode: 1e6, ..FREE };
        check(&stages(8, 5), 1, 1, costs, 40.0);
        check(&stages(8, 5), 4, 2, costs, 5.0);
        // Three partitions on two cores take two turns.
        check(&stages(3, 5), 2, 1, costs, 10.0);
        let costs = Costs { bandwidth: 1e6, ..FREE };
        check(&stages(8, 5), 1, 8, costs, 40.0);
        check(&stages(8, 5), 8, 1, costs, 5.0);
        let costs = Costs { total_bandwidth: 1e6, ..FREE };
        check(&stages(8, 5), 8, 1, costs, 40.0);
        // Opening takes two round trips, each split one.
        let costs = Costs { latency: 0.1, ..FREE };
        check(&stages(8, 5), 8, 1, costs, 0.7);
        // Tasks: 8 and 1; stages: 2.
        check(&stages(8, 5), 8, 1, Costs { task: 1.0, ..FREE }, 9.0);
        check(&stages(8, 5), 1, 8, Costs { task: 1.0, ..FREE }, 2.0);
        check(&stages(8, 5), 8, 1, Costs { partition: 0.1, ..FREE }, 8.0 * 0.8 + 0.1);
        check(&stages(8, 5), 8, 1, Costs { piece: 0.1, ..FREE }, 0.8);
        check(&stages(8, 5), 8, 1, Costs { stage: 1.0, query: 0.5, ..FREE }, 2.5);
    }

    #[test]
    fn the_next_split_is_fetched_while_one_is_decoded() {
        // Two round trips to open, one for the first split; then decoding takes longer than what is fetched meanwhile.
        check(&stages(1, 5), 1, 1, Costs { latency: 0.1, decode: 1e6, ..FREE }, 5.3);
        check(&stages(1, 5), 1, 1, Costs { latency: 2.0, decode: 1e6, ..FREE }, 15.0);
    }
}
