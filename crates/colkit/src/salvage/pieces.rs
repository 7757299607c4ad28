//! Parts of a file, one after another, as if they were all of it.

use bytes::{Bytes, BytesMut};
use colkit_core::{ByteRange, Error, Result, Source};
use std::sync::Arc;

/// Pieces of a source.
pub(super) struct Pieces {
    source: Arc<dyn Source>,
    /// Ranges of the source, in order, each with where it starts here.
    pieces: Vec<(u64, ByteRange)>,
    size: u64,
    /// What follows them.
    end: Bytes,
    /// Zeros that follow what is there.
    zeros: u64,
}

impl Pieces {
    /// These ranges of a source, and so many zeros.
    pub fn new(source: Arc<dyn Source>, ranges: &[ByteRange], zeros: u64) -> Self {
        let mut size = 0;
        let mut pieces = Vec::new();
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            pieces.push((size, *range));
            size += range.len();
        }
        Pieces { source, pieces, size, end: Bytes::new(), zeros }
    }

    /// The same, with these bytes behind the ranges.
    pub fn with_end(self, end: &'static [u8]) -> Self {
        Pieces { end: Bytes::from_static(end), ..self }
    }
}

impl Source for Pieces {
    fn size(&self) -> u64 {
        self.size.saturating_add(self.end.len() as u64).saturating_add(self.zeros)
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        if range.end() > self.size() {
            return Err(Error::io("short_read", format!("bytes {range} could not be read whole")).at(range.start()));
        }
        let first = self.pieces.partition_point(|(start, _)| *start <= range.start()).saturating_sub(1);
        let mut bytes = BytesMut::with_capacity(range.len_usize()?);
        for (start, piece) in self.pieces.get(first..).unwrap_or_default() {
            let from = range.start().max(*start);
            let to = range.end().min(start + piece.len());
            if from < to {
                let there = piece.start() + (from - start);
                bytes.extend_from_slice(&self.source.read(ByteRange::between(there, there + (to - from)))?);
            }
        }
        // Nothing of it if the range ends before.
        let from = usize::try_from(range.start().saturating_sub(self.size)).unwrap_or(usize::MAX);
        let to = usize::try_from(range.end().saturating_sub(self.size)).unwrap_or(usize::MAX).min(self.end.len());
        bytes.extend_from_slice(self.end.get(from..to).unwrap_or_default());
        bytes.resize(range.len_usize()?, 0);
        Ok(bytes.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_read_like_one_file() {
        let source = Arc::new(Bytes::from_static(b"0123456789"));
        let ranges = [ByteRange::between(1, 3), ByteRange::between(5, 5), ByteRange::between(6, 9)];
        let pieces = Pieces::new(source, &ranges, 2).with_end(b"]}");
        assert_eq!(pieces.size(), 9);
        let expected = b"12678]}\0\0";
        for from in 0..=9 {
            for to in from..=9 {
                let read = pieces.read(ByteRange::between(from as u64, to as u64)).unwrap();
                assert_eq!(read, expected[from..to], "{from}..{to}");
            }
        }
        assert!(pieces.read(ByteRange::between(6, 10)).is_err());
    }
}
