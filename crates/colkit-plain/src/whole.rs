//! Decodes a column that fits into memory: inflated at once, and turned into arrays without a copy where the layouts
//! agree.

use crate::dialect::{PlainType, StringLayout};
use crate::header::ColumnEntry;
use crate::inflate::why_refused;
use crate::stream::bools;
use crate::strings::{LengthStrings, bad_last_offset, bad_offset, bad_utf8};
use crate::zlib::{self, InflateError};
use arrow::array::{Array, ArrayRef, Float64Array, Int32Array, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use colkit_core::{Error, Result};
use std::sync::Arc;

/// All values of a column, from its block.
pub(crate) fn decode(column: &ColumnEntry, strings: StringLayout, rows: usize, block: &[u8]) -> Result<ArrayRef> {
    let raw = usize::try_from(column.raw).map_err(|_| Error::limit("a column", column.raw, usize::MAX))?;
    let payload = zlib::inflate(block, raw).map_err(|e| match e {
        InflateError::Refused => why_refused(column, block),
        InflateError::Memory => Error::limit("inflating the column", column.raw, "the memory there is"),
    })?;
    Ok(match (column.kind, strings) {
        (PlainType::Int32, _) => Arc::new(Int32Array::new(ScalarBuffer::new(payload, 0, rows), None)),
        (PlainType::Float64, _) => Arc::new(Float64Array::new(ScalarBuffer::new(payload, 0, rows), None)),
        (PlainType::Bool, _) => Arc::new(bools(&payload, 0)?),
        (PlainType::Text, StringLayout::Offsets) => Arc::new(offset_strings(&payload, rows)?),
        (PlainType::Text, StringLayout::Lengths) => {
            let mut strings = LengthStrings::new(rows as u64, 0, column.raw, u64::MAX);
            strings.read(&mut payload.as_slice(), rows, usize::MAX)?;
            strings.check_end()?;
            Arc::new(strings.take()?)
        }
    })
}

/// `u32 offsets[rows + 1]`, then the bytes: Arrow's own layout, once checked.
fn offset_strings(payload: &Buffer, rows: usize) -> Result<StringArray> {
    let offsets: ScalarBuffer<i32> = ScalarBuffer::new(payload.clone(), 0, rows + 1);
    let bytes = payload.slice((rows + 1) * 4);
    // Read as i32, an offset of 2^31 or more is negative and fails the order check; payloads decoded whole are shorter.
    let mut before = 0;
    for (row, &offset) in offsets.iter().enumerate() {
        if offset < before || (row == 0 && offset != 0) {
            return Err(bad_offset(row as u64, before.cast_unsigned(), offset.cast_unsigned()));
        }
        before = offset;
    }
    if before.cast_unsigned() as usize != bytes.len() {
        return Err(bad_last_offset(bytes.len() as u64, before.cast_unsigned().into()));
    }
    let offsets = OffsetBuffer::new(offsets);
    StringArray::try_new(offsets.clone(), bytes.clone(), None).map_err(|_| bad_utf8(&offsets, &bytes, 0))
}

/// CastMode many rows of `array` from `start` on make a batch of at most so many rows and bytes; at least one.
pub(crate) fn batch_length(array: &ArrayRef, start: usize, rows: usize, bytes: usize) -> usize {
    let rows = rows.max(1).min(array.len() - start);
    let Some(strings) = array.as_any().downcast_ref::<StringArray>() else { return rows };
    let offsets = strings.value_offsets();
    let first = offsets.get(start).copied().unwrap_or_default();
    let limit = i64::from(first).saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
    let ends = offsets.get(start + 1..=start + rows).unwrap_or_default();
    ends.partition_point(|end| i64::from(*end) <= limit).max(1)
}
