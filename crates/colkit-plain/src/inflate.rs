//! Inflating a block piece by piece, with as little of it in memory as possible.

use crate::header::Column;
use bytes::{Buf, Bytes};
use colkit_core::{ByteRange, Error, Result, Step};
use flate2::{Decompress, FlushDecompress, Status};

/// Compressed bytes fetched at a time.
const FETCH: u64 = 64 << 10;

/// What a stream being inflated costs in memory: window, state and fetched input.
pub(crate) const STREAM_COST: u64 = FETCH + (48 << 10);

/// A cursor over the payload of one block.
pub(crate) struct InflateStream {
    inflate: Decompress,
    block: ByteRange,
    /// File offset of the next byte to fetch.
    next: u64,
    input: Bytes,
    raw: u64,
    given: u64,
    ended: bool,
}

/// The value of a step that is ready; returns from the function to ask for bytes otherwise.
macro_rules! ready {
    ($step:expr) => {
        match $step {
            colkit_core::Step::Ready(value) => value,
            colkit_core::Step::Need(ranges) => return Ok(colkit_core::Step::Need(ranges)),
        }
    };
}
pub(crate) use ready;

impl InflateStream {
    pub fn new(column: &Column) -> Self {
        InflateStream {
            inflate: Decompress::new(true),
            block: column.block,
            next: column.block.start(),
            input: Bytes::new(),
            raw: column.raw,
            given: 0,
            ended: false,
        }
    }

    /// Brings the bytes asked for.
    pub fn feed(&mut self, bytes: Bytes) {
        self.next += bytes.len() as u64;
        self.input = bytes;
    }

    /// Inflates into `out` from `filled` on until it is full. `out` must not be longer than what remains.
    pub fn fill(&mut self, out: &mut [u8], filled: &mut usize) -> Result<Step<()>> {
        while let Some(room) = out.get_mut(*filled..).filter(|room| !room.is_empty()) {
            if self.ended {
                return Err(length_mismatch(self.raw, Some(self.given)));
            }
            ready!(self.input()?);
            let written = self.inflate_some(room)?;
            self.given += written as u64;
            *filled += written;
        }
        Ok(Step::Ready(()))
    }

    /// After the last payload byte: the stream must end here, and the block with it. Inflates on until the stream says
    /// so itself, because only then has its checksum been compared.
    pub fn finish(&mut self) -> Result<Step<()>> {
        while !self.ended {
            ready!(self.input()?);
            if self.inflate_some(&mut [0])? > 0 {
                return Err(length_mismatch(self.raw, None));
            }
        }
        let behind = self.input.len() as u64 + (self.block.end() - self.next);
        if behind > 0 {
            return Err(trailing_data(behind));
        }
        Ok(Step::Ready(()))
    }

    /// Asks for more of the block when all that was fetched is used up.
    fn input(&self) -> Result<Step<()>> {
        if !self.input.is_empty() {
            return Ok(Step::Ready(()));
        }
        if self.next >= self.block.end() {
            return Err(corrupt("it ends inside the stream"));
        }
        Ok(Step::Need(vec![ByteRange::between(self.next, self.block.end().min(self.next + FETCH))]))
    }

    fn inflate_some(&mut self, room: &mut [u8]) -> Result<usize> {
        let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(&self.input, room, FlushDecompress::None);
        let status = status.map_err(|e| corrupt(&format!("{e}")))?;
        let moved = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(usize::MAX);
        let (read, written) = (moved(self.inflate.total_in(), read), moved(self.inflate.total_out(), written));
        self.input.advance(read.min(self.input.len()));
        self.ended = status == Status::StreamEnd;
        if !self.ended && read == 0 && written == 0 && !self.input.is_empty() {
            return Err(corrupt("it cannot be continued"));
        }
        Ok(written)
    }
}

/// Says what is wrong with a block that could not be inflated whole, by inflating it step by step.
pub(crate) fn why_refused(column: &Column, block: &[u8]) -> Error {
    let mut inflate = InflateStream::new(column);
    inflate.feed(Bytes::copy_from_slice(block));
    let mut run = || -> Result<()> {
        let mut scratch = [0; 16 << 10];
        let mut left = column.raw;
        while left > 0 {
            let piece = scratch.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let mut filled = 0;
            let room = scratch.get_mut(..piece).unwrap_or_default();
            // The whole block was fed, so nothing can be asked for.
            let _ = inflate.fill(room, &mut filled)?;
            left -= piece as u64;
        }
        inflate.finish().map(|_| ())
    };
    run().err().unwrap_or_else(|| corrupt("it was refused"))
}

fn corrupt(why: &str) -> Error {
    Error::corrupt("corrupt_block", format!("expected one whole zlib stream: {why}"))
}

fn length_mismatch(raw: u64, found: Option<u64>) -> Error {
    let found = found.map_or("more".to_string(), |n| n.to_string());
    Error::corrupt("length_mismatch", format!("expected to inflate to {raw} bytes, found {found}"))
}

fn trailing_data(bytes: u64) -> Error {
    Error::corrupt(
        "block_trailing_data",
        format!("expected the block to end with its zlib stream, found {bytes} more bytes"),
    )
}
