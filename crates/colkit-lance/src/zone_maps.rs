//! Zone maps as a file states them, a message for each zone, made arrays that conditions are compared with.
//!
//! A bound that the column cannot hold is not known. Types that have no order have no bounds, only numbers of nulls.

use crate::extensions::{Bound, BoundValue, Zone};
use arrow::array::{
    ArrayData, ArrayRef, BooleanArray, FixedSizeBinaryArray, Float64Array, LargeBinaryArray, LargeStringArray,
    UInt64Array, make_array, new_null_array,
};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::compute::kernels::cmp::neq;
use arrow::compute::{cast, nullif};
use arrow::datatypes::{DataType, i256};
use bytes::Bytes;
use colkit_core::ZoneMap;
use std::sync::Arc;

/// The zone map of a column of this type.
pub(crate) fn zone_map(zones: &[Zone], data_type: &DataType) -> Option<ZoneMap> {
    let plain = match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    let array = |bound: fn(&Zone) -> Option<&Bound>| {
        let stated: Vec<Option<&BoundValue>> = zones.iter().map(|zone| bound(zone)?.value.as_ref()).collect();
        bounds(&stated, plain).unwrap_or_else(|| new_null_array(&DataType::Null, zones.len()))
    };
    let null_count = UInt64Array::from_iter_values(zones.iter().map(|zone| zone.null_count));
    ZoneMap::new(array(|zone| zone.min.as_ref()), array(|zone| zone.max.as_ref()), null_count)
}

/// Bounds as an array of their column's type; null where there is none that fits. `None` for types that have no order.
fn bounds(stated: &[Option<&BoundValue>], data_type: &DataType) -> Option<ArrayRef> {
    let bytes = |bound: &Option<&BoundValue>| match bound {
        Some(BoundValue::Binary(bytes)) => Some(bytes.clone()),
        _ => None,
    };
    match data_type {
        DataType::Boolean => {
            let bools = stated.iter().map(|bound| match bound {
                Some(BoundValue::Bool(bool)) => Some(*bool),
                _ => None,
            });
            Some(Arc::new(bools.collect::<BooleanArray>()))
        }
        DataType::Interval(_) => None,
        t if t.is_integer() || t.is_temporal() || t.is_decimal() => integers(stated, t),
        t if t.is_floating() => floats(stated, t),
        // Long offsets do not overflow, whatever a file states.
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = stated.iter().map(|bound| match bound {
                Some(BoundValue::Text(text)) => Some(text),
                _ => None,
            });
            cast(&texts.collect::<LargeStringArray>(), data_type).ok()
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            cast(&stated.iter().map(bytes).collect::<LargeBinaryArray>(), data_type).ok()
        }
        DataType::FixedSizeBinary(width) => of_one_length(stated.iter().map(bytes), *width),
        _ => None,
    }
}

/// Of types whose values are integers, if only in some unit.
fn integers(stated: &[Option<&BoundValue>], data_type: &DataType) -> Option<ArrayRef> {
    let width = data_type.primitive_width()?;
    let mut bytes = Vec::with_capacity(stated.len().checked_mul(width)?);
    let mut known = Vec::with_capacity(stated.len());
    for bound in stated {
        let int = match bound {
            Some(BoundValue::Int(bytes)) => bytes.as_ref().try_into().ok().map(i128::from_le_bytes),
            _ => None,
        };
        let int = int.filter(|int| fits(*int, width, data_type.is_unsigned_integer()));
        known.push(int.is_some());
        bytes.extend_from_slice(i256::from_i128(int.unwrap_or(0)).to_le_bytes().get(..width)?);
    }
    let data = ArrayData::builder(data_type.clone())
        .len(stated.len())
        .add_buffer(Buffer::from_vec(bytes))
        .nulls(Some(NullBuffer::from(known)))
        .align_buffers(true);
    data.build().ok().map(make_array)
}

/// Whether an integer can be one of so many bytes.
fn fits(int: i128, width: usize, unsigned: bool) -> bool {
    let bits = 8 * width;
    match unsigned {
        true => int >= 0 && bits < 128 && int >> bits == 0,
        // All bits above the sign are like it.
        false => bits >= 128 || matches!(int >> (bits - 1), 0 | -1),
    }
}

/// Bounds that would take more memory than this are not worth it.
const MOST_BYTES: usize = 64 << 20;

/// Long bounds are cut. Among values of one length they are as good with zeros after them.
fn of_one_length(stated: impl ExactSizeIterator<Item = Option<Bytes>>, width: i32) -> Option<ArrayRef> {
    let length = usize::try_from(width).ok()?;
    stated.len().checked_mul(length).filter(|size| *size <= MOST_BYTES)?;
    let whole = stated.map(|bound| {
        let mut bytes = bound?.to_vec();
        bytes.resize(length, 0);
        Some(bytes)
    });
    Some(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(whole, width).ok()?))
}

fn floats(stated: &[Option<&BoundValue>], data_type: &DataType) -> Option<ArrayRef> {
    let wide = stated.iter().map(|bound| match bound {
        Some(BoundValue::Float(x)) => Some(*x),
        _ => None,
    });
    let wide: ArrayRef = Arc::new(wide.collect::<Float64Array>());
    let own = cast(&wide, data_type).ok()?;
    let rounded = neq(&cast(&own, &DataType::Float64).ok()?, &wide).ok()?;
    nullif(&own, &rounded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::zones::Summary;
    use arrow::array::{Array, Int32Array, Int64Array, StringArray};
    use arrow::datatypes::{IntervalUnit, TimeUnit};
    use colkit_core::{BoundPredicate, Literal, Op, Value};

    fn statistics(stated: Vec<BoundValue>, data_type: &DataType) -> Vec<Option<Value>> {
        let bound = |value| Some(Bound { value: Some(value) });
        let zones: Vec<Zone> = stated.into_iter().map(|min| Zone { min: bound(min), ..Zone::default() }).collect();
        let map = zone_map(&zones, data_type).unwrap();
        (0..zones.len()).map(|zone| map.statistics(zone).min).collect()
    }

    fn int(int: i128) -> BoundValue {
        BoundValue::Int(Bytes::copy_from_slice(&int.to_le_bytes()))
    }

    /// Four values of a type, in order.
    fn four(data_type: &DataType) -> ArrayRef {
        let numbers = || Int64Array::from(vec![-3, 1, 5, 100]);
        match data_type {
            t if t.is_unsigned_integer() => cast(&Int64Array::from(vec![0, 1, 5, 200]), t).unwrap(),
            t if t.is_temporal() && t.primitive_width() == Some(4) => {
                let short: Int32Array = vec![-3, 1, 5, 100].into();
                cast(&short, t).unwrap()
            }
            DataType::Utf8 | DataType::LargeUtf8 => {
                cast(&StringArray::from(vec!["".to_owned(), "b".repeat(100), "c".into(), "é".into()]), data_type)
                    .unwrap()
            }
            DataType::Binary | DataType::LargeBinary => {
                let bytes = [vec![], vec![1; 100], vec![2], vec![255; 100]];
                cast(&LargeBinaryArray::from_iter_values(bytes), data_type).unwrap()
            }
            DataType::FixedSizeBinary(width) => {
                let mut bytes = [0, 1, 2, 255].map(|byte| vec![byte]);
                bytes.iter_mut().for_each(|b| b.resize(usize::try_from(*width).unwrap(), 0));
                Arc::new(FixedSizeBinaryArray::try_from_iter(bytes.into_iter()).unwrap())
            }
            DataType::Dictionary(_, values) => cast(&four(values), data_type).unwrap(),
            t => cast(&numbers(), t).unwrap(),
        }
    }

    #[test]
    fn what_is_written_can_be_compared_with_literals_of_every_type() {
        use DataType::*;
        for data_type in [
            Int8,
            Int16,
            Int32,
            Int64,
            UInt8,
            UInt16,
            UInt32,
            UInt64,
            Float16,
            Float32,
            Float64,
            Date32,
            Date64,
            Time32(TimeUnit::Second),
            Time64(TimeUnit::Microsecond),
            Timestamp(TimeUnit::Second, None),
            Timestamp(TimeUnit::Nanosecond, Some("Europe/Paris".into())),
            Duration(TimeUnit::Millisecond),
            Decimal128(30, 2),
            Decimal256(70, 5),
            Utf8,
            LargeUtf8,
            Binary,
            LargeBinary,
            FixedSizeBinary(3),
            FixedSizeBinary(100),
            Dictionary(Box::new(Int8), Box::new(LargeUtf8)),
            Dictionary(Box::new(Int16), Box::new(Int32)),
        ] {
            let rows = four(&data_type);
            let zones = [0, 2].map(|row| Summary::of(&rows.slice(row, 2)).unwrap().zone());
            let map = zone_map(&zones, &data_type).unwrap();
            let plain = match &data_type {
                Dictionary(_, values) => four(values),
                _ => rows,
            };
            let kept = |op: Op, row: usize| {
                let literal = Literal::new(plain.slice(row, 1));
                let predicate = BoundPredicate::Compare { column: 0, op, literal };
                predicate.prune(2, &|_| Some(map.clone())).iter().collect::<Vec<_>>()
            };
            for (row, zone) in [(0, [true, false]), (1, [true, false]), (2, [false, true]), (3, [false, true])] {
                assert_eq!(kept(Op::Eq, row), zone, "{data_type}: = row {row}");
            }
            assert_eq!(kept(Op::Lt, 2), [true, false], "{data_type}");
            assert_eq!(kept(Op::Ge, 2), [data_type.is_floating(), true], "{data_type}");
        }
    }

    #[test]
    fn booleans_have_bounds() {
        let found = statistics(vec![BoundValue::Bool(true), int(1)], &DataType::Boolean);
        assert_eq!(found, [Some(Value::Bool(true)), None]);
    }

    #[test]
    fn bounds_that_the_column_cannot_hold_are_unknown() {
        let some = |i: i128| Some(Value::Int(i));
        let edges = [-129, -128, 127, 128, i128::MIN, i128::MAX];
        let found = |t: &DataType| statistics(edges.map(int).to_vec(), t);
        assert_eq!(found(&DataType::Int8), [None, some(-128), some(127), None, None, None]);
        assert_eq!(found(&DataType::UInt8), [None, None, some(127), some(128), None, None]);
        assert_eq!(found(&DataType::Date32), [some(-129), some(-128), some(127), some(128), None, None]);
        assert_eq!(found(&DataType::Decimal128(38, 0)), edges.map(some));
        assert_eq!(found(&DataType::Decimal256(76, 0)), edges.map(some));
        assert_eq!(found(&DataType::Utf8), [const { None }; 6]);
        assert_eq!(found(&DataType::Float64), [const { None }; 6]);
        let short = BoundValue::Int(Bytes::from_static(&[1, 2, 3]));
        assert_eq!(statistics(vec![short, BoundValue::Text("5".into())], &DataType::Int64), [None, None]);
        let float = |x: f64| Some(Value::Float(x));
        let found = |t: &DataType| statistics([0.5, 0.1, 1e39, f64::NAN].map(BoundValue::Float).to_vec(), t);
        assert_eq!(found(&DataType::Float32), [float(0.5), None, None, None]);
        assert_eq!(found(&DataType::Float64), [float(0.5), float(0.1), float(1e39), None]);
        assert_eq!(found(&DataType::Interval(IntervalUnit::YearMonth)), [const { None }; 4]);
        let wide = DataType::FixedSizeBinary(i32::MAX);
        assert_eq!(statistics(vec![BoundValue::Binary(Bytes::from_static(b"a"))], &wide), [None]);
    }
}
