//! A set of rows, as ranges: what pruning, conditions, `take` and decoders exchange.

use crate::{Error, Result};
use arrow::array::{Array, BooleanArray};
use std::ops::Range;

/// Rows of a table, or of a part of it: sorted, disjoint, non-empty ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(Vec<Range<u64>>);

impl Selection {
    /// A range; nothing if it is empty.
    pub fn range(rows: Range<u64>) -> Self {
        let mut all = Selection::default();
        all.push(rows);
        all
    }

    /// Single rows in ascending order, each once.
    pub fn sorted(rows: impl IntoIterator<Item = u64>) -> Self {
        let mut all = Selection::default();
        for row in rows {
            all.push(row..row.saturating_add(1));
        }
        all
    }

    /// Adds a range that does not begin before the last one ends.
    pub fn push(&mut self, rows: Range<u64>) {
        if rows.start >= rows.end {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => self.0.push(rows),
        }
    }

    /// The ranges.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// How many rows.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|r| r.end - r.start).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// From the first row to one past the last; `0..0` if there is none.
    pub fn span(&self) -> Range<u64> {
        self.0.first().map_or(0, |r| r.start)..self.end()
    }

    /// One past the last row, 0 if there is none.
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |r| r.end)
    }

    /// Whether these are all the rows of their span.
    pub fn is_range(&self) -> bool {
        self.0.len() <= 1
    }

    /// Those inside `window`, by their own numbers.
    pub fn inside<'a>(&'a self, window: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<'a> {
        let window = window.clone();
        let first = self.0.partition_point(|r| r.end <= window.start);
        let inside = self.0.iter().skip(first).take_while(move |r| r.start < window.end);
        inside.map(move |r| r.start.max(window.start)..r.end.min(window.end))
    }

    /// The next `count` rows from the one at `position` on.
    pub fn next(&self, position: u64, count: u64) -> Selection {
        let mut next = Selection::default();
        self.after(position).take(count, |rows| next.push(rows));
        next
    }

    /// Those inside `window`, by their own numbers.
    pub fn part(&self, window: &Range<u64>) -> Selection {
        Selection(self.inside(window).collect())
    }

    /// Those inside `window`, counted from its start.
    pub fn within(&self, window: &Range<u64>) -> Selection {
        Selection(self.inside(window).map(|r| r.start - window.start..r.end - window.start).collect())
    }

    /// Each row replaced by `n` consecutive ones.
    pub fn scaled(&self, n: u64) -> Result<Selection> {
        let times = |row: u64| {
            row.checked_mul(n).ok_or_else(|| Error::corrupt("bad_values", format!("{row} rows of {n} values each")))
        };
        let mut all = Selection::default();
        for r in &self.0 {
            all.push(times(r.start)?..times(r.end)?);
        }
        Ok(all)
    }

    /// The rows from the one at `position` on.
    pub(crate) fn after(&self, position: u64) -> Remaining<'_> {
        let mut rest = Remaining { first: None, rest: &self.0 };
        rest.next_range();
        rest.skip(position);
        rest
    }

    /// Adds the rows for which `mask` is true; its first bit stands for the row at `position` of `all`.
    pub(crate) fn push_kept(&mut self, all: &Selection, position: u64, mask: &BooleanArray) {
        let mut rest = all.after(position);
        let mut at = 0;
        let kept = match mask.nulls() {
            Some(nulls) => mask.values() & nulls.inner(),
            None => mask.values().clone(),
        };
        for (start, end) in kept.set_slices() {
            rest.skip(start as u64 - at);
            rest.take((end - start) as u64, |rows| self.push(rows));
            at = end as u64;
        }
    }
}

/// What is left of a selection.
pub(crate) struct Remaining<'a> {
    first: Option<Range<u64>>,
    rest: &'a [Range<u64>],
}

impl Remaining<'_> {
    fn next_range(&mut self) {
        self.first = self.rest.split_first().map(|(first, rest)| {
            self.rest = rest;
            first.clone()
        });
    }

    /// Leaves out so many rows.
    fn skip(&mut self, rows: u64) {
        self.take(rows, |_| {});
    }

    /// Gives the next rows, range by range.
    pub fn take(&mut self, mut rows: u64, mut give: impl FnMut(Range<u64>)) {
        while rows > 0
            && let Some(first) = &mut self.first
        {
            let end = first.start.saturating_add(rows).min(first.end);
            rows -= end - first.start;
            give(first.start..end);
            first.start = end;
            if first.is_empty() {
                self.next_range();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cut_and_shift() {
        let rows = Selection::sorted([1, 2, 3, 7, 9, 10]);
        assert_eq!(rows.ranges(), [1..4, 7..8, 9..11]);
        assert_eq!(rows.within(&(2..10)).ranges(), [0..2, 5..6, 7..8]);
        assert_eq!(rows.within(&(4..7)).ranges(), []);
        assert_eq!((rows.len(), rows.span()), (6, 1..11));
        assert_eq!(rows.scaled(3).unwrap().ranges(), [3..12, 21..24, 27..33]);
        assert!(rows.scaled(u64::MAX).is_err());
    }

    #[test]
    fn masks_keep_rows_by_their_place() {
        let rows = Selection::sorted([1, 2, 3, 7, 9, 10, 20]);
        let mut kept = Selection::default();
        kept.push_kept(&rows, 0, &BooleanArray::from(vec![Some(true), None, Some(true)]));
        kept.push_kept(&rows, 3, &BooleanArray::from(vec![true, false, true, true]));
        assert_eq!(kept.ranges(), [1..2, 3..4, 7..8, 10..11, 20..21]);
        let mut tail = Vec::new();
        rows.after(4).take(u64::MAX, |r| tail.push(r));
        assert_eq!(tail, [9..11, 20..21]);
    }
}
