//! Text on its way to a sink.

use colkit_core::{Result, Sink};

/// What is collected before it goes to the sink.
const BUFFER_BYTES: usize = 64 << 10;

pub(crate) struct TextOutput {
    /// What was not handed over yet.
    pub text: Vec<u8>,
    sink: Box<dyn Sink>,
    bytes: u64,
}

impl TextOutput {
    pub fn new(sink: Box<dyn Sink>) -> Self {
        TextOutput { text: Vec::with_capacity(BUFFER_BYTES * 2), sink, bytes: 0 }
    }

    /// Hands over what was collected, if that is much.
    pub fn flush_if_full(&mut self) -> Result<()> {
        if self.text.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Hands over what was collected.
    pub fn flush(&mut self) -> Result<()> {
        self.sink.write(&self.text)?;
        self.bytes += self.text.len() as u64;
        self.text.clear();
        Ok(())
    }

    /// Makes what was written visible; how many bytes.
    pub fn commit(mut self) -> Result<u64> {
        self.flush()?;
        self.sink.commit()?;
        Ok(self.bytes)
    }
}
