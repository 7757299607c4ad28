//! A file whose bytes a host brings, such as a page in a browser: for programs that can neither block nor wait.
//!
//! All of this is `async` code for a [`coroutine`](colkit_core::coroutine::coroutine), which makes a machine of it that the host
//! steps. A [`Host`] is where the bytes of a file come from while one coroutine runs; the open file outlives it.

mod diff;
mod export;
mod find;
mod open;
mod stats;
mod verify;

use crate::{OpenOptions, ScanBuilder, TakeBuilder};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
pub use colkit_core::drive::hosted::{Host, HostedBatches};
use colkit_core::{Error, Format, Layout, Limits, Result, Scan, Table};
use std::future::Future;
use std::sync::Arc;

pub use diff::diff;
pub use find::{Find, FoundRows};
pub use open::Text;

/// An open file. Every error it gives carries its name.
#[derive(Clone)]
pub struct HostedFile {
    name: Arc<str>,
    size: u64,
    format: Arc<dyn Format>,
    table: Arc<dyn Table>,
    options: Arc<OpenOptions>,
    /// How many of its bytes are read at all, if it is a text that was opened by its start.
    start: Option<u64>,
}

impl HostedFile {
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

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// The number of rows, of a text that was opened by its start those in it.
    pub fn row_count(&self) -> u64 {
        self.table.row_count()
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.size
    }

    /// How many bytes of it were read, if it is a text that was opened by its start alone.
    pub fn start(&self) -> Option<u64> {
        self.start
    }

    /// Facts about the format and this file: version, codec, settings.
    pub fn properties(&self) -> Vec<(&'static str, String)> {
        self.table.properties()
    }

    /// Reads batches in row order: all of them, unless the builder is told which.
    pub fn scan(&self) -> ScanBuilder<'_, HostedFile> {
        ScanBuilder::new(self, self.schema(), self.row_count())
    }

    /// Reads single rows, in this order. Rows are counted from 0 and may repeat.
    pub fn take(&self, rows: impl IntoIterator<Item = u64>) -> TakeBuilder<'_, HostedFile> {
        TakeBuilder::new(self, rows.into_iter().collect())
    }

    /// The byte map, of a text that was opened by its start that of the part that was read.
    pub async fn layout(&self, host: &Host) -> Result<Layout> {
        self.named(async { host.run(self.table.layout()?).await }).await
    }

    fn limits(&self) -> &Limits {
        &self.options.read.limits
    }

    /// A scan within the limits that the file was opened with.
    fn within_limits(&self, scan: &Scan) -> Scan {
        let limits = self.limits();
        Scan {
            memory: scan.memory.min(limits.memory),
            batch_rows: scan.batch_rows.min(limits.batch_rows),
            ..scan.clone()
        }
    }

    /// The batches of a scan that has been resolved.
    async fn read(&self, host: &Host, scan: &Scan) -> Result<HostedBatches> {
        host.scan(self.table.clone(), &self.within_limits(scan), self.limits().output_of(self.size)).await
    }

    async fn named<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        work.await.map_err(|e: Error| e.file(&*self.name))
    }
}

impl ScanBuilder<'_, HostedFile> {
    /// Starts reading: batches as they are asked for.
    pub async fn batches_from(self, host: &Host) -> Result<HostedBatches> {
        let file = self.file;
        file.named(async { file.read(host, &self.build()?).await }).await
    }
}

impl TakeBuilder<'_, HostedFile> {
    /// Reads the rows, all of them into one batch.
    pub async fn batch_from(self, host: &Host) -> Result<RecordBatch> {
        let file = self.file;
        let taken = async {
            let projection = self.projection(&file.schema())?;
            host.take(file.table.clone(), &self.rows, &projection, file.limits()).await
        };
        file.named(taken).await
    }
}
