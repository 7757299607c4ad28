//! What a condition rules out, by what the file says about row groups and pages.

use super::plan::Plan;
use ::parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema};
use colkit_core::{BoundPredicate, ColumnStatistics, Value};
use std::ops::Range;

/// Runs of rows that a condition leaves between them fewer rows than this are read as one.
const WORTH_SKIPPING: u64 = 1024;

/// What is known about the columns of a table.
pub(super) struct FileStatistics<'a> {
    pub metadata: &'a ParquetMetaData,
    pub schema: &'a Schema,
    /// The leaves of every column.
    pub leaves: &'a [Range<usize>],
}

impl<'a> FileStatistics<'a> {
    /// The only leaf of a column that is not nested.
    fn leaf(&self, column: usize) -> Option<(usize, &'a Field)> {
        let field = self.schema.fields().get(column)?;
        let leaves = self.leaves.get(column)?;
        (leaves.len() == 1 && !field.data_type().is_nested()).then_some((leaves.start, field.as_ref()))
    }

    fn converter(&self, leaf: usize, field: &'a Field) -> Option<StatisticsConverter<'a>> {
        let schema = self.metadata.file_metadata().schema_descr();
        let converter = StatisticsConverter::from_column_index(leaf, field, schema).ok()?;
        Some(converter.with_missing_null_counts_as_zero(false))
    }

    /// What a row group says about a column.
    pub fn of_group(&self, group: &'a RowGroupMetaData, column: usize) -> Option<ColumnStatistics> {
        let (leaf, field) = self.leaf(column)?;
        let statistics = group.columns().get(leaf)?.statistics()?;
        let converter = self.converter(leaf, field)?;
        // The bounds of old writers compare text and unsigned numbers as if they were signed.
        let trusted = !statistics.is_min_max_deprecated() || is_signed(field.data_type());
        let bound = |array: Option<ArrayRef>| array.filter(|_| trusted).and_then(|a| value_at(&a, 0));
        Some(ColumnStatistics {
            min: bound(converter.row_group_mins([group]).ok()),
            max: bound(converter.row_group_maxes([group]).ok()),
            null_count: statistics.null_count_opt(),
            exact: statistics.min_is_exact() && statistics.max_is_exact() && trusted,
            nan_free: false,
        })
    }

    /// What the file says about a column, if all row groups say something.
    pub fn of_file(&self, column: usize) -> ColumnStatistics {
        let groups = self.metadata.row_groups().iter().filter(|g| g.num_rows() > 0);
        let mut all: Option<ColumnStatistics> = None;
        for group in groups {
            let Some(next) = self.of_group(group, column) else { return ColumnStatistics::default() };
            all = Some(match all {
                None => next,
                Some(before) => ColumnStatistics {
                    min: pick(before.min, next.min, std::cmp::Ordering::is_le),
                    max: pick(before.max, next.max, std::cmp::Ordering::is_ge),
                    null_count: before.null_count.zip(next.null_count).and_then(|(a, b)| a.checked_add(b)),
                    exact: before.exact && next.exact,
                    nan_free: false,
                },
            });
        }
        all.unwrap_or_default()
    }

    /// The runs of these rows of a row group that may hold a match, going by the page index.
    pub fn runs(
        &self,
        plan: &Plan<'a>,
        group: usize,
        rows: &Range<u64>,
        predicate: &BoundPredicate,
    ) -> Vec<Range<u64>> {
        let of = plan.group_rows(group);
        let columns: Vec<PageBounds> =
            predicate.columns().into_iter().filter_map(|c| self.page_bounds(plan, group, c)).collect();
        // Between two starts of pages of any column nothing changes.
        let mut starts: Vec<u64> = columns.iter().flat_map(|c| c.starts.iter().copied()).collect();
        starts.push(0);
        starts.sort_unstable();
        starts.dedup();
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(of.end - of.start);
            let run = (of.start + start).max(rows.start)..(of.start + end).min(rows.end);
            if run.is_empty() {
                continue;
            }
            let statistics = |column: usize| columns.iter().find(|c| c.column == column).map(|c| c.at(*start));
            if predicate.may_match(&statistics) {
                match runs.last_mut() {
                    Some(last) if run.start - last.end < WORTH_SKIPPING => last.end = run.end,
                    _ => runs.push(run),
                }
            }
        }
        runs
    }

    fn page_bounds(&self, plan: &Plan<'a>, group: usize, column: usize) -> Option<PageBounds> {
        let (leaf, field) = self.leaf(column)?;
        let pages = plan.pages(group, leaf)?;
        let (bounds, places) = (self.metadata.column_index()?, self.metadata.offset_index()?);
        let converter = self.converter(leaf, field)?;
        let groups = [group];
        let mins = converter.data_page_mins(bounds, places, &groups).ok()?;
        let maxes = converter.data_page_maxes(bounds, places, &groups).ok()?;
        let nulls = converter.data_page_null_counts(bounds, places, &groups).ok()?;
        let starts = pages.iter().map(|p| u64::try_from(p.first_row_index).unwrap_or(0)).collect::<Vec<_>>();
        let count = starts.len();
        (mins.len() == count && maxes.len() == count && nulls.len() == count).then_some(PageBounds {
            column,
            starts,
            mins,
            maxes,
            nulls,
        })
    }
}

/// The bounds of a column's pages in a row group.
struct PageBounds {
    column: usize,
    /// The first row of every page.
    starts: Vec<u64>,
    mins: ArrayRef,
    maxes: ArrayRef,
    nulls: UInt64Array,
}

impl PageBounds {
    /// What is known about the page that holds this row.
    fn at(&self, row: u64) -> ColumnStatistics {
        let page = self.starts.partition_point(|s| *s <= row).saturating_sub(1);
        ColumnStatistics {
            min: value_at(&self.mins, page),
            max: value_at(&self.maxes, page),
            null_count: self.nulls.is_valid(page).then(|| self.nulls.value(page)),
            ..ColumnStatistics::default()
        }
    }
}

fn is_signed(data_type: &DataType) -> bool {
    data_type.is_signed_integer()
        || data_type.is_floating()
        || data_type.is_temporal()
        || *data_type == DataType::Boolean
}

fn pick(a: Option<Value>, b: Option<Value>, first: fn(std::cmp::Ordering) -> bool) -> Option<Value> {
    let (a, b) = a.zip(b)?;
    let ordering = a.compare(&b)?;
    Some(if first(ordering) { a } else { b })
}

/// A bound as a value; `None` if it is missing or NaN.
fn value_at(array: &ArrayRef, row: usize) -> Option<Value> {
    Value::of_row(array, row).filter(|v| !matches!(v, Value::Float(x) if x.is_nan()))
}
