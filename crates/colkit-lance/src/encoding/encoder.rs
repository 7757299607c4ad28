//! What it takes to write a compression: values of a page in, the value buffers of chunks out.

use crate::write::Variable;
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::Result;
use std::ops::Range;

/// The values of a page that all have as many bytes. What lies under a null is the value before it: it may become anything.
#[derive(Clone, Copy, Debug)]
pub struct PageValues<'a> {
    /// What they are. Indices into a dictionary are unsigned numbers.
    pub data_type: &'a DataType,
    /// Bytes of each.
    pub width: usize,
    /// All of them, little-endian, one after another.
    pub bytes: &'a [u8],
}

impl<'a> PageValues<'a> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.bytes.len().checked_div(self.width).unwrap_or(0)
    }

    /// The bytes of these values.
    pub fn get(&self, values: Range<usize>) -> &'a [u8] {
        let bytes = values.start.saturating_mul(self.width)..values.end.saturating_mul(self.width);
        self.bytes.get(bytes).unwrap_or_default()
    }
}

/// The values of a page that are texts or bytes of any length. Nulls are empty.
#[derive(Clone, Copy)]
pub struct PageTexts<'a> {
    /// What they are.
    pub data_type: &'a DataType,
    pub(crate) texts: &'a Variable,
}

impl<'a> PageTexts<'a> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.texts.len()
    }

    /// The bytes of these values, one after another.
    pub fn get(&self, values: Range<usize>) -> &'a [u8] {
        self.texts.bytes(values)
    }

    /// Where each of these values ends in [`PageTexts::get`]; 0 comes first.
    pub fn ends(&self, values: Range<usize>) -> impl Iterator<Item = usize> + 'a {
        self.texts.ends(values)
    }
}

/// A compression that is ready for the values of one page.
///
/// The writer asks every one that applies for its size on a few chunks, and how long it takes to decode them; what costs least
/// is used.
pub trait ChunkEncoder {
    /// The message that describes it: what [`ValueEncoding::parse`](super::ValueEncoding::parse) is given.
    fn message(&self) -> Bytes;

    /// Value buffers of a chunk.
    fn buffers(&self) -> usize {
        1
    }

    /// Bytes that these values take about, without encoding them.
    fn bytes(&self, values: Range<usize>) -> usize;

    /// Picoseconds that decoding so many values takes, on one core.
    fn time(&self, values: usize) -> u64;

    /// Whether the first of the value buffers is worth to be compressed as a whole by LZ4 or zstd.
    fn compressible(&self) -> bool {
        false
    }

    /// The value buffers of a chunk with these values.
    fn encode(&self, values: Range<usize>) -> Result<Vec<Vec<u8>>>;
}
