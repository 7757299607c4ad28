//! The async driver: the same machines over an object store.
//!
//! Nothing here knows a runtime; the futures run on whichever one the store needs.

use super::version::{Version, changed};
use crate::plan::ReadPlan;
use crate::range::coalesce;
use crate::source::{check_lengths, cut};
use crate::{
    Boxed, ByteRange, Class, Error, FileSource, Machine, Result, Scan, SideBySide, Source, Split, Step, Table, memory,
};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One object, read by range requests; or the local file that it is.
///
/// Every answer must be about the object as it was when it was opened: one that changes while it is read is an error.
pub struct Remote {
    store: Arc<dyn ObjectStore>,
    path: Path,
    version: Version,
    file: Option<FileSource>,
    /// Ranges at most this far apart are fetched in one request: below it, a request costs more than the bytes.
    pub gap: u64,
    /// Requests under way at once for one machine.
    pub concurrency: usize,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Remote {
    /// The object, as its store has just described it.
    pub fn new(store: Arc<dyn ObjectStore>, object: &ObjectMeta) -> Self {
        let zero = || AtomicU64::new(0);
        Remote {
            store,
            path: object.location.clone(),
            version: Version::of(object),
            file: None,
            gap: 64 << 10,
            concurrency: 8,
            requests: zero(),
            bytes: zero(),
        }
    }

    /// The object of a store whose objects are local files: read without the store, which would send every read to another
    /// thread.
    pub async fn local(store: Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<Self> {
        let mut remote = Remote { gap: 0, ..Self::new(store, object) };
        let opened = remote.store.get_opts(&remote.path, GetOptions::default()).await.map_err(|e| remote.failed(e))?;
        if let GetResultPayload::File(file, _) = opened.payload {
            remote.file = Some(FileSource::from_file(file)?);
        }
        Ok(remote)
    }

    /// Whether it is a local file.
    pub fn is_local(&self) -> bool {
        self.file.is_some()
    }

    /// The object's size.
    pub fn size(&self) -> u64 {
        self.file.as_ref().map_or(self.version.size(), Source::size)
    }

    /// Requests made and bytes received so far.
    pub fn count(&self) -> crate::ReadCount {
        crate::ReadCount { requests: self.requests.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    /// These ranges, in this order; those that lie close together are fetched by one request.
    pub async fn fetch(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let requests = coalesce(ranges, self.gap);
        let parts = self.get(&requests).await?;
        cut(ranges, &requests, &parts)
    }

    /// One request for each range.
    async fn get(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        let parts: Vec<Bytes> = match &self.file {
            Some(file) => file.read_each(requests)?,
            None => {
                let requests: Vec<_> = requests.iter().map(|r| self.get_one(*r)).collect();
                stream::iter(requests).buffered(self.concurrency.max(1)).try_collect().await?
            }
        };
        self.requests.fetch_add(parts.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(parts.iter().map(|p| p.len() as u64).sum(), Ordering::Relaxed);
        Ok(parts)
    }

    fn get_one(&self, request: ByteRange) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            let options = GetOptions {
                range: Some((request.start()..request.end()).into()),
                if_match: self.version.condition(),
                ..GetOptions::default()
            };
            let read = async {
                let answer = self.store.get_opts(&self.path, options).await.map_err(|e| self.failed(e))?;
                self.version.check(&answer.meta)?;
                answer.bytes().await.map_err(|e| self.failed(e))
            };
            let bytes = match read.await {
                Ok(bytes) => bytes,
                Err(error) => return Err(self.why(error).await.at(request.start()).file(self.path.to_string())),
            };
            check_lengths(&[request], std::slice::from_ref(&bytes)).map_err(|e| e.file(self.path.to_string()))?;
            Ok(bytes)
        })
    }

    /// Why a request was refused: bytes that are no longer there are told in as many ways as there are stores.
    async fn why(&self, error: Error) -> Error {
        if error.code() != GENERAL {
            return error;
        }
        match self.store.head(&self.path).await {
            Ok(object) => self.version.check(&object).err().unwrap_or(error),
            Err(_) => error,
        }
    }

    fn failed(&self, e: object_store::Error) -> Error {
        failed(&e).file(self.path.to_string()).caused_by(e)
    }

    /// Runs a machine to its result.
    pub fn run<T: Send + 'static>(&self, mut machine: Boxed<T>) -> BoxFuture<'_, Result<T>> {
        Box::pin(async move {
            let mut got = Vec::new();
            loop {
                memory::check()?;
                match machine.step(got)? {
                    Step::Ready(value) => return Ok(value),
                    Step::Need(ranges) => got = self.fetch(&ranges).await?,
                }
            }
        })
    }

    /// Starts reading a split of `scan`, to batches of `schema`. Rows that the scan's predicate rejects may be among them.
    pub fn start(&self, table: &dyn Table, scan: &Scan, schema: &SchemaRef, split: &Split) -> Result<SplitReader> {
        let rows = split.rows.end.saturating_sub(split.rows.start);
        let machine = SideBySide::new(schema.clone(), table.read(split, scan)?, rows);
        let bytes = split.ranges.iter().map(|r| r.len()).fold(0, u64::saturating_add);
        // A local file has a cache of its own, and what is too large is better fetched piece by piece.
        let ahead = self.file.is_none() && bytes <= MOST_AHEAD.min(scan.memory / 4);
        let planned = if ahead { coalesce(&split.ranges, self.gap) } else { Vec::new() };
        Ok(SplitReader { machine, planned, fetched: Vec::new(), count: crate::ReadCount::default() })
    }

    /// Fetches all that a split is known to need, by requests that are under way at the same time.
    pub async fn fetch_ahead(&self, reader: &mut SplitReader) -> Result<()> {
        if reader.fetched.is_empty() && !reader.planned.is_empty() {
            reader.fetched = self.get(&reader.planned).await?;
            reader.counted(&reader.planned.clone());
        }
        Ok(())
    }

    /// The next batch of a split; `None` at its end.
    pub async fn next_batch(&self, reader: &mut SplitReader) -> Result<Option<RecordBatch>> {
        self.fetch_ahead(reader).await?;
        let mut got = Vec::new();
        loop {
            memory::check()?;
            match reader.machine.step(got)? {
                Step::Ready(batch) => return Ok(batch),
                Step::Need(ranges) => got = self.answer(reader, &ranges).await?,
            }
        }
    }

    async fn answer(&self, reader: &mut SplitReader, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        if let Ok(known) = cut(ranges, &reader.planned, &reader.fetched) {
            return Ok(known);
        }
        let requests = coalesce(ranges, self.gap);
        let parts = self.get(&requests).await?;
        reader.counted(&requests);
        cut(ranges, &requests, &parts)
    }

    /// All batches of a scan, in order, filtered and projected.
    pub async fn scan(&self, table: &dyn Table, scan: &Scan) -> Result<Vec<RecordBatch>> {
        let plan = ReadPlan::new(table, scan)?;
        let mut batches = Vec::new();
        for split in self.run(table.splits(&plan.scan)?).await? {
            let mut reader = self.start(table, &plan.scan, &plan.read_schema, &split)?;
            while let Some(batch) = self.next_batch(&mut reader).await? {
                let batch = plan.finish(batch)?;
                if batch.num_rows() > 0 {
                    batches.push(batch);
                }
            }
        }
        Ok(batches)
    }
}

/// The code of what can only be told in a store's own words.
const GENERAL: &str = "object_store";

/// What a store says went wrong.
pub fn failed(e: &object_store::Error) -> Error {
    use object_store::Error as E;
    if let Some(late) = timed_out(e) {
        return Error::new(Class::Io, "timed_out", late.to_string()).hint("--timeout gives stores more time");
    }
    let (code, hint) = match e {
        E::Precondition { .. } => return changed("the store no longer has it as it was"),
        E::NotFound { .. } => ("not_found", "check the name: stores are particular about case and slashes"),
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            ("not_allowed", "credentials are taken from the environment, such as AWS_ACCESS_KEY_ID")
        }
        E::NotSupported { .. } | E::NotImplemented { .. } => ("not_possible", "this kind of store cannot do that"),
        _ => (GENERAL, "the store or the way to it failed; trying again may help"),
    };
    Error::new(Class::Io, code, e.to_string()).hint(hint)
}

/// What was waited for too long, if that is what went wrong.
fn timed_out(e: &object_store::Error) -> Option<&std::io::Error> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(e);
    while let Some(e) = cause {
        if let Some(io) = e.downcast_ref::<std::io::Error>().filter(|io| io.kind() == std::io::ErrorKind::TimedOut) {
            return Some(io);
        }
        cause = e.source();
    }
    None
}

/// Bytes of a split at most that are fetched before its first row is decoded.
const MOST_AHEAD: u64 = 64 << 20;

/// A split that is being read.
pub struct SplitReader {
    machine: SideBySide,
    /// What is fetched before anything is decoded, and its bytes once they are there.
    planned: Vec<ByteRange>,
    fetched: Vec<Bytes>,
    count: crate::ReadCount,
}

impl SplitReader {
    /// What has been read for it so far.
    pub fn count(&self) -> crate::ReadCount {
        self.count
    }

    fn counted(&mut self, requests: &[ByteRange]) {
        self.count.requests += requests.len() as u64;
        self.count.bytes += requests.iter().map(|r| r.len()).sum::<u64>();
    }
}
