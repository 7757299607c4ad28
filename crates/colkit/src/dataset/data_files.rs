//! The data files of new fragments.

use super::{Folder, random};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use colkit_core::{Format, Result, Sink, TableWriter, WriteOptions};
use colkit_lance::dataset::NewFile;
use colkit_lance::{Lance, LanceWriteOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much a data file may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileSize {
    pub rows: u64,
    pub bytes: u64,
}

/// Rows of a file and bytes after which it is full, as Lance has it.
impl Default for FileSize {
    fn default() -> Self {
        FileSize { rows: 1 << 20, bytes: 90 << 30 }
    }
}

/// Writes batches to as many data files as they need.
pub(super) struct DataFiles<'a> {
    folder: &'a Folder,
    format: Lance,
    schema: SchemaRef,
    options: WriteOptions,
    size: FileSize,
    /// Local files that new ones are not more readable than.
    inputs: Vec<PathBuf>,
    current: Option<Current>,
    done: Vec<NewFile>,
    notes: Vec<String>,
}

struct Current {
    name: String,
    writer: Box<dyn TableWriter>,
    rows: u64,
    bytes: Arc<AtomicU64>,
}

impl<'a> DataFiles<'a> {
    pub fn new(
        folder: &'a Folder,
        schema: SchemaRef,
        lance: &LanceWriteOptions,
        options: &WriteOptions,
        size: FileSize,
        inputs: Vec<PathBuf>,
    ) -> Self {
        let format = Lance::new().with_write_options(lance.clone());
        let (current, done, notes) = (None, Vec::new(), Vec::new());
        DataFiles { folder, format, schema, options: options.clone(), size, inputs, current, done, notes }
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            if self.current.is_none() {
                self.current = Some(self.start()?);
            }
            let Some(current) = &mut self.current else { break };
            let room = usize::try_from(self.size.rows - current.rows).unwrap_or(usize::MAX);
            let rows = rest.num_rows().min(room);
            current.writer.write(&rest.slice(0, rows))?;
            current.rows += rows as u64;
            if current.rows >= self.size.rows || current.bytes.load(Ordering::Relaxed) >= self.size.bytes {
                self.end_file()?;
            }
            rest = rest.slice(rows, rest.num_rows() - rows);
        }
        Ok(())
    }

    fn start(&self) -> Result<Current> {
        let name = random::data_file();
        let bytes = Arc::new(AtomicU64::new(0));
        let inner = self.folder.create(&format!("data/{name}"), &self.inputs)?;
        let sink = Box::new(CountedSink { inner, bytes: bytes.clone() });
        let writer = self.format.writer(self.schema.clone(), sink, &self.options)?;
        Ok(Current { name, writer, rows: 0, bytes })
    }

    /// Completes the file under way.
    pub fn end_file(&mut self) -> Result<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let summary = current.writer.finish()?;
        self.done.push(NewFile { name: current.name, rows: summary.rows, bytes: summary.bytes });
        let new: Vec<String> = summary.notes.into_iter().filter(|note| !self.notes.contains(note)).collect();
        self.notes.extend(new);
        Ok(())
    }

    /// Files that are complete.
    pub fn files(&self) -> &[NewFile] {
        &self.done
    }

    /// What users should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Removes what was written: it is part of no version. What cannot be removed does no harm.
    pub fn discard(&self) {
        for file in &self.done {
            let _ = self.folder.remove(&format!("data/{}", file.name));
        }
    }
}

/// A sink that counts.
struct CountedSink {
    inner: Box<dyn Sink>,
    bytes: Arc<AtomicU64>,
}

impl Sink for CountedSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.inner.write(bytes)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.inner.commit()
    }
}
