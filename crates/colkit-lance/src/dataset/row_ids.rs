//! Stable row ids: which id each row of a fragment has, deleted rows included.
//!
//! A sequence is made of segments: a range, a range with holes, a range with a bitmap, or a list of numbers. Ranges are
//! claims: how many ids there are is compared with the rows before one of them is looked at.

use super::messages::{EncodedU64Array, Numbers, RowIdSequence, Segment};
use crate::bytes_at::uint_at;
use crate::container::bad_metadata;
use bytes::Bytes;
use colkit_core::{Error, Limits, Result};
use prost::Message;

fn bad(what: impl Into<String>) -> Error {
    Error::corrupt("bad_row_ids", what)
}

/// The ids of `rows` rows.
pub(crate) fn parse(bytes: Bytes, rows: u64, limits: &Limits) -> Result<Vec<u64>> {
    let sequence = RowIdSequence::decode(bytes).map_err(|e| bad_metadata("row ids", e))?;
    let segments: Vec<Segment> = sequence.segments.into_iter().filter_map(|s| s.segment).collect();
    let mut count = 0u64;
    for segment in &segments {
        count = count.saturating_add(length(segment)?);
    }
    if count != rows {
        return Err(bad(format!("{count} row ids for {rows} rows")));
    }
    Limits::check_memory("the row ids of a fragment", rows.saturating_mul(8), limits.memory)?;
    let mut ids = Vec::with_capacity(usize::try_from(rows).unwrap_or(0));
    for segment in &segments {
        add(segment, &mut ids)?;
    }
    Ok(ids)
}

/// How many ids a segment has.
pub(super) fn length(segment: &Segment) -> Result<u64> {
    let between =
        |start: u64, end: u64| end.checked_sub(start).ok_or_else(|| bad("a range that ends before it begins"));
    match segment {
        Segment::Range(r) => between(r.start, r.end),
        Segment::RangeWithHoles(r) => {
            let holes = r.holes.as_ref().map_or(0, count);
            between(r.start, r.end)?.checked_sub(holes).ok_or_else(|| bad("more holes than a range has ids"))
        }
        Segment::RangeWithBitmap(r) => {
            if between(r.start, r.end)? > r.bitmap.len() as u64 * 8 {
                return Err(bad("a bitmap that is shorter than its range"));
            }
            Ok(chosen(r.start, r.end, &r.bitmap).count() as u64)
        }
        Segment::Sorted(numbers) | Segment::Array(numbers) => Ok(count(numbers)),
    }
}

fn count(numbers: &EncodedU64Array) -> u64 {
    match &numbers.array {
        Some(Numbers::U16(o)) => o.values.len() as u64 / 2,
        Some(Numbers::U32(o)) => o.values.len() as u64 / 4,
        Some(Numbers::U64(o)) => o.values.len() as u64 / 8,
        None => 0,
    }
}

fn numbers(array: &EncodedU64Array) -> Result<Vec<u64>> {
    let (width, offsets) = match &array.array {
        Some(Numbers::U16(o)) => (2, o),
        Some(Numbers::U32(o)) => (4, o),
        Some(Numbers::U64(o)) => (8, o),
        None => return Ok(Vec::new()),
    };
    let base = if width == 8 { 0 } else { offsets.base };
    let values = offsets.values.chunks_exact(width);
    values.map(|v| base.checked_add(uint_at(v, 0, width)?).ok_or_else(|| bad("a row id beyond 2^64"))).collect()
}

/// The ids of a range whose bit is set.
fn chosen(start: u64, end: u64, bitmap: &[u8]) -> impl Iterator<Item = u64> {
    let bit =
        |i: u64| usize::try_from(i / 8).ok().and_then(|byte| bitmap.get(byte)).is_some_and(|b| b >> (i % 8) & 1 == 1);
    (start..end).filter(move |id| bit(id - start))
}

fn add(segment: &Segment, ids: &mut Vec<u64>) -> Result<()> {
    match segment {
        Segment::Range(r) => ids.extend(r.start..r.end),
        Segment::RangeWithHoles(r) => {
            let mut holes = r.holes.as_ref().map(numbers).transpose()?.unwrap_or_default();
            holes.sort_unstable();
            holes.dedup();
            let before = ids.len();
            let kept = |id: &u64| holes.binary_search(id).is_err();
            // Holes outside of the range would leave more than was counted.
            let most = usize::try_from(length(segment)?).unwrap_or(usize::MAX);
            ids.extend((r.start..r.end).filter(kept).take(most.saturating_add(1)));
            if ids.len() - before != most {
                return Err(bad("the holes of a range are not in it, or there twice"));
            }
        }
        Segment::RangeWithBitmap(r) => ids.extend(chosen(r.start, r.end, &r.bitmap)),
        Segment::Sorted(array) | Segment::Array(array) => ids.extend(numbers(array)?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::messages::{Offsets, Range, RangeWithBitmap, RangeWithHoles, U64Segment};
    use super::*;

    fn bytes(segments: Vec<Segment>) -> Bytes {
        let segments = segments.into_iter().map(|s| U64Segment { segment: Some(s) }).collect();
        RowIdSequence { segments }.encode_to_vec().into()
    }

    fn ids(bytes: Bytes, rows: u64) -> Result<Vec<u64>> {
        parse(bytes, rows, &Limits::default())
    }

    fn short(base: u64, values: &[u16]) -> EncodedU64Array {
        let values = values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>().into();
        EncodedU64Array { array: Some(Numbers::U16(Offsets { base, values })) }
    }

    #[test]
    fn every_kind_of_segment() {
        let all = bytes(vec![
            Segment::Range(Range { start: 2, end: 4 }),
            Segment::RangeWithHoles(RangeWithHoles { start: 10, end: 14, holes: Some(short(10, &[1, 2])) }),
            Segment::RangeWithBitmap(RangeWithBitmap { start: 20, end: 23, bitmap: Bytes::from_static(&[0b101]) }),
            Segment::Array(short(30, &[9, 1])),
        ]);
        assert_eq!(ids(all.clone(), 8).unwrap(), [2, 3, 10, 13, 20, 22, 39, 31]);
        assert_eq!(ids(all, 7).unwrap_err().code(), "bad_row_ids");
    }

    #[test]
    fn claims_are_counted_before_they_are_believed() {
        let huge = Segment::Range(Range { start: 0, end: 1 << 62 });
        assert_eq!(ids(bytes(vec![huge]), 3).unwrap_err().code(), "bad_row_ids");
        let inverted = Segment::Range(Range { start: 5, end: 2 });
        assert_eq!(ids(bytes(vec![inverted]), 3).unwrap_err().code(), "bad_row_ids");
        let outside = RangeWithHoles { start: 0, end: 4, holes: Some(short(9, &[7])) };
        assert_eq!(ids(bytes(vec![Segment::RangeWithHoles(outside)]), 3).unwrap_err().code(), "bad_row_ids");
    }
}
