//! A record batch.

use crate::memory::Memory;
use crate::scan::{Abandonable, types_of};
use crate::stream::{rows_field, stream};
use crate::value::{column_to_python, plain, to_python};
use arrow::array::{ArrayRef, StructArray};
use arrow::record_batch::{RecordBatch, RecordBatchIterator};
use colkit::core::make_unique;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule};
use std::sync::Arc;

/// Some rows, in memory.
#[pyclass(module = "colkit._colkit", frozen)]
pub struct Batch(pub RecordBatch);

impl Batch {
    fn column(&self, index: usize) -> PyResult<&ArrayRef> {
        self.0.columns().get(index).ok_or_else(|| PyKeyError::new_err(format!("there is no column {index}")))
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn types(&self) -> Vec<(String, String)> {
        types_of(&self.0.schema())
    }

    /// The values of a column, as a list of Python objects.
    fn to_list<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, column_to_python(py, &plain(self.column(index)?)?)?)
    }

    /// One row, as a dict.
    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        if row >= self.0.num_rows() {
            return Err(PyIndexError::new_err(format!("there is no row {row} in a batch of {}", self.0.num_rows())));
        }
        let values = PyDict::new(py);
        for (key, column) in self.keys().iter().zip(self.0.columns()) {
            values.set_item(key, to_python(py, column.as_ref(), row)?)?;
        }
        Ok(values)
    }

    /// The names of the columns as keys of a dict: names that repeat are told apart, as `a`, `a_2`, ...
    #[getter]
    fn keys(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.schema().fields().iter().map(|field| field.name().clone()).collect();
        make_unique(&mut names);
        names
    }

    /// A column for NumPy, if it has such values; without a copy where there are no nulls and booleans.
    fn memory(&self, index: usize) -> PyResult<Option<Memory>> {
        Ok(Memory::of(self.column(index)?))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.0.schema().as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let array: ArrayRef = Arc::new(StructArray::from(self.0.clone()));
        Ok(to_array_pycapsules(py, rows_field(&self.0.schema()), array.as_ref(), requested_schema)?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let reader = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        stream(py, &self.0.schema(), Abandonable::new(Box::new(reader)), requested_schema)
    }
}
