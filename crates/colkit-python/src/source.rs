//! Python's file objects as sources.

use bytes::Bytes;
use colkit::core::{ByteRange, Source};
use colkit::{Error, Result};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::sync::{Mutex, PoisonError};

/// A seekable binary file of Python's. It has one position, so reads take turns.
pub struct FileObject {
    file: Py<PyAny>,
    turn: Mutex<()>,
    size: u64,
}

impl FileObject {
    /// The file, of which the length is asked for.
    pub fn new(file: &Bound<'_, PyAny>) -> PyResult<Self> {
        let size = file.call_method1("seek", (0, 2))?.extract()?;
        Ok(FileObject { file: file.clone().unbind(), turn: Mutex::default(), size })
    }

    fn read_at(file: &Bound<'_, PyAny>, range: ByteRange) -> PyResult<Vec<u8>> {
        file.call_method1("seek", (range.start(),))?;
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < range.len() {
            let part: PyBackedBytes = file.call_method1("read", (range.len() - bytes.len() as u64,))?.extract()?;
            if part.is_empty() {
                break;
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }
}

impl Source for FileObject {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        // First the turn, then the interpreter: reading may give up the interpreter for a while, and a thread that had it and waited
        // for its turn would never let the other go on. Nobody calls this with the interpreter in hand.
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody can be attached any more when the program ends.
        let bytes = Python::try_attach(|py| Self::read_at(self.file.bind(py), range));
        drop(turn);
        let bytes = bytes.ok_or_else(|| Error::io("interrupted", "the program ends"))?;
        let bytes = bytes.map_err(|error| Error::from(std::io::Error::other(error)))?;
        if bytes.len() as u64 != range.len() {
            let found = range.start() + bytes.len() as u64;
            return Err(Error::io("short_read", format!("the file object ends at byte {found}")).at(found));
        }
        Ok(bytes.into())
    }
}
