//! Byte ranges of a file.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A half-open range of bytes, `start <= end`, that cannot wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ByteRange {
    start: u64,
    end: u64,
}

impl ByteRange {
    /// The range of `len` bytes from `start`; an error when it would wrap around 2^64.
    pub fn at(start: u64, len: u64) -> Result<Self> {
        match start.checked_add(len) {
            Some(end) => Ok(ByteRange { start, end }),
            None => {
                Err(Error::corrupt("block_out_of_range", format!("{len} bytes from {start} end beyond 2^64")).at(start))
            }
        }
    }

    /// The range between two offsets. An inverted pair gives the empty range at `start`.
    pub fn between(start: u64, end: u64) -> Self {
        ByteRange { start, end: end.max(start) }
    }

    /// First byte.
    pub fn start(self) -> u64 {
        self.start
    }

    /// One past the last byte.
    pub fn end(self) -> u64 {
        self.end
    }

    /// Number of bytes.
    pub fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether there is no byte in it.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `other` lies inside.
    pub fn contains(self, other: ByteRange) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The length as `usize`, for buffers. On 64-bit machines this cannot fail.
    pub fn len_usize(self) -> Result<usize> {
        usize::try_from(self.len()).map_err(|_| Error::limit("a buffer", self.len(), usize::MAX))
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// Ranges merged where they touch or lie at most `gap` bytes apart; sorted. What a store is asked for.
pub fn coalesce(ranges: &[ByteRange], gap: u64) -> Vec<ByteRange> {
    merge(ranges, |last, next| next.start <= last.end.saturating_add(gap))
}

/// Ranges merged where they overlap; sorted. Those that only touch stay apart: together they would live as long as any of
/// them.
pub fn merge_overlapping(ranges: &[ByteRange]) -> Vec<ByteRange> {
    merge(ranges, |last, next| next.start < last.end)
}

fn merge(ranges: &[ByteRange], joins: impl Fn(&ByteRange, &ByteRange) -> bool) -> Vec<ByteRange> {
    let mut sorted: Vec<ByteRange> = ranges.iter().copied().filter(|r| !r.is_empty()).collect();
    sorted.sort_unstable();
    let mut merged: Vec<ByteRange> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if joins(last, &range) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(a: u64, b: u64) -> ByteRange {
        ByteRange::between(a, b)
    }

    #[test]
    fn touching_ranges_merge_and_gaps_do_not() {
        let merged = coalesce(&[r(10, 20), r(0, 5), r(20, 30), r(31, 40), r(3, 4), r(7, 7)], 0);
        assert_eq!(merged, vec![r(0, 5), r(10, 30), r(31, 40)]);
        assert_eq!(coalesce(&[r(0, 5), r(8, 9)], 3), vec![r(0, 9)]);
        assert_eq!(merge_overlapping(&[r(5, 9), r(0, 5), r(4, 6), r(9, 12)]), vec![r(0, 9), r(9, 12)]);
    }

    #[test]
    fn a_range_cannot_wrap() {
        assert_eq!(ByteRange::at(u64::MAX, 2).unwrap_err().code(), "block_out_of_range");
    }
}
