//! The async driver: the same machines and scan engine over an object store.
//!
//! It does not depend on a runtime; its futures run on whichever one the store needs.

use super::object::{RemoteObject, failed_at};
use super::take::TakenRows;
use super::version::{Version, changed};
use crate::plan::ReadPlan;
use crate::range::coalesce;
use crate::source::{cut, elsewhere};
use crate::{
    Boxed, ByteRange, Error, FileSource, Limits, Machine, Next, Object, ObjectPart, Objects, Projection, ReadAhead,
    Result, Scan, Scanner, Setting, Source, Step, Table, Task, memory,
};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, Stream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// One object, read by range requests; or the local file that it is. Its table may be made of other objects too
/// ([`Objects`]).
///
/// Every answer must be about the object as it was when it was first asked for: one that changes while it is read is an
/// error.
pub struct Remote {
    store: Arc<dyn ObjectStore>,
    main: Arc<RemoteObject>,
    objects: Objects,
    /// What the names of other objects are relative to.
    root: Path,
    others: Mutex<HashMap<u32, Arc<RemoteObject>>>,
    /// Ranges at most this far apart are fetched in one request: below it, a request costs more than the bytes.
    pub gap: u64,
    /// Requests under way at once for one machine.
    pub concurrency: usize,
    requests: AtomicU64,
    bytes: AtomicU64,
    kept: bool,
}

/// Local files held open at most; then all but the first are closed and opened again as they are read.
const MOST_OPEN: usize = 256;

impl Remote {
    /// The object, as its store has just described it.
    pub fn new(store: Arc<dyn ObjectStore>, object: &ObjectMeta) -> Self {
        let zero = || AtomicU64::new(0);
        let version = OnceLock::from(Version::of(object));
        Remote {
            store,
            main: Arc::new(RemoteObject { path: object.location.clone(), version, file: None }),
            objects: Objects::default(),
            root: Path::default(),
            others: Mutex::default(),
            gap: 64 << 10,
            concurrency: 8,
            requests: zero(),
            bytes: zero(),
            kept: false,
        }
    }

    /// The object of a store whose objects are local files: read without the store, which would send every read to another
    /// thread.
    pub async fn local(store: Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<Self> {
        let mut remote = Remote { gap: 0, ..Self::new(store, object) };
        let file = remote.open_file(&object.location).await?;
        remote.main = Arc::new(RemoteObject {
            path: object.location.clone(),
            version: OnceLock::from(Version::of(object)),
            file,
        });
        Ok(remote)
    }

    /// The same object, whose content is in this file.
    pub fn kept_in(mut self, file: FileSource) -> Self {
        if let Some(main) = Arc::get_mut(&mut self.main) {
            main.file = Some(file);
        }
        Remote { gap: 0, kept: true, ..self }
    }

    /// Whether its content is in a temporary file, which is open for as long as this is.
    pub fn is_kept(&self) -> bool {
        self.kept
    }

    /// The local file that has its content, if there is one.
    pub fn file(&self) -> Option<&FileSource> {
        self.main.file.as_ref()
    }

    /// The same, with objects beside it whose names are relative to `root`.
    #[must_use]
    pub fn with_objects(mut self, objects: Objects, root: Path) -> Self {
        (self.objects, self.root) = (objects, root);
        self
    }

    async fn open_file(&self, path: &Path) -> Result<Option<FileSource>> {
        let opened = self.store.get_opts(path, GetOptions::default()).await.map_err(|e| failed_at(path, e))?;
        match opened.payload {
            GetResultPayload::File(file, path) => Ok(Some(FileSource::opened(file, path)?)),
            GetResultPayload::Stream(_) => Ok(None),
        }
    }

    /// The object of a slot.
    async fn object(&self, object: Object) -> Result<Arc<RemoteObject>> {
        let Some(name) = self.objects.name(object)? else { return Ok(self.main.clone()) };
        let known = |others: &Mutex<HashMap<u32, Arc<RemoteObject>>>| {
            others.lock().unwrap_or_else(PoisonError::into_inner).get(&object.number()).cloned()
        };
        if let Some(known) = known(&self.others) {
            return Ok(known);
        }
        let path = self.path_of(&name)?;
        let file = if self.is_local() { self.open_file(&path).await? } else { None };
        let opened = Arc::new(RemoteObject { path, version: OnceLock::new(), file });
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_local() && others.len() >= MOST_OPEN {
            others.clear();
        }
        Ok(others.entry(object.number()).or_insert(opened).clone())
    }

    /// Where the object of a name is: whole paths are those of a store of local files.
    fn path_of(&self, name: &str) -> Result<Path> {
        let parsed = match name.strip_prefix("file://").or_else(|| name.starts_with('/').then_some(name)) {
            Some(whole) if self.is_local() => Path::parse(whole),
            None if !name.contains("://") => Path::parse(format!("{}/{name}", self.root)),
            _ => return Err(elsewhere(name)),
        };
        parsed.map_err(|e| Error::corrupt("bad_name", format!("the name of an object of the table: {e}")))
    }

    /// Whether it is a local file.
    pub fn is_local(&self) -> bool {
        self.main.file.is_some()
    }

    /// The object's size.
    pub fn size(&self) -> u64 {
        let stated = || self.main.version.get().map_or(0, Version::size);
        self.main.file.as_ref().map_or_else(stated, Source::size)
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
        let parts: Vec<Bytes> = match &self.main.file {
            Some(file) if !self.objects.are_there() => file.read_each(requests)?,
            _ => {
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
            match Objects::part(request)? {
                ObjectPart::Bytes(object, range) => self.object(object).await?.read(self.store.as_ref(), range).await,
                ObjectPart::Length(object) => self.length(object).await,
            }
        })
    }

    async fn length(&self, object: Object) -> Result<Bytes> {
        let found = async {
            let object = self.object(object).await?;
            match &object.file {
                Some(file) => Ok(file.size()),
                None => Ok(self.store.head(&object.path).await.map_err(|e| failed_at(&object.path, e))?.size),
            }
        };
        match found.await {
            Ok(length) => Ok(Object::stated_length(Some(length))),
            Err(error) if Error::code(&error) == "not_found" => Ok(Object::stated_length(None)),
            Err(error) => Err(error),
        }
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

    /// All rows of a scan, in order, as they are read: within the limits, nothing gathered, and nothing read any more once the
    /// stream is dropped.
    pub fn scan(
        self: Arc<Self>,
        table: Arc<dyn Table>,
        scan: &Scan,
        limits: &Limits,
    ) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static + use<> {
        let scan = Scan {
            memory: scan.memory.min(limits.memory),
            batch_rows: scan.batch_rows.min(limits.batch_rows),
            ..scan.clone()
        };
        let most = limits.output_of(table.bytes().unwrap_or_else(|| self.size()));
        let started = async move {
            let plan = ReadPlan::new(table.as_ref(), &scan)?;
            let splits = self.run(table.splits(&plan.scan)?).await?;
            let ahead = self.ahead();
            Ok::<_, Error>(StoreScan::new(self, Scanner::new(table, plan, splits, ahead, most)))
        };
        let batches = |rounds: StoreScan| {
            stream::try_unfold(rounds, |mut rounds| async move {
                loop {
                    let Some(rows) = rounds.next_rows().await? else { return Ok(None) };
                    let batch = rows.finish()?;
                    if batch.num_rows() > 0 {
                        return Ok(Some((batch, rounds)));
                    }
                }
            })
        };
        stream::once(started).map_ok(batches).try_flatten()
    }

    /// These rows, in this order; rows may repeat. What comes out must fit the limits' memory.
    pub async fn take(
        self: &Arc<Self>,
        table: Arc<dyn Table>,
        rows: &[u64],
        projection: &Projection,
        limits: &Limits,
    ) -> Result<RecordBatch> {
        let mut taking = TakenRows::new(table.as_ref(), rows, limits)?;
        let scan = Scan { memory: limits.memory, ..Scan::of(projection.clone()) };
        let scanner = Scanner::of_rows(table, &scan, taking.rows(), self.ahead(), u64::MAX)?;
        let schema = scanner.schema();
        let mut rounds = StoreScan::new(self.clone(), scanner);
        while let Some(rows) = rounds.next_rows().await? {
            taking.push(rows.finish()?)?;
        }
        taking.finish(&schema)
    }

    /// How far to read ahead: a local file has a cache of its own.
    pub fn ahead(&self) -> ReadAhead {
        if self.is_local() {
            ReadAhead::NOT
        } else {
            ReadAhead { splits: 2, batches: 1, bytes: 8 << 20, round_trip: ROUND_TRIP }
        }
    }
}

/// A scan over an object: in each round, all that the tasks of a split need is fetched together. While one split is being
/// decoded, the bytes of the next are on their way.
pub struct StoreScan {
    remote: Arc<Remote>,
    scanner: Scanner,
    fetching: FuturesUnordered<BoxFuture<'static, Fetched>>,
    /// What was fetched before anything was decoded, for each split under way.
    known: Vec<Known>,
    count: crate::ReadCount,
}

struct Known {
    split: u64,
    ranges: Vec<ByteRange>,
    bytes: Vec<Bytes>,
}

/// Tasks that wait for bytes.
type Waiting = Vec<(Task, Vec<ByteRange>)>;

struct Fetched {
    waiting: Waiting,
    /// What was asked of the store, and what it answered.
    requests: Vec<ByteRange>,
    result: Result<Vec<Bytes>>,
    /// Whether this is all that the split is known to need.
    planned: bool,
}

impl StoreScan {
    /// A scan of the object's table.
    pub fn new(remote: Arc<Remote>, scanner: Scanner) -> Self {
        let (fetching, known) = (FuturesUnordered::new(), Vec::new());
        StoreScan { remote, scanner, fetching, known, count: crate::ReadCount::default() }
    }

    /// The scan.
    pub fn scanner(&mut self) -> &mut Scanner {
        &mut self.scanner
    }

    /// What has been read for it so far.
    pub fn count(&self) -> crate::ReadCount {
        self.count
    }

    /// The next rows; `None` at the end.
    pub async fn next_rows(&mut self) -> Result<Option<crate::Rows>> {
        loop {
            match self.scanner.next_rows()? {
                Next::Rows(rows) => return Ok(Some(rows)),
                Next::Finished => return Ok(None),
                Next::Waiting => {}
            }
            let mut begun: BTreeMap<u64, Waiting> = BTreeMap::new();
            while let Some(mut task) = self.scanner.task() {
                match task.step(Vec::new()) {
                    Some(needed) => begun.entry(task.split()).or_default().push((task, needed)),
                    None => self.scanner.put_back(task),
                }
            }
            for (split, waiting) in begun {
                self.fetch(split, waiting);
            }
            if let Some(fetched) = self.fetching.next().await {
                self.go_on(fetched);
            }
        }
    }

    /// Asks for what the tasks of a split wait for.
    fn fetch(&mut self, split: u64, waiting: Waiting) {
        let needed: Vec<ByteRange> = waiting.iter().flat_map(|(_, needed)| needed.iter().copied()).collect();
        if let Some(known) = self.known.iter().find(|k| k.split == split)
            && let Ok(bytes) = cut(&needed, &known.ranges, &known.bytes)
        {
            return self.feed(waiting, bytes);
        }
        let planned = self.scanner.planned(split);
        let bytes = planned.iter().map(|r| r.len()).fold(0, u64::saturating_add);
        // What is too large is better fetched piece by piece.
        let planned = !self.remote.is_local()
            && bytes > 0
            && bytes <= MOST_AHEAD.min(self.scanner.plan().scan.memory / 4)
            && self.known.iter().all(|k| k.split != split);
        let wanted = if planned { self.scanner.planned(split) } else { &needed };
        let (remote, requests) = (self.remote.clone(), coalesce(wanted, self.remote.gap));
        self.fetching.push(Box::pin(async move {
            let result = remote.get(&requests).await;
            Fetched { waiting, requests, result, planned }
        }));
    }

    fn go_on(&mut self, fetched: Fetched) {
        let Fetched { waiting, requests, result, planned } = fetched;
        let bytes = match result {
            Ok(bytes) => bytes,
            Err(error) => {
                let mut error = Some(error);
                for (mut task, _) in waiting {
                    let failed = || Error::io("object_store", "another part of the same read failed");
                    task.fail(error.take().unwrap_or_else(failed));
                    self.scanner.put_back(task);
                }
                return;
            }
        };
        self.count.requests += requests.len() as u64;
        self.count.bytes += requests.iter().map(|r| r.len()).sum::<u64>();
        let needed: Vec<ByteRange> = waiting.iter().flat_map(|(_, needed)| needed.iter().copied()).collect();
        let split = waiting.first().map_or(0, |(task, _)| task.split());
        match cut(&needed, &requests, &bytes) {
            Ok(parts) => {
                if planned {
                    self.known.retain(|k| k.split + 4 > split);
                    self.known.push(Known { split, ranges: requests, bytes });
                }
                self.feed(waiting, parts);
            }
            // The plan did not foresee it all.
            Err(_) => {
                self.known.push(Known { split, ranges: requests, bytes });
                self.fetch(split, waiting);
            }
        }
    }

    /// Lets tasks go on with the bytes they asked for, and asks for what they need next.
    fn feed(&mut self, waiting: Waiting, bytes: Vec<Bytes>) {
        let mut bytes = bytes.into_iter();
        let (mut split, mut again) = (0, Vec::new());
        for (mut task, needed) in waiting {
            split = task.split();
            match task.step(bytes.by_ref().take(needed.len()).collect()) {
                Some(needed) => again.push((task, needed)),
                None => self.scanner.put_back(task),
            }
        }
        if !again.is_empty() {
            self.fetch(split, again);
        }
    }
}

/// Bytes that a store sends in the time that it takes to answer at all: a twentieth of a second at 80 MB/s.
const ROUND_TRIP: u64 = 4 << 20;

/// What a store says went wrong.
pub fn failed(e: &object_store::Error) -> Error {
    use object_store::Error as E;
    if let Some(late) = timed_out(e) {
        return Error::io("timed_out", late.to_string()).hint(Setting::Timeout.does("gives stores more time"));
    }
    let what = e.to_string();
    match e {
        E::Precondition { .. } => changed("the store no longer has it as it was"),
        E::NotFound { .. } => {
            Error::io("not_found", what).hint("check the name: stores are particular about case and slashes")
        }
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            Error::io("not_allowed", what).hint("credentials are taken from the environment, such as AWS_ACCESS_KEY_ID")
        }
        E::NotSupported { .. } | E::NotImplemented { .. } => {
            Error::io("not_possible", what).hint("this kind of store cannot do that")
        }
        _ => Error::io("object_store", what).hint("the store or the way to it failed; trying again may help"),
    }
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
