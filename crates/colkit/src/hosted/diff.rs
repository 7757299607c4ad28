//! Comparing two files whose bytes a host brings.

use super::HostedFile;
use crate::diff::{Comparand, Openable, RowSource, compared};
use crate::{DiffOptions, Difference, OpenOptions};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use colkit_core::drive::hosted::{Host, HostedBatches};
use colkit_core::{Format, Result};
use std::sync::Arc;

/// Compares two open files; see [`diff`](crate::diff()). Of texts that were opened by their starts only those are compared.
pub async fn diff(a: (&HostedFile, &Host), b: (&HostedFile, &Host), options: &DiffOptions) -> Result<Difference> {
    let opening = a.0.options.clone();
    let side = |(file, host): (&HostedFile, &Host)| Side { file: file.clone(), host: host.clone() };
    compared(&side(a), &side(b), &opening, options).await
}

/// A file, and where its bytes come from.
struct Side {
    file: HostedFile,
    host: Host,
}

impl Openable for Side {
    type Table = Side;

    async fn is_text(&self, _: &OpenOptions) -> Result<bool> {
        Ok(self.file.is_text())
    }

    async fn open(&self, opening: &OpenOptions) -> Result<Side> {
        let file = if self.file.is_text() { self.file.reopened(&self.host, opening).await? } else { self.file.clone() };
        Ok(Side { file, host: self.host.clone() })
    }
}

impl Comparand for Side {
    type Rows = Rows;

    fn name(&self) -> &str {
        self.file.name()
    }

    fn schema(&self) -> SchemaRef {
        self.file.schema()
    }

    fn row_count(&self) -> u64 {
        self.file.row_count()
    }

    fn format(&self) -> &Arc<dyn Format> {
        self.file.format()
    }

    async fn scan(&self, columns: Vec<usize>, memory: u64) -> Result<Rows> {
        let batches = self.file.scan().columns(columns).memory(memory).batches_from(&self.host).await?;
        Ok(Rows { batches, file: self.file.clone() })
    }

    async fn take(&self, rows: Vec<u64>, columns: Vec<usize>) -> Result<RecordBatch> {
        self.file.take(rows).columns(columns).batch_from(&self.host).await
    }
}

struct Rows {
    batches: HostedBatches,
    file: HostedFile,
}

impl RowSource for Rows {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.file.named(self.batches.next()).await
    }
}
