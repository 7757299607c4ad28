//! Which rows of a fragment are deleted.
//!
//! | kind | file |
//! |---|---|
//! | Arrow | an IPC file of one batch with one column `row_id` of `uint32` without nulls, in any order |
//! | bitmap | a portable 32-bit roaring bitmap |
//!
//! Both hold positions of rows in the fragment's files, all that were deleted so far.

use super::{deletion_ipc, roaring};
use bytes::Bytes;
use colkit_core::{Error, Limits, Result, Selection};
use std::ops::Range;

/// The kinds of deletion files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An Arrow file.
    Arrow,
    /// A roaring bitmap.
    Bitmap,
}

impl Kind {
    /// How the names of such files end.
    pub fn extension(self) -> &'static str {
        match self {
            Kind::Arrow => "arrow",
            Kind::Bitmap => "bin",
        }
    }
}

impl Kind {
    /// By which manifests name it.
    pub(super) fn number(self) -> i32 {
        match self {
            Kind::Arrow => 0,
            Kind::Bitmap => 1,
        }
    }
}

/// Deleted rows up to which the file is an Arrow file, as Lance has it.
const MOST_IN_ARROW: usize = 5000;

/// The deleted rows of a fragment as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionVector {
    kind: Kind,
    count: u64,
    bytes: Bytes,
}

impl DeletionVector {
    /// These rows of a fragment with so many rows, besides those that a file says are deleted already. `None` if no row is
    /// left.
    pub fn new(before: Option<(Kind, &[u8])>, new: &[u32], rows: u64, limits: &Limits) -> Result<Option<Self>> {
        let mut deleted = match before {
            Some((kind, bytes)) => Deleted::parse(kind, bytes, rows, limits)?.0,
            None => Vec::new(),
        };
        deleted.extend_from_slice(new);
        deleted.sort_unstable();
        deleted.dedup();
        if deleted.last().is_some_and(|last| u64::from(*last) >= rows) {
            return Err(Error::internal("a row is deleted that is not there"));
        }
        if deleted.len() as u64 == rows {
            return Ok(None);
        }
        let kind = if deleted.len() <= MOST_IN_ARROW { Kind::Arrow } else { Kind::Bitmap };
        let count = deleted.len() as u64;
        let bytes = match kind {
            Kind::Arrow => deletion_ipc::write(deleted)?,
            Kind::Bitmap => roaring::write(&deleted),
        };
        Ok(Some(DeletionVector { kind, count, bytes: bytes.into() }))
    }

    /// What kind of file it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many rows are deleted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The file.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
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

    /// Whether this row is deleted.
    pub fn contains(&self, row: u64) -> bool {
        u32::try_from(row).is_ok_and(|row| self.0.binary_search(&row).is_ok())
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

    #[test]
    fn what_is_written_is_read() {
        let limits = Limits::default();
        let (few, many): (Vec<u32>, Vec<u32>) = (vec![9, 3, 3], (0..200_000).filter(|i| i % 3 == 0).collect());
        for (rows, kind) in [(&few, Kind::Arrow), (&many, Kind::Bitmap)] {
            let vector = DeletionVector::new(None, rows, 300_000, &limits).unwrap().unwrap();
            assert_eq!(vector.kind(), kind);
            let read = Deleted::parse(kind, vector.bytes(), 300_000, &limits).unwrap();
            let expected: std::collections::BTreeSet<u32> = rows.iter().copied().collect();
            assert_eq!((read.len(), vector.count()), (expected.len() as u64, expected.len() as u64));
            assert!(expected.iter().all(|row| read.contains((*row).into())) && !read.contains(1));
            let more = DeletionVector::new(Some((kind, vector.bytes())), &[1], 300_000, &limits).unwrap().unwrap();
            assert_eq!(more.count(), vector.count() + 1);
        }
        assert!(DeletionVector::new(None, &[0, 1], 2, &limits).unwrap().is_none(), "nothing is left");
        assert_eq!(DeletionVector::new(None, &[2], 2, &limits).unwrap_err().code(), "internal_error");
    }

    /// Whatever happens to a file, rows are right or there is an error.
    #[test]
    fn damage_is_an_error_or_rows() {
        let limits = Limits::default();
        for rows in [vec![1u32, 5, 9], (0..6000).step_by(1).collect()] {
            let vector = DeletionVector::new(None, &rows, 10_000, &limits).unwrap().unwrap();
            let good = vector.bytes().to_vec();
            for cut in (0..good.len()).step_by(7) {
                let cut = Deleted::parse(vector.kind(), &good[..cut], 10_000, &limits);
                assert!(cut.is_err(), "a cut file is not taken for a whole one");
            }
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 1 << (at % 8);
                if let Ok(deleted) = Deleted::parse(vector.kind(), &bad, 10_000, &limits) {
                    assert!(deleted.len() <= 10_000);
                }
            }
        }
    }
}
