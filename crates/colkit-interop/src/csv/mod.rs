//! CSV: text in, text out, nothing guessed and nothing lost.
//!
//! Files are read as `crate::text` says. Opening one cuts it into cells (`tokens`, `separators`) and classifies every cell of every
//! column (`open`, `colkit_core::cells`); reading converts the cells of the columns that are wanted (`rows`, `columns`).
//! A file without cells, such as a log, is a table of its lines (`lines`).
//! The rules, with their reasons, are in `docs/formats/csv.md`.

mod columns;
mod lines;
mod look;
mod open;
mod options;
mod rows;
mod separators;
mod sniff;
mod tokens;
mod write;

pub use crate::text::Pieces;
pub use lines::LinesFormat;
pub use options::{CsvOptions, LookFor, parse_schema};

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
        open::open(self.options.clone(), size, options.limits.clone())
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
