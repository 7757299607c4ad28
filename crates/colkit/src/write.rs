//! Writing a local file or object: in the format that its name says, complete or not at all.

use crate::CreateOptions;
#[cfg(feature = "fs")]
use crate::create;
use crate::fidelity::{carried, laid_out, storable_times};
use crate::narrow::to_types;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
#[cfg(feature = "fs")]
use arrow::record_batch::RecordBatchReader;
use colkit_core::plan::batch_of;
use colkit_core::{Format, Result, Sink, TableWriter, WriteSummary};
#[cfg(feature = "fs")]
use std::path::Path;
use std::sync::Arc;

/// Writes all batches of `reader` to a new file at `path`, in the format that its extension stands for. The file appears
/// when it is complete. One that is there is an error; [`CreateOptions`] says more.
#[cfg(feature = "fs")]
pub fn write(path: impl AsRef<Path>, reader: impl RecordBatchReader) -> Result<WriteSummary> {
    CreateOptions::new().write(path, reader)
}

impl CreateOptions {
    /// Starts a file at `path` for batches of this schema.
    #[cfg(feature = "fs")]
    pub fn create(&self, path: impl AsRef<Path>, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let path = path.as_ref();
        let format = self.format_of(path)?;
        let name = path.display().to_string();
        self.start(format.as_ref(), || create(path, [], self.existing), schema, &name)
    }

    /// Starts a file of this format, for batches of this schema, in a sink. Errors call it by this name.
    pub fn create_in(
        &self,
        format: &dyn Format,
        sink: Box<dyn Sink>,
        schema: &SchemaRef,
        name: &str,
    ) -> Result<Box<dyn TableWriter>> {
        self.start(format, || Ok(sink), schema, name)
    }

    fn start(
        &self,
        format: &dyn Format,
        sink: impl FnOnce() -> Result<Box<dyn Sink>>,
        schema: &SchemaRef,
        name: &str,
    ) -> Result<Box<dyn TableWriter>> {
        let start = || -> Result<Box<dyn TableWriter>> {
            let (plain, left_out) = carried(schema, format, self.drop_metadata)?;
            let stored = Arc::new(laid_out(&plain, format));
            let stored = if self.inferred_types { storable_times(&stored, format) } else { stored };
            let inner = format.writer(stored.clone(), sink()?, &self.write)?;
            Ok(Box::new(Fitted { inner, given: schema.clone(), stored, left_out, name: name.to_owned() }))
        };
        start().map_err(|e| e.file(name.to_owned()))
    }

    /// Writes all batches of `reader` to a file at `path`.
    #[cfg(feature = "fs")]
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
