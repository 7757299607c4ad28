//! An open table together with the bytes it is made of: what most programs hold.

use crate::drive::blocking::{self, Batches};
use crate::format::available_threads;
use crate::{ByteRange, Error, Finding, Format, Layout, Limits, Projection, ReadOptions, Result, Scan, Source, Table};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// An open file, read by the blocking driver.
#[derive(Clone)]
pub struct TableFile {
    format: Arc<dyn Format>,
    table: Arc<dyn Table>,
    source: Arc<dyn Source>,
    limits: Limits,
    threads: usize,
}

impl TableFile {
    /// Opens `source` as a file of `format`.
    pub fn open(format: Arc<dyn Format>, source: Arc<dyn Source>, options: &ReadOptions) -> Result<Self> {
        let table = blocking::run(format.open(source.size(), options), source.as_ref())?;
        options.limits.check_schema(&table.schema())?;
        Ok(TableFile { format, table, source, limits: options.limits.clone(), threads: available_threads() })
    }

    /// Uses this many threads for scans.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// What kind of file it is.
    pub fn format(&self) -> &Arc<dyn Format> {
        &self.format
    }

    /// The table.
    pub fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// The bytes.
    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// The number of rows.
    pub fn row_count(&self) -> u64 {
        self.table.row_count()
    }

    /// Reads batches in row order, on all threads, within the limits that the file was opened with.
    pub fn scan(&self, scan: &Scan) -> Result<Batches> {
        let limits = &self.limits;
        let scan = Scan {
            memory: scan.memory.min(limits.memory),
            batch_rows: scan.batch_rows.min(limits.batch_rows),
            ..scan.clone()
        };
        let batches = blocking::scan(self.table.clone(), self.source.clone(), &scan, self.threads)?;
        Ok(batches.giving_at_most(limits.output_of(self.source.size())))
    }

    /// These rows, in this order.
    pub fn take(&self, rows: &[u64], projection: &Projection) -> Result<RecordBatch> {
        crate::take::check_rows(rows, self.row_count())?;
        blocking::run(self.table.take(rows, projection)?, self.source.as_ref())
    }

    /// The byte map.
    pub fn layout(&self) -> Result<Layout> {
        blocking::run(self.table.layout()?, self.source.as_ref())
    }

    /// The format's own checks beyond decoding; see [`Table::verify`].
    pub fn verify(&self) -> Result<Vec<Finding>> {
        blocking::run(self.table.verify()?, self.source.as_ref())
    }
}

/// The format of a file, by its content; `extension` settles a tie between formats that both recognise it.
pub fn recognise(source: &dyn Source, formats: &[Arc<dyn Format>], extension: Option<&str>) -> Result<Arc<dyn Format>> {
    let size = source.size();
    let head = |length: u64| source.read(ByteRange::between(0, size.min(length)));
    let pick = |head: &[u8], tail: &[u8]| {
        let mut known = formats.iter().filter(|f| f.sniff(head, tail));
        let named = known.clone().find(|f| extension.is_some_and(|e| f.extensions().contains(&e)));
        named.or_else(|| known.next()).cloned()
    };
    // A magic at the start settles it without touching anything behind the header.
    if let Some(format) = pick(&head(16)?, &[]) {
        return Ok(format);
    }
    // So does one at the end, without touching anything before it.
    let tail = source.read(ByteRange::between(size.saturating_sub(64), size))?;
    if let Some(format) = pick(&[], &tail) {
        return Ok(format);
    }
    pick(&head(4096)?, &tail).ok_or_else(|| {
        let names: Vec<&str> = formats.iter().map(|f| f.name()).collect();
        let content = if size == 0 { "the file is empty" } else { "the file is of no known format" };
        Error::unsupported("bad_magic", content)
            .at(0)
            .hint(format!("known formats: {}; --from names one by hand", names.join(", ")))
    })
}
