//! A file in an object store, for async programs: nothing here blocks.

use crate::Opening;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use colkit_core::drive::store::Remote;
use colkit_core::{Format, Limits, Projection, Result, Scan, Table, recognition};
use colkit_store::{ObjectMeta, ObjectStore, Stores};
use futures::{Stream, StreamExt};
use std::sync::Arc;

/// Bytes that opening a file in a store may fetch in vain: fewer would be a request more.
const PREFETCH: u64 = 64 << 10;

/// An open file in an object store. Every error it gives carries its name.
#[derive(Clone)]
pub struct RemoteFile {
    name: Arc<str>,
    format: Arc<dyn Format>,
    table: Arc<dyn Table>,
    bytes: Arc<Remote>,
    limits: Limits,
}

impl Opening {
    /// Opens the object at a URL such as `s3://bucket/file.lance`.
    pub async fn open_url(&self, url: &str) -> Result<RemoteFile> {
        let location = Stores::shared().locate(url)?;
        let object = location.head().await?;
        self.open_object(location.store, &object).await.map_err(|e| e.file(url))
    }

    /// Opens an object of a store, which has just been described.
    pub async fn open_object(&self, store: Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<RemoteFile> {
        let name: Arc<str> = object.location.to_string().into();
        let mut read = self.read.clone();
        // The only store that keeps objects as files says so by its name.
        let bytes = if store.to_string().starts_with("LocalFileSystem") {
            Remote::local(store, object).await?
        } else {
            read.prefetch = read.prefetch.max(PREFETCH);
            Remote::new(store, object)
        };
        let opened = async {
            let format = match &self.from {
                Some(name) => self.registry.named(name, &self.text)?,
                None => {
                    let extension = object.location.extension().map(str::to_ascii_lowercase);
                    let formats = self.registry.formats(&self.text);
                    bytes.run(recognition(bytes.size(), &formats, extension.as_deref())).await?
                }
            };
            let table = bytes.run(format.open(bytes.size(), &read)).await?;
            read.limits.check_schema(&table.schema())?;
            Ok((format, table))
        };
        let (format, table) = opened.await.map_err(|e: colkit_core::Error| e.file(&*name))?;
        Ok(RemoteFile { name, format, table, bytes: Arc::new(bytes), limits: read.limits })
    }
}

impl RemoteFile {
    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of file it is.
    pub fn format(&self) -> &Arc<dyn Format> {
        &self.format
    }

    /// The table.
    pub fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// Its bytes.
    pub fn bytes(&self) -> &Arc<Remote> {
        &self.bytes
    }

    /// The limits it was opened with.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// The number of rows.
    pub fn row_count(&self) -> u64 {
        self.table.row_count()
    }

    /// Reads batches in row order, as they are asked for. Dropping the stream ends it.
    pub fn scan(&self, scan: &Scan) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static + use<> {
        let name = self.name.clone();
        let batches = self.bytes.clone().scan(self.table.clone(), scan, &self.limits);
        batches.map(move |batch| batch.map_err(|e| e.file(&*name)))
    }

    /// These rows, in this order; rows may repeat.
    pub async fn take(&self, rows: &[u64], projection: &Projection) -> Result<RecordBatch> {
        let taken = self.bytes.take(self.table.clone(), rows, projection, &self.limits).await;
        taken.map_err(|e| e.file(&*self.name))
    }
}
