//! One of two tables that are compared, wherever its bytes come from.

use crate::{Batches, Input, OpenFile, OpenOptions};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use colkit_core::{Format, Result};
use std::future::Future;
use std::sync::Arc;

/// What can be opened as one of the tables.
pub(crate) trait Openable: Sync {
    /// An open table.
    type Table: Comparand;

    /// Whether it is text.
    fn is_text(&self, opening: &OpenOptions) -> impl Future<Output = Result<bool>> + Send;

    /// Opens it like this.
    fn open(&self, opening: &OpenOptions) -> impl Future<Output = Result<Self::Table>> + Send;
}

/// An open table.
pub(crate) trait Comparand: Send + Sync {
    /// Its rows as they are read.
    type Rows: RowSource;

    /// What messages call it.
    fn name(&self) -> &str;

    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The number of rows.
    fn row_count(&self) -> u64;

    /// What kind of file it is.
    fn format(&self) -> &Arc<dyn Format>;

    /// Reads all rows of these columns.
    fn scan(&self, columns: Vec<usize>, memory: u64) -> impl Future<Output = Result<Self::Rows>> + Send;

    /// Reads these rows of these columns.
    fn take(&self, rows: Vec<u64>, columns: Vec<usize>) -> impl Future<Output = Result<RecordBatch>> + Send;
}

/// The rows of a scan.
pub(crate) trait RowSource: Send {
    /// The next batch; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<RecordBatch>>> + Send;
}

impl Openable for Input {
    type Table = OpenFile;

    async fn is_text(&self, opening: &OpenOptions) -> Result<bool> {
        opening.format_of(self).map(|f| opening.registry.is_text(f.name()))
    }

    async fn open(&self, opening: &OpenOptions) -> Result<OpenFile> {
        opening.open_input(self)
    }
}

impl Comparand for OpenFile {
    type Rows = Batches;

    fn name(&self) -> &str {
        self.input().name()
    }

    fn schema(&self) -> SchemaRef {
        self.schema()
    }

    fn row_count(&self) -> u64 {
        self.row_count()
    }

    fn format(&self) -> &Arc<dyn Format> {
        self.format()
    }

    async fn scan(&self, columns: Vec<usize>, memory: u64) -> Result<Batches> {
        self.scan().columns(columns).memory(memory).batches()
    }

    async fn take(&self, rows: Vec<u64>, columns: Vec<usize>) -> Result<RecordBatch> {
        self.take(rows).columns(columns).batch()
    }
}

impl RowSource for Batches {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        Ok(Iterator::next(self).transpose()?)
    }
}
