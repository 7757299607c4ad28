//! Opening: the one pass that finds out what a file is.
//!
//! ```text
//! [BOM] [header] record*  ->  what the surveyor finds out, row count, and a checkpoint (offset, row, line)
//!                             at the first record after every few MiB
//! ```
//!
//! Every record is looked at. Memory holds a chunk, or the longest record if that is longer, and the checkpoints.

use super::excerpt::Excerpt;
use super::index::{Checkpoint, TextIndex};
use super::window::Window;
use super::{BYTE_ORDER_MARK, Pieces};
use colkit_core::coroutine::Io;
use colkit_core::{Error, Limits, Result};

/// Finds out what the records of a file are like.
pub(crate) trait Surveyor: Send {
    /// Looks at whole records from the start of `text` on, and stops before one that starts after `most` bytes. At the
    /// end of the file the last record may lack its line end. Returns how many bytes and how many rows those were.
    fn survey(&mut self, text: Excerpt<'_>, most: usize, at_end: bool) -> Result<(usize, u64)>;
}

/// The pass over a file.
pub(crate) struct Pass {
    io: Io,
    window: Window,
    index: TextIndex,
    /// Bytes between checkpoints, at least.
    checkpoint: u64,
}

impl Pass {
    /// Starts after the byte order mark, if there is one.
    pub async fn start(io: Io, size: u64, pieces: Pieces, limits: &Limits) -> Result<Self> {
        let mut window = Window::new(size, pieces.chunk.min(limits.memory / 8));
        while window.excerpt().bytes.len() < BYTE_ORDER_MARK.len() && !window.at_end() {
            window.grow(&io).await?;
        }
        let mark = if window.excerpt().bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        window.advance(mark);
        let index = TextIndex { size, mark: mark as u64, rows: 0, checkpoints: Vec::new() };
        let checkpoint = pieces.checkpoint.min(limits.memory / 64).max(1);
        Ok(Pass { io, window, index, checkpoint })
    }

    /// What `parse` makes of the text here, and how many bytes of it are done with. `parse` is called with more and more
    /// text until that is enough; the flag says that there is no more.
    pub async fn header<T>(
        &mut self,
        mut parse: impl FnMut(Excerpt<'_>, bool) -> Result<Option<(T, usize)>>,
    ) -> Result<T> {
        loop {
            let at_end = self.window.at_end();
            match parse(self.window.excerpt(), at_end)? {
                Some((header, length)) => {
                    self.window.advance(length);
                    return Ok(header);
                }
                None if at_end => return Err(Error::corrupt("truncated", "the file ends inside its header")),
                None => self.window.grow(&self.io).await?,
            }
        }
    }

    /// Goes over all records.
    pub async fn records(mut self, surveyor: &mut impl Surveyor) -> Result<TextIndex> {
        self.check_point();
        loop {
            while self.survey(surveyor)? {}
            if self.window.at_end() {
                return Ok(self.index);
            }
            self.window.grow(&self.io).await?;
        }
    }

    /// Goes over some of the records at hand. `false` if the next one takes more bytes, or at the end.
    fn survey(&mut self, surveyor: &mut impl Surveyor) -> Result<bool> {
        let last = self.index.checkpoints.last().copied().unwrap_or_default();
        let text = self.window.excerpt();
        // A piece has at least one row: without one no checkpoint is due, however many blank lines there are.
        let passed = if self.index.rows > last.row { text.offset - last.offset } else { 0 };
        let most = usize::try_from(self.checkpoint.saturating_sub(passed).max(1)).unwrap_or(usize::MAX);
        let (length, rows) = surveyor.survey(text, most, self.window.at_end())?;
        self.window.advance(length);
        self.index.rows += rows;
        let here = self.window.excerpt().offset;
        if here - last.offset >= self.checkpoint && self.index.rows > last.row && here < self.index.size {
            self.check_point();
        }
        Ok(length > 0)
    }

    /// Notes where the next record starts.
    fn check_point(&mut self) {
        let here = self.window.excerpt();
        self.index.checkpoints.push(Checkpoint { offset: here.offset, row: self.index.rows, line: here.line });
    }
}
