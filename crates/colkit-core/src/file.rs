//! An open table together with its source: what most programs use.

use crate::coroutine::coroutine;
use crate::drive::blocking::{self, Batches};
use crate::format::available_threads;
use crate::plan::Planned;
use crate::{
    Boxed, ByteRange, Error, Format, Hint, Layout, Limits, Projection, ReadOptions, Result, Scan, Setting, Source,
    Stop, Table, Verified,
};
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

    /// A table that is open already, over these bytes.
    pub fn of(format: Arc<dyn Format>, table: Arc<dyn Table>, source: Arc<dyn Source>, limits: Limits) -> Self {
        TableFile { format, table, source, limits, threads: available_threads() }
    }

    /// Uses this many threads for scans.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// The same file, of which nothing more is read once it is time to stop.
    pub fn stopped_by(mut self, stop: &Stop) -> Self {
        self.source = stop.source(self.source);
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

    /// Bytes of everything that the table is made of.
    pub fn bytes(&self) -> u64 {
        self.table.bytes().unwrap_or_else(|| self.source.size())
    }

    /// Reads batches in row order, on all threads, within the limits that the file was opened with.
    pub fn scan(&self, scan: &Scan) -> Result<Batches> {
        let limits = &self.limits;
        let scan = Scan {
            memory: scan.memory.min(limits.memory),
            batch_rows: scan.batch_rows.min(limits.batch_rows),
            ..scan.clone()
        };
        let most = limits.output_of(self.bytes());
        blocking::scan(self.table.clone(), self.source.clone(), &scan, self.threads, most)
    }

    /// What a scan would read.
    pub fn planned(&self, scan: &Scan) -> Result<Planned> {
        blocking::planned(self.table.as_ref(), self.source.as_ref(), scan)
    }

    /// These rows, in this order.
    pub fn take(&self, rows: &[u64], projection: &Projection) -> Result<RecordBatch> {
        blocking::take(self.table.clone(), self.source.clone(), rows, projection, &self.limits, self.threads)
    }

    /// The byte map.
    pub fn layout(&self) -> Result<Layout> {
        blocking::run(self.table.layout()?, self.source.as_ref())
    }

    /// The format's own checks beyond decoding; see [`Table::verify`].
    pub fn verify(&self) -> Result<Verified> {
        blocking::run(self.table.verify()?, self.source.as_ref())
    }
}

/// The format of a file, by its content. If no magic is in it, the `extension` decides between formats that recognise it,
/// and a format with a magic that it names comes before those: its own error then says best what is wrong.
pub fn recognise(source: &dyn Source, formats: &[Arc<dyn Format>], extension: Option<&str>) -> Result<Arc<dyn Format>> {
    blocking::run(recognition(source.size(), formats, extension), source)
}

/// [`recognise`] as a machine, for a file of `size` bytes.
///
/// It looks at as little as it can: a magic at the start settles it without touching anything behind the header, one at the
/// end without touching anything before it.
pub fn recognition(size: u64, formats: &[Arc<dyn Format>], extension: Option<&str>) -> Boxed<Arc<dyn Format>> {
    let candidates = Candidates { formats: formats.to_vec(), extension: extension.map(str::to_owned) };
    coroutine(move |io| async move {
        let magic = io.read_one(ByteRange::between(0, size.min(16))).await?;
        if let Some(format) = candidates.pick(&magic, &[]) {
            return Ok(format);
        }
        let tail = io.read_one(ByteRange::between(size.saturating_sub(64), size)).await?;
        if let Some(format) = candidates.pick(&[], &tail) {
            return Ok(format);
        }
        let head = io.read_one(ByteRange::between(0, size.min(4096))).await?;
        candidates.without_magic(&head, &tail).ok_or_else(|| candidates.unknown(size))
    })
}

/// The formats that a file may be of.
struct Candidates {
    formats: Vec<Arc<dyn Format>>,
    extension: Option<String>,
}

impl Candidates {
    fn pick(&self, head: &[u8], tail: &[u8]) -> Option<Arc<dyn Format>> {
        let mut known = self.formats.iter().filter(|f| f.sniff(head, tail));
        let named = known.clone().find(|f| self.extension.as_deref().is_some_and(|e| f.extensions().contains(&e)));
        named.or_else(|| known.next()).cloned()
    }

    /// The format that the extension names.
    fn named(&self) -> Option<&Arc<dyn Format>> {
        let extension = self.extension.as_deref()?;
        self.formats.iter().find(|f| f.extensions().contains(&extension))
    }

    /// The format of a file without a magic that anybody knows.
    fn without_magic(&self, head: &[u8], tail: &[u8]) -> Option<Arc<dyn Format>> {
        let with_magic = self.named().filter(|f| f.has_magic()).cloned();
        with_magic.or_else(|| self.pick(head, tail)).or_else(|| self.named().cloned())
    }

    fn unknown(&self, size: u64) -> Error {
        let names: Vec<&str> = self.formats.iter().map(|f| f.name()).collect();
        let content = if size == 0 { "the file is empty" } else { "the file is of no known format" };
        let by_hand = Setting::InputFormat.does("names one by hand");
        Error::unsupported("unknown_format", content)
            .at(0)
            .hint(Hint::from(format!("known formats: {}", names.join(", "))).and(by_hand))
    }
}
