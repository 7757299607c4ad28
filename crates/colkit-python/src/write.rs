//! Arrow data to a file.

use crate::command::{Captured, quiet};
use crate::work;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchReader};
use colkit::Stop;
use pyo3::prelude::*;
use std::ffi::OsString;

/// Writes Arrow data, an iterable of it or a dict of lists. The arguments are those of `convert`. Returns its summary, as JSON.
#[pyfunction]
pub fn write(py: Python<'_>, data: &Bound<'_, PyAny>, arguments: Vec<OsString>) -> PyResult<String> {
    let reader = crate::data::reader(data)?;
    work::at_length(py, move |stop| {
        let out = Captured::default();
        let mut io = quiet(&out, stop);
        let reader = Box::new(Stoppable { reader, stop: stop.clone() });
        colkit_cli::embed::write(&arguments, reader, &mut io)?;
        Ok(out.text())
    })
}

/// Batches until it is time to stop.
struct Stoppable {
    reader: Box<dyn RecordBatchReader + Send>,
    stop: Stop,
}

impl Iterator for Stoppable {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.stop.check() {
            Ok(()) => self.reader.next(),
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl RecordBatchReader for Stoppable {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}
