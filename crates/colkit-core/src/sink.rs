//! Where written bytes go. A file appears at its name whole or not at all.

#[cfg(feature = "fs")]
mod file;

#[cfg(feature = "fs")]
pub use file::FileSink;

use crate::Result;
use bytes::Bytes;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Takes bytes in order. Dropping a sink without [`Sink::commit`] leaves nothing behind.
pub trait Sink: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes everything written so far permanent and visible.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Refuse to write.
    #[default]
    Refuse,
    /// Replace it, once the new one is complete.
    Replace,
}

/// A stream such as standard output: what was written cannot be taken back.
pub struct StreamSink<W>(pub W);

impl<W: Write + Send> Sink for StreamSink<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.0.write_all(bytes)?)
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        Ok(self.0.flush()?)
    }
}

/// A sink in memory. The bytes become visible through every clone once committed.
#[derive(Clone, Default)]
pub struct MemorySink {
    unfinished: Vec<u8>,
    committed: Arc<Mutex<Option<Bytes>>>,
}

impl MemorySink {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes, once committed.
    pub fn bytes(&self) -> Option<Bytes> {
        self.committed.lock().ok().and_then(|c| c.clone())
    }
}

impl Sink for MemorySink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.unfinished.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let bytes = std::mem::take(&mut self.unfinished);
        if let Ok(mut committed) = self.committed.lock() {
            *committed = Some(bytes.into());
        }
        Ok(())
    }
}
