//! Values as they lie in memory.

use super::{BuiltIn, plain_buffer, wrong_count};
use crate::bytes_at::{cut, slice_at};
use crate::codec::bitpack::words;
use crate::encoding::{AsBlock, Chunk, Compression, CompressiveEncoding, Form, InChunks, Output, PerValue, mismatch};
use crate::packed::plain_array;
use crate::v21::messages::BufferCompression;
use crate::values::{Values, bits_of, byte_width, fixed_width, wrong_type};
use arrow::array::{ArrayRef, BooleanBufferBuilder};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};
use prost::Message;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 1,
    name: "lance.encodings21.Flat",
    parse: |message, _| {
        let flat: FlatMessage = ENCODING.message(message)?;
        plain_buffer(flat.data)?;
        if flat.bits_per_value != 1 {
            byte_width(flat.bits_per_value)?;
        }
        Ok(Arc::new(Flat { bits: flat.bits_per_value }))
    },
};

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct FlatMessage {
    #[prost(uint64, tag = "1")]
    pub bits_per_value: u64,
    #[prost(message, optional, tag = "2")]
    pub data: Option<BufferCompression>,
}

/// What describes values of so many bits.
pub(crate) fn describe(bits: u64) -> CompressiveEncoding {
    ENCODING.describe(&FlatMessage { bits_per_value: bits, data: None })
}

/// Values as they lie in memory.
pub(crate) struct Flat {
    pub bits: u64,
}

impl fmt::Display for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flat({})", self.bits)
    }
}

impl Compression for Flat {
    fn form(&self) -> Form {
        Form::Fixed { bits: self.bits }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }

    fn as_block(&self) -> Option<&dyn AsBlock> {
        (self.bits != 1).then_some(self)
    }

    fn per_value(&self) -> Option<&dyn PerValue> {
        Some(self)
    }
}

impl InChunks for Flat {
    fn append(&self, chunk: Chunk<'_>, out: Output<'_>) -> Result<()> {
        match out.0 {
            Values::Bits(out) => append_bits(chunk.buffer(0)?, chunk.wanted, out),
            Values::Fixed { data, .. } => append_plain(chunk.buffer(0)?, byte_width(self.bits)?, chunk.wanted, data),
            _ => Err(mismatch()),
        }
    }
}

impl AsBlock for Flat {
    fn append(&self, bytes: &[u8], count: usize, _: &Limits, mut out: Output<'_>) -> Result<()> {
        let width = byte_width(self.bits)?;
        out.fixed(width)?.extend_from_slice(slice_at(bytes, 0, width.saturating_mul(count))?);
        Ok(())
    }

    fn array(&self, bytes: &Bytes, count: usize, data_type: &DataType, _: &Limits) -> Result<ArrayRef> {
        let width = byte_width(self.bits)?;
        if fixed_width(data_type) != Some(width) {
            return Err(wrong_type(&format!("values of {width} bytes"), data_type));
        }
        plain_array(cut(bytes, 0, width.saturating_mul(count))?.into(), data_type, count)
    }

    fn levels(&self, bytes: &[u8], count: usize, _: &Limits, out: &mut Vec<u16>) -> Result<()> {
        if self.bits != 16 {
            return Err(Error::unsupported("unknown_encoding", format!("levels of {self}")));
        }
        let raw = bytes.get(..count.saturating_mul(2)).ok_or_else(|| wrong_count(count, bytes.len() / 2))?;
        out.extend_from_slice(&words::<u16>(raw));
        Ok(())
    }
}

impl PerValue for Flat {
    fn append(&self, value: &[u8], _: &Limits, mut out: Output<'_>) -> Result<()> {
        let width = byte_width(self.bits)?;
        out.fixed(width)?.extend_from_slice(slice_at(value, 0, width)?);
        Ok(())
    }

    fn fixed(
        &self,
        data: Buffer,
        width: usize,
        data_type: &DataType,
        nulls: Option<NullBuffer>,
        _: &Limits,
    ) -> Result<ArrayRef> {
        let count = data.len() / width.max(1);
        // Booleans are widened to bytes, since a value must be whole bytes.
        if self.bits == 8 && data_type == &DataType::Boolean && width == 1 {
            let mut bits = BooleanBufferBuilder::new(count);
            data.iter().for_each(|byte| bits.append(*byte != 0));
            return Values::Bits(bits).array(data_type, nulls);
        }
        if byte_width(self.bits)? != width {
            return Err(Error::unsupported("unknown_encoding", format!("{self} in values of {width} bytes")));
        }
        Values::Shared { width, data, count }.array(data_type, nulls)
    }

    fn variable(&self, _: &[&[u8]], _: &DataType, _: Option<NullBuffer>, _: &Limits) -> Result<ArrayRef> {
        Err(Error::unsupported("unknown_encoding", format!("{self} in a full-zip page of any width")))
    }
}

/// Appends bits.
pub(super) fn append_bits(bytes: &[u8], wanted: &[Range<usize>], out: &mut BooleanBufferBuilder) -> Result<()> {
    for range in wanted {
        // Only the bytes that are needed are copied.
        let (first, last) = (range.start / 8, range.end.div_ceil(8));
        let part = slice_at(bytes, first, last.saturating_sub(first))?;
        out.append_buffer(&bits_of(part, range.start % 8, range.len())?);
    }
    Ok(())
}

/// Appends values of so many bytes each.
pub(super) fn append_plain(bytes: &[u8], width: usize, wanted: &[Range<usize>], out: &mut Pooled) -> Result<()> {
    for range in wanted {
        let at = range.start.saturating_mul(width);
        out.extend_from_slice(slice_at(bytes, at, range.len().saturating_mul(width))?);
    }
    Ok(())
}
