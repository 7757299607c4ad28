//! Buffers of machines with the other byte order, swapped before they are decoded.

use super::index::Slot;
use super::message::Batch;
use arrow::datatypes::{DataType, IntervalUnit, UnionMode};
use arrow::ipc::MetadataVersion;
use bytes::{Bytes, BytesMut};
use colkit_core::{ByteRange, Error, Result};

/// What a buffer is made of.
#[derive(Clone, Copy)]
enum Unit {
    /// Bits or bytes, which have no order.
    Bytes,
    /// Numbers of so many bytes.
    Numbers(usize),
    /// A length and, for long values, four bytes of text and two numbers; otherwise twelve bytes of text.
    Views,
    /// Two numbers of four bytes and one of eight.
    MonthDayNano,
}

/// The buffers of a column, which lie at `places` of `body`, in this machine's byte order.
pub(super) fn swapped(
    body: &Bytes,
    places: &[u64],
    buffers: &[ByteRange],
    batch: &Batch,
    slot: &Slot,
    data_type: &DataType,
) -> Result<Bytes> {
    if batch.compression.is_some() {
        let message = "compressed buffers of a machine with the other byte order are not supported";
        return Err(Error::unsupported("big_endian", message));
    }
    let mut units = Vec::with_capacity(buffers.len());
    let variadic = batch.variadic.get(slot.variadic.clone()).unwrap_or_default();
    list(data_type, batch.version, &mut variadic.iter(), buffers.len(), &mut units);
    let mut body = BytesMut::from(body.as_ref());
    for ((place, buffer), unit) in places.iter().zip(buffers).zip(units) {
        let range = usize::try_from(*place).ok().zip(buffer.len_usize().ok());
        if let Some(bytes) = range.and_then(|(at, length)| body.get_mut(at..at.checked_add(length)?)) {
            swap(bytes, unit);
        }
    }
    Ok(body.freeze())
}

fn swap(bytes: &mut [u8], unit: Unit) {
    match unit {
        Unit::Bytes => {}
        Unit::Numbers(width) => bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse),
        Unit::Views => {
            for view in bytes.chunks_exact_mut(16) {
                let mut words = view.chunks_exact_mut(4);
                let Some(length) = words.next() else { continue };
                length.reverse();
                if length.first_chunk().is_some_and(|n| i32::from_ne_bytes(*n) > 12) {
                    words.skip(1).for_each(<[u8]>::reverse);
                }
            }
        }
        Unit::MonthDayNano => {
            for value in bytes.chunks_exact_mut(16) {
                let (small, large) = value.split_at_mut(8);
                small.chunks_exact_mut(4).for_each(<[u8]>::reverse);
                large.reverse();
            }
        }
    }
}

/// What the buffers of a type are made of, in their order; at most `most`.
fn list(
    data_type: &DataType,
    version: MetadataVersion,
    variadic: &mut std::slice::Iter<'_, i64>,
    most: usize,
    units: &mut Vec<Unit>,
) {
    const NULLS: Unit = Unit::Bytes;
    let mut inside = |data_type: &DataType, units: &mut Vec<Unit>| list(data_type, version, variadic, most, units);
    match data_type {
        DataType::Null => {}
        DataType::Utf8 | DataType::Binary => units.extend([NULLS, Unit::Numbers(4), Unit::Bytes]),
        DataType::LargeUtf8 | DataType::LargeBinary => units.extend([NULLS, Unit::Numbers(8), Unit::Bytes]),
        DataType::Utf8View | DataType::BinaryView => {
            units.extend([NULLS, Unit::Views]);
            let more = variadic.next().and_then(|n| usize::try_from(*n).ok()).unwrap_or(0);
            units.resize(units.len().saturating_add(more).min(most.max(units.len())), Unit::Bytes);
        }
        DataType::List(item) | DataType::Map(item, _) => {
            units.extend([NULLS, Unit::Numbers(4)]);
            inside(item.data_type(), units);
        }
        DataType::LargeList(item) => {
            units.extend([NULLS, Unit::Numbers(8)]);
            inside(item.data_type(), units);
        }
        DataType::ListView(item) => {
            units.extend([NULLS, Unit::Numbers(4), Unit::Numbers(4)]);
            inside(item.data_type(), units);
        }
        DataType::LargeListView(item) => {
            units.extend([NULLS, Unit::Numbers(8), Unit::Numbers(8)]);
            inside(item.data_type(), units);
        }
        DataType::FixedSizeList(item, _) => {
            units.push(NULLS);
            inside(item.data_type(), units);
        }
        DataType::Struct(fields) => {
            units.push(NULLS);
            fields.iter().for_each(|f| inside(f.data_type(), units));
        }
        DataType::Union(fields, mode) => {
            units.extend((version < MetadataVersion::V5).then_some(NULLS));
            units.push(Unit::Bytes);
            units.extend((*mode == UnionMode::Dense).then_some(Unit::Numbers(4)));
            fields.iter().for_each(|(_, f)| inside(f.data_type(), units));
        }
        DataType::RunEndEncoded(ends, values) => {
            inside(ends.data_type(), units);
            inside(values.data_type(), units);
        }
        DataType::Dictionary(key, _) => inside(key, units),
        DataType::Interval(IntervalUnit::MonthDayNano) => units.extend([NULLS, Unit::MonthDayNano]),
        // Two numbers of four bytes.
        DataType::Interval(IntervalUnit::DayTime) => units.extend([NULLS, Unit::Numbers(4)]),
        other => units.extend([NULLS, other.primitive_width().map_or(Unit::Bytes, Unit::Numbers)]),
    }
}
