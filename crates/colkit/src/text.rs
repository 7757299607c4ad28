//! How text without types of its own (CSV and its kin, NDJSON) is read.

use arrow::datatypes::DataType;
use colkit_core::{Format, Nulls, Result};
use colkit_interop::csv::{CsvFormat, CsvOptions};
use colkit_interop::ndjson::{NdjsonFormat, NdjsonOptions};
use std::collections::HashSet;
use std::sync::Arc;

/// What the reader of a text format is told, since the file does not say it.
#[derive(Clone, Debug)]
pub struct TextReading {
    /// The character between fields; `None` is the format's own.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns.
    pub header: bool,
    /// Types of columns by name. The others are inferred.
    pub types: Vec<(String, DataType)>,
    /// NDJSON: the columns, instead of those that its objects have.
    pub columns: Option<Vec<(String, DataType)>>,
    /// What empty cells are: text, or nulls where the column is not text.
    pub nulls: Nulls,
    /// Whether `true` and `false` are read as booleans.
    pub booleans: bool,
    /// Whether whole numbers beyond 32 bits are read as 64-bit integers.
    pub integers64: bool,
    /// Fill up lines that are too short instead of refusing them.
    pub pad_short_rows: bool,
    /// Rename columns whose names repeat (`a`, `a_2`, ...) instead of refusing them.
    pub rename_duplicates: bool,
}

impl Default for TextReading {
    fn default() -> Self {
        TextReading {
            delimiter: None,
            header: true,
            types: Vec::new(),
            columns: None,
            nulls: Nulls::default(),
            booleans: true,
            integers64: true,
            pad_short_rows: false,
            rename_duplicates: false,
        }
    }
}

impl TextReading {
    /// The same, with types inferred such that `format` can store them.
    pub fn suited_to(mut self, format: &dyn Format) -> Self {
        self.booleans = format.stores(&DataType::Boolean);
        self.integers64 = format.stores(&DataType::Int64);
        self
    }

    /// Reads types as people write them: `id:int32,name:string`.
    pub fn parse_types(list: &str) -> Result<Vec<(String, DataType)>> {
        colkit_interop::csv::parse_schema(list)
    }

    /// The same, with these types for columns of these names, unless a type was given already.
    pub fn with_types(mut self, types: Vec<(String, DataType)>) -> Self {
        let mut given: HashSet<String> = self.types.iter().map(|(name, _)| name.clone()).collect();
        self.types.extend(types.into_iter().filter(|(name, _)| given.insert(name.clone())));
        self
    }

    /// CSV read and written like this, with `delimiter` unless another was given.
    fn csv(&self, delimiter: u8) -> Arc<dyn Format> {
        Arc::new(CsvFormat::new(CsvOptions {
            delimiter: self.delimiter.unwrap_or(delimiter),
            header: self.header,
            schema: self.types.clone(),
            nulls: self.nulls,
            booleans: self.booleans,
            integers64: self.integers64,
            pad_short_rows: self.pad_short_rows,
            rename_duplicates: self.rename_duplicates,
            ..CsvOptions::default()
        }))
    }
}

/// Comma-separated values.
pub(crate) fn csv(reading: &TextReading) -> Arc<dyn Format> {
    reading.csv(b',')
}

/// Tab-separated values.
pub(crate) fn tsv(reading: &TextReading) -> Arc<dyn Format> {
    reading.csv(b'\t')
}

/// Newline-delimited JSON.
pub(crate) fn ndjson(reading: &TextReading) -> Arc<dyn Format> {
    Arc::new(NdjsonFormat {
        options: NdjsonOptions {
            schema: reading.types.clone(),
            columns: reading.columns.clone(),
            booleans: reading.booleans,
            integers64: reading.integers64,
            ..NdjsonOptions::default()
        },
    })
}
