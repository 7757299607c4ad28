//! Batches as an Arrow C stream.

use crate::scan::Abandonable;
use arrow::array::{ArrayRef, StructArray};
use arrow::datatypes::{Field, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};
use std::sync::Arc;

/// A table as the one type that Arrow has for arrays of rows.
pub fn rows_field(schema: &SchemaRef) -> Arc<Field> {
    Arc::new(Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone()))
}

/// The capsule that `__arrow_c_stream__` returns.
pub fn stream<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: Abandonable,
    requested_schema: Option<Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let arrays = ArrayIterator::new(Unlocked(batches).map(rows_of), rows_field(schema));
    Ok(to_stream_pycapsule(py, Box::new(arrays), requested_schema)?)
}

fn rows_of(batch: Result<RecordBatch, ArrowError>) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(StructArray::from(batch?)))
}

/// Batches that are read without the interpreter lock, whether who asks for them has it or not, and until Ctrl-C.
struct Unlocked(Abandonable);

impl Iterator for Unlocked {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => py.detach(|| self.0.next()),
            Err(exception) => {
                // Whoever reads the stream makes an exception of its own of this; Python is reminded of the other one.
                let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
                Some(Err(ArrowError::ExternalError(Box::new(exception))))
            }
        })
    }
}
