//! Selects rows in formats that can only be read by range or from the front.

use crate::{BatchMachine, Error, Lane, Machine, Result, Selection, Step};
use arrow::array::{BooleanArray, BooleanBufferBuilder};
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// An error unless every row number lies inside the table.
pub fn check_rows(rows: &[u64], row_count: u64) -> Result<()> {
    match rows.iter().find(|r| **r >= row_count) {
        None => Ok(()),
        Some(row) => {
            Err(Error::request("no_such_rows", format!("there is no row {row} in a table with {row_count} rows"))
                .hint("rows are counted from 0"))
        }
    }
}

/// The blocks that hold these rows. They lie one after another; `start` is the first row of one.
pub fn blocks_of<T>(blocks: &[T], start: impl Fn(&T) -> u64, rows: &Range<u64>) -> Range<usize> {
    if rows.is_empty() {
        return 0..0;
    }
    let first = blocks.partition_point(|b| start(b) <= rows.start).saturating_sub(1);
    first..blocks.partition_point(|b| start(b) < rows.end)
}

/// What to read to get these rows out of blocks: in each block that has some, from the first of them to the last.
/// `block_end` says where the block of a row ends.
pub fn spans(rows: &Selection, block_end: impl Fn(u64) -> u64) -> Vec<Range<u64>> {
    if let [all] = rows.ranges() {
        return vec![all.clone()];
    }
    let mut spans: Vec<Range<u64>> = Vec::new();
    let mut end = 0;
    for range in rows.ranges() {
        let mut start = range.start;
        while start < range.end {
            if let Some(last) = spans.last_mut().filter(|_| start < end) {
                last.end = range.end.min(end);
            } else {
                end = block_end(start).max(start + 1);
                spans.push(start..range.end.min(end));
            }
            start = range.end.min(end);
        }
    }
    spans
}

/// Exactly these rows out of parts that contain them: ranges of rows in order, each with the lanes that read all of it, which
/// are the same ones for every part.
pub fn select_rows(rows: &Selection, parts: Vec<(Range<u64>, Vec<Lane>)>) -> Vec<Lane> {
    let whole = matches!((rows.ranges(), parts.as_slice()), ([all], [(part, _)]) if all == part);
    if whole || parts.len() <= 1 && rows.is_empty() {
        return parts.into_iter().flat_map(|(_, lanes)| lanes).collect();
    }
    let rows = Arc::new(rows.clone());
    let mut picked: Vec<(Vec<usize>, SelectedRows)> = Vec::new();
    for (range, lanes) in parts {
        for (i, lane) in lanes.into_iter().enumerate() {
            let part = (range.start, lane.machine);
            match picked.get_mut(i) {
                Some((_, machine)) => machine.parts.push_back(part),
                None => {
                    let machine = SelectedRows { rows: rows.clone(), left: rows.len(), parts: VecDeque::from([part]) };
                    picked.push((lane.columns, machine));
                }
            }
        }
    }
    picked.into_iter().map(|(columns, machine)| Lane { columns, machine: Box::new(machine) }).collect()
}

struct SelectedRows {
    rows: Arc<Selection>,
    /// How many of them are still to come.
    left: u64,
    /// What is still to be read: the row each part stands at, and the part.
    parts: VecDeque<(u64, BatchMachine)>,
}

impl Machine for SelectedRows {
    type Output = Option<RecordBatch>;

    fn step(&mut self, mut got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        while self.left > 0 {
            let Some((row, part)) = self.parts.front_mut() else {
                return Err(Error::corrupt("row_count_mismatch", "the table ended before the last row asked for"));
            };
            match part.step(std::mem::take(&mut got))? {
                Step::Need(ranges) => return Ok(Step::Need(ranges)),
                Step::Ready(None) => {
                    self.parts.pop_front();
                }
                Step::Ready(Some(batch)) => {
                    let here = *row..*row + batch.num_rows() as u64;
                    *row = here.end;
                    if let Some(batch) = keep_rows(&batch, &self.rows, &here)? {
                        self.left = self.left.saturating_sub(batch.num_rows() as u64);
                        return Ok(Step::Ready(Some(batch)));
                    }
                }
            }
        }
        Ok(Step::Ready(None))
    }
}

/// What a batch with the rows `here` has of the rows asked for.
pub fn keep_rows(batch: &RecordBatch, rows: &Selection, here: &Range<u64>) -> Result<Option<RecordBatch>> {
    let size = |n: u64| usize::try_from(n - here.start).unwrap_or(usize::MAX);
    let mut ranges = rows.inside(here);
    let Some(first) = ranges.next() else { return Ok(None) };
    let Some(second) = ranges.next() else {
        return Ok(Some(batch.slice(size(first.start), size(first.end) - size(first.start))));
    };
    let mut mask = BooleanBufferBuilder::new(batch.num_rows());
    for range in [first, second].into_iter().chain(ranges) {
        mask.append_n(size(range.start) - mask.len(), false);
        mask.append_n(size(range.end) - size(range.start), true);
    }
    mask.append_n(batch.num_rows() - mask.len(), false);
    Ok(Some(filter_record_batch(batch, &BooleanArray::new(mask.finish(), None))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_by_their_rows() {
        let starts = [0, 10, 20];
        let of = |rows: Range<u64>| blocks_of(&starts, |start| *start, &rows);
        assert_eq!([of(0..1), of(9..10), of(9..11), of(10..30)], [0..1, 0..1, 0..2, 1..3]);
        assert!(of(5..5).is_empty());
    }

    #[test]
    fn spans_reach_from_the_first_to_the_last_row_of_each_block() {
        let blocks = |row: u64| (row / 10 + 1) * 10;
        let of = |rows: &[Range<u64>]| {
            let mut selection = Selection::default();
            rows.iter().for_each(|r| selection.push(r.clone()));
            spans(&selection, blocks)
        };
        assert_eq!(of(&[3..4, 7..8, 25..26]), [3..8, 25..26]);
        assert_eq!(of(&[3..4, 8..32, 35..36]), [3..10, 10..20, 20..30, 30..36]);
        assert_eq!(of(&[3..20, 20..44]), [Range { start: 3, end: 44 }]);
        assert_eq!(of(&[]), vec![]);
    }
}
