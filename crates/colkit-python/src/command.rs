//! The command line: as a program of the package, and as functions that return what it prints.

use crate::error::Failure;
use crate::work;
use colkit::Stop;
use colkit_cli::{Io, Stream};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs the command with the streams of this process. Returns the exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| code(colkit_cli::run(arguments, Io::of_process())))
}

/// Runs a verb, and tells `progress` what it does and how many bytes of how many have been read. Returns whether all is well, and
/// what the verb printed.
#[pyfunction]
#[pyo3(signature = (arguments, progress=None))]
pub fn call(py: Python<'_>, arguments: Vec<OsString>, progress: Option<Py<PyAny>>) -> PyResult<(bool, String)> {
    type Heard = Arc<Mutex<Option<(&'static str, u64, u64)>>>;
    let heard = Heard::default();
    let told = progress.is_some().then(|| heard.clone());
    let work = move |stop: &Stop| -> Result<(bool, String), Failure> {
        let out = Captured::default();
        let mut io = quiet(&out, stop);
        if let Some(told) = told {
            io.listener = Some(Arc::new(move |doing, done, total| *lock(&told) = Some((doing, done, total))));
        }
        let well = colkit_cli::embed::run(&arguments, &mut io)?;
        Ok((well, out.text()))
    };
    let mut tell = |py: Python<'_>| {
        let news = lock(&heard).take();
        match (&progress, news) {
            (Some(progress), Some(news)) => progress.call1(py, news).map(drop),
            _ => Ok(()),
        }
    };
    let done = work::watched(py, Stop::new(), work, &mut tell)?;
    tell(py)?;
    Ok(done)
}

/// The long names of a verb's options.
#[pyfunction]
pub fn options(verb: &str) -> Vec<String> {
    colkit_cli::embed::options(verb)
}

/// The number of an exit code, which the standard library keeps to itself.
fn code(code: ExitCode) -> u8 {
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}

/// Streams of which only the results are kept.
pub fn quiet(out: &Captured, stop: &Stop) -> Io {
    let stderr = Stream::new(Box::new(std::io::sink()));
    let mut io = Io::new(Box::new(std::io::empty()), Stream::new(Box::new(out.clone())).raw(), stderr);
    io.stop = stop.clone();
    io
}

/// Output kept in memory.
#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    /// What was written so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.0)).into_owned()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
