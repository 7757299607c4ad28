//! The async driver: the same machines over an object store.
//!
//! Nothing here knows a runtime; the futures run on whichever one the store needs.

use crate::plan::ReadPlan;
use crate::range::coalesce;
use crate::source::cut;
use crate::{Boxed, ByteRange, Class, Error, Machine, Result, Scan, SideBySide, Split, Step, Table};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One object, read by range requests.
pub struct Remote {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// Ranges at most this far apart are fetched in one request: below it, a request costs more than the bytes.
    pub gap: u64,
    /// Requests under way at once for one machine.
    pub concurrency: usize,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Remote {
    /// The object at `path`.
    pub fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        let zero = || AtomicU64::new(0);
        Remote { store, path, gap: 64 << 10, concurrency: 8, requests: zero(), bytes: zero() }
    }

    /// The object's size, asked of the store.
    pub async fn size(&self) -> Result<u64> {
        Ok(self.store.head(&self.path).await.map_err(|e| self.failed(e))?.size)
    }

    /// Requests made and bytes received so far.
    pub fn count(&self) -> crate::ReadCount {
        crate::ReadCount { requests: self.requests.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    async fn fetch(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let requests = coalesce(ranges, self.gap);
        let parts: Vec<Bytes> = stream::iter(requests.iter().copied())
            .map(|request| async move {
                let bytes = self.store.get_range(&self.path, request.start()..request.end()).await;
                let bytes = bytes.map_err(|e| self.failed(e).at(request.start()))?;
                self.requests.fetch_add(1, Ordering::Relaxed);
                self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Ok::<_, Error>(bytes)
            })
            .buffered(self.concurrency.max(1))
            .try_collect()
            .await?;
        cut(ranges, &requests, &parts)
    }

    fn failed(&self, e: object_store::Error) -> Error {
        Error::new(Class::Io, "object_store", e.to_string()).file(self.path.to_string()).caused_by(e)
    }

    /// Runs a machine to its result.
    pub async fn run<T>(&self, mut machine: Boxed<T>) -> Result<T> {
        self.next(&mut machine).await
    }

    /// Runs a machine to its next result.
    pub async fn next<M: Machine + ?Sized>(&self, machine: &mut M) -> Result<M::Output> {
        let mut got = Vec::new();
        loop {
            match machine.step(got)? {
                Step::Ready(value) => return Ok(value),
                Step::Need(ranges) => got = self.fetch(&ranges).await?,
            }
        }
    }

    /// The batches of one split, filtered and projected as `plan` says.
    pub fn read_split<'a>(
        &'a self,
        table: &dyn Table,
        plan: &'a ReadPlan,
        split: &Split,
    ) -> Result<impl Stream<Item = Result<RecordBatch>> + Send + 'a> {
        let rows = split.rows.end.saturating_sub(split.rows.start);
        let machine = SideBySide::new(plan.read_schema.clone(), table.read(split, &plan.scan)?, rows);
        Ok(stream::try_unfold(machine, move |mut machine| async move {
            loop {
                match self.next(&mut machine).await? {
                    None => return Ok(None),
                    Some(batch) => {
                        let batch = plan.finish(batch)?;
                        if batch.num_rows() > 0 {
                            return Ok(Some((batch, machine)));
                        }
                    }
                }
            }
        }))
    }

    /// All batches of a scan, in order.
    pub async fn scan(&self, table: &dyn Table, scan: &Scan) -> Result<Vec<RecordBatch>> {
        let plan = ReadPlan::new(table, scan)?;
        let mut batches = Vec::new();
        for split in self.run(table.splits(&plan.scan)?).await? {
            let mut stream = std::pin::pin!(self.read_split(table, &plan, &split)?);
            while let Some(batch) = stream.try_next().await? {
                batches.push(batch);
            }
        }
        Ok(batches)
    }
}
