//! Arrow data from Python objects: streams, arrays, iterables of them, and lists of plain values.

use crate::numpy;
use crate::scan::Reader;
use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int64Array, ListArray, NullArray,
    StringArray, TimestampMicrosecondArray, UInt64Array, new_empty_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::concat;
use arrow::datatypes::{Field, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyIterator, PyList, PyString, PyTuple};
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};
use std::sync::Arc;

/// The batches of a Python object.
pub fn reader(data: &Bound<'_, PyAny>) -> PyResult<Reader> {
    if let Ok(columns) = data.cast::<PyDict>() {
        return from_columns(columns);
    }
    if is_arrow(data)? {
        return data.extract::<AnyRecordBatch>()?.into_reader();
    }
    if data.is_instance_of::<PyString>() || data.is_instance_of::<PyBytes>() {
        return Err(not_data(data)?);
    }
    match data.try_iter() {
        Ok(parts) => Ok(Box::new(Parts::new(parts)?)),
        Err(_) => Err(not_data(data)?),
    }
}

fn is_arrow(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(data.hasattr("__arrow_c_stream__")? || data.hasattr("__arrow_c_array__")?)
}

fn not_data(data: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let kind = data.get_type().name()?;
    Ok(PyTypeError::new_err(format!("expected Arrow data, an iterable of it or a dict of lists, found {kind}")))
}

/// The batches of all parts of an iterable. The first part says the schema.
struct Parts {
    parts: Py<PyIterator>,
    schema: SchemaRef,
    current: Reader,
}

impl Parts {
    fn new(mut parts: Bound<'_, PyIterator>) -> PyResult<Self> {
        let first = parts.next().ok_or_else(|| PyValueError::new_err("the iterable is empty"))??;
        let current = part(&first)?;
        Ok(Parts { schema: current.schema(), current, parts: parts.unbind() })
    }

    /// Goes on to the next part; false if there is none.
    fn advance(&mut self) -> PyResult<bool> {
        Python::attach(|py| {
            let Some(next) = self.parts.bind(py).clone().next() else { return Ok(false) };
            self.current = part(&next?)?;
            if self.current.schema().fields() != self.schema.fields() {
                return Err(PyValueError::new_err("the parts of the iterable have different columns"));
            }
            Ok(true)
        })
    }
}

fn part(data: &Bound<'_, PyAny>) -> PyResult<Reader> {
    if is_arrow(data)? || data.is_instance_of::<PyDict>() { reader(data) } else { Err(not_data(data)?) }
}

impl Iterator for Parts {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.next() {
                return Some(batch);
            }
            match self.advance() {
                Ok(true) => (),
                Ok(false) => return None,
                Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
            }
        }
    }
}

impl RecordBatchReader for Parts {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// A dict of columns as one batch.
fn from_columns(columns: &Bound<'_, PyDict>) -> PyResult<Reader> {
    let mut arrays = Vec::new();
    for (name, values) in columns {
        let name: String = name.extract()?;
        let array = column(&values).map_err(|error| match error.is_instance_of::<PyTypeError>(columns.py()) {
            true => PyTypeError::new_err(format!("column {name:?}: {}", error.value(columns.py()))),
            false => error,
        })?;
        arrays.push((name, array));
    }
    let batch = RecordBatch::try_from_iter_with_nullable(arrays.into_iter().map(|(name, array)| (name, array, true)));
    let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = batch.schema();
    Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

/// A column: a NumPy array, Arrow data, or an iterable of plain values.
fn column(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if is_arrow(values)? {
        let chunks = values.extract::<AnyArray>()?.into_chunked_array()?;
        let chunks: Vec<&dyn Array> = chunks.chunks().iter().map(AsRef::as_ref).collect();
        return concat(&chunks).map_err(|error| PyValueError::new_err(error.to_string()));
    }
    if let Some(array) = numpy::array(values)? {
        return Ok(array);
    }
    if values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("expected a list of values, found one value"));
    }
    plain_values(&values.try_iter()?.collect::<PyResult<Vec<_>>>()?)
}

/// Plain values of one kind, each with None for null.
fn plain_values(values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    let Some(first) = values.iter().find(|value| !value.is_none()) else {
        return Ok(Arc::new(NullArray::new(values.len())));
    };
    let py = first.py();
    let all = |fits: &dyn Fn(&Bound<'_, PyAny>) -> bool| values.iter().all(|value| value.is_none() || fits(value));
    let is_whole = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
    if all(&|value| value.is_instance_of::<PyBool>()) {
        return Ok(Arc::new(BooleanArray::from(extracted::<bool>(values)?)));
    }
    if all(&is_whole) {
        return match extracted::<i64>(values) {
            Ok(values) => Ok(Arc::new(Int64Array::from(values))),
            Err(_) => Ok(Arc::new(UInt64Array::from(extracted::<u64>(values)?))),
        };
    }
    if all(&|value| is_whole(value) || value.is_instance_of::<PyFloat>()) {
        return Ok(Arc::new(Float64Array::from(extracted::<f64>(values)?)));
    }
    if all(&|value| value.is_instance_of::<PyString>()) {
        return Ok(Arc::new(StringArray::from(extracted::<String>(values)?)));
    }
    if all(&|value| value.is_instance_of::<PyBytes>()) {
        return Ok(Arc::new(BinaryArray::from_iter(extracted::<Vec<u8>>(values)?)));
    }
    if all(&|value| value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() || is_numpy(value)) {
        return lists(values);
    }
    let times = py.import("colkit._values")?;
    let ticks = |function: &str| -> PyResult<Option<Vec<Option<i64>>>> {
        times.getattr(function)?.call1((PyList::new(py, values)?,))?.extract()
    };
    if let Some(days) = ticks("days_of")? {
        let days = days.into_iter().map(|day| day.and_then(|day| i32::try_from(day).ok()));
        return Ok(Arc::new(Date32Array::from_iter(days)));
    }
    if let Some(micros) = ticks("naive_micros_of")? {
        return Ok(Arc::new(TimestampMicrosecondArray::from(micros)));
    }
    if let Some(micros) = ticks("utc_micros_of")? {
        return Ok(Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC")));
    }
    Err(PyTypeError::new_err(
        "expected numbers, texts, bytes, booleans, dates, times or lists, all of one kind; a pyarrow table holds anything else",
    ))
}

fn is_numpy(value: &Bound<'_, PyAny>) -> bool {
    value.hasattr("__array_interface__").unwrap_or(false)
}

fn extracted<'py, T: FromPyObjectOwned<'py>>(values: &[Bound<'py, PyAny>]) -> PyResult<Vec<Option<T>>> {
    values.iter().map(|value| value.extract::<Option<T>>().map_err(Into::into)).collect()
}

/// Lists of plain values.
fn lists(values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    let (mut inner, mut lengths) = (Vec::new(), Vec::new());
    for value in values {
        let before = inner.len();
        if !value.is_none() {
            let items = if is_numpy(value) { value.call_method0("tolist")? } else { value.clone() };
            inner.extend(items.try_iter()?.collect::<PyResult<Vec<_>>>()?);
        }
        lengths.push(inner.len() - before);
    }
    let items =
        if inner.is_empty() { new_empty_array(&arrow::datatypes::DataType::Null) } else { plain_values(&inner)? };
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let nulls: NullBuffer = values.iter().map(|value| !value.is_none()).collect();
    let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
    let list = ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), items, nulls);
    Ok(Arc::new(list.map_err(|error| PyValueError::new_err(error.to_string()))?))
}
