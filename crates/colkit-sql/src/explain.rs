//! Reports what a query planned to read from each table, and what it read.

use crate::metrics::names;
use crate::source::ColkitSource;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one scan of a table planned and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRead {
    /// The files, or the first of them.
    pub table: String,
    /// How many files.
    pub files: u64,
    /// Bytes of all of them.
    pub files_bytes: u64,
    /// Partitions it was read by.
    pub partitions: u64,
    /// Splits that were read.
    pub splits: u64,
    /// Splits that were ruled out without being read.
    pub splits_pruned: u64,
    /// Rows that were ruled out without being read.
    pub rows_pruned: u64,
    /// Byte ranges that the columns of those splits lie in.
    pub ranges_planned: u64,
    /// Requests planned for them.
    pub requests_planned: u64,
    /// Bytes of those requests.
    pub bytes_planned: u64,
    /// Requests made.
    pub requests: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Rows decoded.
    pub rows_decoded: u64,
    /// Rows that passed the filters.
    pub rows_out: u64,
}

/// What each scan of a plan that has run planned and did, in the order of the plan.
pub fn explain(plan: &Arc<dyn ExecutionPlan>) -> Vec<TableRead> {
    let mut reads = Vec::new();
    collect(plan, &mut reads);
    reads
}

fn collect(plan: &Arc<dyn ExecutionPlan>, reads: &mut Vec<TableRead>) {
    reads.extend(of_scan(plan));
    for child in plan.children() {
        collect(child, reads);
    }
}

fn of_scan(plan: &Arc<dyn ExecutionPlan>) -> Option<TableRead> {
    read_of(plan, &plan.metrics()?)
}

/// What a scan of ours did, by what was measured of it here or elsewhere; `None` for other plans.
pub fn read_of(plan: &Arc<dyn ExecutionPlan>, metrics: &MetricsSet) -> Option<TableRead> {
    let scan = plan.downcast_ref::<DataSourceExec>()?;
    let config = scan.data_source().downcast_ref::<FileScanConfig>()?;
    if !config.file_source().is::<ColkitSource>() {
        return None;
    }
    let objects = config.file_groups.iter().flat_map(|g| g.iter()).map(|f| &f.object_meta);
    let files: BTreeMap<String, u64> = objects.map(|object| (object.location.to_string(), object.size)).collect();
    let sum = |name: &str| metrics.sum_by_name(name).map_or(0, |v| v.as_usize() as u64);
    let url = config.object_store_url.as_str();
    let first = files.keys().next().map(|f| match url {
        "file:///" => format!("/{f}"),
        url => format!("{url}{f}"),
    });
    Some(TableRead {
        table: first.unwrap_or_default(),
        files: files.len() as u64,
        files_bytes: files.values().sum(),
        partitions: config.file_groups.len() as u64,
        splits: sum(names::SPLITS),
        splits_pruned: sum(names::SPLITS_PRUNED),
        rows_pruned: sum(names::ROWS_PRUNED),
        ranges_planned: sum(names::RANGES_PLANNED),
        requests_planned: sum(names::REQUESTS_PLANNED),
        bytes_planned: sum(names::BYTES_PLANNED),
        requests: sum(names::REQUESTS),
        bytes_read: sum(names::BYTES_READ),
        rows_decoded: sum(names::ROWS_DECODED),
        rows_out: metrics.output_rows().unwrap_or(0) as u64,
    })
}
