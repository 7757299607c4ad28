//! What a condition rules out, by what the file says about row groups and pages.

use super::plan::Plan;
use crate::decoder_panics::guarded;
use ::parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::statistics::Statistics;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::compute::{nullif, take};
use arrow::datatypes::{DataType, Field, Schema};
use colkit_core::{BoundPredicate, ColumnStatistics, Value, ZoneMap};
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

    /// What these row groups say about a column.
    fn of_groups(&self, groups: &'a [RowGroupMetaData], column: usize) -> Option<ZoneMap> {
        let (leaf, field) = self.leaf(column)?;
        let converter = self.converter(leaf, field)?;
        let chunks = groups.iter().map(|group| group.columns().get(leaf)).collect::<Option<Vec<_>>>()?;
        let stated: Vec<Option<&Statistics>> = chunks.into_iter().map(|chunk| chunk.statistics()).collect();
        // The bounds of old writers compare text and unsigned numbers as if they were signed.
        let doubtful = |s: &Statistics| s.is_min_max_deprecated() && !is_signed(field.data_type());
        let doubtful: BooleanArray = stated.iter().map(|s| s.map(doubtful)).collect();
        let mins = guarded("statistics", || nullif(&converter.row_group_mins(groups)?, &doubtful)).ok()?;
        let maxes = guarded("statistics", || nullif(&converter.row_group_maxes(groups)?, &doubtful)).ok()?;
        ZoneMap::new(mins, maxes, stated.iter().map(|s| (*s)?.null_count_opt()).collect())
    }

    /// What the file says about a column, if all row groups say something.
    pub fn of_file(&self, column: usize) -> Option<ColumnStatistics> {
        let (leaf, _) = self.leaf(column)?;
        let groups = self.metadata.row_groups();
        let known = self.of_groups(groups, column)?;
        let mut all: Option<ColumnStatistics> = None;
        for (number, group) in groups.iter().enumerate().filter(|(_, group)| group.num_rows() > 0) {
            let stated = group.columns().get(leaf)?.statistics()?;
            let exact = stated.min_is_exact() && stated.max_is_exact();
            let next = ColumnStatistics { exact, ..known.statistics(number) };
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
        all
    }

    /// The row groups among these that may hold a match.
    pub fn may_match(&self, among: Range<usize>, predicate: &BoundPredicate) -> Vec<usize> {
        let Some(groups) = self.metadata.row_groups().get(among.clone()) else { return among.collect() };
        let kept = predicate.prune(groups.len(), &|column| self.of_groups(groups, column));
        kept.set_indices().map(|group| among.start + group).collect()
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
        let map = |column: usize| columns.iter().find(|c| c.column == column)?.at(&starts);
        let kept = predicate.prune(starts.len(), &map);
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (index, (start, may)) in starts.iter().zip(&kept).enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(of.end - of.start);
            let run = (of.start + start).max(rows.start)..(of.start + end).min(rows.end);
            if run.is_empty() || !may {
                continue;
            }
            match runs.last_mut() {
                Some(last) if run.start - last.end < WORTH_SKIPPING => last.end = run.end,
                _ => runs.push(run),
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
        let mins = guarded("page index", || converter.data_page_mins(bounds, places, &groups)).ok()?;
        let maxes = guarded("page index", || converter.data_page_maxes(bounds, places, &groups)).ok()?;
        let nulls = guarded("page index", || converter.data_page_null_counts(bounds, places, &groups)).ok()?;
        let starts = pages.iter().map(|p| u64::try_from(p.first_row_index).unwrap_or(0)).collect::<Vec<_>>();
        let count = starts.len();
        let same = mins.len() == count && maxes.len() == count && nulls.len() == count;
        (same && count > 0).then_some(PageBounds { column, starts, mins, maxes, nulls })
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
    /// What is known about the pages that hold these rows.
    fn at(&self, rows: &[u64]) -> Option<ZoneMap> {
        let page = |row: &u64| self.starts.partition_point(|s| s <= row).saturating_sub(1) as u64;
        let pages = UInt64Array::from_iter_values(rows.iter().map(page));
        let nulls = take(&self.nulls, &pages, None).ok()?;
        ZoneMap::new(
            take(&self.mins, &pages, None).ok()?,
            take(&self.maxes, &pages, None).ok()?,
            nulls.as_primitive().clone(),
        )
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
