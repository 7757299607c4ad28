//! Columns as NumPy sees memory: an address, a type and a shape.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt8Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// Values that lie one after another. NumPy looks at them in place, and keeps this alive.
#[pyclass(module = "colkit._colkit", frozen)]
pub struct Memory {
    values: ArrayRef,
    kind: &'static str,
    shape: Vec<usize>,
}

impl Memory {
    /// The memory of a column of numbers, booleans or moments, or of lists that all have the same number of numbers. Numbers with
    /// nulls become floats, with NaN for null. `None` for any other column.
    pub fn of(column: &ArrayRef) -> Option<Self> {
        let (values, shape) = flat(column)?;
        let values = match values.data_type() {
            DataType::Boolean => {
                let bytes: UInt8Array = values.as_boolean().iter().map(|v| v.map(u8::from)).collect();
                if bytes.null_count() > 0 {
                    return None;
                }
                return Some(Memory { values: Arc::new(bytes), kind: "|b1", shape });
            }
            data_type if values.null_count() > 0 => {
                if !data_type.is_numeric() || kind(data_type).is_none() {
                    return None;
                }
                let floats = cast(&values, &DataType::Float64).ok()?;
                let floats = floats.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN));
                Arc::new(floats.collect::<Float64Array>())
            }
            _ => values,
        };
        Some(Memory { kind: kind(values.data_type())?, values, shape })
    }
}

#[pymethods]
impl Memory {
    /// What NumPy asks for.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let data = self.values.to_data();
        let width = self.values.data_type().primitive_width().unwrap_or(1);
        let start = data.buffers().first().map_or(0, |buffer| buffer.as_ptr().addr() + data.offset() * width);
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", self.kind)?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        // Read only: the memory may be shared.
        interface.set_item("data", (start, true))?;
        Ok(interface)
    }

    /// How many dimensions it has.
    #[getter]
    fn dimensions(&self) -> usize {
        self.shape.len()
    }
}

/// The values and their shape: those of a column, or of lists of the same number of them.
fn flat(column: &ArrayRef) -> Option<(ArrayRef, Vec<usize>)> {
    let DataType::FixedSizeList(_, width) = column.data_type() else {
        return Some((column.clone(), vec![column.len()]));
    };
    if column.null_count() > 0 {
        return None;
    }
    let (list, width) = (column.as_fixed_size_list(), usize::try_from(*width).ok()?);
    let start = usize::try_from(list.value_offset(0)).ok()?;
    let (values, mut shape) = flat(&list.values().slice(start, column.len().checked_mul(width)?))?;
    shape.splice(0..1, [column.len(), width]);
    Some((values, shape))
}

/// NumPy's name of a type.
fn kind(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Int8 => "|i1",
        DataType::Int16 => "<i2",
        DataType::Int32 => "<i4",
        DataType::Int64 => "<i8",
        DataType::UInt8 => "|u1",
        DataType::UInt16 => "<u2",
        DataType::UInt32 => "<u4",
        DataType::UInt64 => "<u8",
        DataType::Float16 => "<f2",
        DataType::Float32 => "<f4",
        DataType::Float64 => "<f8",
        // NumPy knows no time zones: these are UTC.
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => "<M8[s]",
            TimeUnit::Millisecond => "<M8[ms]",
            TimeUnit::Microsecond => "<M8[us]",
            TimeUnit::Nanosecond => "<M8[ns]",
        },
        DataType::Duration(unit) => match unit {
            TimeUnit::Second => "<m8[s]",
            TimeUnit::Millisecond => "<m8[ms]",
            TimeUnit::Microsecond => "<m8[us]",
            TimeUnit::Nanosecond => "<m8[ns]",
        },
        _ => return None,
    })
}
