//! Whole numbers, dates, times and decimals near each other: what they differ by, packed.
//!
//! The description has two bytes: how many bytes a value has, and how many bytes it is stored with. These are the same, 1, 2, 4
//! or 8, or they are 16 and 8: then values are what is stored, with its sign.

use super::decode::GROUP;
use super::decode::frame::Frame;
use super::frame_encode::{encode_group, numbers};
use super::{Sample, WRITES, append, bad_description, module, put_plain};
use crate::encoding::{
    Bytes, Chunk, ChunkEncoder, Compression, EmbeddedModule, Encodings, Form, InChunks, Output, PageValues,
    ValueEncoding,
};
use arrow::datatypes::DataType;
use colkit_core::Result;
use colkit_core::pool::Pooled;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Numbers near a reference, or whose differences are.
pub(super) struct FrameEncoding;

const NAME: &str = "colkit.Frame";

/// What decoding a value takes beside the bytes that come out, in picoseconds.
const TIME: u64 = 350;
const BYTE_TIME: u64 = 180;

impl ValueEncoding for FrameEncoding {
    fn name(&self) -> &str {
        NAME
    }

    fn parse(&self, message: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        match *message {
            [bytes @ (1 | 2 | 4 | 8 | 16), stored] if stored == bytes.min(8) => Ok(Arc::new(FrameOf { bytes })),
            _ => Err(bad_description(NAME, &message)),
        }
    }

    fn module(&self) -> Option<EmbeddedModule> {
        module(include_bytes!("modules/frame.wasm"), include_str!("modules/frame.sha256"))
    }

    fn encoder<'a>(&self, values: PageValues<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        use DataType::*;
        if !WRITES {
            return Ok(None);
        }
        let signed = match values.data_type {
            UInt8 | UInt16 | UInt32 | UInt64 => false,
            Int8 | Int16 | Int32 | Int64 | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(_, _) | Duration(_) => {
                true
            }
            Decimal32(_, _) | Decimal64(_, _) | Decimal128(_, _) => true,
            _ => return Ok(None),
        };
        let Some(bytes) = u8::try_from(values.width).ok().filter(|bytes| match bytes {
            1 | 2 | 4 | 8 => true,
            16 => fits_in_64_bits(values.bytes),
            _ => false,
        }) else {
            return Ok(None);
        };
        let group = |range| encoded(&values, bytes, signed, range);
        let sample = Sample::of(&values, group);
        let worth = sample.bytes(GROUP) < GROUP * values.width;
        Ok(worth.then(|| Box::new(FrameEncoder { values, bytes, signed, sample }) as Box<dyn ChunkEncoder + 'a>))
    }
}

/// Such numbers of so many bytes each.
struct FrameOf {
    bytes: u8,
}

impl fmt::Display for FrameOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame({})", u32::from(self.bytes) * 8)
    }
}

impl Compression for FrameOf {
    fn form(&self) -> Form {
        Form::Fixed { bits: u64::from(self.bytes) * 8 }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for FrameOf {
    fn append(&self, chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        let out = out.fixed(self.bytes.into())?;
        match self.bytes {
            1 => append::<u8, Frame<'_, _>>(&chunk, out, true, put_plain),
            2 => append::<u16, Frame<'_, _>>(&chunk, out, true, put_plain),
            4 => append::<u32, Frame<'_, _>>(&chunk, out, true, put_plain),
            8 => append::<u64, Frame<'_, _>>(&chunk, out, true, put_plain),
            _ => append::<u64, Frame<'_, _>>(&chunk, out, false, put_wide),
        }
    }
}

/// Whether all of these numbers of 16 bytes fit into 8.
pub(super) fn fits_in_64_bits(values: &[u8]) -> bool {
    values.as_chunks().0.iter().all(|value| i64::try_from(i128::from_le_bytes(*value)).is_ok())
}

/// Appends words as numbers of 16 bytes with the same sign.
pub(super) fn put_wide(words: &[u64], out: &mut Pooled) {
    let bytes = words.len() * 16;
    let room = out.room(bytes).get_mut(..bytes).unwrap_or_default();
    for (to, word) in room.as_chunks_mut::<16>().0.iter_mut().zip(words) {
        *to = i128::from(word.cast_signed()).to_le_bytes();
    }
    out.advance(bytes);
}

struct FrameEncoder<'a> {
    values: PageValues<'a>,
    bytes: u8,
    signed: bool,
    sample: Sample,
}

fn encoded(values: &PageValues<'_>, bytes: u8, signed: bool, range: Range<usize>) -> Vec<u8> {
    let mut out = Vec::new();
    for group in numbers(values.get(range), bytes, signed).chunks(GROUP) {
        encode_group(group, usize::from(bytes.min(8)) * 8, &mut out);
    }
    out
}

impl ChunkEncoder for FrameEncoder<'_> {
    fn message(&self) -> Bytes {
        vec![self.bytes, self.bytes.min(8)].into()
    }

    fn bytes(&self, values: Range<usize>) -> usize {
        self.sample.bytes(values.len())
    }

    fn time(&self, values: usize) -> u64 {
        values as u64 * (TIME + u64::from(self.bytes) * BYTE_TIME)
    }

    fn encode(&self, values: Range<usize>) -> Result<Vec<Vec<u8>>> {
        Ok(vec![encoded(&self.values, self.bytes, self.signed, values)])
    }
}
