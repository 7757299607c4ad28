//! A sink for writers that want `std::io::Write`.

use colkit_core::{Result, Sink};
use std::io::{self, Write};

/// Counts what passes to the sink.
pub(crate) struct SinkWriter {
    sink: Box<dyn Sink>,
    bytes: u64,
}

impl SinkWriter {
    pub fn new(sink: Box<dyn Sink>) -> Self {
        SinkWriter { sink, bytes: 0 }
    }

    /// Makes what was written visible; how many bytes.
    pub fn commit(self) -> Result<u64> {
        self.sink.commit()?;
        Ok(self.bytes)
    }
}

impl Write for SinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.write(bytes).map_err(io::Error::other)?;
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
