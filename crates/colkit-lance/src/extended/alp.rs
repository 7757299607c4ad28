//! Floating-point numbers that are short decimals.
//!
//! The description is one byte: how many bytes a number has, 4 or 8.

use super::alp_encode::{Powers, encode_group, find_powers};
use super::decode::GROUP;
use super::decode::alp::Alp;
use super::{Sample, WRITES, append, bad_description, module, put_plain};
use crate::encoding::{
    Bytes, Chunk, ChunkEncoder, Compression, EmbeddedModule, Encodings, Form, InChunks, Output, PageValues,
    ValueEncoding,
};
use arrow::datatypes::DataType;
use colkit_core::Result;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Numbers as a whole number and a power of ten.
pub(super) struct AlpEncoding;

const NAME: &str = "colkit.Alp";

/// What decoding a value takes beside the bytes that come out, in picoseconds.
const TIME: u64 = 450;
const BYTE_TIME: u64 = 180;

impl ValueEncoding for AlpEncoding {
    fn name(&self) -> &str {
        NAME
    }

    fn parse(&self, message: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        match *message {
            [bytes @ (4 | 8)] => Ok(Arc::new(AlpOf { bytes })),
            _ => Err(bad_description(NAME, &message)),
        }
    }

    fn module(&self) -> Option<EmbeddedModule> {
        module(include_bytes!("modules/alp.wasm"), include_str!("modules/alp.sha256"))
    }

    fn encoder<'a>(&self, values: PageValues<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        let bytes = match (values.data_type, values.width) {
            (DataType::Float32, 4) if WRITES => 4,
            (DataType::Float64, 8) if WRITES => 8,
            _ => return Ok(None),
        };
        let powers = find_powers(values.bytes, bytes);
        if powers.is_empty() {
            return Ok(None);
        }
        let sample = Sample::of(&values, |range| encoded(&values, bytes, &powers, range));
        let worth = sample.bytes(GROUP) < GROUP * values.width;
        Ok(worth.then(|| Box::new(AlpEncoder { values, bytes, powers, sample }) as Box<dyn ChunkEncoder + 'a>))
    }
}

/// Such numbers of so many bytes each.
struct AlpOf {
    bytes: u8,
}

impl fmt::Display for AlpOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "alp({})", u32::from(self.bytes) * 8)
    }
}

impl Compression for AlpOf {
    fn form(&self) -> Form {
        Form::Fixed { bits: u64::from(self.bytes) * 8 }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for AlpOf {
    fn append(&self, chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        let out = out.fixed(self.bytes.into())?;
        match self.bytes {
            4 => append::<u32, Alp<'_, _>>(&chunk, out, true, put_plain),
            _ => append::<u64, Alp<'_, _>>(&chunk, out, true, put_plain),
        }
    }
}

struct AlpEncoder<'a> {
    values: PageValues<'a>,
    bytes: u8,
    powers: Vec<Powers>,
    sample: Sample,
}

fn encoded(values: &PageValues<'_>, bytes: u8, powers: &[Powers], range: Range<usize>) -> Vec<u8> {
    let mut out = Vec::new();
    for group in values.get(range).chunks(GROUP * values.width) {
        encode_group(group, bytes, powers, &mut out);
    }
    out
}

impl ChunkEncoder for AlpEncoder<'_> {
    fn message(&self) -> Bytes {
        vec![self.bytes].into()
    }

    fn bytes(&self, values: Range<usize>) -> usize {
        self.sample.bytes(values.len())
    }

    fn time(&self, values: usize) -> u64 {
        values as u64 * (TIME + u64::from(self.bytes) * BYTE_TIME)
    }

    fn encode(&self, values: Range<usize>) -> Result<Vec<Vec<u8>>> {
        Ok(vec![encoded(&self.values, self.bytes, &self.powers, values)])
    }
}
