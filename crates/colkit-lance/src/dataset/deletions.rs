//! Which rows of a fragment are deleted.
//!
//! | kind | file |
//! |---|---|
//! | Arrow | an IPC file of one batch with one column `row_id` of `uint32` without nulls, in any order |
//! | bitmap | a portable 32-bit roaring bitmap |
//!
//! Both hold positions of rows in the fragment's files, all that were deleted so far.

use super::{deletion_ipc, roaring};
use colkit_core::{Error, Limits, Result, Selection};
use std::ops::Range;

/// The kinds of deletion files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Arrow,
    Bitmap,
}

impl Kind {
    pub fn extension(self) -> &'static str {
        match self {
            Kind::Arrow => "arrow",
            Kind::Bitmap => "bin",
        }
    }
}

/// The deleted rows of a fragment, ascending.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Deleted(Vec<u32>);

impl Deleted {
    /// The rows that a file of this kind says are deleted, of a fragment with so many rows.
    pub fn parse(kind: Kind, bytes: &[u8], rows: u64, limits: &Limits) -> Result<Self> {
        let most = rows.saturating_mul(4);
        Limits::check_memory("the deleted rows of a fragment", most.min(bytes.len() as u64 * 8), limits.memory)?;
        let mut deleted = match kind {
            Kind::Arrow => deletion_ipc::parse(bytes, rows)?,
            Kind::Bitmap => roaring::parse(bytes)?,
        };
        deleted.sort_unstable();
        if let Some(last) = deleted.last().filter(|last| u64::from(**last) >= rows) {
            let what = format!("row {last} is deleted, of a fragment with {rows} rows");
            return Err(Error::corrupt("bad_deletions", what));
        }
        if deleted.windows(2).any(|w| w.first() == w.last()) {
            return Err(Error::corrupt("bad_deletions", "a row is deleted twice"));
        }
        Ok(Deleted(deleted))
    }

    /// How many rows are deleted.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// How many rows before this one are left.
    pub fn left_before(&self, row: u64) -> u64 {
        row - self.0.partition_point(|deleted| u64::from(*deleted) < row) as u64
    }

    /// Where in the files the rows are that are left, by their numbers among these.
    pub fn physical(&self, rows: &Selection) -> Selection {
        if self.0.is_empty() {
            return rows.clone();
        }
        let mut found = Selection::default();
        for range in rows.ranges() {
            self.physical_range(range, &mut found);
        }
        found
    }

    fn physical_range(&self, rows: &Range<u64>, found: &mut Selection) {
        // The deleted rows before the first wanted one: `left` ascends with them.
        let left = |i: usize| self.0.get(i).map_or(u64::MAX, |deleted| u64::from(*deleted) - i as u64);
        let (mut next, mut end) = (0, self.0.len());
        while next < end {
            let middle = next.midpoint(end);
            if left(middle) <= rows.start { next = middle + 1 } else { end = middle }
        }
        let (mut at, mut wanted) = (rows.start + next as u64, rows.end - rows.start);
        while wanted > 0 {
            let until = self.0.get(next).map_or(u64::MAX, |deleted| u64::from(*deleted));
            let run = wanted.min(until.saturating_sub(at));
            found.push(at..at + run);
            wanted -= run;
            at = at + run + 1;
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_left_are_found() {
        let deleted = Deleted(vec![0, 3, 4, 9]);
        let rows = |ranges: &[Range<u64>]| {
            let mut all = Selection::default();
            ranges.iter().for_each(|r| all.push(r.clone()));
            all
        };
        // Left are 1, 2, 5, 6, 7, 8, 10, 11.
        assert_eq!(deleted.physical(&Selection::range(0..8)), rows(&[1..3, 5..9, 10..12]));
        assert_eq!(deleted.physical(&rows(&[1..3, 6..7])), rows(&[2..3, 5..6, 10..11]));
        assert_eq!(deleted.physical(&Selection::range(2..6)), Selection::range(5..9));
        assert_eq!((deleted.left_before(0), deleted.left_before(5), deleted.left_before(12)), (0, 2, 8));
        assert_eq!(Deleted::default().physical(&Selection::range(2..6)), Selection::range(2..6));
    }
}
