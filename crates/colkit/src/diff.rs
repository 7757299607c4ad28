//! Comparing two tables, whatever formats they are in.
//!
//! Columns are matched by name where names are unique, by position otherwise. Types are compared exactly, and so are
//! values: floating point numbers by their bits, so that NaN equals NaN and 0.0 differs from -0.0. Both files are
//! read side by side, batch by batch.

use crate::open::NamedBatches;
use crate::{ColumnName, Input, OpenFile, Opening, type_name};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Schema};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit_core::{Nulls, Projection, Result, Scan};
use serde::Serialize;
use std::collections::HashSet;

/// How far to look.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// Compare only these columns, named as they are on the left; `None` compares all.
    pub columns: Option<Vec<ColumnName>>,
    /// Stop after this many differing rows.
    pub rows: u64,
    /// Keep this many differing values for the report.
    pub cells: usize,
    /// Memory to use at most, in bytes.
    pub memory: u64,
}

impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions { columns: None, rows: 1000, cells: 10, memory: 512 << 20 }
    }
}

/// How two tables differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Differences of the columns: missing, of another type, in another order.
    pub schema: Vec<String>,
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
}

/// One value that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CellDifference {
    /// The row, counted from 0.
    pub row: u64,
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
        self.schema.is_empty() && self.row_counts.0 == self.row_counts.1 && self.differing_rows == 0
    }
}

/// Opens two inputs for comparison: where one is text and the other has types, the text is read to those types.
fn open_both(a: &Input, b: &Input, opening: &Opening) -> Result<(OpenFile, OpenFile)> {
    let is_text = |input: &Input| opening.format_of(input).map(|f| opening.registry.is_text(f.name()));
    match (is_text(a)?, is_text(b)?) {
        (true, false) => {
            let b = opening.open(b)?;
            Ok((open_like(a, &b, opening)?, b))
        }
        (false, true) => {
            let a = opening.open(a)?;
            let b = open_like(b, &a, opening)?;
            Ok((a, b))
        }
        _ => Ok((opening.open(a)?, opening.open(b)?)),
    }
}

/// Opens text with the types of `model` for columns of the same name. A column that cannot be read to that type keeps
/// its own: that is then a difference, not an error.
fn open_like(input: &Input, model: &OpenFile, opening: &Opening) -> Result<OpenFile> {
    let opening = opening.suited_to(model.format().as_ref(), Nulls::Refuse);
    let plain = opening.open(input)?;
    let theirs = model.schema();
    let mut types = Vec::new();
    for ours in plain.schema().fields() {
        let Some((_, theirs)) = theirs.fields().find(ours.name()) else { continue };
        let (name, data_type) = (ours.name(), theirs.data_type());
        if ours.data_type() != data_type
            && (reads_as(ours.data_type(), data_type) || can_read(input, name, data_type, &opening))
        {
            types.push((name.clone(), data_type.clone()));
        }
    }
    if types.is_empty() {
        return Ok(plain);
    }
    let text = opening.text.clone().with_types(types);
    Opening { text, ..opening }.open(input)
}

/// Whether every text of the inferred type also is one of the other.
fn reads_as(inferred: &DataType, other: &DataType) -> bool {
    use DataType::{Float64, Int32, Int64, Utf8};
    *other == Utf8 || matches!((inferred, other), (Int32, Int64 | Float64))
}

/// Whether the text of a column can be read to this type; the only way to know is to try.
fn can_read(input: &Input, name: &str, data_type: &DataType, opening: &Opening) -> bool {
    let text = opening.text.clone().with_types(vec![(name.into(), data_type.clone())]);
    let attempt = || -> Result<()> {
        let file = Opening { text, ..opening.clone() }.open(input)?;
        for batch in file.scan(&Scan::of(Projection::named(&file.schema(), [name])?))? {
            batch?;
        }
        Ok(())
    };
    attempt().is_ok()
}

/// Compares two inputs.
pub fn diff(a: &Input, b: &Input, opening: &Opening, options: &DiffOptions) -> Result<Difference> {
    let (a, b) = open_both(a, b, opening)?;
    let Matched { differences: schema, pairs } = match &options.columns {
        None => match_columns(&a.schema(), &b.schema()),
        Some(names) => chosen_columns(names, &a, &b)?,
    };
    let mut report = Difference {
        schema,
        row_counts: (a.row_count(), b.row_count()),
        compared_columns: pairs.len(),
        ..Difference::default()
    };
    let scan = |columns: Vec<usize>| Scan { memory: options.memory / 2, ..Scan::of(Projection::columns(columns)) };
    let mut left = Rows::new(a.scan(&scan(pairs.iter().map(|p| p.0).collect()))?);
    let mut right = Rows::new(b.scan(&scan(pairs.iter().map(|p| p.1).collect()))?);
    let names: Vec<String> = a.schema().fields().iter().map(|f| f.name().clone()).collect();
    let names: Vec<&str> = pairs.iter().filter_map(|p| names.get(p.0)).map(String::as_str).collect();
    while let (Some(l), Some(r)) = (left.ready()?, right.ready()?) {
        let rows = l.min(r);
        compare(&left.take(rows), &right.take(rows), &names, options, &mut report)?;
        report.compared_rows += rows as u64;
        if report.differing_rows >= options.rows {
            report.stopped = report.compared_rows < report.row_counts.0.min(report.row_counts.1);
            break;
        }
    }
    Ok(report)
}

/// What the schemas do not agree on, and the positions of the columns that can be compared.
#[derive(Debug, Default, PartialEq)]
struct Matched {
    differences: Vec<String>,
    pairs: Vec<(usize, usize)>,
}

impl Matched {
    /// Two columns that belong together: their values are compared if their types agree.
    fn add(&mut self, a: &Schema, i: usize, b: &Schema, j: usize) {
        let (Some(left), Some(right)) = (a.fields().get(i), b.fields().get(j)) else { return };
        if left.data_type() == right.data_type() {
            return self.pairs.push((i, j));
        }
        let (l, r) = (type_name(left.data_type()), type_name(right.data_type()));
        self.differences.push(format!("column {:?} is of type {l} on the left and {r} on the right", left.name()));
    }
}

fn match_columns(a: &Schema, b: &Schema) -> Matched {
    if unique_names(a) && unique_names(b) { match_by_name(a, b) } else { match_by_position(a, b) }
}

fn match_by_name(a: &Schema, b: &Schema) -> Matched {
    let mut matched = Matched::default();
    let mut order = Vec::new();
    for (i, field) in a.fields().iter().enumerate() {
        match b.fields().find(field.name()) {
            None => matched.differences.push(format!("column {:?} is only on the left", field.name())),
            Some((j, _)) => {
                order.push(j);
                matched.add(a, i, b, j);
            }
        }
    }
    for field in b.fields().iter().filter(|f| a.fields().find(f.name()).is_none()) {
        matched.differences.push(format!("column {:?} is only on the right", field.name()));
    }
    if !order.is_sorted() {
        matched.differences.push("the columns are in another order".into());
    }
    matched
}

/// Names that repeat identify nothing: position does.
fn match_by_position(a: &Schema, b: &Schema) -> Matched {
    let mut matched = Matched::default();
    let (left, right) = (a.fields().len(), b.fields().len());
    if left != right {
        matched.differences.push(format!("{left} columns on the left and {right} on the right"));
    }
    for (i, (l, r)) in a.fields().iter().zip(b.fields()).enumerate() {
        if l.name() != r.name() {
            let names = format!("{:?} on the left and {:?} on the right", l.name(), r.name());
            matched.differences.push(format!("column {i} is called {names}"));
        }
        matched.add(a, i, b, i);
    }
    matched
}

/// The columns of these names on both sides. One that is missing is a wrong request.
fn chosen_columns(names: &[ColumnName], a: &OpenFile, b: &OpenFile) -> Result<Matched> {
    let indices = |file: &OpenFile| {
        let schema = file.schema();
        ColumnName::projection(names, &schema).and_then(|p| p.indices(&schema)).map_err(|e| e.file(file.input().name()))
    };
    let (left, right) = (indices(a)?, indices(b)?);
    let (a, b) = (a.schema(), b.schema());
    let mut matched = Matched::default();
    for (i, j) in left.into_iter().zip(right) {
        matched.add(&a, i, &b, j);
    }
    Ok(matched)
}

fn unique_names(schema: &Schema) -> bool {
    let mut seen = HashSet::new();
    schema.fields().iter().all(|f| seen.insert(f.name()))
}

/// The rows of a scan, to be taken in any portion.
struct Rows {
    batches: NamedBatches,
    current: Option<RecordBatch>,
}

impl Rows {
    fn new(batches: NamedBatches) -> Self {
        Rows { batches, current: None }
    }

    /// How many rows lie ready; `None` at the end.
    fn ready(&mut self) -> Result<Option<usize>> {
        while self.current.as_ref().is_none_or(|b| b.num_rows() == 0) {
            match self.batches.next().transpose()? {
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

/// Compares two portions of the same rows, column by column.
fn compare(
    left: &[ArrayRef],
    right: &[ArrayRef],
    names: &[&str],
    options: &DiffOptions,
    report: &mut Difference,
) -> Result<()> {
    let mut cells = Vec::new();
    for (column, (l, r)) in left.iter().zip(right).enumerate() {
        let mut rows = Vec::new();
        find_differences(l, r, 0, &mut rows);
        cells.extend(rows.into_iter().map(|row| (row, column)));
    }
    cells.sort_unstable();
    let rows: HashSet<usize> = cells.iter().map(|(row, _)| *row).collect();
    report.differing_rows += rows.len() as u64;
    let text = FormatOptions::default();
    for (row, column) in cells {
        if report.first.len() >= options.cells {
            break;
        }
        let (Some(l), Some(r), Some(name)) = (left.get(column), right.get(column), names.get(column)) else { continue };
        let show = |array: &ArrayRef| -> Result<Option<String>> {
            if array.is_null(row) {
                return Ok(None);
            }
            let shown = ArrayFormatter::try_new(array, &text)?.value(row).try_to_string()?;
            // NaNs differ by bits that their text does not show.
            Ok(Some(match array.as_primitive_opt::<Float64Type>().map(|floats| floats.value(row)) {
                Some(nan) if nan.is_nan() => format!("{shown}:{:016x}", nan.to_bits()),
                _ => shown,
            }))
        };
        report.first.push(CellDifference {
            row: report.compared_rows + row as u64,
            column: (*name).into(),
            left: show(l)?,
            right: show(r)?,
        });
    }
    Ok(())
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
    use arrow::datatypes::Field;
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

    #[test]
    fn columns_are_matched_by_name_where_names_say_something() {
        let schema = |names: &[(&str, DataType)]| {
            Schema::new(names.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect::<Vec<_>>())
        };
        let int = DataType::Int32;
        let a = schema(&[("x", int.clone()), ("y", int.clone()), ("z", int.clone())]);
        let b = schema(&[("y", int.clone()), ("x", int.clone()), ("z", DataType::Int64)]);
        let matched = match_columns(&a, &b);
        assert_eq!(matched.pairs, [(0, 1), (1, 0)]);
        assert_eq!(matched.differences.len(), 2, "{matched:?}");
        let twins = schema(&[("x", int.clone()), ("x", int.clone())]);
        assert_eq!(match_columns(&twins, &twins), Matched { differences: vec![], pairs: vec![(0, 0), (1, 1)] });
    }
}
