//! Stopping work that nobody waits for any more.

use crate::{ByteRange, Error, Result, Sink, Source};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells work to stop. Whoever works looks at it now and then; what reads a [`source`](Stop::source) or writes a
/// [`sink`](Stop::sink) of it stops there, with the error `interrupted`. Clones are told together.
///
/// ```
/// use colkit_core::{ByteRange, Source, Stop};
/// use std::sync::Arc;
/// let stop = Stop::new();
/// let bytes = stop.source(Arc::new(bytes::Bytes::from_static(b"abc")));
/// assert_eq!(bytes.read(ByteRange::between(0, 3))?, "abc");
/// stop.now();
/// assert_eq!(bytes.read(ByteRange::between(0, 3)).unwrap_err().code(), "interrupted");
/// # Ok::<(), colkit_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// One that has not been told.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells all work to stop.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// An error once it is time to stop.
    pub fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::io("interrupted", "the work was stopped")),
            false => Ok(()),
        }
    }

    /// The same bytes, until it is time to stop.
    pub fn source(&self, inner: Arc<dyn Source>) -> Arc<dyn Source> {
        Arc::new(Stopped { inner, stop: self.clone() })
    }

    /// The same output, until it is time to stop: then it is never complete.
    pub fn sink(&self, inner: Box<dyn Sink>) -> Box<dyn Sink> {
        Box::new(Stopped { inner, stop: self.clone() })
    }
}

struct Stopped<T> {
    inner: T,
    stop: Stop,
}

impl Source for Stopped<Arc<dyn Source>> {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        self.stop.check()?;
        self.inner.read(range)
    }

    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        self.stop.check()?;
        self.inner.read_each(requests)
    }

    fn gap(&self) -> u64 {
        self.inner.gap()
    }

    fn for_ranges(&self, wanted: &[ByteRange]) -> Option<Arc<dyn Source>> {
        Some(self.stop.source(self.inner.for_ranges(wanted)?))
    }

    fn read_many(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        self.stop.check()?;
        self.inner.read_many(ranges)
    }
}

impl Sink for Stopped<Box<dyn Sink>> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stop.check()?;
        self.inner.write(bytes)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.stop.check()?;
        self.inner.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySink;

    #[test]
    fn output_that_was_stopped_is_never_complete() {
        let (memory, stop) = (MemorySink::new(), Stop::new());
        let mut sink = stop.sink(Box::new(memory.clone()));
        sink.write(b"abc").unwrap();
        stop.now();
        assert_eq!(sink.write(b"def").unwrap_err().code(), "interrupted");
        assert_eq!(sink.commit().unwrap_err().code(), "interrupted");
        assert_eq!(memory.bytes(), None);
    }
}
