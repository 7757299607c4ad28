//! An object store wrapper that counts requests.

use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was asked of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCount {
    /// Requests for bytes.
    pub reads: u64,
    /// Bytes that came of them.
    pub bytes: u64,
    /// Requests about an object: how large it is.
    pub heads: u64,
    /// Requests for lists of objects.
    pub lists: u64,
}

/// Counts what is asked of the store inside. Several requests that the store makes of one (retries, pages of a long list)
/// count once.
#[derive(Debug)]
pub(crate) struct Counted {
    inner: Arc<dyn ObjectStore>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    reads: AtomicU64,
    bytes: AtomicU64,
    heads: AtomicU64,
    lists: AtomicU64,
}

fn add(to: &AtomicU64, n: u64) {
    to.fetch_add(n, Ordering::Relaxed);
}

impl Counted {
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Counted { inner, counts: Counts::default() }
    }

    pub fn count(&self) -> StoreCount {
        let get = |from: &AtomicU64| from.load(Ordering::Relaxed);
        let Counts { reads, bytes, heads, lists } = &self.counts;
        StoreCount { reads: get(reads), bytes: get(bytes), heads: get(heads), lists: get(lists) }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Counted {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        add(if head { &self.counts.heads } else { &self.counts.reads }, 1);
        let result = self.inner.get_opts(location, options).await?;
        if !head && matches!(result.payload, GetResultPayload::Stream(_)) {
            add(&self.counts.bytes, result.range.end.saturating_sub(result.range.start));
        }
        Ok(result)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let parts = self.inner.get_ranges(location, ranges).await?;
        add(&self.counts.reads, parts.len() as u64);
        add(&self.counts.bytes, parts.iter().map(|p| p.len() as u64).sum());
        Ok(parts)
    }

    fn delete_stream(
        &self,
        locations: futures::stream::BoxStream<'static, Result<Path>>,
    ) -> futures::stream::BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> futures::stream::BoxStream<'static, Result<ObjectMeta>> {
        add(&self.counts.lists, 1);
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        add(&self.counts.lists, 1);
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
