//! Work without the interpreter lock that Ctrl-C stops.

use crate::error::Failure;
use colkit::{Error, Stop};
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long Ctrl-C may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long work that was told to stop is waited for: it removes what it has written so far.
const FAREWELL: Duration = Duration::from_millis(700);
/// As much as the main thread has: queries and documents may nest.
const STACK_BYTES: usize = 8 << 20;

/// Does short work on this thread, without the lock.
pub fn briefly<T: Send>(py: Python<'_>, work: impl FnOnce() -> colkit::Result<T> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| Failure::from(error).into())
}

/// Does work of any length on another thread, and looks for signals meanwhile. When one raises an exception, the work is told to
/// stop.
pub fn at_length<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    watched(py, Stop::new(), work, |_| Ok(()))
}

/// The same, with a stop that others know as well; calls `look` a few times a second.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    stop: Stop,
    work: impl FnOnce(&Stop) -> Result<T, Failure> + Send + 'static,
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (sender, mut answer) = channel();
    let theirs = stop.clone();
    let thread = std::thread::Builder::new().name("colkit".into()).stack_size(STACK_BYTES);
    thread.spawn(move || sender.send(work(&theirs)))?;
    loop {
        let waited;
        (answer, waited) = py.detach(move || {
            let waited = answer.recv_timeout(PATIENCE);
            (answer, waited)
        });
        match waited {
            Ok(done) => return Ok(done?),
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::from(Error::panicked("a worker thread")).into()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(exception) = py.check_signals().and_then(|()| look(py)) {
            stop.now();
            py.detach(move || drop(answer.recv_timeout(FAREWELL)));
            return Err(exception);
        }
    }
}
