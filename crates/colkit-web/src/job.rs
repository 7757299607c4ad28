//! Jobs: what a request becomes, as a machine that asks for bytes.

use crate::answer;
use crate::hints::hint;
use crate::request::{Columns, Request, names};
use bytes::Bytes;
use colkit::core::coroutine::{Io, coroutine};
use colkit::core::{Boxed, Machine, Step};
use colkit::hosted::{Find, Host, HostedFile, Text, diff};
use colkit::report::{self, FileReport};
use colkit::{
    ByteRange, CreateOptions, DiffOptions, Error, Format, Limits, Nulls, OpenOptions, Registry, Result, ScanBuilder,
    Sink, TextOptions, Types,
};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What opening, taking rows and unpacking may hold.
const MEMORY: u64 = 256 << 20;
/// What a scan may hold.
const SCAN_MEMORY: u64 = 64 << 20;

/// What came of a step.
pub enum Outcome {
    /// These bytes first.
    Needs(Vec<ByteRange>),
    /// The answer.
    Done(Vec<u8>),
    /// A file to be known by this number, and the answer.
    Opened(u32, Box<HostedFile>, Vec<u8>),
    /// It did not work.
    Failed(Error),
}

/// What a machine gives in the end.
enum Answer {
    Text(Vec<u8>),
    File(u32, Box<HostedFile>, Vec<u8>),
}

/// Work that is under way.
pub struct Job {
    machine: Boxed<Answer>,
    progress: Progress,
    parts: Parts,
}

impl Job {
    /// Begins what a request asks for.
    pub fn new(request: &[u8], files: &BTreeMap<u32, HostedFile>) -> Result<Self> {
        let bad = |e: serde_json::Error| Error::internal(format!("a request that cannot be read: {e}"));
        let request: Request = serde_json::from_slice(request).map_err(bad)?;
        let (progress, parts) = (Progress::default(), Parts::default());
        let machine = machine(request, files, &progress, &parts)?;
        Ok(Job { machine, progress, parts })
    }

    /// Goes on with the bytes asked for last.
    pub fn step(&mut self, got: Vec<Bytes>) -> Outcome {
        match self.machine.step(got) {
            Ok(Step::Need(ranges)) => Outcome::Needs(ranges),
            Ok(Step::Ready(Answer::Text(answer))) => Outcome::Done(answer),
            Ok(Step::Ready(Answer::File(id, file, answer))) => Outcome::Opened(id, file, answer),
            Err(error) => Outcome::Failed(error),
        }
    }

    /// What has been written since it was last asked.
    pub fn part(&self) -> Vec<u8> {
        std::mem::take(&mut *self.parts.lock())
    }

    /// How much is done, between 0 and 1.
    pub fn progress(&self) -> f64 {
        f64::from_bits(self.progress.0.load(Ordering::Relaxed))
    }
}

/// How much is done.
#[derive(Clone, Default)]
struct Progress(Arc<AtomicU64>);

impl Progress {
    #[expect(clippy::cast_precision_loss, reason = "it is looked at by people")]
    fn of(&self, done: u64, all: u64) {
        let share = done as f64 / all.max(1) as f64;
        self.0.store(share.clamp(0.0, 1.0).to_bits(), Ordering::Relaxed);
    }
}

/// A file that is being made. The host takes what there is after every step.
#[derive(Clone, Default)]
struct Parts(Arc<Mutex<Vec<u8>>>);

impl Parts {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Parts {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.lock().extend_from_slice(bytes);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// A machine of an `async` function that gives a document.
fn work<F>(body: impl FnOnce(Io) -> F) -> Boxed<Answer>
where
    F: Future<Output = Result<Vec<u8>>> + Send + 'static,
{
    coroutine(|io| {
        let body = body(io);
        async move { Ok(Answer::Text(body.await?)) }
    })
}

fn machine(
    request: Request,
    files: &BTreeMap<u32, HostedFile>,
    progress: &Progress,
    parts: &Parts,
) -> Result<Boxed<Answer>> {
    let file = |id: u32| files.get(&id).cloned().ok_or_else(|| Error::internal(format!("there is no file {id}")));
    let (progress, parts) = (progress.clone(), parts.clone());
    Ok(match request {
        Request::Open { file, name, size, start } => coroutine(move |io| async move {
            let limits = Limits { memory: MEMORY, ..Limits::default() };
            let options = OpenOptions::new().with_limits(limits).with_threads(1);
            let text = start.map_or(Text::Whole, Text::Start);
            let opened = options.open_hosted(&Host::new(io, 0), &name, size, text).await?;
            let answer = answer::inspection(FileReport::of_hosted(&opened), &opened)?;
            Ok(Answer::File(file, Box::new(opened), answer))
        }),
        Request::Layout { file: id } => {
            let file = file(id)?;
            work(move |io| async move {
                let layout = file.layout(&Host::new(io, 0)).await?;
                answer::inspection(FileReport::of_hosted(&file).with_layout(layout, &file.schema()), &file)
            })
        }
        Request::Rows { file: id, columns, start, count } => {
            let file = file(id)?;
            work(move |io| async move {
                let host = Host::new(io, 0);
                if file.row_count() == 0 {
                    // What holds no table says so when it is read.
                    scan(&file, &columns, None).batches_from(&host).await?.next().await?;
                }
                let end = start.saturating_add(count).min(file.row_count());
                let numbers: Vec<u64> = (start..end).collect();
                let take = file.take(numbers.iter().copied());
                let take = names(&columns).into_iter().fold(take, |take, columns| take.columns(columns));
                let batch = take.batch_from(&host).await?;
                answer::rows(&batch, &numbers, None)
            })
        }
        Request::Find { file: id, columns, r#where, start, limit } => {
            let file = file(id)?;
            work(move |io| async move {
                let condition = file.condition(&r#where)?;
                let all = file.row_count();
                let looked = |row| progress.of(row - start.min(row), all - start.min(all));
                let columns = names(&columns);
                let find =
                    Find { condition: &condition, columns: columns.as_deref(), start, limit, memory: SCAN_MEMORY };
                let found = file.find(&Host::new(io, 0), find, looked).await?;
                answer::rows(&found.rows, &found.numbers, found.next)
            })
        }
        Request::Count { file: id, r#where } => {
            let file = file(id)?;
            work(move |io| async move {
                let scan = scan(&file, &Some(Vec::new()), Some(&r#where));
                let mut batches = scan.batches_from(&Host::new(io, 0)).await?;
                let mut rows = 0;
                while let Some(batch) = batches.next().await? {
                    rows += batch.num_rows() as u64;
                    progress.of(rows, file.row_count());
                }
                answer::document(&rows)
            })
        }
        Request::Check { file: id, r#where } => {
            let checked = file(id)?.condition(&r#where);
            work(move |_| async move {
                answer::document(&checked.err().map(|e| serde_json::json!({"message": e.message()})))
            })
        }
        Request::Statistics { file: id, columns, r#where, sample, metadata } => {
            let file = file(id)?;
            work(move |io| async move {
                let stats = if metadata == Some(true) || sample == Some(0) {
                    file.stats_from_metadata(names(&columns).as_deref())?
                } else {
                    let all = sample.map_or(file.row_count(), |sample| sample.min(file.row_count()));
                    let read = |rows| progress.of(rows, all);
                    scan(&file, &columns, r#where.as_deref()).stats_from(&Host::new(io, 0), sample, read).await?
                };
                let statistics = report::statistics(file.name(), file.format().name(), &stats)?;
                answer::document(&answer::without_large_numbers(statistics))
            })
        }
        Request::Verify { file: id } => {
            let file = file(id)?;
            work(move |io| async move {
                let read = |rows| progress.of(rows, file.row_count());
                let verdict = file.verdict(&Host::new(io, 0), SCAN_MEMORY, read).await;
                answer::document(&report::verdict(&verdict, hint))
            })
        }
        Request::Export { file: id, format, columns, r#where, rows } => {
            let file = file(id)?;
            let (format, options) = target(&format)?;
            work(move |io| async move {
                let mut scan = scan(&file, &columns, r#where.as_deref());
                let all = match rows {
                    None => file.row_count(),
                    Some(rows) => {
                        let end = rows.end.min(file.row_count());
                        scan = scan.rows(rows.start.min(end)..end);
                        end - rows.start.min(end)
                    }
                };
                let read = |rows| progress.of(rows, all);
                let host = Host::new(io, 0);
                let written = scan.write_from(&host, format.as_ref(), &options, Box::new(parts), read).await?;
                answer::document(&serde_json::json!({"rows": written.rows, "notes": written.notes}))
            })
        }
        Request::Diff { file: id, other, key } => {
            let (left, right) = (file(id)?, file(other)?);
            work(move |io| async move {
                let mut options = DiffOptions::new().with_memory(SCAN_MEMORY);
                options.key = names(&key);
                let hosts = (Host::new(io.clone(), 0), Host::new(io, 1));
                let difference = diff((&left, &hosts.0), (&right, &hosts.1), &options).await?;
                answer::document(&report::difference(left.name(), right.name(), &difference)?)
            })
        }
    })
}

fn scan<'a>(file: &'a HostedFile, columns: &Columns, condition: Option<&str>) -> ScanBuilder<'a, HostedFile> {
    let scan = names(columns).into_iter().fold(file.scan(), ScanBuilder::columns).memory(SCAN_MEMORY);
    condition.into_iter().fold(scan, ScanBuilder::filter)
}

/// The format of an export, and how it is written: without zstd, which is only read here; and text takes whatever it can.
fn target(name: &str) -> Result<(Arc<dyn Format>, CreateOptions)> {
    let compression = colkit::interop::ParquetCompression::Snappy;
    let registry = Registry::default().configured(colkit::interop::Parquet { compression });
    let options = CreateOptions::new().with_memory(SCAN_MEMORY).with_threads(1).with_drop_metadata(true);
    let options = match name {
        "csv" => options.with_types(Types::Lossy).with_nulls(Nulls::Fill),
        _ => options,
    };
    Ok((registry.named(name, &TextOptions::default())?, options))
}
