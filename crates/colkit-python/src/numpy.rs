//! NumPy arrays as Arrow data: numbers, booleans and moments, in one or more dimensions.

use arrow::array::{ArrayData, ArrayRef, BooleanArray, FixedSizeListArray, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, TimeUnit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::sync::Arc;

/// The array as Arrow has it: that of more dimensions as lists of the same length. `None` if it is no NumPy array, or one of other
/// things than numbers.
pub fn array(given: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    if !(given.hasattr("__array_interface__")? && given.hasattr("tobytes")?) {
        return Ok(None);
    }
    let kind: String = given.getattr("dtype")?.getattr("str")?.extract()?;
    let shape: Vec<usize> = given.getattr("shape")?.extract()?;
    let Some((first, inner)) = shape.split_first() else { return Ok(None) };
    let bytes = || -> PyResult<PyBackedBytes> { Ok(given.call_method0("tobytes")?.extract()?) };
    let values: ArrayRef = if kind == "|b1" {
        Arc::new(BooleanArray::from_iter(bytes()?.iter().map(|byte| Some(*byte != 0))))
    } else {
        let Some(data_type) = data_type(&kind) else { return Ok(None) };
        let count = shape.iter().product();
        let data = ArrayData::builder(data_type).len(count).add_buffer(Buffer::from_slice_ref(&bytes()?[..]));
        make_array(data.build().map_err(|error| PyValueError::new_err(error.to_string()))?)
    };
    let listed = inner.iter().rev().try_fold(values, |values, width| {
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        let width = i32::try_from(*width).ok()?;
        Some(Arc::new(FixedSizeListArray::try_new(field, width, values, None).ok()?) as ArrayRef)
    });
    match listed {
        Some(listed) if listed.len() == *first => Ok(Some(listed)),
        _ => Err(PyValueError::new_err(format!("an array of the shape {shape:?} cannot be a column"))),
    }
}

/// The type that NumPy calls so.
fn data_type(kind: &str) -> Option<DataType> {
    let unit = |text: &str| {
        Some(match text {
            "[s]" => TimeUnit::Second,
            "[ms]" => TimeUnit::Millisecond,
            "[us]" => TimeUnit::Microsecond,
            "[ns]" => TimeUnit::Nanosecond,
            _ => return None,
        })
    };
    Some(match kind {
        "|i1" => DataType::Int8,
        "<i2" => DataType::Int16,
        "<i4" => DataType::Int32,
        "<i8" => DataType::Int64,
        "|u1" => DataType::UInt8,
        "<u2" => DataType::UInt16,
        "<u4" => DataType::UInt32,
        "<u8" => DataType::UInt64,
        "<f2" => DataType::Float16,
        "<f4" => DataType::Float32,
        "<f8" => DataType::Float64,
        _ => match (kind.strip_prefix("<M8"), kind.strip_prefix("<m8")) {
            (Some(text), _) => DataType::Timestamp(unit(text)?, None),
            (_, Some(text)) => DataType::Duration(unit(text)?),
            _ => return None,
        },
    })
}
