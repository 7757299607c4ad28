//! An object store wrapper with time limits.

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Seconds that a store has to answer, unless told otherwise.
pub const SECONDS: u64 = 60;

/// Bytes that must come or go in each second beyond that: what is slower is as good as dead.
const SLOWEST: u64 = 64 << 10;

/// How many seconds stores have. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct TimeLimit(Arc<AtomicU64>);

impl Default for TimeLimit {
    fn default() -> Self {
        TimeLimit(Arc::new(AtomicU64::new(SECONDS)))
    }
}

impl TimeLimit {
    pub fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::Relaxed);
    }

    pub fn seconds(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// When an answer with this many bytes has to be complete.
    fn deadline(&self, bytes: u64) -> Deadline {
        let seconds = self.seconds().saturating_add(bytes / SLOWEST);
        // Beyond a year it does not matter.
        let end = Instant::now() + Duration::from_secs(seconds.min(365 * 24 * 3600));
        Deadline { end, seconds }
    }
}

#[derive(Clone, Copy)]
struct Deadline {
    end: Instant,
    seconds: u64,
}

impl Deadline {
    /// Waits for `work` until then.
    async fn of<T>(self, what: &'static str, work: impl Future<Output = Result<T>>) -> Result<T> {
        match timeout_at(self.end, work).await {
            Ok(done) => done,
            Err(_) => {
                let message = format!("the store took more than {} seconds to {what}", self.seconds);
                let source = Box::new(std::io::Error::new(std::io::ErrorKind::TimedOut, message));
                Err(Error::Generic { store: "colkit", source })
            }
        }
    }

    /// The items of `stream` that come until then, and an error if it has not ended by itself.
    fn over<T: Send + 'static>(
        self,
        what: &'static str,
        stream: BoxStream<'static, Result<T>>,
    ) -> BoxStream<'static, Result<T>> {
        let next = move |open: Option<BoxStream<'static, Result<T>>>| async move {
            let mut stream = open?;
            let item = self.of(what, async { Ok(stream.next().await) }).await;
            match item {
                Ok(Some(item)) => Some((item, Some(stream))),
                Ok(None) => None,
                Err(late) => Some((Err(late), None)),
            }
        };
        futures::stream::unfold(Some(stream), next).boxed()
    }
}

/// Gives up on the store inside when it takes too long: to answer, to send what was asked for, to end a list.
#[derive(Debug)]
pub(crate) struct TimedStore {
    inner: Arc<dyn ObjectStore>,
    patience: TimeLimit,
}

impl TimedStore {
    pub fn new(inner: Arc<dyn ObjectStore>, patience: TimeLimit) -> Self {
        TimedStore { inner, patience }
    }
}

impl fmt::Display for TimedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

const ANSWER: &str = "answer";
const SEND: &str = "send what was asked for";
const LIST: &str = "list its objects";

#[async_trait::async_trait]
impl ObjectStore for TimedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let deadline = self.patience.deadline(payload.content_length() as u64);
        deadline.of(ANSWER, self.inner.put_opts(location, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.patience.deadline(0).of(ANSWER, self.inner.put_multipart_opts(location, options)).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut answer = self.patience.deadline(0).of(ANSWER, self.inner.get_opts(location, options)).await?;
        if let GetResultPayload::Stream(stream) = answer.payload {
            let deadline = self.patience.deadline(answer.range.end.saturating_sub(answer.range.start));
            answer.payload = GetResultPayload::Stream(deadline.over(SEND, stream));
        }
        Ok(answer)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = ranges.iter().map(|r| r.end.saturating_sub(r.start)).fold(0, u64::saturating_add);
        self.patience.deadline(bytes).of(SEND, self.inner.get_ranges(location, ranges)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.patience.deadline(0).over(LIST, self.inner.list(prefix))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.patience.deadline(0).of(LIST, self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.patience.deadline(0).of(ANSWER, self.inner.copy_opts(from, to, options)).await
    }
}
