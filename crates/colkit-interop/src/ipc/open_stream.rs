//! Opening a stream: walking from message to message, over the bodies.
//!
//! A stream ends with a message of length 0, or where the file ends after a whole message.

use super::index::Index;
use super::message::{self, Content};
use super::table::IpcTable;
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Limits, Machine, ReadOptions, Region, RegionKind, Result, Step, Table};
use std::sync::Arc;

pub(super) struct Open {
    size: u64,
    limits: Limits,
    /// Where the next message starts.
    at: u64,
    state: State,
    index: Option<Index>,
    /// Metadata read so far.
    metadata: u64,
    number: usize,
}

#[derive(Clone, Copy)]
enum State {
    Between,
    Prefix,
    /// The metadata, with its prefix.
    Metadata(ByteRange, u64),
}

impl Open {
    pub fn new(size: u64, options: &ReadOptions) -> Self {
        let limits = options.limits.clone();
        Open { size, limits, at: 0, state: State::Between, index: None, metadata: 0, number: 0 }
    }

    fn located(&self, error: Error) -> Error {
        error.at(self.at).part(format!("message {}", self.number))
    }

    fn finish(&mut self) -> Result<Step<Arc<dyn Table>>> {
        match self.index.take() {
            Some(index) => Ok(Step::Ready(Arc::new(IpcTable::new(index)))),
            None => Err(Error::corrupt("truncated", "the stream ends before its schema").at(self.at)),
        }
    }

    fn region(&mut self, range: ByteRange, name: String) {
        if let Some(index) = &mut self.index {
            index.regions.push(Region::new(range, RegionKind::Metadata, name));
        }
    }

    /// Takes in the metadata of the message at `self.at`.
    fn message(&mut self, range: ByteRange, prefix: u64, bytes: &[u8]) -> Result<()> {
        let metadata = bytes.get(usize::try_from(prefix).unwrap_or(usize::MAX)..).unwrap_or_default();
        let (content, body) = message::read(metadata, range.end(), self.size, &self.limits)
            .map_err(|e| if e.code() == "block_out_of_range" { e.hint("the stream may have been cut") } else { e })
            .map_err(|e| self.located(e))?;
        let name = match (content, &mut self.index) {
            (Content::Schema(schema, turned), None) => {
                self.index = Some(Index::new(Arc::new(schema), turned, self.size, &self.limits)?);
                "schema message"
            }
            (Content::Batch(batch), Some(index)) => {
                index.add_batch(batch).map_err(|e| e.at(self.at).part(format!("message {}", self.number)))?;
                "record batch message"
            }
            (Content::Dictionary { id, delta, values }, Some(index)) => {
                let added = index.add_dictionary(id, delta, values);
                added.map_err(|e| e.at(self.at).part(format!("message {}", self.number)))?;
                "dictionary message"
            }
            (_, None) => return Err(self.located(Error::corrupt("bad_message", "expected the schema first"))),
            (_, Some(_)) => return Err(self.located(Error::corrupt("bad_message", "a second schema"))),
        };
        self.region(range, format!("{name} {}", self.number));
        self.at = range.end() + body;
        self.number += 1;
        Ok(())
    }
}

impl Machine for Open {
    type Output = Arc<dyn Table>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let first = got.into_iter().next().unwrap_or_default();
        loop {
            match std::mem::replace(&mut self.state, State::Between) {
                State::Between => {
                    let left = self.size.saturating_sub(self.at);
                    if left == 0 {
                        return self.finish();
                    }
                    if left < 4 {
                        return Err(self.located(Error::corrupt("truncated", "the stream ends inside a message")));
                    }
                    self.state = State::Prefix;
                    return Ok(Step::Need(vec![ByteRange::between(self.at, self.at + left.min(8))]));
                }
                State::Prefix => {
                    let Some((prefix, length)) = message::prefix(&first, self.at).map_err(|e| self.located(e))? else {
                        let end = self.at + first.len() as u64;
                        self.region(ByteRange::between(self.at, end), "end of the stream".into());
                        return self.finish();
                    };
                    let range = ByteRange::at(self.at, prefix + length)?;
                    if range.end() > self.size {
                        let message = format!("{length} bytes of metadata, but the stream ends before");
                        return Err(self.located(Error::corrupt("truncated", message)));
                    }
                    self.metadata = self.metadata.saturating_add(range.len());
                    Limits::check_memory("the metadata of all messages", self.metadata, self.limits.memory / 4)?;
                    self.state = State::Metadata(range, prefix);
                    return Ok(Step::Need(vec![range]));
                }
                State::Metadata(range, prefix) => self.message(range, prefix, &first)?,
            }
        }
    }
}
