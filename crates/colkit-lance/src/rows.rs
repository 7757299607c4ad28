//! Which rows: sorted, disjoint, non-empty ranges.

use crate::bytes_at::times;
use colkit_core::Result;
use std::ops::Range;

/// Rows of a table, or items of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(Vec<Range<u64>>);

impl Rows {
    /// A range; nothing if it is empty.
    pub fn range(rows: Range<u64>) -> Self {
        let mut all = Rows::default();
        all.push(rows);
        all
    }

    /// Single rows in ascending order, each once.
    pub fn sorted(rows: impl IntoIterator<Item = u64>) -> Self {
        let mut all = Rows::default();
        for row in rows {
            all.push(row..row.saturating_add(1));
        }
        all
    }

    /// Adds a range that does not begin before the last one ends.
    pub(crate) fn push(&mut self, rows: Range<u64>) {
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

    /// One past the last row, 0 if there is none.
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |r| r.end)
    }

    /// Those inside `window`, counted from its start.
    pub fn within(&self, window: &Range<u64>) -> Rows {
        let first = self.0.partition_point(|r| r.end <= window.start);
        let inside = self.0.iter().skip(first).take_while(|r| r.start < window.end);
        let relative = |r: &Range<u64>| r.start.max(window.start) - window.start..r.end.min(window.end) - window.start;
        Rows(inside.map(relative).collect())
    }

    /// Each row replaced by `n` consecutive ones.
    pub(crate) fn scaled(&self, n: u64) -> Result<Rows> {
        let mut all = Rows::default();
        for r in &self.0 {
            all.push(times(r.start, n)?..times(r.end, n)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cut_and_shift() {
        let rows = Rows::sorted([1, 2, 3, 7, 9, 10]);
        assert_eq!(rows.ranges(), [1..4, 7..8, 9..11]);
        assert_eq!(rows.within(&(2..10)).ranges(), [0..2, 5..6, 7..8]);
        assert_eq!(rows.within(&(4..7)).ranges(), []);
        assert_eq!((rows.len(), rows.end()), (6, 11));
        assert_eq!(rows.scaled(3).unwrap().ranges(), [3..12, 21..24, 27..33]);
    }
}
