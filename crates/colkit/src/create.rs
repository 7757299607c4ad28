//! Writing a file: in the format that its name says, complete or not at all.

use crate::fidelity::{carried, laid_out};
use crate::narrow::to_types;
use crate::{Registry, create, target_format};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchReader};
use colkit_core::plan::batch_of;
use colkit_core::{Existing, Format, Nulls, Result, TableWriter, Types, WriteOptions, WriteSummary};
use std::path::Path;
use std::sync::Arc;

/// Writes all batches of `reader` to a new file at `path`, in the format that its extension stands for. The file appears
/// when it is complete. One that is there is an error; [`CreateOptions`] says more.
pub fn write(path: impl AsRef<Path>, reader: impl RecordBatchReader) -> Result<WriteSummary> {
    CreateOptions::new().write(path, reader)
}

/// How to write files.
///
/// What only one format knows is set on that format's own value:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
/// # colkit::convert("trades.csv", "trades.lance")?;
/// use colkit::CreateOptions;
/// use colkit::lance::{Lance, LanceWriteOptions, Prefer};
/// let lance = Lance::new().with_write_options(LanceWriteOptions::new().with_prefer(Prefer::Size));
/// let options = CreateOptions::new().with_configured(lance).with_overwrite(true);
/// let rows = colkit::open("trades.csv")?.scan().batches()?;
/// assert_eq!(options.write("trades.lance", rows)?.rows, 4);
/// # Ok::<(), colkit::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct CreateOptions {
    pub(crate) registry: Registry,
    pub(crate) format: Option<String>,
    pub(crate) existing: Existing,
    pub(crate) write: WriteOptions,
    pub(crate) drop_metadata: bool,
}

impl CreateOptions {
    /// New files, in the format that their extensions stand for, on all threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes the format of this name, whatever the extension.
    pub fn with_format(mut self, name: impl Into<String>) -> Self {
        self.format = Some(name.into());
        self
    }

    /// Knows these formats.
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Writes files of this format as this value of it does.
    pub fn with_configured(mut self, format: impl Format + 'static) -> Self {
        self.registry = self.registry.configured(format);
        self
    }

    /// Whether a file that is there is replaced. By default it is an error.
    pub fn with_overwrite(mut self, overwrite: bool) -> Self {
        self.existing = if overwrite { Existing::Replace } else { Existing::Refuse };
        self
    }

    /// The compression level, where the format has levels.
    pub fn with_level(mut self, level: u32) -> Self {
        self.write.level = Some(level);
        self
    }

    /// Uses at most this many bytes of memory.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.write.memory = bytes;
        self
    }

    /// Uses this many threads.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.write.threads = threads.max(1);
        self
    }

    /// What becomes of nulls that the format cannot store. By default they are an error.
    pub fn with_nulls(mut self, nulls: Nulls) -> Self {
        self.write.nulls = nulls;
        self
    }

    /// What becomes of types that the format cannot store. By default they are an error.
    pub fn with_types(mut self, types: Types) -> Self {
        self.write.types = types;
        self
    }

    /// Whether key-value metadata that the format cannot store is left out. By default it is an error.
    pub fn with_drop_metadata(mut self, drop: bool) -> Self {
        self.drop_metadata = drop;
        self
    }

    /// All that a format is told about writing.
    pub fn with_write_options(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    /// The format that a file at `path` gets.
    pub fn format_of(&self, path: impl AsRef<Path>) -> Result<Arc<dyn Format>> {
        target_format(&self.registry, self.format.as_deref(), Some(path.as_ref()), "CreateOptions::with_format")
    }

    /// Starts a file at `path` for batches of this schema.
    pub fn create(&self, path: impl AsRef<Path>, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let path = path.as_ref();
        let format = self.format_of(path)?;
        let start = || -> Result<Box<dyn TableWriter>> {
            let (plain, left_out) = carried(schema, format.as_ref(), self.drop_metadata)?;
            let stored = Arc::new(laid_out(&plain, format.as_ref()));
            let sink = create(path, [], self.existing)?;
            let inner = format.writer(stored.clone(), sink, &self.write)?;
            let name = path.display().to_string();
            Ok(Box::new(Fitted { inner, given: schema.clone(), stored, left_out, name }))
        };
        start().map_err(|e| e.file(path.display().to_string()))
    }

    /// Writes all batches of `reader` to a file at `path`.
    pub fn write(&self, path: impl AsRef<Path>, reader: impl RecordBatchReader) -> Result<WriteSummary> {
        let mut writer = self.create(path, &reader.schema())?;
        for batch in reader {
            writer.write(&batch?)?;
        }
        writer.finish()
    }
}

/// Gives a writer batches as its format stores them, and errors the name of the file.
struct Fitted {
    inner: Box<dyn TableWriter>,
    given: SchemaRef,
    stored: SchemaRef,
    left_out: Option<String>,
    name: String,
}

impl Fitted {
    /// The batch as it is stored. One of another schema stays as it is: the writer knows best what is wrong with it.
    fn fit(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let types = |schema: &Schema| schema.fields().iter().map(|f| f.data_type().clone()).collect::<Vec<_>>();
        if types(&batch.schema()) != types(&self.given) {
            return Ok(batch.clone());
        }
        batch_of(&self.stored, to_types(batch.columns(), &self.stored)?, batch.num_rows())
    }
}

impl TableWriter for Fitted {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.fit(batch).and_then(|batch| self.inner.write(&batch));
        written.map_err(|e| e.file(self.name.clone()))
    }

    fn finish(self: Box<Self>) -> Result<WriteSummary> {
        let mut summary = self.inner.finish().map_err(|e| e.file(self.name.clone()))?;
        summary.notes.splice(0..0, self.left_out);
        Ok(summary)
    }
}
