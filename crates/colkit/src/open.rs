//! Opening a file: by what is in it, not by what it is called.

use crate::{ColumnName, Input, Registry, TextReading};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use colkit_core::plan::Planned;
use colkit_core::{
    Batches, Error, Format, Layout, Nulls, Predicate, Projection, ReadOptions, Result, Scan, TableFile, Verified,
    available_threads, recognise,
};
use std::sync::Arc;

/// How to open files.
#[derive(Clone)]
pub struct Opening {
    /// What can be recognised.
    pub registry: Registry,
    /// The format's name, if it is not to be recognised.
    pub from: Option<String>,
    /// How text formats are read.
    pub text: TextReading,
    /// Limits and prefetching.
    pub read: ReadOptions,
    /// Threads for scans.
    pub threads: usize,
}

impl Default for Opening {
    fn default() -> Self {
        Opening {
            registry: Registry::default(),
            from: None,
            text: TextReading::default(),
            read: ReadOptions::default(),
            threads: available_threads(),
        }
    }
}

impl Opening {
    /// The format of `input`: the one named, the one its content shows or, if nobody knows the content, the one its
    /// extension promises.
    pub fn format_of(&self, input: &Input) -> Result<Arc<dyn Format>> {
        if let Some(name) = &self.from {
            return self.registry.named(name, &self.text);
        }
        let extension = input.extension();
        let formats = self.registry.formats(&self.text);
        let known = recognise(input.bytes().as_ref(), &formats, extension.as_deref());
        known.map_err(|error| error.file(input.name()))
    }

    /// Opens `input`.
    pub fn open(&self, input: &Input) -> Result<OpenFile> {
        let format = self.format_of(input)?;
        let file = TableFile::open(format, input.bytes(), &self.read).map_err(|e| e.file(input.name()))?;
        Ok(OpenFile { input: input.clone(), file: file.with_threads(self.threads) })
    }

    /// The same opening, with text read to types that `format` can store.
    pub fn suited_to(&self, format: &dyn Format, filling: Nulls) -> Self {
        Opening { text: self.text.clone().suited_to(format, filling), ..self.clone() }
    }
}

/// An open file that knows its name: every error it gives carries it.
#[derive(Clone)]
pub struct OpenFile {
    input: Input,
    file: TableFile,
}

impl OpenFile {
    /// Where it is read from.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The table and its bytes, without the name.
    pub fn table_file(&self) -> &TableFile {
        &self.file
    }

    /// What kind of file it is.
    pub fn format(&self) -> &Arc<dyn Format> {
        self.file.format()
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.file.schema()
    }

    /// The number of rows.
    pub fn row_count(&self) -> u64 {
        self.file.row_count()
    }

    /// Facts about the format and this file: version, codec, settings.
    pub fn properties(&self) -> Vec<(&'static str, String)> {
        self.file.table().properties()
    }

    /// The scan of these columns (`None` is all) and of the rows for which the condition holds. Names and types are
    /// checked here, before anything is read.
    pub fn select(&self, columns: Option<&[ColumnName]>, condition: Option<&str>) -> Result<Scan> {
        let schema = self.schema();
        let resolve = || -> Result<Scan> {
            let projection = match columns {
                None => Projection::all(),
                Some(names) => ColumnName::projection(names, &schema)?,
            };
            projection.resolve(&schema)?;
            let predicate = condition.map(|text| Predicate::parse(text, &schema)?.bind(&schema)).transpose()?;
            Ok(Scan { projection, predicate, ..Scan::default() })
        };
        self.named(resolve())
    }

    /// Reads batches in row order.
    pub fn scan(&self, scan: &Scan) -> Result<NamedBatches> {
        let batches = self.named(self.file.scan(scan))?;
        Ok(NamedBatches { name: self.input.name().into(), batches })
    }

    /// What a scan would read.
    pub fn planned(&self, scan: &Scan) -> Result<Planned> {
        self.named(self.file.planned(scan))
    }

    /// These rows, in this order.
    pub fn take(&self, rows: &[u64], projection: &Projection) -> Result<RecordBatch> {
        self.named(self.file.take(rows, projection))
    }

    /// The byte map.
    pub fn layout(&self) -> Result<Layout> {
        self.named(self.file.layout())
    }

    /// The format's own checks beyond decoding.
    pub fn verify(&self) -> Result<Verified> {
        self.named(self.file.verify())
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|e| e.file(self.input.name()))
    }
}

/// The batches of a scan; errors carry the file's name.
pub struct NamedBatches {
    name: String,
    batches: Batches,
}

impl NamedBatches {
    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }

    /// What was planned to be read.
    pub fn planned(&self) -> Planned {
        self.batches.planned()
    }

    /// How many rows have been decoded so far of each column that is read: those asked for, then those of conditions.
    pub fn decoded(&self) -> Vec<(String, u64)> {
        self.batches.decoded()
    }
}

impl Iterator for NamedBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.batches.next()?;
        Some(next.map_err(|e: Error| e.file(self.name.clone())))
    }
}
