//! Comparing two tables, whatever formats they are in.
//!
//! ```text
//! columns     matches the columns of both sides
//! comparable  converts columns to a common type
//! exact       decides which types have values in common
//! keyed       matches rows by key
//! side        one of the two tables
//! ```
//!
//! Columns are matched by name where names are unique, by position otherwise. Values are compared exactly, also across types:
//! the int32 1 equals the int64 1 and the float64 1.0, but 9007199254740993 equals no float64. Floats of the same type are
//! compared by their bits, so NaN equals NaN and 0.0 differs from -0.0. Different types of equal values are reported and count as
//! a difference only on request. Rows are matched by position, reading both files batch by batch, or by key.

mod columns;
mod comparable;
mod exact;
mod keyed;
mod side;

use crate::{ColumnName, Input, OpenOptions};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Float64Type;
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit_core::Result;
use colkit_core::coroutine::at_once;
use columns::{Matched, Pair, Side, chosen_columns, match_columns};
use comparable::{Opened, open_both};
pub use keyed::{ByKey, Key};
use serde::Serialize;
pub(crate) use side::{Comparand, Openable, RowSource};
use std::collections::BTreeSet;

/// What to compare, and how far to look.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct DiffOptions {
    /// Compare only these columns, named as they are on the left; `None` compares all.
    pub columns: Option<Vec<ColumnName>>,
    /// Match rows by these columns, named as they are on the left, rather than by position.
    pub key: Option<Vec<ColumnName>>,
    /// Whether columns of different types differ even if their values are equal.
    pub strict_types: bool,
    /// Stop after this many differing rows; by key, all rows are looked at.
    pub rows: u64,
    /// Keep this many differing values for the report.
    pub cells: usize,
    /// Memory to use at most, in bytes.
    pub memory: u64,
}

impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions { columns: None, key: None, strict_types: false, rows: 1000, cells: 10, memory: 512 << 20 }
    }
}

impl DiffOptions {
    /// All columns, rows matched by position.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares only these columns, named as they are on the left.
    pub fn with_columns(mut self, columns: impl IntoIterator<Item = impl Into<ColumnName>>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Matches rows by these columns, named as they are on the left.
    pub fn with_key(mut self, columns: impl IntoIterator<Item = impl Into<ColumnName>>) -> Self {
        self.key = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Counts columns of different types as a difference even if their values are equal.
    pub fn with_strict_types(mut self, strict: bool) -> Self {
        self.strict_types = strict;
        self
    }

    /// Stops after this many differing rows; by key, all rows are looked at.
    pub fn with_rows(mut self, rows: u64) -> Self {
        self.rows = rows;
        self
    }

    /// Keeps this many differing values for the report.
    pub fn with_cells(mut self, cells: usize) -> Self {
        self.cells = cells;
        self
    }

    /// Uses at most this many bytes of memory.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }
}

/// How two tables differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Differences of the columns: missing, in another order, of a type whose values cannot be compared.
    pub schema: Vec<String>,
    /// Columns of different types whose values were compared. They count as a difference only with
    /// [`DiffOptions::strict_types`], which moves them to `schema`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Rows of the left and the right table.
    pub row_counts: (u64, u64),
    /// Columns whose values were compared.
    pub compared_columns: usize,
    /// Rows whose values were compared.
    pub compared_rows: u64,
    /// Rows with differing values, among those compared.
    pub differing_rows: u64,
    /// Whether the comparison stopped early because enough differing rows were found.
    pub stopped: bool,
    /// The first differing values.
    pub first: Vec<CellDifference>,
    /// What became of the rows, if they were matched by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_key: Option<ByKey>,
}

/// One value that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CellDifference {
    /// The row, counted from 0; by key, the row on the left.
    pub row: u64,
    /// The key of the row, if rows were matched by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The column's name.
    pub column: String,
    /// The left value, as text; `None` is null.
    pub left: Option<String>,
    /// The right value, as text; `None` is null.
    pub right: Option<String>,
}

impl Difference {
    /// Whether the tables are equal.
    pub fn is_equal(&self) -> bool {
        let all_there = match &self.by_key {
            None => self.row_counts.0 == self.row_counts.1,
            Some(rows) => rows.added == 0 && rows.removed == 0,
        };
        self.schema.is_empty() && all_there && self.differing_rows == 0
    }
}

/// Compares two inputs.
pub fn diff(a: &Input, b: &Input, open: &OpenOptions, options: &DiffOptions) -> Result<Difference> {
    let limits = &open.read.limits;
    at_once(compared(&a.decompressed(limits)?, &b.decompressed(limits)?, open, options))?
}

/// Compares two tables that are yet to be opened.
pub(crate) async fn compared<O: Openable>(
    a: &O,
    b: &O,
    open: &OpenOptions,
    options: &DiffOptions,
) -> Result<Difference> {
    let (a, b) = open_both(a, b, open).await?;
    let Matched { differences: mut schema, mut types, pairs } = match &options.columns {
        None => {
            let (left, right) = (a.file.schema(), b.file.schema());
            match_columns(Side { schema: &left, text: a.text }, Side { schema: &right, text: b.text })
        }
        Some(names) => chosen_columns(names, (&a.file, a.text), (&b.file, b.text))?,
    };
    if options.strict_types {
        schema.append(&mut types);
    }
    let report =
        Difference { schema, types, row_counts: (a.file.row_count(), b.file.row_count()), ..Difference::default() };
    match &options.key {
        None => side_by_side(&a, &b, &pairs, options, report).await,
        Some(key) => keyed::by_key(&a, &b, key, pairs, options, report).await,
    }
}

/// The rows of these columns on both sides.
async fn scan_both<T: Comparand>(
    a: &Opened<T>,
    b: &Opened<T>,
    pairs: &[Pair],
    memory: u64,
) -> Result<(T::Rows, T::Rows)> {
    let left = a.file.scan(pairs.iter().map(|p| p.left).collect(), memory / 2).await?;
    Ok((left, b.file.scan(pairs.iter().map(|p| p.right).collect(), memory / 2).await?))
}

/// Compares rows of the same position.
async fn side_by_side<T: Comparand>(
    a: &Opened<T>,
    b: &Opened<T>,
    pairs: &[Pair],
    options: &DiffOptions,
    mut report: Difference,
) -> Result<Difference> {
    report.compared_columns = pairs.len();
    let (left, right) = scan_both(a, b, pairs, options.memory).await?;
    let (mut left, mut right) = (Rows::new(left), Rows::new(right));
    while let (Some(l), Some(r)) = (left.ready().await?, right.ready().await?) {
        let rows = l.min(r);
        let (l, r) = (left.take(rows), right.take(rows));
        let cells = differing_cells(&l, &r, pairs)?;
        report.differing_rows += cells.iter().map(|(row, _)| row).collect::<BTreeSet<_>>().len() as u64;
        for (row, column) in cells.into_iter().take(options.cells.saturating_sub(report.first.len())) {
            let (left, right) = (show(l.get(column), row)?, show(r.get(column), row)?);
            let name = pairs.get(column).map(|p| p.name.clone()).unwrap_or_default();
            report.first.push(CellDifference {
                row: report.compared_rows + row as u64,
                key: None,
                column: name,
                left,
                right,
            });
        }
        report.compared_rows += rows as u64;
        if report.differing_rows >= options.rows {
            report.stopped = report.compared_rows < report.row_counts.0.min(report.row_counts.1);
            break;
        }
    }
    Ok(report)
}

/// The rows of a scan, to be taken in any portion.
struct Rows<B> {
    batches: B,
    current: Option<RecordBatch>,
}

impl<B: RowSource> Rows<B> {
    fn new(batches: B) -> Self {
        Rows { batches, current: None }
    }

    /// How many rows lie ready; `None` at the end.
    async fn ready(&mut self) -> Result<Option<usize>> {
        while self.current.as_ref().is_none_or(|b| b.num_rows() == 0) {
            match self.batches.next().await? {
                None => return Ok(None),
                batch => self.current = batch,
            }
        }
        Ok(self.current.as_ref().map(RecordBatch::num_rows))
    }

    /// The next `rows` rows of those that lie ready.
    fn take(&mut self, rows: usize) -> Vec<ArrayRef> {
        let Some(batch) = self.current.take() else { return Vec::new() };
        self.current = Some(batch.slice(rows, batch.num_rows() - rows));
        batch.slice(0, rows).columns().to_vec()
    }
}

/// The rows and columns in which two portions of the same rows differ, in order.
fn differing_cells(left: &[ArrayRef], right: &[ArrayRef], pairs: &[Pair]) -> Result<BTreeSet<(usize, usize)>> {
    let mut cells = BTreeSet::new();
    for (column, ((l, r), pair)) in left.iter().zip(right).zip(pairs).enumerate() {
        for (l, r) in pair.comparable.0.arrays(l)?.iter().zip(&pair.comparable.1.arrays(r)?) {
            let mut rows = Vec::new();
            find_differences(l, r, 0, &mut rows);
            cells.extend(rows.into_iter().map(|row| (row, column)));
        }
    }
    Ok(cells)
}

/// A value as text; `None` is null.
fn show(array: Option<&ArrayRef>, row: usize) -> Result<Option<String>> {
    let Some(array) = array.filter(|a| a.is_valid(row)) else { return Ok(None) };
    let shown = ArrayFormatter::try_new(array, &FormatOptions::default())?.value(row).try_to_string()?;
    // NaNs differ by bits that their text does not show.
    Ok(Some(match array.as_primitive_opt::<Float64Type>().map(|floats| floats.value(row)) {
        Some(nan) if nan.is_nan() => format!("{shown}:{:016x}", nan.to_bits()),
        _ => shown,
    }))
}

/// The rows in which two arrays of the same type and length differ: halves that are equal are passed over whole.
fn find_differences(a: &ArrayRef, b: &ArrayRef, start: usize, rows: &mut Vec<usize>) {
    if a == b {
        return;
    }
    if a.len() <= 1 {
        rows.push(start);
        return;
    }
    let half = a.len() / 2;
    find_differences(&a.slice(0, half), &b.slice(0, half), start, rows);
    find_differences(&a.slice(half, a.len() - half), &b.slice(half, b.len() - half), start + half, rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn floats_differ_by_bits() {
        let a: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 0.0, 1.0, 2.0]));
        let b: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, -0.0, 1.0, 3.0]));
        let mut rows = Vec::new();
        find_differences(&a, &b, 0, &mut rows);
        assert_eq!(rows, [1, 3]);
    }

    #[test]
    fn nulls_differ_from_empty_text() {
        let a: ArrayRef = Arc::new(StringArray::from(vec![Some(""), None]));
        let b: ArrayRef = Arc::new(StringArray::from(vec![None, None::<&str>]));
        let mut rows = Vec::new();
        find_differences(&a, &b, 0, &mut rows);
        assert_eq!(rows, [0]);
    }
}
