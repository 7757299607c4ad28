//! How long a query would take on a cluster: real splits of real files, simulated machines.
//!
//! ```text
//! cargo run --example simulate -- --table trips.lance --columns distance,fare --executors 1000 --cores 8
//! cargo run --example simulate -- --sql "SELECT sum(fare) FROM 's3://bucket/trips/'" --latency 30 --json
//! ```
//!
//! What processes cost unless options say otherwise was measured with a debug build; `bench/cluster.py` measures it. Of the table
//! nothing is read but footers, and all of it once to find out how fast it is decoded; `--decode` says that instead.

mod model;
mod query;

use model::{Costs, Outcome, Stage, Step, as_f64};
use query::{Measured, Query};
use serde::Serialize;
use std::error::Error;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

const HELP: &str = "\
Usage: simulate (--sql QUERY | --table FILE [--columns A,B]) [--NAME VALUE]... [--json]

  --executors N        executors at most; 1, 2, 4, ... up to it are simulated [16]
  --cores N            cores of each [4]
  --latency MS         until a store answers a request [30]
  --bandwidth MB       per second, from the store to an executor [500]
  --total-bandwidth MB per second, from the store to all [no limit]
  --decode MB          per second, of files, by a core [measured here, by running the query once]
  --file-ms MS         of a core, to open a file [0.2]
  --query-ms MS        of a query that reads nothing [30]
  --stage-ms MS        of the scheduler, for a stage [20]
  --task-ms MS         of the scheduler, for a task [1.7]
  --partition-ms MS    of the scheduler, for a task and each partition of its stage [0.0011]
  --start-ms MS        of an executor, for a task [2.5]
  --piece-ms MS        of an executor, for what a partition left for another [0.1]
";

type Failure = Box<dyn Error>;

struct Options {
    sql: String,
    executors: usize,
    cores: usize,
    costs: Costs,
    /// Megabytes per second of a core, if they need not be measured.
    decode: Option<f64>,
    json: bool,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, Failure> {
        let (mut sql, mut table, mut columns) = (None, None, "*".to_owned());
        let costs = Costs {
            latency: 0.030,
            bandwidth: 500e6,
            total_bandwidth: f64::INFINITY,
            decode: f64::INFINITY,
            file: 0.0002,
            query: 0.030,
            stage: 0.020,
            task: 0.0017,
            partition: 1.1e-6,
            start: 0.0025,
            piece: 0.0001,
        };
        let mut options = Options { sql: String::new(), executors: 16, cores: 4, costs, decode: None, json: false };
        while let Some(name) = words.next() {
            if name == "--json" {
                options.json = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{name} needs a value\n\n{HELP}"))?;
            let number = || match value.parse::<f64>() {
                Ok(number) if number >= 0.0 => Ok(number),
                _ => Err(format!("{name} {value}: expected a number")),
            };
            let count = || value.parse::<usize>().map_err(|e| format!("{name} {value}: {e}"));
            match name.as_str() {
                "--sql" => sql = Some(value),
                "--table" => table = Some(value),
                "--columns" => columns = value,
                "--executors" => options.executors = count()?.clamp(1, 100_000),
                "--cores" => options.cores = count()?.clamp(1, 1024),
                "--latency" => options.costs.latency = number()? / 1e3,
                "--bandwidth" => options.costs.bandwidth = number()? * 1e6,
                "--total-bandwidth" => options.costs.total_bandwidth = number()? * 1e6,
                "--decode" => options.decode = Some(number()?),
                "--file-ms" => options.costs.file = number()? / 1e3,
                "--query-ms" => options.costs.query = number()? / 1e3,
                "--stage-ms" => options.costs.stage = number()? / 1e3,
                "--task-ms" => options.costs.task = number()? / 1e3,
                "--partition-ms" => options.costs.partition = number()? / 1e3,
                "--piece-ms" => options.costs.piece = number()? / 1e3,
                "--start-ms" => options.costs.start = number()? / 1e3,
                _ => return Err(format!("{name} is not known\n\n{HELP}").into()),
            }
        }
        let of_table = || table.map(|table| format!("SELECT {columns} FROM '{}'", table.replace('\'', "''")));
        options.sql = sql.or_else(of_table).ok_or(HELP)?;
        Ok(options)
    }
}

/// One row of the answer.
#[derive(Serialize)]
struct Row {
    executors: usize,
    cores: usize,
    /// Partitions of scans that have something to read, and all of them.
    partitions_with_work: usize,
    partitions: usize,
    #[serde(flatten)]
    outcome: Outcome,
    /// What takes most of the time: without it, the query would be over soonest.
    bound: &'static str,
    /// The seconds that would be left without each cost.
    without: Vec<(&'static str, f64)>,
}

/// The answer.
#[derive(Serialize)]
struct Report {
    sql: String,
    files: usize,
    splits: usize,
    requests: u64,
    bytes: u64,
    stages: usize,
    costs: Costs,
    /// What the query took here, if it was run.
    measured: Option<Measured>,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // Who reads has seen enough.
        Err(error) if error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let options = Options::parse(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(colkit_sql::STACK_BYTES)
        .enable_all()
        .build()?;
    let json = options.json;
    let report = runtime.block_on(report(options))?;
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
        return Ok(());
    }
    let megabytes = as_f64(report.bytes) / 1e6;
    writeln!(
        out,
        "{} files, {} splits, {} requests, {megabytes:.1} MB, {} stages, {:.1} MB/s per core\n",
        report.files,
        report.splits,
        report.requests,
        report.stages,
        report.costs.decode / 1e6,
    )?;
    writeln!(out, "executors  cores  partitions  with work   tasks    seconds  speed-up  bound by")?;
    let one = report.rows.first().map_or(0.0, |row| row.outcome.seconds);
    for row in &report.rows {
        let Outcome { seconds, tasks, .. } = row.outcome;
        writeln!(
            out,
            "{:>9} {:>6} {:>11} {:>10} {tasks:>7} {seconds:>10.3} {:>9.1}  {}",
            row.executors,
            row.cores,
            row.partitions,
            row.partitions_with_work,
            one / seconds,
            row.bound
        )?;
    }
    Ok(())
}

async fn report(options: Options) -> Result<Report, Failure> {
    let Options { sql, executors, cores, mut costs, decode, .. } = options;
    let context = query::session()?;
    let whole = query::plan(&context, &sql, 1).await?;
    let measured = match decode {
        Some(_) => None,
        None => Some(query::measure(&context, &sql).await?),
    };
    costs.decode = match (decode, measured) {
        (Some(megabytes), _) => megabytes * 1e6,
        (None, Some(measured)) => as_f64(whole.bytes()) / measured.cpu_seconds.max(1e-4),
        (None, None) => f64::INFINITY,
    };
    let doubled = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < executors);
    let mut rows = Vec::new();
    for executors in doubled.chain([executors]) {
        rows.push(row(&query::plan(&context, &sql, executors * cores).await?, executors, cores, &costs));
    }
    Ok(Report {
        files: whole.files.len(),
        splits: whole.splits(),
        requests: whole.requests(),
        bytes: whole.bytes(),
        stages: rows.last().map_or(0, |(stages, _)| *stages),
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        sql,
        costs,
        measured,
    })
}

fn row(query: &Query, executors: usize, cores: usize, costs: &Costs) -> (usize, Row) {
    let files = query.files.len() as u64;
    let simulate = |stages: &[Stage], costs: &Costs| model::run(stages, files, executors, cores, costs);
    let without = |costs: &Costs| simulate(&query.stages, costs).seconds;
    let outcome = simulate(&query.stages, costs);
    let unlimited = f64::INFINITY;
    let without = vec![
        ("store latency", without(&Costs { latency: 0.0, ..*costs })),
        ("store bandwidth", without(&Costs { bandwidth: unlimited, total_bandwidth: unlimited, ..*costs })),
        ("decoding", without(&Costs { decode: unlimited, ..*costs })),
        ("the scheduler", without(&Costs { task: 0.0, partition: 0.0, stage: 0.0, ..*costs })),
        ("too few splits", simulate(&evened(&query.stages), costs).seconds),
        ("rows between stages", without(&Costs { piece: 0.0, ..*costs })),
        ("fixed costs", without(&Costs { query: 0.0, start: 0.0, file: 0.0, ..*costs })),
    ];
    let bound = without.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |least| least.0);
    let partitions: Vec<_> = query.stages.iter().filter(|s| s.inputs.is_empty()).flat_map(|s| &s.partitions).collect();
    let partitions_with_work = partitions.iter().filter(|p| !p.is_empty()).count();
    (
        query.stages.len(),
        Row { executors, cores, partitions_with_work, partitions: partitions.len(), outcome, bound, without },
    )
}

/// The same stages, as if splits could be divided at will: all partitions of a scan read as much.
fn evened(stages: &[Stage]) -> Vec<Stage> {
    let evened = |stage: &Stage| {
        let steps = || stage.partitions.iter().flatten();
        let partitions = stage.partitions.len().max(1) as u64;
        let longest = stage.partitions.iter().map(Vec::len).max().unwrap_or(0);
        let count = (steps().count() as u64).div_ceil(partitions).min(longest as u64).max(1);
        let parts = partitions * count;
        let (bytes, requests) = (steps().map(|s| s.bytes).sum::<u64>(), steps().map(|s| s.requests).sum::<u64>());
        let step = |file| Step { file, bytes: bytes.div_ceil(parts), requests: requests.div_ceil(parts).max(1) };
        let even = |own: &Vec<Step>| {
            let file = own.first().map_or(0, |s| s.file);
            (0..count).map(|_| step(file)).collect()
        };
        let partitions = match bytes {
            0 => stage.partitions.clone(),
            _ => stage.partitions.iter().map(even).collect(),
        };
        Stage { inputs: stage.inputs.clone(), partitions }
    };
    stages.iter().map(evened).collect()
}
