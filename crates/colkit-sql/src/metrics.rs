//! Scan metrics, planned and actual, for `EXPLAIN ANALYZE` and [`explain`](crate::explain).

use colkit_core::{ReadCount, Split, coalesce};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};

/// The names under which DataFusion shows them.
pub(crate) mod names {
    pub const SPLITS: &str = "splits";
    pub const SPLITS_PRUNED: &str = "splits_pruned";
    pub const ROWS_PRUNED: &str = "rows_pruned";
    pub const ROWS_DECODED: &str = "rows_decoded";
    pub const RANGES_PLANNED: &str = "ranges_planned";
    pub const REQUESTS_PLANNED: &str = "requests_planned";
    pub const BYTES_PLANNED: &str = "bytes_planned";
    pub const REQUESTS: &str = "requests";
    pub const BYTES_READ: &str = "bytes_read";
}

/// The counters of one partition.
#[derive(Clone)]
pub(crate) struct ReadMetrics {
    splits: Count,
    splits_pruned: Count,
    rows_pruned: Count,
    rows_decoded: Count,
    ranges_planned: Count,
    requests_planned: Count,
    bytes_planned: Count,
    requests: Count,
    bytes_read: Count,
}

impl ReadMetrics {
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name| MetricBuilder::new(set).counter(name, partition);
        ReadMetrics {
            splits: count(names::SPLITS),
            splits_pruned: count(names::SPLITS_PRUNED),
            rows_pruned: count(names::ROWS_PRUNED),
            rows_decoded: count(names::ROWS_DECODED),
            ranges_planned: count(names::RANGES_PLANNED),
            requests_planned: count(names::REQUESTS_PLANNED),
            bytes_planned: count(names::BYTES_PLANNED),
            requests: count(names::REQUESTS),
            bytes_read: count(names::BYTES_READ),
        }
    }

    /// These splits would have been read without a filter, those will be with it. Ranges at most `gap` apart are fetched
    /// together.
    pub fn planned(&self, whole: &[Split], planned: &[Split], gap: u64) {
        let rows = |s: &Split| s.rows.end.saturating_sub(s.rows.start);
        let touched = |w: &&Split| {
            let next = planned.partition_point(|p| p.rows.end <= w.rows.start);
            planned.get(next).is_some_and(|p| p.rows.start < w.rows.end)
        };
        let kept = whole.iter().filter(touched).count();
        let all_rows: u64 = whole.iter().map(rows).sum();
        let kept_rows: u64 = planned.iter().map(rows).sum();
        self.splits.add(planned.len());
        self.splits_pruned.add(whole.len() - kept);
        add(&self.rows_pruned, all_rows.saturating_sub(kept_rows));
        for split in planned {
            let requests = coalesce(&split.ranges, gap);
            self.ranges_planned.add(coalesce(&split.ranges, 0).len());
            self.requests_planned.add(requests.len());
            add(&self.bytes_planned, requests.iter().map(|r| r.len()).sum());
        }
    }

    /// So many splits were ruled out while the query ran.
    pub fn ruled_out_later(&self, splits: usize) {
        self.splits_pruned.add(splits);
    }

    /// So much was read.
    pub fn read(&self, count: ReadCount) {
        add(&self.requests, count.requests);
        add(&self.bytes_read, count.bytes);
    }

    /// So many rows were decoded.
    pub fn decoded(&self, rows: u64) {
        add(&self.rows_decoded, rows);
    }
}

fn add(count: &Count, n: u64) {
    count.add(usize::try_from(n).unwrap_or(usize::MAX));
}
