//! A scalar value: a literal in a predicate, a bound in a zone map.

use crate::Decimal;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Float64Type, Int64Type, UInt64Type};
use std::cmp::Ordering;
use std::fmt;

/// One value. Integers and floats compare with each other exactly, other kinds only with their own.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// Any integer, also dates and times in their own unit.
    Int(i128),
    /// A floating point number.
    Float(f64),
    /// A number as it was written. It has no order before it has met the type of its column.
    Decimal(Decimal),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// The value of a row as zone maps hold it: dates, times and decimals as integers in their own unit. `None` for what
    /// they cannot hold: nulls, lists, decimals beyond 128 bits.
    pub fn of_row(array: &ArrayRef, row: usize) -> Option<Value> {
        if row >= array.len() || array.is_null(row) {
            return None;
        }
        let array = &array.slice(row, 1);
        Some(match array.data_type() {
            DataType::Boolean => Value::Bool(array.as_boolean().value(0)),
            DataType::UInt64 => Value::Int(array.as_primitive::<UInt64Type>().value(0).into()),
            t if t.is_integer() => Value::Int(whole(array)?),
            t if t.is_floating() => {
                Value::Float(cast(array, &DataType::Float64).ok()?.as_primitive::<Float64Type>().value(0))
            }
            DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => {
                // A wider type of the same scale holds the same numbers.
                let wide = cast(array, &DataType::Decimal256(76, *s)).ok()?;
                Value::Int(wide.as_primitive::<Decimal256Type>().value(0).to_i128()?)
            }
            DataType::Decimal256(_, _) => Value::Int(array.as_primitive::<Decimal256Type>().value(0).to_i128()?),
            DataType::Interval(_) => return None,
            t if t.is_temporal() && t.primitive_width() == Some(4) => {
                Value::Int(whole(&cast(array, &DataType::Int32).ok()?)?)
            }
            t if t.is_temporal() => Value::Int(whole(array)?),
            DataType::Utf8 => Value::Text(array.as_string::<i32>().value(0).into()),
            DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(0).into()),
            DataType::Utf8View => Value::Text(array.as_string_view().value(0).into()),
            DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(0).into()),
            DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(0).into()),
            DataType::BinaryView => Value::Bytes(array.as_binary_view().value(0).into()),
            DataType::FixedSizeBinary(_) => Value::Bytes(array.as_fixed_size_binary().value(0).into()),
            _ => return None,
        })
    }

    /// How two values compare; `None` for null, NaN and values of different kinds.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Value::Int(a), Value::Float(b)) => compare_int_float(*a, *b),
            (Value::Float(a), Value::Int(b)) => compare_int_float(*b, *a).map(Ordering::reverse),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// The only value of an array whose values are integers of up to 64 bits with a sign.
fn whole(array: &ArrayRef) -> Option<i128> {
    let wide = cast(array, &DataType::Int64).ok()?;
    wide.is_valid(0).then(|| wide.as_primitive::<Int64Type>().value(0).into())
}

/// Compares without rounding the integer: 2^53 + 1 is larger than the float 2^53.
fn compare_int_float(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // Every i128 lies strictly inside +-2^127; beyond that the float decides.
    const BOUND: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float >= BOUND {
        return Some(Ordering::Less);
    }
    if float < -BOUND {
        return Some(Ordering::Greater);
    }
    let floor = float.floor();
    #[expect(clippy::cast_possible_truncation, reason = "the bounds were just checked")]
    let whole = floor as i128;
    Some(int.cmp(&whole).then(if float > floor { Ordering::Less } else { Ordering::Equal }))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Decimal(d) => write!(f, "{d}"),
            Value::Text(s) => write!(f, "{s:?}"),
            Value::Bytes(b) => write!(f, "{} bytes", b.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        let big = (1i128 << 53) + 1;
        assert_eq!(Value::Int(big).compare(&Value::Float(9_007_199_254_740_992.0)), Some(Ordering::Greater));
        assert_eq!(Value::Int(-3).compare(&Value::Float(-2.5)), Some(Ordering::Less));
        assert_eq!(Value::Float(2.5).compare(&Value::Int(2)), Some(Ordering::Greater));
        assert_eq!(Value::Int(2).compare(&Value::Float(2.0)), Some(Ordering::Equal));
        assert_eq!(Value::Int(2).compare(&Value::Float(f64::NAN)), None);
        assert_eq!(Value::Int(2).compare(&Value::Float(f64::NEG_INFINITY)), Some(Ordering::Greater));
        assert_eq!(Value::Int(2).compare(&Value::Text("2".into())), None);
    }
}
