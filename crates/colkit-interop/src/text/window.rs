//! The part of the file that opening has in hand: from the first byte not used yet to the last one fetched.
//!
//! Every byte is asked for once. A record longer than a chunk makes the window grow, each time by as much as is there
//! already, so that starting over on it costs no more than twice its length.

use super::excerpt::{Excerpt, lines};
use colkit_core::coroutine::Io;
use colkit_core::{ByteRange, Error, Result, Setting};

/// The window grows by no more than this at a time, which keeps positions in it within 31 bits.
const GROWTH: u64 = 256 << 20;

pub(super) struct Window {
    bytes: Vec<u8>,
    /// Bytes used already; dropped when more arrive.
    used: usize,
    /// How far the bytes are known to be UTF-8.
    valid: usize,
    /// The file's offset and line of `bytes`' first byte that is not used.
    offset: u64,
    line: u64,
    size: u64,
    chunk: u64,
}

impl Window {
    pub fn new(size: u64, chunk: u64) -> Self {
        let chunk = chunk.clamp(1, GROWTH);
        Window { bytes: Vec::new(), used: 0, valid: 0, offset: 0, line: 1, size, chunk }
    }

    /// Fetches the bytes that follow.
    pub async fn grow(&mut self, io: &Io) -> Result<()> {
        let more = self.chunk.max(self.rest().len() as u64).min(GROWTH);
        let end = self.end();
        let more = io.read_one(ByteRange::between(end, end.saturating_add(more).min(self.size))).await?;
        self.bytes.drain(..self.used);
        self.valid = self.valid.saturating_sub(self.used);
        self.used = 0;
        self.bytes.extend_from_slice(&more);
        self.check_encoding()
    }

    fn check_encoding(&mut self) -> Result<()> {
        let unchecked = self.bytes.get(self.valid..).unwrap_or_default();
        let Err(error) = std::str::from_utf8(unchecked) else {
            self.valid = self.bytes.len();
            return Ok(());
        };
        self.valid += error.valid_up_to();
        if error.error_len().is_none() && !self.at_end() {
            return Ok(());
        }
        let utf16 = self.offset == 0 && (self.bytes.starts_with(b"\xFF\xFE") || self.bytes.starts_with(b"\xFE\xFF"));
        let found = self.bytes.get(self.valid).copied().unwrap_or_default();
        let (message, hint) = if utf16 {
            ("the file is UTF-16".to_string(), Setting::Encoding.does("utf-16 reads it"))
        } else {
            let hint = Setting::Encoding.does("names the encoding, perhaps windows-1252");
            (format!("byte {found:#04x} is not UTF-8 here"), hint)
        };
        let line = self.excerpt().line_of(self.valid);
        Err(Error::corrupt("bad_utf8", message)
            .at(self.offset + self.valid as u64)
            .part(format!("line {line}"))
            .hint(hint))
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.used..).unwrap_or_default()
    }

    /// The bytes not used yet, and where they lie.
    pub fn excerpt(&self) -> Excerpt<'_> {
        Excerpt { bytes: self.rest(), offset: self.offset, line: self.line }
    }

    /// Whether the rest reaches to the end of the file.
    pub fn at_end(&self) -> bool {
        self.end() >= self.size
    }

    fn end(&self) -> u64 {
        self.offset + self.rest().len() as u64
    }

    /// The first `count` bytes of the rest are done with.
    pub fn advance(&mut self, count: usize) {
        let count = count.min(self.rest().len());
        self.line += lines(self.rest().get(..count).unwrap_or_default());
        self.used += count;
        self.offset += count as u64;
    }
}
