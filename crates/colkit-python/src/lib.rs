//! The native part of the Python package `colkit`. What Python code can do as well is Python, in `python/colkit`.
//!
//! ```text
//! error    errors as exceptions
//! source   Python file objects as sources
//! file     an open file: its schema, its rows by number
//! scan     rows in order, as an Arrow stream, batch by batch or as a whole
//! batch    a record batch
//! memory   columns as NumPy sees them
//! value    one value as a Python object
//! stream   batches as an Arrow C stream
//! data     Arrow data from Python objects
//! numpy    NumPy arrays as Arrow data
//! write    Arrow data to a file
//! query    SQL over files and Arrow data
//! command  the command line, with its output as text
//! work     runs without the interpreter lock; Ctrl-C stops it
//! ```

mod batch;
mod command;
mod data;
mod error;
mod file;
mod memory;
mod numpy;
#[cfg(feature = "sql")]
mod query;
mod scan;
mod source;
mod stream;
mod value;
mod work;
mod write;

/// Tables come and go in large pieces. The system's allocator would give their memory back at once, and ask for it again, empty, page by
/// page, for the next.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module.
#[pyo3::pymodule]
mod _colkit {
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::command::{call, main, options};
    #[pymodule_export]
    use crate::file::{File, open_bytes, open_object, open_places};
    #[pymodule_export]
    use crate::memory::Memory;
    #[cfg(feature = "sql")]
    #[pymodule_export]
    use crate::query::sql;
    #[pymodule_export]
    use crate::scan::{Batches, Scan};
    #[pymodule_export]
    use crate::write::write;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        colkit_cli::keep_decoders_quiet();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
