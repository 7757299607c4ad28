//! Where restored bytes go: a buffer that is handed on whenever it is full, so that no codec holds its whole output.

use colkit_core::drive::ordered::Receiver;
use colkit_core::{Limits, Result};

/// Size at which the buffer is handed on.
const CHUNK: usize = 256 << 10;

/// Collects bytes and hands them on in chunks.
pub struct Output<'a> {
    buffer: Vec<u8>,
    receiver: &'a mut dyn Receiver,
    /// Bytes that may be written.
    most: u64,
    /// Bytes of memory that the input takes, which is there as long as anything is printed from it.
    input: u64,
}

impl<'a> Output<'a> {
    /// Hands chunks on to `receiver`, which takes `most` bytes.
    pub fn new(receiver: &'a mut dyn Receiver, most: u64) -> Self {
        Output { buffer: Vec::new(), receiver, most, input: 0 }
    }

    /// Says how many bytes of memory the input takes: the packed bytes and the streams that are printed from.
    pub fn hold_input(&mut self, bytes: u64) -> Result<()> {
        self.input = bytes;
        self.hold(0)
    }

    /// Says how many bytes the codec is about to hold besides its input, all in all. May wait until others have let go of
    /// theirs; an error if it is too much altogether.
    pub fn hold(&mut self, bytes: u64) -> Result<()> {
        self.receiver.hold(self.input.saturating_add(bytes))
    }

    /// Says how many bytes are about to come at least. An error if so many are not allowed.
    pub fn announce(&self, bytes: u64) -> Result<()> {
        Limits::check("the restored file", bytes, self.most)
    }

    /// Appends bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > CHUNK {
            return bytes.chunks(CHUNK).try_for_each(|piece| self.put(piece));
        }
        self.with(|buffer| buffer.extend_from_slice(bytes))
    }

    /// Appends a line end, unless this is the first line: lines are joined, not ended.
    #[inline]
    pub fn line_end(&mut self, first: &mut bool) -> Result<()> {
        if std::mem::replace(first, false) { Ok(()) } else { self.put(b"\n") }
    }

    /// Lets `write` append a little to the buffer directly.
    #[inline]
    pub fn with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        write(&mut self.buffer);
        if self.buffer.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// Hands on what is there.
    pub fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let room = Vec::with_capacity(CHUNK + CHUNK / 16);
        self.receiver.write(std::mem::replace(&mut self.buffer, room))
    }
}

/// Everything in memory: for small things and tests.
#[derive(Default)]
pub struct InMemory {
    /// What was written so far.
    pub bytes: Vec<u8>,
    /// How much memory may be held.
    pub limit: u64,
}

impl Receiver for InMemory {
    fn write(&mut self, bytes: Vec<u8>) -> Result<()> {
        Limits::check_memory("restoring in memory", (self.bytes.len() + bytes.len()) as u64, self.limit)?;
        self.bytes.extend(bytes);
        Ok(())
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        Limits::check_memory("unpacking", bytes, self.limit)
    }
}
