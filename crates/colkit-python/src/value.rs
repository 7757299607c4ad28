//! One value as a Python object: what `to_pylist` of pyarrow gives.

use crate::error::Failure;
use arrow::array::{Array, ArrayRef, AsArray, MapArray, UnionArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType,
    IntervalUnit, IntervalYearMonthType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use std::collections::HashMap;

/// The value in this row.
pub fn to_python<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    macro_rules! primitive {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value(row).into_bound_py_any(py)
        };
    }
    match array.data_type() {
        DataType::Null => Ok(py.None().into_bound(py)),
        DataType::Boolean => array.as_boolean().value(row).into_bound_py_any(py),
        DataType::Int8 => primitive!(Int8Type),
        DataType::Int16 => primitive!(Int16Type),
        DataType::Int32 => primitive!(Int32Type),
        DataType::Int64 => primitive!(Int64Type),
        DataType::UInt8 => primitive!(UInt8Type),
        DataType::UInt16 => primitive!(UInt16Type),
        DataType::UInt32 => primitive!(UInt32Type),
        DataType::UInt64 => primitive!(UInt64Type),
        DataType::Float16 => f32::from(array.as_primitive::<Float16Type>().value(row)).into_bound_py_any(py),
        DataType::Float32 => primitive!(Float32Type),
        DataType::Float64 => primitive!(Float64Type),
        DataType::Utf8 => array.as_string::<i32>().value(row).into_bound_py_any(py),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into_bound_py_any(py),
        DataType::Utf8View => array.as_string_view().value(row).into_bound_py_any(py),
        DataType::Binary => Ok(PyBytes::new(py, array.as_binary::<i32>().value(row)).into_any()),
        DataType::LargeBinary => Ok(PyBytes::new(py, array.as_binary::<i64>().value(row)).into_any()),
        DataType::BinaryView => Ok(PyBytes::new(py, array.as_binary_view().value(row)).into_any()),
        DataType::FixedSizeBinary(_) => Ok(PyBytes::new(py, array.as_fixed_size_binary().value(row)).into_any()),
        DataType::List(_) => list(py, array.as_list::<i32>().value(row).as_ref()),
        DataType::LargeList(_) => list(py, array.as_list::<i64>().value(row).as_ref()),
        DataType::FixedSizeList(..) => list(py, array.as_fixed_size_list().value(row).as_ref()),
        DataType::ListView(_) => list(py, array.as_list_view::<i32>().value(row).as_ref()),
        DataType::LargeListView(_) => list(py, array.as_list_view::<i64>().value(row).as_ref()),
        DataType::Struct(fields) => {
            let value = PyDict::new(py);
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                value.set_item(field.name(), to_python(py, column.as_ref(), row)?)?;
            }
            Ok(value.into_any())
        }
        DataType::Map(..) => entries(py, array.as_map(), row),
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => {
            to_python(py, plain(&array.slice(row, 1))?.as_ref(), 0)
        }
        DataType::Union(..) => match array.as_any().downcast_ref::<UnionArray>() {
            Some(union) => to_python(py, union.value(row).as_ref(), 0),
            None => Err(unknown(array.data_type())),
        },
        DataType::Decimal32(..) => decimal(py, &array.as_primitive::<Decimal32Type>().value_as_string(row)),
        DataType::Decimal64(..) => decimal(py, &array.as_primitive::<Decimal64Type>().value_as_string(row)),
        DataType::Decimal128(..) => decimal(py, &array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Decimal256(..) => decimal(py, &array.as_primitive::<Decimal256Type>().value_as_string(row)),
        DataType::Date32 => date(py, array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Date64 => date(py, array.as_primitive::<Date64Type>().value(row).div_euclid(86_400_000)),
        DataType::Timestamp(unit, zone) => {
            let (ticks, per_second) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1),
                TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000),
                TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000),
                TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000),
            };
            helper(py, "timestamp", (ticks, per_second, zone.as_deref()))
        }
        DataType::Time32(TimeUnit::Second) => time(py, array.as_primitive::<Time32SecondType>().value(row).into(), 1),
        DataType::Time32(_) => time(py, array.as_primitive::<Time32MillisecondType>().value(row).into(), 1_000),
        DataType::Time64(TimeUnit::Microsecond) => {
            time(py, array.as_primitive::<Time64MicrosecondType>().value(row), 1_000_000)
        }
        DataType::Time64(_) => time(py, array.as_primitive::<Time64NanosecondType>().value(row), 1_000_000_000),
        DataType::Duration(unit) => {
            let (ticks, per_second) = match unit {
                TimeUnit::Second => (array.as_primitive::<DurationSecondType>().value(row), 1),
                TimeUnit::Millisecond => (array.as_primitive::<DurationMillisecondType>().value(row), 1_000),
                TimeUnit::Microsecond => (array.as_primitive::<DurationMicrosecondType>().value(row), 1_000_000),
                TimeUnit::Nanosecond => (array.as_primitive::<DurationNanosecondType>().value(row), 1_000_000_000),
            };
            helper(py, "duration", (ticks, per_second))
        }
        DataType::Interval(IntervalUnit::YearMonth) => (primitive!(IntervalYearMonthType)?, 0, 0).into_bound_py_any(py),
        DataType::Interval(IntervalUnit::DayTime) => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            (0, value.days, i64::from(value.milliseconds) * 1_000_000).into_bound_py_any(py)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            (value.months, value.days, value.nanoseconds).into_bound_py_any(py)
        }
    }
}

/// All values of a column.
pub fn column_to_python<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match column.data_type() {
        DataType::Utf8 => Ok(texts(py, column.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Ok(texts(py, column.as_string::<i64>().iter())),
        DataType::Utf8View => Ok(texts(py, column.as_string_view().iter())),
        _ => (0..column.len()).map(|row| to_python(py, column.as_ref(), row)).collect(),
    }
}

/// So many different texts are remembered.
const REMEMBERED: usize = 1 << 12;

/// Texts, of which those that repeat are the same Python object: that takes less time and memory than one for each row.
fn texts<'py, 'a>(py: Python<'py>, texts: impl Iterator<Item = Option<&'a str>>) -> Vec<Bound<'py, PyAny>> {
    let mut known: HashMap<&str, Bound<'py, PyAny>, ahash::RandomState> = HashMap::default();
    let none = py.None().into_bound(py);
    let values = texts.map(|text| {
        let Some(text) = text else { return none.clone() };
        if known.len() == REMEMBERED {
            return PyString::new(py, text).into_any();
        }
        known.entry(text).or_insert_with(|| PyString::new(py, text).into_any()).clone()
    });
    values.collect()
}

fn list<'py>(py: Python<'py>, values: &dyn Array) -> PyResult<Bound<'py, PyAny>> {
    let values = (0..values.len()).map(|row| to_python(py, values, row)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, values)?.into_any())
}

/// A map as a list of pairs: keys may repeat, and keep their order.
fn entries<'py>(py: Python<'py>, map: &MapArray, row: usize) -> PyResult<Bound<'py, PyAny>> {
    let entries = map.value(row);
    let [keys, values] = entries.columns() else { return Err(unknown(map.data_type())) };
    let pair = |row| Ok((to_python(py, keys.as_ref(), row)?, to_python(py, values.as_ref(), row)?));
    let pairs = (0..entries.len()).map(pair).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, pairs)?.into_any())
}

/// The values of a column that is stored as a dictionary or as runs; any other column itself.
pub fn plain(column: &ArrayRef) -> PyResult<ArrayRef> {
    let values = match column.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        DataType::RunEndEncoded(_, values) => values.data_type(),
        _ => return Ok(column.clone()),
    };
    let values = cast(column, values).map_err(|error| Failure::from(colkit::Error::from(error)))?;
    plain(&values)
}

/// Values of a type that Arrow does not have yet.
fn unknown(data_type: &DataType) -> PyErr {
    PyValueError::new_err(format!("values of type {data_type} cannot be Python objects"))
}

fn decimal<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("decimal")?.getattr("Decimal")?.call1((text,))
}

fn date(py: Python<'_>, days: i64) -> PyResult<Bound<'_, PyAny>> {
    helper(py, "date", (days,))
}

fn time(py: Python<'_>, ticks: i64, per_second: i64) -> PyResult<Bound<'_, PyAny>> {
    helper(py, "time", (ticks, per_second))
}

/// Dates and times are Python's own; see `python/colkit/_values.py`.
fn helper<'py>(
    py: Python<'py>,
    name: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("colkit._values")?.getattr(name)?.call1(arguments)
}
