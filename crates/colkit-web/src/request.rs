//! What the host asks for, in JSON: `{"op":"rows","file":1,"start":0,"count":100}`.

use colkit::ColumnName;
use serde::Deserialize;

/// A request. Files are known by numbers that the host gives them.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Opens a file. Of a text that is longer than `start` only so many bytes are read.
    Open { file: u32, name: String, size: u64, start: Option<u64> },
    /// The byte map.
    Layout { file: u32 },
    /// Rows by their numbers.
    Rows { file: u32, columns: Columns, start: u64, count: u64 },
    /// Rows that meet a condition.
    Find { file: u32, columns: Columns, r#where: String, start: u64, limit: usize },
    /// How many rows meet a condition.
    Count { file: u32, r#where: String },
    /// Whether a condition can be asked.
    Check { file: u32, r#where: String },
    /// Statistics of columns.
    Statistics { file: u32, columns: Columns, r#where: Option<String>, sample: Option<u64>, metadata: Option<bool> },
    /// Checks the file.
    Verify { file: u32 },
    /// Makes a file of columns and rows.
    Export { file: u32, format: String, columns: Columns, r#where: Option<String>, rows: Option<Rows> },
    /// Compares two files.
    Diff { file: u32, other: u32, key: Columns },
}

/// Columns by name or position; all of them if none are given.
pub type Columns = Option<Vec<Column>>;

/// A column.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Column {
    /// By its position.
    Position(usize),
    /// By its name.
    Name(String),
}

/// A half-open range of rows.
#[derive(Clone, Copy, Deserialize)]
pub struct Rows {
    /// The first.
    pub start: u64,
    /// The one behind the last.
    pub end: u64,
}

/// The same as the library takes them.
pub fn names(columns: &Columns) -> Option<Vec<ColumnName>> {
    let name = |column: &Column| match column {
        Column::Position(position) => ColumnName::Position(*position),
        Column::Name(name) => ColumnName::Name(name.clone()),
    };
    columns.as_ref().map(|columns| columns.iter().map(name).collect())
}
