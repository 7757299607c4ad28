//! Converts a file's statistics to DataFusion's.

use crate::open_files::OpenTable;
use arrow::datatypes::{DataType, Schema, TimeUnit};
use colkit::{Value, without_views};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};

/// The statistics of an open file, for the columns of `schema`. They answer `COUNT(*)`, `MIN` and `MAX` where the file knows
/// them exactly, so nothing here is called exact that is not.
pub(crate) fn of(open: &OpenTable, size: u64, schema: &Schema) -> Statistics {
    let own = open.table.schema();
    let known = open.table.statistics();
    let size = open.table.bytes().unwrap_or(size);
    let rows = usize::try_from(open.table.row_count()).unwrap_or(usize::MAX);
    let column = |field: &arrow::datatypes::FieldRef| {
        let mut column = ColumnStatistics::new_unknown();
        let Some((index, stored)) = own.column_with_name(field.name()) else {
            column.null_count = Precision::Exact(rows);
            return column;
        };
        let Some(known) = known.get(index) else { return column };
        if let Some(nulls) = known.null_count.and_then(|n| usize::try_from(n).ok()) {
            column.null_count = Precision::Exact(nulls);
        }
        if without_views(stored.data_type()) != without_views(field.data_type()) {
            return column;
        }
        // Floats may be NaN, which no bound speaks of.
        let exact = known.exact && !field.data_type().is_floating();
        let precise = |value: &Option<Value>| match value.as_ref().and_then(|v| scalar(v, field.data_type())) {
            None => Precision::Absent,
            Some(value) if exact => Precision::Exact(value),
            Some(value) => Precision::Inexact(value),
        };
        column.min_value = precise(&known.min);
        column.max_value = precise(&known.max);
        column
    };
    Statistics {
        num_rows: Precision::Exact(rows),
        total_byte_size: Precision::Inexact(usize::try_from(size).unwrap_or(usize::MAX)),
        column_statistics: schema.fields().iter().map(column).collect(),
    }
}

/// A bound as a value of the column's type. Dates, times and decimals are integers in their own unit.
fn scalar(value: &Value, data_type: &DataType) -> Option<ScalarValue> {
    let small = |i: &i128| i32::try_from(*i).ok();
    let large = |i: &i128| i64::try_from(*i).ok();
    Some(match (value, data_type) {
        (Value::Bool(b), DataType::Boolean) => ScalarValue::Boolean(Some(*b)),
        (Value::Float(x), DataType::Float64) => ScalarValue::Float64(Some(*x)),
        (Value::Text(s), DataType::Utf8) => ScalarValue::Utf8(Some(s.clone())),
        (Value::Text(s), DataType::LargeUtf8) => ScalarValue::LargeUtf8(Some(s.clone())),
        (Value::Text(s), DataType::Utf8View) => ScalarValue::Utf8View(Some(s.clone())),
        (Value::Int(i), DataType::Decimal128(precision, scale)) => {
            ScalarValue::Decimal128(Some(*i), *precision, *scale)
        }
        (Value::Int(i), DataType::UInt64) => ScalarValue::UInt64(Some(u64::try_from(*i).ok()?)),
        (Value::Int(i), DataType::Date32) => ScalarValue::Date32(Some(small(i)?)),
        (Value::Int(i), DataType::Date64) => ScalarValue::Date64(Some(large(i)?)),
        (Value::Int(i), DataType::Time32(TimeUnit::Second)) => ScalarValue::Time32Second(Some(small(i)?)),
        (Value::Int(i), DataType::Time32(_)) => ScalarValue::Time32Millisecond(Some(small(i)?)),
        (Value::Int(i), DataType::Time64(TimeUnit::Microsecond)) => ScalarValue::Time64Microsecond(Some(large(i)?)),
        (Value::Int(i), DataType::Time64(_)) => ScalarValue::Time64Nanosecond(Some(large(i)?)),
        (Value::Int(i), DataType::Timestamp(TimeUnit::Second, zone)) => {
            ScalarValue::TimestampSecond(Some(large(i)?), zone.clone())
        }
        (Value::Int(i), DataType::Timestamp(TimeUnit::Millisecond, zone)) => {
            ScalarValue::TimestampMillisecond(Some(large(i)?), zone.clone())
        }
        (Value::Int(i), DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
            ScalarValue::TimestampMicrosecond(Some(large(i)?), zone.clone())
        }
        (Value::Int(i), DataType::Timestamp(TimeUnit::Nanosecond, zone)) => {
            ScalarValue::TimestampNanosecond(Some(large(i)?), zone.clone())
        }
        (Value::Int(i), t) if t.is_integer() => ScalarValue::Int64(Some(large(i)?)).cast_to(t).ok()?,
        _ => return None,
    })
}
