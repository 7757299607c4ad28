//! Where the rows of a mini-block page are: parsed once, kept as long as the file is open.
//!
//! One word per chunk says how long the chunk is and how many values it has:
//!
//! | bits of a word | meaning |
//! |---|---|
//! | 0..4 | log2 of the number of values; the last chunk has what remains |
//! | 4..16 or 4..32 | length in units of 8 bytes, minus one |
//!
//! With lists, the repetition index adds for each chunk how many rows end in it, and whether its last row goes on in
//! the next chunk.

use crate::bytes_at::{size, u16_at, u32_at, u64_at};
use colkit_core::{Error, Result};
use std::ops::Range;

/// The chunks of a page.
#[derive(Debug)]
pub(super) struct Chunks {
    /// Where each chunk begins in its buffer, and where the last ends.
    bytes: Vec<u64>,
    /// Values before each chunk, and in all.
    values: Vec<u64>,
    /// With lists: where rows begin and end.
    rows: Option<RowIndex>,
}

#[derive(Debug)]
struct RowIndex {
    /// The first row that begins in each chunk or later, and the number of rows.
    first: Vec<u64>,
    /// Whether the last row of the chunk goes on in the next.
    partial: Vec<bool>,
    /// The first later chunk in which a row ends.
    next_end: Vec<usize>,
}

fn bad(what: String) -> Error {
    Error::corrupt("bad_chunk", what)
}

impl Chunks {
    pub fn parse(words: &[u8], large: bool, num_values: u64, data_size: u64) -> Result<Self> {
        let width = if large { 4 } else { 2 };
        let count = words.len() / width;
        if !words.len().is_multiple_of(width) || count == 0 {
            return Err(bad(format!("{} bytes of chunk words", words.len())));
        }
        let (mut bytes, mut values) = (Vec::with_capacity(count + 1), Vec::with_capacity(count + 1));
        let (mut byte, mut value) = (0u64, 0u64);
        for i in 0..count {
            let word = if large { u32_at(words, i * 4)? } else { u16_at(words, i * 2)?.into() };
            bytes.push(byte);
            values.push(value);
            byte += (u64::from(word >> 4) + 1) * 8;
            value += 1 << (word & 15);
        }
        // The last word does not say how many values its chunk has.
        value = num_values;
        if values.last().is_some_and(|last| *last > value) {
            return Err(bad(format!("{num_values} values in the page, but more in its chunks")));
        }
        if byte > data_size {
            return Err(bad(format!("{byte} bytes of chunks in a buffer of {data_size}")));
        }
        bytes.push(byte);
        values.push(value);
        Ok(Chunks { bytes, values, rows: None })
    }

    /// Adds the repetition index: `depth + 1` numbers per chunk, of which the first two count.
    pub fn with_rows(mut self, index: &[u8], depth: u32, rows: u64) -> Result<Self> {
        let step = size(u64::from(depth) + 1)?.saturating_mul(8);
        let count = self.len();
        if Some(index.len()) != count.checked_mul(step) {
            return Err(bad(format!("{} bytes of repetition index for {count} chunks", index.len())));
        }
        let (mut first, mut partial) = (Vec::with_capacity(count + 1), Vec::with_capacity(count));
        let mut ending = Vec::with_capacity(count);
        let (mut row, mut continues) = (0u64, false);
        for entry in index.chunks_exact(step) {
            let (ends, goes_on) = (u64_at(entry, 0)?, u64_at(entry, 8)? > 0);
            first.push(row);
            let starts = ends.checked_add(u64::from(goes_on)).and_then(|n| n.checked_sub(u64::from(continues)));
            let starts = starts.ok_or_else(|| bad("a row that goes on, but never ends".into()))?;
            row = row.checked_add(starts).ok_or_else(|| bad("too many rows".into()))?;
            partial.push(goes_on);
            ending.push(ends > 0);
            continues = goes_on;
        }
        if row != rows || continues {
            return Err(bad(format!("the repetition index counts {row} rows, the page has {rows}")));
        }
        first.push(row);
        let mut next_end = vec![count; count];
        let mut later = count;
        for (i, ends) in ending.iter().enumerate().rev() {
            if let Some(slot) = next_end.get_mut(i) {
                *slot = later;
            }
            if *ends {
                later = i;
            }
        }
        self.rows = Some(RowIndex { first, partial, next_end });
        Ok(self)
    }

    pub fn len(&self) -> usize {
        self.bytes.len().saturating_sub(1)
    }

    /// The repetition index is a claim. An error unless the levels of a chunk start as many rows as it says, the first of
    /// them with the chunk if no row goes on from before: whoever goes by the levels and whoever goes by the index then
    /// find the same rows.
    pub fn check_rows(&self, chunk: usize, rep: &[u16], row_start: u16) -> Result<()> {
        let Some(index) = &self.rows else { return Ok(()) };
        let said = self.first_row(chunk + 1).saturating_sub(self.first_row(chunk));
        let found = rep.iter().filter(|r| **r == row_start).count() as u64;
        if found != said {
            let what = format!("the levels start {found} rows, the repetition index says {said}");
            return Err(Error::corrupt("bad_levels", what));
        }
        let continues = chunk.checked_sub(1).and_then(|before| index.partial.get(before)) == Some(&true);
        match rep.first() {
            Some(first) if (*first == row_start) == continues => {
                let what = if continues { "the last row goes on" } else { "a row starts" };
                Err(Error::corrupt(
                    "bad_levels",
                    format!("the repetition index says that {what} here, the levels do not"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// The bytes of some chunks, counted from the start of their buffer.
    pub fn bytes(&self, chunks: &Range<usize>) -> Range<u64> {
        let at = |i: usize| self.bytes.get(i).copied().unwrap_or(0);
        at(chunks.start)..at(chunks.end)
    }

    /// The values of a chunk, counted from the first of the page.
    pub fn values(&self, chunk: usize) -> Range<u64> {
        let at = |i: usize| self.values.get(i).copied().unwrap_or(0);
        at(chunk)..at(chunk + 1)
    }

    /// The first row that begins in this chunk or later.
    pub fn first_row(&self, chunk: usize) -> u64 {
        let starts = self.rows.as_ref().map_or(&self.values, |r| &r.first);
        starts.get(chunk).copied().unwrap_or(0)
    }

    /// The chunks that hold these rows (not none) of the page.
    pub fn holding(&self, rows: &Range<u64>) -> Range<usize> {
        let starts = self.rows.as_ref().map_or(&self.values, |r| &r.first);
        let holder =
            |row: u64| starts.partition_point(|s| *s <= row).saturating_sub(1).min(self.len().saturating_sub(1));
        let (from, mut to) = (holder(rows.start), holder(rows.end.saturating_sub(1)));
        if let Some(index) = &self.rows {
            let next_starts = index.first.get(to + 1).copied().unwrap_or(0);
            if rows.end == next_starts && index.partial.get(to) == Some(&true) {
                to = index.next_end.get(to).copied().unwrap_or(to).min(self.len().saturating_sub(1));
            }
        }
        from..to + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_span_chunks_are_found() {
        // Rows of 5000, 1, 0, 3000, null, 9000 and 2 items in chunks of 1024.
        let pairs: Vec<(u64, u64)> = [(0, 1024); 4]
            .into_iter()
            .chain([(3, 119), (0, 1024), (0, 1024), (2, 191)])
            .chain([(0, 1024); 8])
            .chain([(2, 0)])
            .collect();
        let index: Vec<u8> = pairs.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()].concat()).collect();
        let words: Vec<u8> = std::iter::repeat_n(0x000Au16.to_le_bytes(), 17).flatten().collect();
        let chunks = Chunks::parse(&words, false, 17_003, 17 * 8).unwrap();
        let chunks = chunks.with_rows(&index, 1, 7).unwrap();
        assert_eq!(chunks.holding(&(0..1)), 0..5);
        assert_eq!(chunks.holding(&(1..3)), 4..5);
        assert_eq!(chunks.holding(&(3..4)), 4..8);
        assert_eq!(chunks.holding(&(5..6)), 7..17);
        assert_eq!(chunks.holding(&(6..7)), 16..17);
        assert_eq!(chunks.first_row(4), 1);
    }

    #[test]
    fn levels_must_have_the_rows_of_the_index() {
        // Rows of 3, 1 and 2 items in chunks of two.
        let index: Vec<u8> = [0, 2, 2, 0, 1, 0u64].iter().flat_map(|n| n.to_le_bytes()).collect();
        let words: Vec<u8> = [1u16; 3].iter().flat_map(|w| w.to_le_bytes()).collect();
        let chunks = Chunks::parse(&words, false, 6, 24).unwrap().with_rows(&index, 1, 3).unwrap();
        let good = [[1, 0], [0, 1], [1, 0]];
        for (chunk, rep) in good.iter().enumerate() {
            chunks.check_rows(chunk, rep, 1).unwrap();
        }
        assert!(chunks.check_rows(0, &[1, 1], 1).is_err(), "a row too many");
        assert!(chunks.check_rows(0, &[0, 0], 1).is_err(), "a row too few");
        assert!(chunks.check_rows(0, &[0, 1], 1).is_err(), "the first row starts late");
        assert!(chunks.check_rows(1, &[1, 0], 1).is_err(), "the row from before does not go on");
        assert!(chunks.check_rows(2, &[0, 1], 1).is_err(), "the row from before goes on");
    }

    #[test]
    fn claims_are_checked() {
        assert!(Chunks::parse(&[], false, 0, 0).is_err());
        assert!(Chunks::parse(&[0x1A, 0, 0, 0], false, 100, 64).is_err(), "1024 values before the last chunk");
        assert!(Chunks::parse(&[0x30, 0], false, 5, 31).is_err(), "32 bytes in 31");
        let one = || Chunks::parse(&[0x30, 0], false, 5, 32).unwrap();
        assert!(one().with_rows(&[0; 15], 1, 0).is_err());
        assert!(one().with_rows(&[1; 16], 1, 1).is_err());
    }
}
