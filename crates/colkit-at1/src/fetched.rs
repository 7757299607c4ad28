//! Bytes that were asked for, as a source.

use bytes::Bytes;
use colkit_core::{ByteRange, Error, Result, Source};

/// The bytes of some ranges of a file.
#[derive(Default)]
pub struct Fetched {
    /// In the order of the file.
    parts: Vec<(ByteRange, Bytes)>,
}

impl Fetched {
    /// These ranges, with what was got for them.
    pub fn new(asked: Vec<ByteRange>, got: Vec<Bytes>) -> Self {
        let mut parts: Vec<(ByteRange, Bytes)> = asked.into_iter().zip(got).collect();
        parts.sort_by_key(|(range, _)| range.start());
        Fetched { parts }
    }
}

impl Source for Fetched {
    fn size(&self) -> u64 {
        self.parts.iter().map(|(range, _)| range.end()).max().unwrap_or(0)
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let after = self.parts.partition_point(|(part, _)| part.start() <= range.start());
        let before = after.checked_sub(1).and_then(|i| self.parts.get(i));
        let inside = before.filter(|(part, _)| part.contains(range)).and_then(|(part, bytes)| {
            let start = usize::try_from(range.start() - part.start()).ok()?;
            let end = start.checked_add(range.len_usize().ok()?)?;
            (end <= bytes.len()).then(|| bytes.slice(start..end))
        });
        inside.ok_or_else(|| Error::internal(format!("bytes {range} were not fetched")).at(range.start()))
    }
}
