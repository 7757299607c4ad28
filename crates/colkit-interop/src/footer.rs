//! Footers: where a file's last bytes say how long the metadata before them is.
//!
//! ```text
//! head | ... | footer | u32 length of the footer | magic
//! ```

use bytes::Bytes;
use colkit_core::coroutine::Io;
use colkit_core::{ByteRange, Error, Limits, Result};

/// A file of `size` bytes that ends with a footer.
#[derive(Clone, Copy)]
pub(crate) struct FooterLayout {
    pub size: u64,
    /// Bytes at the start of the file that every file has.
    pub head: u64,
    pub magic: &'static [u8],
}

impl FooterLayout {
    /// Where the length of the footer and the magic lie.
    pub fn range(&self) -> ByteRange {
        ByteRange::between(self.size.saturating_sub(4 + self.magic.len() as u64), self.size)
    }

    /// The length of the footer and the magic.
    pub async fn read(&self, io: &Io) -> Result<Bytes> {
        if self.size < self.head + 4 + self.magic.len() as u64 {
            return Err(Error::corrupt("truncated", format!("{} bytes are too few", self.size)).at(0));
        }
        io.read_one(self.range()).await
    }

    /// Where the footer lies.
    pub fn footer(&self, ending: &[u8], limits: &Limits) -> Result<ByteRange> {
        if !ending.ends_with(self.magic) {
            let message = format!("expected \"{}\" at the end", self.magic.escape_ascii());
            return Err(Error::corrupt("bad_magic", message)
                .at(self.size - self.magic.len() as u64)
                .hint("the file may have been cut, or never finished"));
        }
        let end = self.range().start();
        let length = u64::from(ending.first_chunk().map_or(0, |b| u32::from_le_bytes(*b)));
        match end.checked_sub(length) {
            Some(start) if start >= self.head && length > 0 => {
                // Parsed, a footer takes several times its bytes.
                Limits::check_memory("the footer", length.saturating_mul(4), limits.memory)?;
                ByteRange::at(start, length)
            }
            _ => {
                let message = format!("a footer of {length} bytes in a file of {}", self.size);
                Err(Error::corrupt("block_out_of_range", message).at(end))
            }
        }
    }
}
