//! The stages of a real query over real files, as a cluster of so many cores would run them.

use crate::model::{Stage, Step};
use ballista_core::extension::SessionConfigExt;
use colkit_core::coalesce;
use colkit_sql::{SessionOptions, planned_splits};
use datafusion::error::Result;
use datafusion::execution::{SessionStateBuilder, TaskContext};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ranges of an object closer than this are fetched by one request.
const GAP: u64 = 64 << 10;

/// Seconds of a core after which a speed is known well enough, and runs that are made for it at most.
const ENOUGH: f64 = 1.0;
const MOST_RUNS: u32 = 20;

/// A query, planned.
#[derive(Default)]
pub struct Query {
    /// Its stages: those that others take rows from come first.
    pub stages: Vec<Stage>,
    /// The files that it reads.
    pub files: BTreeMap<String, usize>,
}

impl Query {
    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.stages.iter().flat_map(|stage| &stage.partitions).flatten()
    }

    /// Units of work.
    pub fn splits(&self) -> usize {
        self.steps().count()
    }

    /// Requests for them.
    pub fn requests(&self) -> u64 {
        self.steps().map(|step| step.requests).sum()
    }

    /// Bytes of those.
    pub fn bytes(&self) -> u64 {
        self.steps().map(|step| step.bytes).sum()
    }
}

/// A session that plans as a client of a cluster does.
pub fn session() -> Result<SessionContext> {
    let adapt = |mut builder: SessionStateBuilder| {
        let config = builder.config().take().unwrap_or_default();
        builder.with_config(config.upgrade_for_ballista())
    };
    SessionOptions::new().with_plain_texts().with_adaptation(Arc::new(adapt)).start()
}

async fn physical(context: &SessionContext, sql: &str, cores: usize) -> Result<Arc<dyn ExecutionPlan>> {
    context.state_ref().write().config_mut().options_mut().execution.target_partitions = cores.max(1);
    context.sql(sql).await?.create_physical_plan().await
}

/// Plans a query for so many cores.
pub async fn plan(context: &SessionContext, sql: &str, cores: usize) -> Result<Query> {
    let plan = physical(context, sql, cores).await?;
    let mut scans = Vec::new();
    scans_of(&plan, &mut scans);
    let mut query = Query::default();
    let mut read = Vec::new();
    for scan in &scans {
        let mut partitions = Vec::new();
        for files in planned_splits(scan, &context.runtime_env()).await?.unwrap_or_default() {
            let mut steps = Vec::new();
            for file in files {
                let next = query.files.len();
                let number = *query.files.entry(file.file).or_insert(next);
                for split in file.splits {
                    let requests = coalesce(&split.ranges, GAP);
                    let bytes = requests.iter().map(|r| r.len()).sum();
                    steps.push(Step { file: number, requests: requests.len() as u64, bytes });
                }
            }
            partitions.push(steps);
        }
        read.push(partitions);
    }
    let mut read = read.into_iter();
    let last = stage_of(&plan, &mut read, &mut query.stages);
    query.stages.push(last);
    Ok(query)
}

/// All leaves, from left to right.
fn scans_of<'a>(plan: &'a Arc<dyn ExecutionPlan>, scans: &mut Vec<&'a Arc<dyn ExecutionPlan>>) {
    if plan.children().is_empty() {
        scans.push(plan);
    }
    for child in plan.children() {
        scans_of(child, scans);
    }
}

/// The stage that a plan ends in; those before it are added. Rows change hands where they are distributed anew.
fn stage_of(
    plan: &Arc<dyn ExecutionPlan>,
    read: &mut impl Iterator<Item = Vec<Vec<Step>>>,
    before: &mut Vec<Stage>,
) -> Stage {
    if plan.children().is_empty() {
        let mut partitions = read.next().unwrap_or_default();
        partitions.resize(plan.output_partitioning().partition_count().max(1), Vec::new());
        return Stage { inputs: Vec::new(), partitions };
    }
    let mut stage = Stage::default();
    for child in plan.children() {
        let input = stage_of(child, read, before);
        if is_exchange(plan) {
            before.push(input);
            stage.inputs.push(before.len() - 1);
        } else {
            stage.inputs.extend(input.inputs);
            let most = stage.partitions.len().max(input.partitions.len());
            stage.partitions.resize(most, Vec::new());
            for (own, more) in stage.partitions.iter_mut().zip(input.partitions) {
                own.extend(more);
            }
        }
    }
    if is_exchange(plan) {
        stage.partitions.resize(plan.output_partitioning().partition_count().max(1), Vec::new());
    }
    stage
}

fn is_exchange(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let by_hash = plan.downcast_ref::<RepartitionExec>().map(RepartitionExec::partitioning);
    let is_hash = matches!(by_hash, Some(Partitioning::Hash(..)));
    is_hash || plan.is::<CoalescePartitionsExec>() || plan.is::<SortPreservingMergeExec>()
}

/// What the query takes here, by one core.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measured {
    /// Seconds of processor time; on the clock, where the system does not say it.
    pub cpu_seconds: f64,
    /// Seconds on the clock, of the quickest run.
    pub wall_seconds: f64,
}

/// Runs the query here, several times if it is quick.
pub async fn measure(context: &SessionContext, sql: &str) -> Result<Measured> {
    let (mut runs, mut cpu, mut wall) = (0, 0.0, Duration::MAX);
    while runs < MOST_RUNS && cpu < ENOUGH {
        let plan = physical(context, sql, 1).await?;
        let (began, before) = (Instant::now(), cpu_seconds());
        for partition in 0..plan.output_partitioning().partition_count() {
            let mut rows = plan.execute(partition, Arc::new(TaskContext::from(context)))?;
            while let Some(batch) = rows.next().await {
                batch?;
            }
        }
        let took = began.elapsed();
        wall = wall.min(took);
        cpu += cpu_seconds().zip(before).map_or(took.as_secs_f64(), |(after, before)| after - before);
        runs += 1;
    }
    Ok(Measured { cpu_seconds: cpu / f64::from(runs), wall_seconds: wall.as_secs_f64() })
}

/// Seconds of processor time of this process, where the system says it.
fn cpu_seconds() -> Option<f64> {
    // utime and stime, in hundredths of a second, are fields 14 and 15; the second field is a name in brackets.
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = |field: Option<&str>| field?.parse::<f64>().ok();
    Some((ticks(fields.next())? + ticks(fields.next())?) / 100.0)
}
