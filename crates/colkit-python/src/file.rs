//! An open file.

use crate::batch::Batch;
use crate::error::Failure;
use crate::scan::{Scan, Selected};
use crate::source::FileObject;
use crate::work;
use bytes::Bytes;
use colkit::{ColumnName, DatasetOptions, Error, Input, MappedSource, OpenFile, OpenOptions, TakeBuilder};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// A table in a file of any format. Safe to use from several threads, and after a fork.
#[pyclass(module = "colkit._colkit", frozen)]
pub struct File {
    /// None once it is closed.
    open: RwLock<Option<Opened>>,
    /// How to open it again.
    places: Option<Places>,
}

#[derive(Clone)]
struct Opened {
    file: Arc<OpenFile>,
    /// The process that opened it. A child must not share its connections, nor wait for its threads.
    process: u32,
}

/// Paths or URLs, and how they are opened.
#[derive(Clone)]
struct Places {
    paths: Vec<PathBuf>,
    options: OpenOptions,
    dataset: DatasetOptions,
    /// Whether the file is mapped into memory instead of read.
    mapped: bool,
}

impl Places {
    /// The same places for a process that works in another folder, and the same version of a dataset, whatever is newest then.
    fn fixed(self, file: &OpenFile) -> Self {
        let (mut paths, mut dataset) = (self.paths, self.dataset);
        if let (true, Some(manifest)) = (file.input().objects().are_there(), file.input().place()) {
            (paths, dataset.at) = (vec![manifest.to_path_buf()], None);
        }
        for path in &mut paths {
            let is_url = path.to_string_lossy().contains("://");
            if let (false, Ok(whole)) = (is_url, std::path::absolute(&path)) {
                *path = whole;
            }
        }
        Places { paths, dataset, ..self }
    }

    fn open(&self) -> colkit::Result<OpenFile> {
        if self.mapped {
            return self.options.open_input(&self.map()?);
        }
        let inputs = self.paths.iter().map(|path| Input::path_with(path, &self.dataset));
        let inputs = inputs.collect::<colkit::Result<Vec<_>>>()?;
        self.options.open_input(&Input::several(inputs))
    }

    /// The file, mapped into memory.
    #[expect(unsafe_code, reason = "mapping is asked for")]
    fn map(&self) -> colkit::Result<Input> {
        match self.paths.as_slice() {
            [path] if path.is_file() => {
                // SAFETY: who asks for a mapping promises that the file stays as it is.
                let source = unsafe { MappedSource::open(path)? };
                Ok(Input::source(path.display().to_string(), Arc::new(source)))
            }
            _ => Err(Error::request("not_a_file_name", "memory_map=True needs the path of one file")),
        }
    }
}

impl File {
    fn new(file: OpenFile, places: Option<Places>) -> Self {
        let opened = Opened { file: Arc::new(file), process: std::process::id() };
        File { open: RwLock::new(Some(opened)), places }
    }

    /// The file, unless it was closed.
    pub fn inner(&self, py: Python<'_>) -> PyResult<Arc<OpenFile>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner).clone();
        let open = open.ok_or_else(|| PyValueError::new_err("I/O operation on closed file"))?;
        match &self.places {
            Some(places) if open.process != std::process::id() => {
                let places = places.clone();
                let file = Arc::new(work::at_length(py, move |_| Ok(places.open()?))?);
                let opened = Opened { file: file.clone(), process: std::process::id() };
                *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(opened);
                Ok(file)
            }
            _ => Ok(open.file),
        }
    }
}

fn reading(arguments: &[OsString]) -> PyResult<(OpenOptions, DatasetOptions)> {
    Ok(colkit_cli::embed::reading(arguments).map_err(Failure::from)?)
}

/// Opens paths or URLs as one table. The arguments are those of `cat`.
#[pyfunction]
pub fn open_places(py: Python<'_>, paths: Vec<PathBuf>, arguments: Vec<OsString>, mapped: bool) -> PyResult<File> {
    let (options, dataset) = reading(&arguments)?;
    let places = Places { paths, options, dataset, mapped };
    let opening = places.clone();
    let file = work::at_length(py, move |_| Ok(opening.open()?))?;
    let places = places.fixed(&file);
    Ok(File::new(file, Some(places)))
}

/// Opens bytes, which are not copied.
#[pyfunction]
pub fn open_bytes(py: Python<'_>, bytes: PyBackedBytes, name: String, arguments: Vec<OsString>) -> PyResult<File> {
    let (options, _) = reading(&arguments)?;
    let input = Input::source(name, Arc::new(Bytes::from_owner(bytes)));
    Ok(File::new(work::at_length(py, move |_| Ok(options.open_input(&input)?))?, None))
}

/// Opens a seekable binary file object.
#[pyfunction]
pub fn open_object(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    name: String,
    arguments: Vec<OsString>,
) -> PyResult<File> {
    let (options, _) = reading(&arguments)?;
    let input = Input::source(name, Arc::new(FileObject::new(object)?));
    Ok(File::new(work::at_length(py, move |_| Ok(options.open_input(&input)?))?, None))
}

#[pymethods]
impl File {
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.inner(py)?.format().name().to_string())
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.inner(py)?.input().name().to_string())
    }

    /// Where it can be opened again as it is now, and whether that says the version of a dataset; None if there is no such place.
    #[getter]
    fn places(&self) -> Option<(Vec<OsString>, bool)> {
        let places = self.places.as_ref()?;
        let manifest = |path: &PathBuf| path.extension().is_some_and(|e| e == "manifest");
        Some((
            places.paths.iter().map(|path| path.clone().into_os_string()).collect(),
            places.paths.iter().all(manifest),
        ))
    }

    #[getter]
    fn metadata(&self, py: Python<'_>) -> PyResult<std::collections::HashMap<String, String>> {
        Ok(self.inner(py)?.schema().metadata().clone())
    }

    #[getter]
    fn properties(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let properties = self.inner(py)?.properties();
        Ok(properties.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    /// Requests and bytes that were read so far.
    #[getter]
    fn read_count(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let count = self.inner(py)?.input().read_count();
        Ok((count.requests, count.bytes))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        usize::try_from(self.inner(py)?.row_count())
            .map_err(|_| PyValueError::new_err("more rows than Python can count"))
    }

    /// A scan; nothing is read until it is used.
    #[pyo3(signature = (columns=None, condition=None, rows=None, batch_rows=None))]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        condition: Option<String>,
        rows: Option<(u64, u64)>,
        batch_rows: Option<usize>,
    ) -> PyResult<Scan> {
        Scan::new(self.inner(py)?, Selected { columns, condition, rows, batch_rows, views: false })
    }

    /// Rows by number, in this order.
    #[pyo3(signature = (rows, columns=None))]
    fn take(&self, py: Python<'_>, rows: Vec<i64>, columns: Option<Vec<String>>) -> PyResult<Batch> {
        let file = self.inner(py)?;
        let count = file.row_count();
        let from_start = |row: i64| {
            let found = if row < 0 { count.checked_add_signed(row) } else { Some(row.unsigned_abs()) };
            found
                .filter(|row| *row < count)
                .ok_or_else(|| PyIndexError::new_err(format!("there is no row {row} in a table with {count} rows")))
        };
        let rows = rows.into_iter().map(from_start).collect::<PyResult<Vec<_>>>()?;
        let names = columns.map(|columns| columns.into_iter().map(ColumnName::from).collect::<Vec<_>>());
        let take = move |file: &OpenFile| names.into_iter().fold(file.take(rows), TakeBuilder::columns).batch();
        // A store may take its time to answer.
        let far = file.input().place().is_some_and(|place| place.to_string_lossy().contains("://"));
        let batch = match far {
            true => work::at_length(py, move |stop| Ok(take(&file.stopped_by(stop))?))?,
            false => work::briefly(py, move || take(&file))?,
        };
        Ok(Batch(batch))
    }

    /// Gives back what the file holds. Scans that have begun go on.
    fn close(&self) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    #[getter]
    fn closed(&self) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}
