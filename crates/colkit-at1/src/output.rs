//! Where restored bytes go: a buffer that is handed on whenever it is full, so that no codec holds its whole output.

use colkit_core::{Limits, Result};

/// Size at which the buffer is handed on.
const CHUNK: usize = 256 << 10;

/// What stands behind an [`Output`]: takes its bytes and grants it memory.
pub trait Behind {
    /// Takes the next bytes.
    fn hand_on(&mut self, bytes: Vec<u8>) -> Result<()>;

    /// Grants `bytes` of memory in all, or refuses.
    fn hold(&mut self, bytes: u64) -> Result<()>;

    /// How many bytes may be handed on at most.
    fn ceiling(&self) -> u64;
}

/// Collects bytes and hands them on in chunks.
pub struct Output<'a> {
    buffer: Vec<u8>,
    behind: &'a mut dyn Behind,
}

impl<'a> Output<'a> {
    /// Hands chunks on to `behind`.
    pub fn new(behind: &'a mut dyn Behind) -> Self {
        Output { buffer: Vec::new(), behind }
    }

    /// Says how many bytes of unpacked streams the codec is about to hold, all in all. May wait until others have
    /// let go of theirs; an error if it is too much altogether.
    pub fn hold(&mut self, bytes: u64) -> Result<()> {
        self.behind.hold(bytes)
    }

    /// Says how many bytes are about to come at least. An error if so many are not allowed.
    pub fn announce(&self, bytes: u64) -> Result<()> {
        Limits::check("the restored file", bytes, self.behind.ceiling())
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
        self.behind.hand_on(std::mem::replace(&mut self.buffer, room))
    }
}

/// Everything in memory: for small things and tests.
#[derive(Default)]
pub struct InMemory {
    /// What was handed on so far.
    pub bytes: Vec<u8>,
    /// How much memory may be held.
    pub limit: u64,
}

impl Behind for InMemory {
    fn hand_on(&mut self, bytes: Vec<u8>) -> Result<()> {
        Limits::check_memory("restoring in memory", (self.bytes.len() + bytes.len()) as u64, self.limit)?;
        self.bytes.extend(bytes);
        Ok(())
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.limit { Err(crate::backend::too_large(bytes, self.limit)) } else { Ok(()) }
    }

    fn ceiling(&self) -> u64 {
        self.limit
    }
}
