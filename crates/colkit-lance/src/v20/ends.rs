//! Ends of text values and lists, and the nulls hidden in them.
//!
//! Item `i` of a page ends at `end[i]` and begins where item `i - 1` ends (the first at 0). A null is stored as its end
//! plus an adjustment larger than any end. So items `[a, b)` need the numbers `[a - 1, b)`.

use crate::rows::Rows;
use crate::values::bad_offsets;
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::NullBuffer;
use colkit_core::{Error, Result};
use std::ops::Range;

/// The numbers needed to know where the items of `rows` lie.
pub(super) fn needed(rows: &Rows) -> Rows {
    let mut all = Rows::default();
    for range in rows.ranges() {
        all.push(range.start.saturating_sub(1).max(all.end())..range.end);
    }
    all
}

/// Where the wanted items lie.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// Length of each; 0 for nulls.
    pub lengths: Vec<u64>,
    pub nulls: Option<NullBuffer>,
    /// Everything that is not under a null, in order.
    pub places: Rows,
}

/// Finds the items of `rows`, given the numbers of [`needed`] in order.
pub(super) fn spans(rows: &Rows, numbers: &[u64], adjustment: u64) -> Result<Spans> {
    if adjustment == 0 && !rows.is_empty() {
        return Err(Error::corrupt("bad_offsets", "a page with items needs an adjustment for nulls"));
    }
    let count = usize::try_from(rows.len()).unwrap_or(0).min(numbers.len());
    let mut spans = Spans { lengths: Vec::with_capacity(count), ..Spans::default() };
    let mut valid = BooleanBufferBuilder::new(count);
    let mut nulls = 0usize;
    let mut numbers = numbers.iter();
    // The number before the one that comes next, and which it is.
    let (mut last_end, mut next) = (0, 0);
    for range in rows.ranges() {
        let Range { start, end } = range.clone();
        let before = start.saturating_sub(1);
        if next < before || (next == before && start > 0) {
            last_end = numbers.next().ok_or_else(bad_offsets)? % adjustment;
        }
        for _ in start..end {
            let number = *numbers.next().ok_or_else(bad_offsets)?;
            let (item_end, null) = if number >= adjustment { (number - adjustment, true) } else { (number, false) };
            let length = item_end.checked_sub(last_end).filter(|_| item_end < adjustment).ok_or_else(bad_offsets)?;
            valid.append(!null);
            nulls += usize::from(null);
            spans.lengths.push(if null { 0 } else { length });
            if !null {
                spans.places.push(last_end..item_end);
            }
            last_end = item_end;
        }
        next = end;
    }
    if nulls > 0 {
        spans.nulls = Some(NullBuffer::new(valid.finish()));
    }
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_told_from_empties() {
        // "ab", null, "", "cde"
        let all = Rows::range(0..4);
        let found = spans(&all, &[2, 8, 2, 5], 6).unwrap();
        assert_eq!(found.lengths, [2, 0, 0, 3]);
        assert_eq!(found.places.ranges(), std::slice::from_ref(&(0..5)));
        assert!(found.nulls.unwrap().iter().eq([true, false, true, true]));
    }

    #[test]
    fn any_rows_need_the_number_before() {
        let ends = [2u64, 3, 3, 7, 9];
        let lengths = [2u64, 1, 0, 4, 2];
        let pick = |rows: &Rows, from: &[u64]| -> Vec<u64> {
            let all = rows.ranges().iter().flat_map(|r| r.clone());
            all.map(|i| from[usize::try_from(i).unwrap()]).collect()
        };
        for mask in 0u32..32 {
            let rows = Rows::sorted((0..5).filter(|i| mask >> i & 1 == 1));
            let found = spans(&rows, &pick(&needed(&rows), &ends), 10).unwrap();
            assert_eq!(found.lengths, pick(&rows, &lengths), "{rows:?}");
        }
    }

    #[test]
    fn ends_that_go_back_are_refused() {
        assert!(spans(&Rows::range(0..2), &[3, 2], 6).is_err());
        assert!(spans(&Rows::range(0..1), &[12], 6).is_err());
        assert!(spans(&Rows::range(0..1), &[0], 0).is_err());
    }
}
