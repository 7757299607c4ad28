//! Opening a stream: walking from message to message, over the bodies.
//!
//! A stream ends with a message of length 0, or where the file ends after a whole message.

use super::index::Index;
use super::message::{self, Content};
use super::table::IpcTable;
use colkit_core::coroutine::{Io, coroutine};
use colkit_core::{Boxed, ByteRange, Error, Limits, ReadOptions, Region, RegionKind, Result, Table};
use std::sync::Arc;

/// Opens a stream of `size` bytes.
pub(super) fn open(size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
    let limits = options.limits.clone();
    coroutine(move |io| async move {
        let mut walk = StreamWalk { size, limits, at: 0, index: None, metadata: 0 };
        let mut number = 0;
        while walk.message(&io, number).await.map_err(|e| e.at(walk.at).part(format!("message {number}")))? {
            number += 1;
        }
        let index = walk.index.ok_or_else(|| Error::corrupt("truncated", "the stream ends before its schema"));
        let table: Arc<dyn Table> = Arc::new(IpcTable::new(index.map_err(|e| e.at(walk.at))?));
        Ok(table)
    })
}

struct StreamWalk {
    size: u64,
    limits: Limits,
    /// Where the next message starts.
    at: u64,
    index: Option<Index>,
    /// Bytes of metadata read so far.
    metadata: u64,
}

impl StreamWalk {
    /// Takes in the next message. `false` at the end of the stream.
    async fn message(&mut self, io: &Io, number: usize) -> Result<bool> {
        let left = self.size.saturating_sub(self.at);
        if left == 0 {
            return Ok(false);
        }
        if left < 4 {
            return Err(Error::corrupt("truncated", "the stream ends inside a message"));
        }
        let start = ByteRange::between(self.at, self.at + left.min(8));
        let Some((prefix, length)) = message::prefix(&io.read_one(start).await?, self.at)? else {
            self.region(start, "end of the stream".into());
            return Ok(false);
        };
        let range = ByteRange::at(self.at, prefix + length)?;
        if range.end() > self.size {
            let message = format!("{length} bytes of metadata, but the stream ends before");
            return Err(Error::corrupt("truncated", message));
        }
        self.metadata = self.metadata.saturating_add(range.len());
        Limits::check_memory("the metadata of all messages", self.metadata, self.limits.memory / 4)?;
        let bytes = io.read_one(range).await?;
        let metadata = bytes.get(usize::try_from(prefix).unwrap_or(usize::MAX)..).unwrap_or_default();
        let (content, body) = message::read(metadata, range.end(), self.size, &self.limits)
            .map_err(|e| if e.code() == "block_out_of_range" { e.hint("the stream may have been cut") } else { e })?;
        let name = self.add(content)?;
        self.region(range, format!("{name} {number}"));
        self.at = range.end() + body;
        Ok(true)
    }

    /// Adds what a message brings. Returns what to call it.
    fn add(&mut self, content: Content) -> Result<&'static str> {
        match (content, &mut self.index) {
            (Content::Schema(schema, byte_swapped), None) => {
                self.index = Some(Index::new(Arc::new(schema), byte_swapped, self.size, &self.limits)?);
                Ok("schema message")
            }
            (Content::Batch(batch), Some(index)) => index.add_batch(batch).map(|()| "record batch message"),
            (Content::Dictionary { id, delta, values }, Some(index)) => {
                index.add_dictionary(id, delta, values).map(|()| "dictionary message")
            }
            (_, None) => Err(Error::corrupt("bad_message", "expected the schema first")),
            (_, Some(_)) => Err(Error::corrupt("bad_message", "a second schema")),
        }
    }

    fn region(&mut self, range: ByteRange, name: String) {
        if let Some(index) = &mut self.index {
            index.regions.push(Region::new(range, RegionKind::Metadata, name));
        }
    }
}
