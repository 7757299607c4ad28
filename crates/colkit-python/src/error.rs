//! Errors as Python exceptions. The classes are Python's (`python/colkit/_errors.py`): one that is also a `ValueError` has two
//! bases, which only Python code can say.

use colkit::{Class, Error, Setting};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An error, or an exception that Python code raised while we called it.
pub enum Failure {
    Colkit(Error),
    Python(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Colkit(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            Failure::Colkit(error) => Python::attach(|py| raised(py, &error).unwrap_or_else(|failed| failed)),
        }
    }
}

/// The exception for an error. One that Python code raised comes back as it was.
fn raised(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let mut below: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    while let Some(cause) = below {
        if let Some(theirs) = cause.downcast_ref::<PyErr>() {
            return Ok(theirs.clone_ref(py));
        }
        // An error of the system that carries another one shows it to those who ask for it, and not as its source.
        let carried = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        below = carried.map(|inner| inner as &(dyn std::error::Error + 'static)).or_else(|| cause.source());
    }
    let facts = PyDict::new(py);
    facts.set_item("code", error.code())?;
    facts.set_item("file", error.file_name())?;
    facts.set_item("offset", error.offset())?;
    facts.set_item("part", error.part_name())?;
    facts.set_item("hint", error.advice().map(|hint| hint.worded(argument)))?;
    let place = error.file_name().map(|file| format!("{file}: ")).unwrap_or_default();
    let offset = error.offset().map(|offset| format!("at byte {offset}: ")).unwrap_or_default();
    let part = error.part_name().map(|part| format!("{part}: ")).unwrap_or_default();
    let message = format!("{place}{offset}{part}{}", error.message());
    let exception = py.import("colkit._errors")?.getattr("exception")?.call1((class(error), message, facts))?;
    Ok(PyErr::from_value(exception))
}

fn class(error: &Error) -> &'static str {
    match error.class() {
        Class::Corrupt => "CorruptError",
        Class::Unsupported => "UnsupportedError",
        Class::Limit => "LimitError",
        Class::Data => "DataError",
        Class::Request => "RequestError",
        Class::Io => "IoError",
        _ => "InternalError",
    }
}

/// What a setting is called in Python: an argument of the function that failed, or of `open`.
fn argument(setting: Setting) -> &'static str {
    match setting {
        Setting::Memory => "memory=...",
        Setting::Columns => "columns=[...]",
        Setting::ColumnLimit => "limit_columns=...",
        Setting::ValueLimit => "limit_value=...",
        Setting::OutputLimit => "limit_output=...",
        Setting::ExpansionLimit => "limit_expansion=...",
        Setting::ExactTypes => "types=\"exact\"",
        Setting::LossyTypes => "types=\"lossy\"",
        Setting::FillNulls => "nulls=\"fill\"",
        Setting::RenameDuplicates => "rename_duplicates=True",
        Setting::DropMetadata => "drop_metadata=True",
        Setting::Overwrite => "force=True",
        Setting::InputFormat => "format=...",
        Setting::Delimiter => "delimiter=...",
        Setting::Encoding => "encoding=...",
        Setting::PadShortRows => "pad_short_rows=True",
        Setting::Compression => "compression=...",
        Setting::Lance21 => "lance_version=\"2.1\"",
        Setting::Lance22 => "lance_version=\"2.2\"",
        Setting::Timeout => "timeout=...",
        Setting::SpillFolder => "spill_dir=...",
        Setting::Append => "append=True",
        Setting::OverwriteDataset => "overwrite=True",
        Setting::UnsafeCommit => "unsafe_commit=True",
        Setting::DropIndices => "drop_indices=True",
        Setting::FixedPattern => "re.escape(...)",
        Setting::EmbeddedPlugins => "allow_embedded_plugins=True",
        Setting::Plugin => "plugin=\"FILE.wasm\"",
    }
}
