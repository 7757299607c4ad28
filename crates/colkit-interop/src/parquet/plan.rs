//! Which leaves, which row groups, which pages, which bytes.
//!
//! A column of the table is one or more *leaves* of the file: a struct has one for each of its fields. Leaves are
//! numbered in the order of the schema, and every row group has one chunk for each.

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::RowSelection;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use ::parquet::file::page_index::offset_index::PageLocation;
use arrow::datatypes::DataType;
use colkit_core::{ByteRange, ColumnRef, Selection, blocks_of};
use std::ops::Range;

/// Where a column chunk lies; `None` for numbers that make no range.
pub(super) fn chunk_range(chunk: &ColumnChunkMetaData) -> Option<ByteRange> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    ByteRange::at(u64::try_from(start).ok()?, u64::try_from(chunk.compressed_size()).ok()?).ok()
}

/// The leaves of every column.
pub(super) fn leaves_by_column(metadata: &ParquetMetaData, columns: usize) -> Vec<Range<usize>> {
    let schema = metadata.file_metadata().schema_descr();
    let mut leaves = vec![0..0; columns];
    for leaf in 0..schema.num_columns() {
        if let Some(range) = leaves.get_mut(schema.get_column_root_idx(leaf)) {
            if range.start == range.end {
                range.start = leaf;
            }
            range.end = leaf + 1;
        }
    }
    leaves
}

/// The leaves of a column that a projection keeps.
pub(super) fn leaves_of(column: &ColumnRef, data_type: &DataType, leaves: &Range<usize>) -> Vec<usize> {
    if column.within.is_empty() || leaf_count(data_type) != leaves.len() {
        return leaves.clone().collect();
    }
    let mut kept = Vec::new();
    for path in &column.within {
        let (mut data_type, mut first) = (data_type, leaves.start);
        for child in path {
            let Some((inner, at)) = child_of(data_type, *child, first) else { break };
            (data_type, first) = (inner, at);
        }
        kept.extend(first..first + leaf_count(data_type));
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// A child's type and first leaf.
fn child_of(data_type: &DataType, child: usize, first: usize) -> Option<(&DataType, usize)> {
    match data_type {
        DataType::Struct(fields) => {
            let before: usize = fields.iter().take(child).map(|f| leaf_count(f.data_type())).sum();
            Some((fields.get(child)?.data_type(), first + before))
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some((item.data_type(), first))
        }
        _ => None,
    }
}

/// How many leaves a type has.
pub(super) fn leaf_count(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|f| leaf_count(f.data_type())).sum(),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            leaf_count(item.data_type())
        }
        DataType::ListView(item) | DataType::LargeListView(item) | DataType::Map(item, _) => {
            leaf_count(item.data_type())
        }
        _ => 1,
    }
}

/// The file, as planning sees it.
pub(super) struct Plan<'a> {
    pub metadata: &'a ParquetMetaData,
    /// The first row of every row group, and the number of rows.
    pub starts: &'a [u64],
}

impl<'a> Plan<'a> {
    pub fn group_rows(&self, group: usize) -> Range<u64> {
        let at = |i: usize| self.starts.get(i).copied().unwrap_or(0);
        at(group)..at(group + 1)
    }

    /// The row groups that hold these rows.
    pub fn groups(&self, rows: &Range<u64>) -> Range<usize> {
        blocks_of(self.starts, |start| *start, rows)
    }

    /// The pages of a leaf in a row group, if the file says where they are.
    pub fn pages(&self, group: usize, leaf: usize) -> Option<&'a [PageLocation]> {
        Some(&self.metadata.offset_index()?.get(group)?.get(leaf)?.page_locations)
    }

    /// What to skip and what to keep of a row group to get these rows. `None` keeps all.
    pub fn selection(&self, group: usize, rows: &Selection) -> Option<RowSelection> {
        let whole = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let of = self.group_rows(group);
        let kept = rows.within(&of);
        let count = of.end - of.start;
        if matches!(kept.ranges(), [only] if *only == (0..count)) {
            return None;
        }
        let kept = kept.ranges().iter().map(|r| whole(r.start)..whole(r.end));
        Some(RowSelection::from_consecutive_ranges(kept, whole(count)))
    }

    /// The rows to decode to get these rows of a column. The decoder skips rows inside of a page of lists by walking
    /// their repetition levels, and does not end if a broken page has too few of them. So of lists whole pages are
    /// decoded, or where the pages are not known whole row groups, and the rows around the wanted ones dropped.
    pub fn decoded(&self, leaves: &[usize], rows: &Range<u64>) -> Range<u64> {
        let schema = self.metadata.file_metadata().schema_descr();
        let repeated = |l: &usize| *l < schema.num_columns() && schema.column(*l).max_rep_level() > 0;
        let mut wide = rows.clone();
        if rows.is_empty() || !leaves.iter().any(repeated) {
            return wide;
        }
        loop {
            let before = wide.clone();
            for leaf in leaves.iter().filter(|l| repeated(l)) {
                let page = |row: u64| {
                    let group = self.groups(&(row..row + 1)).start;
                    let of = self.group_rows(group);
                    let pages = self.pages(group, *leaf).unwrap_or_default();
                    let starts = |p: &PageLocation| of.start + u64::try_from(p.first_row_index).unwrap_or(0);
                    let after = pages.partition_point(|p| starts(p) <= row);
                    let start = after.checked_sub(1).and_then(|p| pages.get(p)).map_or(of.start, starts);
                    start..pages.get(after).map_or(of.end, starts)
                };
                wide = page(wide.start).start.min(wide.start)..page(wide.end - 1).end.max(wide.end);
            }
            if wide == before {
                return wide;
            }
        }
    }

    /// The bytes of these leaves of a column that hold these rows of a row group.
    pub fn ranges(&self, group: usize, leaves: &[usize], rows: &Range<u64>) -> Vec<ByteRange> {
        let of = self.group_rows(group);
        let rows = self.decoded(leaves, rows);
        let selection = self.selection(group, &Selection::range(rows));
        let Some(columns) = self.metadata.row_groups().get(group).map(|g| g.columns()) else { return Vec::new() };
        let mut ranges = Vec::new();
        for leaf in leaves {
            let Some(chunk) = columns.get(*leaf).and_then(chunk_range) else { continue };
            match (&selection, self.pages(group, *leaf)) {
                (Some(selection), Some(pages)) if !of.is_empty() => {
                    // A dictionary lies before the first page.
                    if let Some(first) = pages.first().and_then(|p| u64::try_from(p.offset).ok()) {
                        ranges.push(ByteRange::between(chunk.start(), first));
                    }
                    let scanned = selection.scan_ranges(pages);
                    ranges.extend(scanned.into_iter().map(|r| ByteRange::between(r.start, r.end)));
                }
                _ => ranges.push(chunk),
            }
        }
        ranges.retain(|r| !r.is_empty());
        ranges
    }

    /// The mask that keeps these leaves.
    pub fn mask(&self, leaves: &[usize]) -> ProjectionMask {
        let schema = self.metadata.file_metadata().schema_descr();
        let known = leaves.iter().copied().filter(|l| *l < schema.num_columns());
        ProjectionMask::leaves(schema, known)
    }

    /// Cuts rows of a row group into at most `parts`, where pages of the largest leaf start.
    pub fn cut(&self, group: usize, leaves: &[usize], rows: Range<u64>, parts: u64) -> Vec<Range<u64>> {
        let chunks = self.metadata.row_groups().get(group).map(|g| g.columns()).unwrap_or_default();
        let largest = leaves.iter().max_by_key(|l| chunks.get(**l).map(|c| c.compressed_size()));
        let Some(pages) = largest.and_then(|l| self.pages(group, *l)) else { return vec![rows] };
        let start = self.group_rows(group).start;
        let step = (rows.end - rows.start).div_ceil(parts.max(1)).max(1);
        let mut cuts = vec![rows.start];
        for page in pages {
            let row = start + u64::try_from(page.first_row_index).unwrap_or(0);
            if row < rows.end && cuts.last().is_some_and(|last| row >= last + step) {
                cuts.push(row);
            }
        }
        cuts.push(rows.end);
        cuts.windows(2).filter_map(|w| Some(*w.first()?..*w.last()?)).collect()
    }
}
