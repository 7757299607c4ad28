//! Compressions beyond those of Lance, as the writer sees them.

use super::codec::Codec;
use super::values::Fixed;
use crate::encoding::{ChunkEncoder, CompressiveEncoding, PageValues, ValueEncodings};
use arrow::datatypes::DataType;
use colkit_core::Result;
use std::ops::Range;

/// A compression that is known by its name.
pub(super) struct Extended<'a> {
    name: &'a str,
    encoder: Box<dyn ChunkEncoder + 'a>,
}

/// All that apply to these values.
pub(super) fn codecs<'a>(
    encodings: &'a ValueEncodings,
    fixed: &'a Fixed,
    data_type: &'a DataType,
) -> Result<Vec<Box<dyn Codec + 'a>>> {
    let values = PageValues { data_type, width: fixed.width, bytes: &fixed.data };
    let mut codecs: Vec<Box<dyn Codec + 'a>> = Vec::new();
    for (name, encoding) in encodings.extended() {
        if let Some(encoder) = encoding.encoder(values)? {
            codecs.push(Box::new(Extended { name, encoder }));
        }
    }
    Ok(codecs)
}

impl Codec for Extended<'_> {
    fn message(&self) -> CompressiveEncoding {
        CompressiveEncoding::named(self.name, self.encoder.message())
    }

    fn buffers(&self) -> usize {
        self.encoder.buffers()
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        self.encoder.bytes(items.clone())
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        self.encoder.time(items.len())
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        self.encoder.encode(items)
    }
}
