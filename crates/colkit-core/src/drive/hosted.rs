//! The driver for a host that brings bytes when it has them, such as a page in a browser: nothing waits, and nothing is spawned.
//!
//! All of it is `async` code for a [`coroutine`](crate::coroutine): whoever steps the machine that comes of it is the host.

use super::take::TakenRows;
use crate::coroutine::Io;
use crate::plan::{Planned, ReadPlan};
use crate::{
    Boxed, ByteRange, Error, Limits, Machine, Next, Projection, ReadAhead, Result, Scan, Scanner, Selection, Step,
    Table, Task,
};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::sync::Arc;

/// A file of the host: one of several that the same coroutine reads.
#[derive(Clone)]
pub struct Host {
    io: Io,
    base: u64,
}

impl Host {
    /// The files of a coroutine are so far apart. The first byte of the file of number n is at n times this.
    pub const APART: u64 = 1 << 41;

    /// The file of this number.
    pub fn new(io: Io, file: u32) -> Self {
        Host { io, base: u64::from(file) * Self::APART }
    }

    /// These bytes of the file, in this order.
    pub async fn read(&self, ranges: Vec<ByteRange>) -> Result<Vec<Bytes>> {
        if let Some(beyond) = ranges.iter().find(|r| r.end() > Self::APART) {
            return Err(Error::corrupt("block_out_of_range", format!("bytes {beyond} of a file")).at(beyond.start()));
        }
        let moved = ranges.iter().map(|r| ByteRange::between(r.start() + self.base, r.end() + self.base));
        self.io.read(moved.collect()).await
    }

    /// Runs a machine to its result.
    pub async fn run<T>(&self, mut machine: Boxed<T>) -> Result<T> {
        let mut got = Vec::new();
        loop {
            match machine.step(got)? {
                Step::Ready(value) => return Ok(value),
                Step::Need(ranges) => got = self.read(ranges).await?,
            }
        }
    }

    /// Starts reading: all rows of `scan`, in order. It ends with an error once more than `most` bytes have been decoded.
    pub async fn scan(&self, table: Arc<dyn Table>, scan: &Scan, most: u64) -> Result<HostedBatches> {
        let plan = ReadPlan::new(table.as_ref(), scan)?;
        let splits = self.run(table.splits(&plan.scan)?).await?;
        let planned = Planned::new(&plan, &splits);
        let scanner = Scanner::new(table, plan, splits, ReadAhead::NOT, most);
        Ok(HostedBatches { host: self.clone(), scanner, planned })
    }

    /// Starts reading these rows, whatever the conditions of `scan`.
    pub fn scan_rows(&self, table: Arc<dyn Table>, scan: &Scan, rows: Selection, most: u64) -> Result<HostedBatches> {
        let scanner = Scanner::of_rows(table, scan, rows, ReadAhead::NOT, most)?;
        Ok(HostedBatches { host: self.clone(), scanner, planned: Planned::default() })
    }

    /// These rows, in this order; rows may repeat. What comes out must fit the limits' memory.
    pub async fn take(
        &self,
        table: Arc<dyn Table>,
        rows: &[u64],
        projection: &Projection,
        limits: &Limits,
    ) -> Result<RecordBatch> {
        let mut taking = TakenRows::new(table.as_ref(), rows, limits)?;
        let scan = Scan { memory: limits.memory, ..Scan::of(projection.clone()) };
        let mut batches = self.scan_rows(table, &scan, taking.rows(), u64::MAX)?;
        while let Some(batch) = batches.next().await? {
            taking.push(batch)?;
        }
        taking.finish(&batches.schema())
    }
}

/// The batches of a scan, in row order.
pub struct HostedBatches {
    host: Host,
    scanner: Scanner,
    planned: Planned,
}

impl HostedBatches {
    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.scanner.schema()
    }

    /// What was planned to be read.
    pub fn planned(&self) -> Planned {
        self.planned
    }

    /// The next batch that has rows; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match self.scanner.next_rows()? {
                Next::Finished => return Ok(None),
                Next::Waiting => self.work().await?,
                Next::Rows(rows) => {
                    let batch = rows.finish()?;
                    if batch.num_rows() > 0 {
                        return Ok(Some(batch));
                    }
                }
            }
        }
    }

    /// Runs all tasks there are to their ends, with one read for what all of them need.
    async fn work(&mut self) -> Result<()> {
        let mut waiting: Vec<(Task, Vec<ByteRange>)> = Vec::new();
        while let Some(mut task) = self.scanner.task() {
            match task.step(Vec::new()) {
                Some(needed) => waiting.push((task, needed)),
                None => self.scanner.put_back(task),
            }
        }
        while !waiting.is_empty() {
            let all = waiting.iter().flat_map(|(_, needed)| needed.iter().copied()).collect();
            let mut got = self.host.read(all).await?.into_iter();
            for (mut task, needed) in std::mem::take(&mut waiting) {
                match task.step(got.by_ref().take(needed.len()).collect()) {
                    Some(needed) => waiting.push((task, needed)),
                    None => self.scanner.put_back(task),
                }
            }
        }
        Ok(())
    }
}
