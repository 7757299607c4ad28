//! Plans a scan of a file: splits, and the bytes that each needs.

use crate::coroutine::{BoxFuture, Io, join_all};
use crate::prune;
use crate::read::{ColumnReader, LanceFile};
use crate::schema::Node;
use colkit_core::{BoundPredicate, Result, Split, coalesce};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the file that a split should cover.
const SPLIT_BYTES: u64 = 16 << 20;

/// Rows of a split that are worth a split of their own, however narrow.
const SPLIT_ROWS: u64 = 64 << 10;

/// Splits at most: rows that take no bytes (nulls, constants) can be claimed in any number.
const MOST_SPLITS: u64 = 1 << 16;

/// The splits of a file.
pub(crate) async fn of_file(
    file: Arc<LanceFile>,
    io: Io,
    nodes: Vec<Arc<Node>>,
    rows: Range<u64>,
    predicate: Option<BoundPredicate>,
) -> Result<Vec<Split>> {
    // Without columns there is nothing to read, but the number of rows should still be one that the file can prove.
    let witnesses: Vec<&Node> = match nodes.is_empty() {
        true => file.fields.roots.iter().take(1).collect(),
        false => nodes.iter().map(AsRef::as_ref).collect(),
    };
    let columns = prepare(&file, &io, &witnesses).await?;
    let wanted = match &predicate {
        Some(predicate) => prune::may_match(&file, &io, predicate, rows, &Some).await?,
        None => vec![rows],
    };
    let read = if nodes.is_empty() { &[] } else { columns.as_slice() };
    let splits = cut(wanted, file.fields.rows, stored_bytes(&file, read));
    locate(&file, &io, read, splits).await
}

/// Makes the columns of these fields known, and checks that they have as many rows as the file.
pub(crate) async fn prepare(file: &LanceFile, io: &Io, nodes: &[&Node]) -> Result<Vec<usize>> {
    let mut columns: Vec<usize> = nodes.iter().flat_map(|n| n.columns()).collect();
    columns.sort_unstable();
    columns.dedup();
    file.prepare(io, &columns).await?;
    nodes.iter().try_for_each(|node| file.check_length(node))?;
    Ok(columns)
}

/// Bytes that these columns take, as far as they are known.
pub(crate) fn stored_bytes(file: &LanceFile, columns: &[usize]) -> u64 {
    let readers = columns.iter().filter_map(|c| file.known_reader(*c));
    readers.flat_map(|r| r.metadata().ranges()).map(|r| r.len()).fold(0, u64::saturating_add)
}

/// Splits of a good size, of these rows out of `rows` that take so many bytes together.
pub(crate) fn cut(wanted: Vec<Range<u64>>, rows: u64, bytes: u64) -> Vec<Split> {
    let by_bytes = SPLIT_BYTES / bytes.div_ceil(rows.max(1)).max(1);
    let step = by_bytes.min((rows / 8).max(SPLIT_ROWS)).max(1024);
    let step = step.max(rows / MOST_SPLITS).saturating_add(1023) / 1024 * 1024;
    let mut splits = Vec::new();
    for rows in wanted {
        let mut at = rows.start;
        while at < rows.end {
            let end = (at / step).saturating_add(1).saturating_mul(step).min(rows.end);
            splits.push(Split { rows: at..end, ranges: Vec::new() });
            at = end;
        }
    }
    splits
}

/// Adds to each split the bytes that it needs of these columns.
pub(crate) async fn locate(
    file: &Arc<LanceFile>,
    io: &Io,
    columns: &[usize],
    mut splits: Vec<Split>,
) -> Result<Vec<Split>> {
    let readers: Vec<Arc<ColumnReader>> = columns.iter().filter_map(|c| file.known_reader(*c).cloned()).collect();
    // Pages that are read in part must say where that part is: all of them at once.
    let mut learning: Vec<BoxFuture<()>> = Vec::new();
    for reader in &readers {
        learning.extend(to_learn(file, io, reader, &splits)?);
    }
    if !learning.is_empty() {
        join_all(learning).await?;
    }
    for reader in &readers {
        plan_column(file, reader, &mut splits)?;
    }
    for split in &mut splits {
        if let Some(seal) = file.container.seal() {
            split.ranges = seal.plan(&split.ranges)?;
        }
        split.ranges = coalesce(&split.ranges, 0);
    }
    Ok(splits)
}

/// The pages of a column that hold some of these rows.
fn touched(pages: &[Range<u64>], rows: Range<u64>) -> impl Iterator<Item = (usize, &Range<u64>)> {
    let first = pages.partition_point(|p| p.end <= rows.start);
    let pages = pages.iter().enumerate().skip(first).take_while(move |(_, p)| p.start < rows.end);
    pages.filter(|(_, p)| !p.is_empty())
}

/// Whether a split holds all rows of a page.
fn is_whole(split: &Split, page: &Range<u64>) -> bool {
    split.rows.start <= page.start && page.end <= split.rows.end
}

/// Lets the pages of a column that are read in part find out where their rows are.
fn to_learn(file: &LanceFile, io: &Io, column: &Arc<ColumnReader>, splits: &[Split]) -> Result<Vec<BoxFuture<()>>> {
    let mut learning: Vec<BoxFuture<()>> = Vec::new();
    if column.length() != file.fields.rows {
        return Ok(learning);
    }
    let pages: Vec<Range<u64>> = column.page_rows().collect();
    let mut last = None;
    for split in splits {
        for (index, _) in touched(&pages, split.rows.clone()).filter(|(_, page)| !is_whole(split, page)) {
            if last < Some(index)
                && let Some(machine) = column.page(file, index)?.learn()
            {
                let (io, part) = (io.clone(), format!("column {} page {index}", column.number()));
                learning.push(Box::pin(async move { io.run(machine).await.map_err(|e| e.part(part)) }));
            }
            last = last.max(Some(index));
        }
    }
    Ok(learning)
}

/// Adds to each split the bytes that it needs of a column.
fn plan_column(file: &LanceFile, column: &Arc<ColumnReader>, splits: &mut [Split]) -> Result<()> {
    let metadata = column.metadata();
    if column.length() != file.fields.rows {
        // Items of lists: which of them are wanted is known only when the lists have been read.
        splits.iter_mut().for_each(|s| s.ranges.extend(metadata.ranges()));
        return Ok(());
    }
    let pages: Vec<Range<u64>> = column.page_rows().collect();
    let mut begun = None;
    for split in splits {
        for (index, page) in touched(&pages, split.rows.clone()) {
            let part = split.rows.start.max(page.start) - page.start..split.rows.end.min(page.end) - page.start;
            let known = if is_whole(split, page) { None } else { column.page(file, index)?.bytes_of(&part) };
            match known {
                Some(known) => {
                    split.ranges.extend(known.rows);
                    if begun < Some(index) {
                        split.ranges.extend(known.once);
                    }
                }
                None => split.ranges.extend(metadata.pages.get(index).iter().flat_map(|p| p.buffers.iter().copied())),
            }
            begun = begun.max(Some(index));
        }
        split.ranges.extend_from_slice(&metadata.buffers);
    }
    Ok(())
}
