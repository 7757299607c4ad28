//! Scans: lazy, and read as an Arrow stream, batch by batch or as a whole.

use crate::batch::Batch;
use crate::error::Failure;
use crate::stream::stream;
use crate::work;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use colkit::{ColumnName, Error, OpenFile, ScanBuilder, Stop};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::to_schema_pycapsule;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Batches from anywhere.
pub type Reader = Box<dyn RecordBatchReader + Send>;

/// Batches that are given up on a thread of their own. Their own threads are waited for then, which may be reading a file object and so
/// wait for the interpreter, which whoever gives up the batches may have in hand.
pub struct Abandonable(Option<Reader>);

impl Abandonable {
    /// The same batches.
    pub fn new(reader: Reader) -> Self {
        Abandonable(Some(reader))
    }
}

impl Iterator for Abandonable {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.as_mut()?.next()
    }
}

impl Drop for Abandonable {
    fn drop(&mut self) {
        let reader = self.0.take();
        // Without a thread for it, it is given up here.
        let _ = std::thread::Builder::new().name("colkit".into()).spawn(move || drop(reader));
    }
}

/// Rows of a batch of what is read as a whole, unless that is said: few batches are quicker to put together.
const WHOLE_BATCH_ROWS: usize = 1 << 17;

/// What is read.
#[derive(Clone, Default)]
pub struct Selected {
    pub columns: Option<Vec<String>>,
    pub condition: Option<String>,
    pub rows: Option<(u64, u64)>,
    pub batch_rows: Option<usize>,
    /// Text and bytes as views.
    pub views: bool,
}

/// Names and types, as text.
pub fn types_of(schema: &SchemaRef) -> Vec<(String, String)> {
    schema.fields().iter().map(|field| (field.name().clone(), colkit::type_name(field.data_type()))).collect()
}

/// Rows in order, of some columns, where a condition holds. It can be read any number of times.
#[pyclass(module = "colkit._colkit", frozen)]
pub struct Scan {
    file: Arc<OpenFile>,
    selected: Selected,
    schema: SchemaRef,
}

impl Scan {
    /// A scan. Names and types are checked here.
    pub fn new(file: Arc<OpenFile>, selected: Selected) -> PyResult<Self> {
        let schema = builder(&file, &selected).schema().map_err(Failure::from)?;
        Ok(Scan { file, selected, schema })
    }

    /// Starts reading, when it is asked for rows first.
    fn reader(&self, stop: Stop) -> Reader {
        let (file, selected) = (self.file.stopped_by(&stop), self.selected.clone());
        Box::new(Late { schema: self.schema.clone(), start: Some((file, selected)), batches: None })
    }
}

fn builder<'a>(file: &'a OpenFile, selected: &Selected) -> ScanBuilder<'a, OpenFile> {
    let Selected { columns, condition, rows, batch_rows, views } = selected.clone();
    let names = columns.map(|names| names.into_iter().map(ColumnName::from).collect::<Vec<_>>());
    let scan = names.into_iter().fold(file.scan(), ScanBuilder::columns);
    let scan = condition.into_iter().fold(scan, ScanBuilder::filter);
    let scan = rows.into_iter().fold(scan, |scan, (start, end)| scan.rows(start..end));
    let scan = batch_rows.into_iter().fold(scan, ScanBuilder::batch_rows);
    if views { scan.views() } else { scan }
}

/// Batches that are planned when the first of them is asked for: that reads already.
struct Late {
    schema: SchemaRef,
    start: Option<(OpenFile, Selected)>,
    batches: Option<colkit::Batches>,
}

impl Iterator for Late {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((file, selected)) = self.start.take() {
            match builder(&file, &selected).batches() {
                Ok(batches) => self.batches = Some(batches),
                Err(error) => return Some(Err(error.into())),
            }
        }
        self.batches.as_mut()?.next()
    }
}

impl RecordBatchReader for Late {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

#[pymethods]
impl Scan {
    #[getter]
    fn types(&self) -> Vec<(String, String)> {
        types_of(&self.schema)
    }

    /// The same rows, with text and bytes as views.
    fn with_views(&self) -> PyResult<Scan> {
        Scan::new(self.file.clone(), Selected { views: true, ..self.selected.clone() })
    }

    fn batches(&self) -> Batches {
        let stop = Stop::new();
        Batches::new(self.reader(stop.clone()), stop)
    }

    /// All batches, read into memory.
    fn collect(&self, py: Python<'_>) -> PyResult<Batches> {
        let batch_rows = Some(self.selected.batch_rows.unwrap_or(WHOLE_BATCH_ROWS));
        let selected = Selected { batch_rows, ..self.selected.clone() };
        let whole = Scan { file: self.file.clone(), selected, schema: self.schema.clone() };
        whole.batches().collect(py)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.schema.as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        stream(py, &self.schema, Abandonable::new(self.reader(Stop::new())), requested_schema)
    }
}

/// Batches, one after another. They can be had once.
#[pyclass(module = "colkit._colkit", frozen)]
pub struct Batches {
    schema: SchemaRef,
    reader: Arc<Mutex<Option<Abandonable>>>,
    /// Ends what the reader is waiting for.
    stop: Stop,
}

impl Batches {
    /// The batches of a reader that looks at `stop`.
    pub fn new(reader: Reader, stop: Stop) -> Self {
        Batches { schema: reader.schema(), reader: Arc::new(Mutex::new(Some(Abandonable::new(reader)))), stop }
    }

    /// Does something with the reader. Ctrl-C stops it for good.
    fn with_reader<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<Abandonable>, &Stop) -> colkit::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let reader = self.reader.clone();
        let work = move |stop: &Stop| -> Result<T, Failure> { Ok(work(&mut lock(&reader), stop)?) };
        work::watched(py, self.stop.clone(), work, |_| Ok(()))
    }
}

fn lock(reader: &Mutex<Option<Abandonable>>) -> MutexGuard<'_, Option<Abandonable>> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Batches {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = self.with_reader(py, |reader, _| Ok(reader.as_mut().and_then(Iterator::next).transpose()?))?;
        Ok(next.map(Batch))
    }

    #[getter]
    fn types(&self) -> Vec<(String, String)> {
        types_of(&self.schema)
    }

    /// Itself, as a scan has its batches.
    #[pyo3(name = "batches")]
    fn rest(this: Py<Self>) -> Py<Self> {
        this
    }

    /// The rest of the batches, read into memory.
    fn collect(&self, py: Python<'_>) -> PyResult<Batches> {
        let batches = self.with_reader(py, |reader, stop| {
            let mut batches = Vec::new();
            for batch in reader.take().into_iter().flatten() {
                stop.check()?;
                batches.push(batch.map_err(Error::from)?);
            }
            Ok(batches)
        })?;
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), self.schema.clone());
        Ok(Batches::new(Box::new(reader), Stop::new()))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.schema.as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let reader = py.detach(|| lock(&self.reader).take());
        let reader = reader.ok_or_else(|| PyValueError::new_err("the rows were read already: they can be had once"))?;
        stream(py, &self.schema, reader, requested_schema)
    }
}
