//! Run-length encoding in a chunk: values, and how often each is repeated.
//!
//! Runs become the values of their rows or, for who asks for encoded columns, stay runs over all chunks that are read.

use crate::codec::bitpack::{Word, words};
use crate::values::{Runs, bad_values};
use arrow::array::{ArrayRef, Int32Array, RunArray, UInt32Array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::take;
use arrow::datatypes::Int32Type;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Gives each part of a run that is wanted: its value and how often it is repeated. A chunk may end inside its last run, so what
/// the runs hold beyond the wanted values is ignored.
fn each_run<T: Word>(
    values: &[T],
    lengths: &[u8],
    wanted: &[Range<usize>],
    mut give: impl FnMut(T, usize),
) -> Result<()> {
    let mut runs = values.iter().zip(lengths);
    let (mut value, mut end) = (T::default(), 0usize);
    for range in wanted {
        let mut at = range.start;
        while at < range.end {
            while end <= at {
                let Some((next, length)) = runs.next() else {
                    return Err(Error::corrupt("bad_chunk", format!("the runs end at value {end} of {}", range.end)));
                };
                value = *next;
                end += usize::from(*length);
            }
            let upto = end.min(range.end);
            give(value, upto - at);
            at = upto;
        }
    }
    Ok(())
}

/// Appends the values of `wanted`, ranges in order.
pub(super) fn append_values<T: Word>(
    values: &[u8],
    lengths: &[u8],
    wanted: &[Range<usize>],
    out: &mut Pooled,
) -> Result<()> {
    let count: usize = wanted.iter().map(Range::len).sum();
    let room = room_for::<T>(out, count.saturating_add(SHORT_RUN))?;
    let mut place = 0;
    each_run::<T>(&words(values), lengths, wanted, |value, length| {
        // Most runs are short, and writing a few values too many is faster than counting: the next run is written over them.
        match room.get_mut(place..).and_then(|r| r.first_chunk_mut::<SHORT_RUN>()) {
            Some(few) if length <= SHORT_RUN => *few = [value; SHORT_RUN],
            _ => room.get_mut(place..place + length).unwrap_or_default().fill(value),
        }
        place += length;
    })?;
    out.advance(count * size_of::<T>());
    Ok(())
}

/// Values that are written at once for a run of fewer.
const SHORT_RUN: usize = 8;

/// Appends the runs of `wanted`, ranges in order.
pub(super) fn append_runs<T: Word>(
    values: &[u8],
    lengths: &[u8],
    wanted: &[Range<usize>],
    out: &mut Runs,
) -> Result<()> {
    let mut end = out.len();
    // A run may be cut where a range ends.
    let most = lengths.len().saturating_add(wanted.len());
    let (room, ends) = (room_for::<T>(&mut out.values, most)?, out.ends.room(most));
    let mut count = 0;
    each_run::<T>(&words(values), lengths, wanted, |value, length| {
        end += length;
        if let (Some(to), Some(ends)) = (room.get_mut(count), ends.get_mut(count)) {
            (*to, *ends) = (value, i32::try_from(end).unwrap_or(i32::MAX));
        }
        count += 1;
    })?;
    out.values.advance(count * size_of::<T>());
    out.ends.advance(count);
    Ok(())
}

/// Room for so many words.
fn room_for<T: Word>(out: &mut Pooled, count: usize) -> Result<&mut [T]> {
    let room = out.room(count.saturating_mul(size_of::<T>()));
    let whole = room.len() / size_of::<T>() * size_of::<T>();
    bytemuck::try_cast_slice_mut(room.get_mut(..whole).unwrap_or_default())
        .map_err(|_| Error::corrupt("wrong_encoding", "values of another width than the page's"))
}

/// Runs as an array, in which nulls are runs of their own.
pub(super) fn array(ends: Pooled<i32>, values: ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let rows = ends.as_slice().last().map_or(0, |end| usize::try_from(*end).unwrap_or(0));
    let runs = match nulls.filter(|n| n.null_count() > 0) {
        Some(nulls) if nulls.len() != rows => {
            return Err(Error::corrupt("bad_levels", format!("{rows} values but {} definition levels", nulls.len())));
        }
        Some(nulls) => {
            let (ends, numbers) = cut_by_nulls(ends.as_slice(), &nulls);
            let values = take(&values, &numbers, None).map_err(bad_values)?;
            RunArray::<Int32Type>::try_new(&ends, &values)
        }
        None => {
            let count = ends.len();
            RunArray::try_new(&Int32Array::new(ScalarBuffer::new(ends.into_buffer(), 0, count), None), &values)
        }
    };
    Ok(Arc::new(runs.map_err(bad_values)?))
}

/// Where runs end that are cut where nulls begin and end, and which run each is part of; none if it is null.
fn cut_by_nulls(ends: &[i32], nulls: &NullBuffer) -> (Int32Array, UInt32Array) {
    let (mut cut, mut numbers) = (Vec::with_capacity(ends.len()), Vec::with_capacity(ends.len()));
    let row = |row: usize| i32::try_from(row).unwrap_or(i32::MAX);
    let mut runs = (0u32..).zip(ends).peekable();
    let mut at = 0;
    for (first, after) in nulls.inner().set_slices() {
        if first > at {
            cut.push(row(first));
            numbers.push(None);
        }
        while runs.next_if(|(_, end)| **end <= row(first)).is_some() {}
        while let Some((number, end)) = runs.peek() {
            cut.push((**end).min(row(after)));
            numbers.push(Some(*number));
            if **end >= row(after) {
                break;
            }
            runs.next();
        }
        at = after;
    }
    if at < nulls.len() {
        cut.push(row(nulls.len()));
        numbers.push(None);
    }
    (Int32Array::from(cut), UInt32Array::from(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;
    use arrow::compute::cast;
    use arrow::datatypes::{DataType, UInt32Type};

    fn example() -> (Vec<u8>, Vec<u8>, Vec<u32>) {
        let lengths: Vec<u8> = (0..200usize).map(|i| [1, 3, 0, 7, 8, 9, 255, 2][i % 8]).collect();
        let values: Vec<u32> = (0..200).map(|i| i * i).collect();
        let all = values.iter().zip(&lengths).flat_map(|(v, n)| std::iter::repeat_n(*v, usize::from(*n))).collect();
        (values.iter().flat_map(|v| v.to_le_bytes()).collect(), lengths, all)
    }

    fn ranges(count: usize) -> Vec<Vec<Range<usize>>> {
        vec![vec![0..count], vec![0..count - 1], vec![0..1, 5..6, 12..300, count - 2..count], vec![3..3]]
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of ranges")]
    fn runs_become_their_values() {
        let (bytes, lengths, all) = example();
        for wanted in ranges(all.len()) {
            let mut out = Pooled::default();
            append_values::<u32>(&bytes, &lengths, &wanted, &mut out).unwrap();
            let expected: Vec<u8> = wanted.iter().flat_map(|r| &all[r.clone()]).flat_map(|v| v.to_le_bytes()).collect();
            assert_eq!(out.as_slice(), expected);
        }
        let mut out = Pooled::default();
        let error = append_values::<u32>(&bytes, &lengths, &[0..all.len() + 1], &mut out).unwrap_err();
        assert_eq!((error.code(), out.len()), ("bad_chunk", 0));
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of ranges")]
    fn runs_stay_runs() {
        let (bytes, lengths, all) = example();
        for wanted in ranges(all.len()) {
            let expected: Vec<u32> = wanted.iter().flat_map(|r| &all[r.clone()]).copied().collect();
            for every in [0, 1, 2, 7, 300] {
                let mut runs = Runs::new(4);
                // Two chunks.
                append_runs::<u32>(&bytes, &lengths, &wanted, &mut runs).unwrap();
                append_runs::<u32>(&bytes, &lengths, &wanted, &mut runs).unwrap();
                let rows = 2 * expected.len();
                let count = runs.ends.len();
                let values: ArrayRef =
                    Arc::new(UInt32Array::new(ScalarBuffer::new(runs.values.into_buffer(), 0, count), None));
                let nulls = (every > 0).then(|| NullBuffer::from_iter((0..rows).map(|i| i / 3 % every != 0)));
                let array = array(runs.ends, values, nulls.clone()).unwrap();
                array.to_data().validate_full().unwrap();
                let plain = cast(&array, &DataType::UInt32).unwrap();
                let values = expected.iter().chain(&expected).copied().collect();
                assert_eq!(plain.as_primitive::<UInt32Type>(), &UInt32Array::new(values, nulls));
            }
        }
        let mut runs = Runs::new(4);
        let error = append_runs::<u32>(&bytes, &lengths, &[0..all.len() + 1], &mut runs).unwrap_err();
        assert_eq!((error.code(), runs.len()), ("bad_chunk", 0));
        append_runs::<u32>(&bytes, &lengths, &[0..3], &mut runs).unwrap();
        let values: ArrayRef = Arc::new(UInt32Array::from(vec![0, 1]));
        let nulls = NullBuffer::from(vec![true, false]);
        assert_eq!(array(runs.ends, values, Some(nulls)).unwrap_err().code(), "bad_levels");
    }
}
