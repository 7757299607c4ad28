//! CSV: text in, text out, nothing guessed and nothing lost.
//!
//! A CSV file says nothing about its types or its length, so opening one reads it all, once: cut into cells
//! (`tokens`), every cell of every column classified (`colkit_core::cells`), and a checkpoint noted every few MiB (`open`).
//! From then on it is a table like any other: pieces between checkpoints are read in parallel (`rows`, `columns`).
//! The rules, with their reasons, are in `docs/formats/csv.md`.

mod columns;
mod open;
mod options;
mod place;
mod rows;
mod sniff;
mod stops;
mod table;
mod tokens;
mod window;
mod write;

pub(crate) use options::RECORD_SHARE;
pub use options::{CsvOptions, Pieces, parse_schema};
pub(crate) use place::Place;
pub(crate) use window::Window;

use arrow::datatypes::{DataType, SchemaRef};
use colkit_core::{Boxed, Format, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions};
use std::sync::Arc;

/// Comma-separated values, or with a tab as delimiter, tab-separated values.
#[derive(Clone, Debug, Default)]
pub struct CsvFormat {
    /// How the text is laid out and how types are found.
    pub options: CsvOptions,
}

impl CsvFormat {
    /// CSV with these options.
    pub fn new(options: CsvOptions) -> Self {
        CsvFormat { options }
    }

    /// Tab-separated values.
    pub fn tsv() -> Self {
        CsvFormat { options: CsvOptions { delimiter: b'\t', ..CsvOptions::default() } }
    }
}

impl Format for CsvFormat {
    fn name(&self) -> &'static str {
        if self.options.delimiter == b'\t' { "tsv" } else { "csv" }
    }

    fn extensions(&self) -> &'static [&'static str] {
        if self.options.delimiter == b'\t' { &["tsv", "tab"] } else { &["csv"] }
    }

    fn sniff(&self, head: &[u8], tail: &[u8]) -> bool {
        sniff::looks_like_text(head, tail) && !crate::ndjson::looks_like_objects(head, tail)
    }

    fn has_magic(&self) -> bool {
        false
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        Box::new(open::Open::new(self.options.clone(), size, &options.limits))
    }

    fn stores(&self, data_type: &DataType) -> bool {
        let inference = &self.options.inference;
        match data_type {
            DataType::Int32 | DataType::Float64 | DataType::Utf8 => true,
            DataType::Boolean => inference.booleans,
            DataType::Int64 => inference.integers64,
            DataType::UInt64 => inference.unsigned64,
            DataType::Date32 => inference.dates,
            DataType::Timestamp(_, zone) => inference.timestamps && zone.as_deref().is_none_or(|z| z == "UTC"),
            _ => false,
        }
    }

    fn stores_nulls(&self) -> bool {
        self.options.inference.empty_is_null
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(write::CsvWriter::new(&self.options, schema, sink, options)?))
    }
}
