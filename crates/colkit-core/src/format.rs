//! A file format: how to detect, open and write it.

use crate::{Boxed, Error, Limits, Objects, Result, Sink, Table};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use std::sync::{Arc, OnceLock};

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Ceilings for what the file may make us do.
    pub limits: Limits,
    /// Bytes that opening may fetch beyond what it must. 0 reads nothing in vain; over a network one generous
    /// request is cheaper than several exact ones.
    pub prefetch: u64,
    /// Whether what is read is compared with the checksums that the file carries, where comparing can be left out.
    pub checksums: bool,
    /// The objects beside the file, for tables that are made of several.
    pub objects: Objects,
    /// Whether the ids and addresses of rows are columns too, where a table has such things.
    pub row_ids: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            limits: Limits::default(),
            prefetch: 0,
            checksums: true,
            objects: Objects::default(),
            row_ids: false,
        }
    }
}

/// What to do with nulls where the format has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nulls {
    /// Refuse, naming the first one.
    #[default]
    Refuse,
    /// Write a stand-in: empty text, NaN, 0, false. The number of stand-ins is reported.
    Fill,
}

/// What to do with types the format lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Types {
    /// Refuse, naming the column.
    #[default]
    Refuse,
    /// Use another type if every value stays the same.
    Exact,
    /// Use another type even if only its text or nearest number remains.
    Lossy,
}

/// How to write. What only one format knows is set on that format's own value.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Compression level, where the format has levels; `None` is the format's default.
    pub level: Option<u32>,
    /// Memory to use at most, in bytes.
    pub memory: u64,
    /// Threads to use.
    pub threads: usize,
    /// Nulls the format cannot store.
    pub nulls: Nulls,
    /// Types the format cannot store.
    pub types: Types,
    /// Rename columns whose names repeat (`a`, `a_2`, ...) instead of refusing.
    pub rename_duplicates: bool,
    /// Where to keep what does not fit into memory; `None` is the system's folder for temporary files.
    pub spill_folder: Option<std::path::PathBuf>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            level: None,
            memory: 512 << 20,
            threads: available_threads(),
            nulls: Nulls::default(),
            types: Types::default(),
            rename_duplicates: false,
            spill_folder: None,
        }
    }
}

/// The number of threads this process may run at once; without the feature `threads` it is 1.
pub fn available_threads() -> usize {
    // Asking the system takes as long as opening a small file.
    static FOUND: OnceLock<usize> = OnceLock::new();
    let found = FOUND.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    crate::drive::allowed(*found)
}

/// What a finished write did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteSummary {
    /// Rows written.
    pub rows: u64,
    /// Bytes of the finished file.
    pub bytes: u64,
    /// Things the user should know: stand-ins for nulls, renamed columns, changed types.
    pub notes: Vec<String>,
}

impl WriteSummary {
    /// So many rows in a file of so many bytes, and what the user should know about it.
    pub fn new(rows: u64, bytes: u64, notes: Vec<String>) -> Self {
        WriteSummary { rows, bytes, notes }
    }
}

/// Takes batches, then finishes the file. Dropping it before [`TableWriter::finish`] leaves nothing behind.
pub trait TableWriter: Send {
    /// Appends a batch of the schema the writer was made with.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Completes the file and makes it visible.
    fn finish(self: Box<Self>) -> Result<WriteSummary>;
}

/// An error unless a batch has the names and types of `schema`, and no nulls where there can be none: for writers.
pub fn check_batch(schema: &Schema, batch: &RecordBatch) -> Result<()> {
    let (expected, found) = (schema.fields(), batch.schema_ref().fields());
    if expected.len() != found.len() {
        let message = format!("a batch of {} columns for a table of {}", found.len(), expected.len());
        return Err(Error::data("schema_mismatch", message));
    }
    for ((expected, found), array) in expected.iter().zip(found).zip(batch.columns()) {
        let message = if (expected.name(), expected.data_type()) != (found.name(), found.data_type()) {
            format!(
                "the batch has {:?} of type {} there, expected type {}",
                found.name(),
                found.data_type(),
                expected.data_type()
            )
        } else if !expected.is_nullable() && array.null_count() > 0 {
            "the batch has nulls in a column without nulls".into()
        } else {
            continue;
        };
        return Err(Error::data("schema_mismatch", message).part(format!("column {:?}", expected.name())));
    }
    Ok(())
}

/// A kind of file.
pub trait Format: Send + Sync {
    /// Its name, as `--to` takes it.
    fn name(&self) -> &'static str;

    /// Its file name extensions, without dot; the first is the default.
    fn extensions(&self) -> &'static [&'static str];

    /// Whether a file is of this kind, by its first and last bytes. Asked first with only the first 16 bytes, then,
    /// if nobody knew the file, with only the last 64, and at last with the first 4 KiB and the last 64.
    fn sniff(&self, head: &[u8], tail: &[u8]) -> bool;

    /// Whether every file of this kind can be told by a magic. Text cannot.
    fn has_magic(&self) -> bool {
        true
    }

    /// Opens a file of `size` bytes.
    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>>;

    /// Whether values of this type come back as the same type after writing and reading.
    fn stores(&self, data_type: &DataType) -> bool;

    /// Whether nulls come back as nulls after writing and reading, at least in columns that are not text.
    fn stores_nulls(&self) -> bool {
        true
    }

    /// Whether the key-value metadata of a schema and of its fields comes back after writing and reading.
    fn keeps_metadata(&self) -> bool {
        false
    }

    /// Starts a file of this kind.
    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>>;
}
