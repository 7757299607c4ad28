//! One value of a column, with its type.

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray,
};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit_core::{Result, Value, json};
use std::fmt;
use std::sync::Arc;

/// One value with its type. Its text is what `cat` prints; [`json`](Cell::json) is what JSON output has.
#[derive(Clone, Debug)]
pub struct Cell(ArrayRef);

impl Cell {
    /// An array of just this value.
    pub fn array(&self) -> &ArrayRef {
        &self.0
    }

    /// The value in JSON.
    pub fn json(&self) -> Result<String> {
        let mut out = Vec::new();
        json::encoder(&self.0)?(0, &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// A number, or a date, time or decimal in its own unit. `None` if the type does not have it.
    pub(super) fn of_int(value: i128, data_type: &DataType) -> Option<Self> {
        let small = || i64::try_from(value).ok().map(|v| Arc::new(Int64Array::from(vec![v])) as ArrayRef);
        let array = match data_type {
            DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => {
                let wide = Decimal128Array::from(vec![value]).with_precision_and_scale(38, *s).ok()?;
                cast(&wide, data_type).ok()?
            }
            DataType::UInt64 => {
                let value = u64::try_from(value).ok()?;
                Arc::new(arrow::array::UInt64Array::from(vec![value]))
            }
            t if t.is_integer() => cast(&small()?, data_type).ok()?,
            t if t.is_temporal() && t.primitive_width() == Some(4) => {
                cast(&Int32Array::from(vec![i32::try_from(value).ok()?]), data_type).ok()?
            }
            t if t.is_temporal() => cast(&small()?, data_type).ok()?,
            _ => return None,
        };
        array.is_valid(0).then_some(Cell(array))
    }

    pub(super) fn of_float(value: f64, data_type: &DataType) -> Option<Self> {
        let array = cast(&Float64Array::from(vec![value]), data_type).ok()?;
        array.is_valid(0).then_some(Cell(array))
    }

    pub(super) fn of_bool(value: bool) -> Self {
        Cell(Arc::new(BooleanArray::from(vec![value])))
    }

    /// Text, or bytes that are none.
    pub(super) fn of_bytes(value: &[u8], data_type: &DataType) -> Self {
        let is_text = match data_type {
            DataType::Dictionary(_, values) => return Self::of_bytes(value, values),
            other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
        };
        Cell(match std::str::from_utf8(value) {
            Ok(text) if is_text => Arc::new(StringArray::from(vec![text])),
            _ => Arc::new(BinaryArray::from(vec![value])),
        })
    }

    /// A bound of a zone map.
    pub(super) fn of_value(value: &Value, data_type: &DataType) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::of_bool(*value)),
            Value::Int(value) => Self::of_int(*value, data_type),
            Value::Float(value) => Self::of_float(*value, data_type),
            Value::Text(text) => Some(Self::of_bytes(text.as_bytes(), data_type)),
            Value::Bytes(bytes) => Some(Self::of_bytes(bytes, data_type)),
            Value::Null | Value::Decimal(_) => None,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = FormatOptions::new();
        let formatter = ArrayFormatter::try_new(self.0.as_ref(), &options).map_err(|_| fmt::Error)?;
        write!(f, "{}", formatter.value(0))
    }
}
