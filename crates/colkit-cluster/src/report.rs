//! What each stage and each executor did for a query.

use crate::client::ExecutorAbout;
use ballista_core::serde::protobuf::task_status::Status;
use ballista_scheduler::state::execution_graph::ExecutionGraph;
use ballista_scheduler::state::execution_stage::{ExecutionStage, TaskInfo};
use colkit_sql::TableRead;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A query that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobReport {
    /// Its identifier.
    pub job: String,
    /// Its stages, in the order of their numbers.
    pub stages: Vec<StageReport>,
    /// Who did how much of it.
    pub executors: Vec<ExecutorReport>,
    /// What was read of each table.
    pub tables: Vec<TableRead>,
}

/// A part of a query whose tasks can run at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReport {
    /// Its number.
    pub stage: usize,
    /// What it does: its topmost step that is not about passing rows on.
    pub what: String,
    /// Partitions of the plan.
    pub partitions: usize,
    /// Tasks that ended well.
    pub tasks: usize,
    /// Tasks that failed or were lost, and ran again.
    pub retried: usize,
    /// How often the whole stage began.
    pub attempts: usize,
    /// From the start of its first task to the end of its last.
    pub milliseconds: u64,
}

/// What an executor did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorReport {
    /// Its identifier.
    pub id: String,
    /// Where it is reached, if it still is.
    pub address: Option<String>,
    /// Tasks that ended well.
    pub tasks: usize,
    /// Bytes read of files.
    pub bytes_read: u64,
    /// Requests for them.
    pub requests: u64,
}

impl JobReport {
    /// What the scheduler knows of a query.
    pub(crate) fn new(graph: &dyn ExecutionGraph, known: &[ExecutorAbout]) -> Self {
        let mut executors: BTreeMap<String, ExecutorReport> = BTreeMap::new();
        let mut report = JobReport { job: graph.job_id().to_string(), ..JobReport::default() };
        let stages: BTreeMap<_, _> = graph.stages().iter().collect();
        for (number, stage) in stages {
            let ExecutionStage::Successful(stage) = stage else { continue };
            let done = |task: &&TaskInfo| matches!(task.task_status, Status::Successful(_));
            let done: Vec<&TaskInfo> = stage.task_infos.iter().filter(done).collect();
            for task in &done {
                if let Some(id) = executor_of(task) {
                    let executor = executors.entry(id.to_owned()).or_default();
                    executor.tasks += 1;
                }
            }
            let began = done.iter().map(|task| task.start_exec_time).min().unwrap_or(0);
            let ended = done.iter().map(|task| task.end_exec_time).max().unwrap_or(0);
            report.stages.push(StageReport {
                stage: *number,
                what: what(&stage.plan),
                partitions: stage.partitions,
                tasks: done.len(),
                retried: stage.task_infos.len() - done.len(),
                attempts: stage.stage_attempt_num + 1,
                milliseconds: u64::try_from(ended.saturating_sub(began)).unwrap_or(u64::MAX),
            });
            let mut metrics = stage.stage_metrics.iter();
            each(&stage.plan, &mut metrics, &mut |plan, metrics| {
                report.tables.extend(colkit_sql::read_of(plan, metrics));
                if crate::physical::our_scan(plan.as_ref()).is_none() {
                    return;
                }
                for metric in metrics.iter() {
                    let task = metric.partition().and_then(|partition| {
                        done.iter().find(|task| task.global_input_partition_ids.contains(&partition))
                    });
                    let Some(id) = task.and_then(|task| executor_of(task)) else { continue };
                    let executor = executors.entry(id.to_owned()).or_default();
                    let value = metric.value().as_usize() as u64;
                    match metric.value().name() {
                        "bytes_read" => executor.bytes_read += value,
                        "requests" => executor.requests += value,
                        _ => {}
                    }
                }
            });
        }
        report.executors = executors
            .into_iter()
            .map(|(id, executor)| {
                let address = known.iter().find(|e| e.id == id).map(|e| e.address.clone());
                ExecutorReport { id, address, ..executor }
            })
            .collect();
        report
    }
}

fn executor_of(task: &TaskInfo) -> Option<&str> {
    match &task.task_status {
        Status::Successful(done) => Some(&done.executor_id),
        _ => None,
    }
}

/// The plans of a stage with what was measured of them, in the order in which executors send it.
fn each(
    plan: &Arc<dyn ExecutionPlan>,
    metrics: &mut std::slice::Iter<'_, MetricsSet>,
    tell: &mut dyn FnMut(&Arc<dyn ExecutionPlan>, &MetricsSet),
) {
    if plan.metrics().is_some() {
        let Some(measured) = metrics.next() else { return };
        tell(plan, measured);
    }
    for child in plan.children() {
        each(child, metrics, tell);
    }
}

/// The first step of a stage that says what it is for.
fn what(plan: &Arc<dyn ExecutionPlan>) -> String {
    let name = plan.name();
    match plan.children().as_slice() {
        [child] if name.contains("Shuffle") || name.contains("Projection") || name.contains("Coalesce") => what(child),
        _ => name.trim_end_matches("Exec").to_owned(),
    }
}
