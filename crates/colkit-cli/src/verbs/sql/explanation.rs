//! What a query read, for people and for programs.

use crate::Io;
use crate::human::{bytes, count, plural};
use colkit::Result;
use colkit::store::StoreCount;
use colkit_sql::TableRead;
use serde_json::json;
use std::io::Write;

/// The requests made between two counts.
pub fn requests_since(before: &[(String, StoreCount)], after: &[(String, StoreCount)]) -> Vec<(String, StoreCount)> {
    let since = |(name, now): &(String, StoreCount)| {
        let then = before.iter().find(|(n, _)| n == name).map_or_else(StoreCount::default, |(_, c)| *c);
        let count = StoreCount {
            reads: now.reads - then.reads,
            bytes: now.bytes - then.bytes,
            heads: now.heads - then.heads,
            lists: now.lists - then.lists,
        };
        (name.clone(), count)
    };
    after.iter().map(since).collect()
}

/// What the query read, as JSON.
pub fn cost(reads: &[TableRead]) -> Vec<(&'static str, serde_json::Value)> {
    let tables: Vec<_> = reads.iter().map(document).collect();
    vec![
        ("bytes_read", reads.iter().map(|r| r.bytes_read).sum::<u64>().into()),
        ("requests", reads.iter().map(|r| r.requests).sum::<u64>().into()),
        ("tables", tables.into()),
    ]
}

#[cfg(feature = "cluster")]
pub use colkit_cluster::JobReport;

/// There is no cluster.
#[cfg(not(feature = "cluster"))]
pub enum JobReport {}

/// What a query on a cluster read, as JSON.
#[cfg(feature = "cluster")]
pub fn report_cost(report: &JobReport) -> Vec<(&'static str, serde_json::Value)> {
    let mut all = cost(&report.tables);
    all.push(("cluster", json!({ "job": report.job, "stages": report.stages, "executors": report.executors })));
    all
}

#[cfg(not(feature = "cluster"))]
pub fn report_cost(report: &JobReport) -> Vec<(&'static str, serde_json::Value)> {
    match *report {}
}

/// Prints what a query on a cluster read, and who did it.
#[cfg(feature = "cluster")]
pub fn print_report(report: &JobReport, stores: &[(String, StoreCount)], io: &mut Io) -> Result<()> {
    print_explanation(&report.tables, stores, io)?;
    for stage in &report.stages {
        let retried = if stage.retried > 0 { format!(", {} retried", stage.retried) } else { String::new() };
        let again = if stage.attempts > 1 { format!(", begun {} times", stage.attempts) } else { String::new() };
        writeln!(
            io.stderr,
            "stage {}: {}, {} for {}, {} ms{retried}{again}",
            stage.stage,
            stage.what,
            plural(stage.tasks as u64, "task"),
            plural(stage.partitions as u64, "partition"),
            count(stage.milliseconds),
        )?;
    }
    for executor in &report.executors {
        let name = executor.address.as_deref().unwrap_or(&executor.id);
        let (tasks, requests) = (plural(executor.tasks as u64, "task"), plural(executor.requests, "request"));
        writeln!(io.stderr, "{name}: {tasks}, {} in {requests}", plural(executor.bytes_read, "byte"))?;
    }
    Ok(())
}

#[cfg(not(feature = "cluster"))]
pub fn print_report(report: &JobReport, _: &[(String, StoreCount)], _: &mut Io) -> Result<()> {
    match *report {}
}

fn document(read: &TableRead) -> serde_json::Value {
    json!({
        "table": read.table,
        "files": read.files,
        "partitions": read.partitions,
        "splits": read.splits,
        "splits_pruned": read.splits_pruned,
        "rows_pruned": read.rows_pruned,
        "ranges_planned": read.ranges_planned,
        "requests_planned": read.requests_planned,
        "bytes_planned": read.bytes_planned,
        "requests": read.requests,
        "bytes_read": read.bytes_read,
        "rows_decoded": read.rows_decoded,
        "rows_out": read.rows_out,
    })
}

/// Prints what the query planned to read and what it read.
pub fn print_explanation(reads: &[TableRead], stores: &[(String, StoreCount)], io: &mut Io) -> Result<()> {
    if reads.is_empty() {
        writeln!(io.stderr, "read: nothing; answered from file metadata")?;
    }
    for r in reads {
        let files = if r.files > 1 { format!(" and {} more", plural(r.files - 1, "file")) } else { String::new() };
        writeln!(io.stderr, "{}{files}, {}", io.stderr.bold(&r.table), plural(r.partitions, "partition"))?;
        let (splits, pruned) = (plural(r.splits, "split"), plural(r.splits_pruned, "split"));
        writeln!(io.stderr, "  plan: {splits}; {pruned} pruned ({})", plural(r.rows_pruned, "row"))?;
        let ranges = plural(r.ranges_planned, "byte range");
        let requests = plural(r.requests_planned, "request");
        writeln!(io.stderr, "  plan: {ranges} in {requests}, {}", plural(r.bytes_planned, "byte"))?;
        let size = bytes(r.bytes_read);
        writeln!(io.stderr, "  read: {} ({size}) in {}", plural(r.bytes_read, "byte"), plural(r.requests, "request"))?;
        writeln!(io.stderr, "  rows: {} decoded, {} returned", count(r.rows_decoded), count(r.rows_out))?;
    }
    for (name, c) in stores.iter().filter(|(name, c)| name != "file://" && *c != StoreCount::default()) {
        let (reads, got) = (plural(c.reads, "range request"), plural(c.bytes, "byte"));
        let (heads, lists) = (plural(c.heads, "HEAD request"), plural(c.lists, "list request"));
        writeln!(io.stderr, "{name}: {reads} ({got}), {heads}, {lists}, including open")?;
    }
    Ok(())
}
