//! Values of any length: offsets of 4 or 8 bytes, then the bytes.
//!
//! | place | bytes |
//! |---|---|
//! | in a chunk | offsets from the start of the buffer, bytes |
//! | as a block | width of the offsets, start of the bytes, offsets from there, bytes |
//! | in a full-zip page | the bytes of each value |

use super::{BuiltIn, flat, flat_bits, plain_buffer};
use crate::bytes_at::{size, slice_at, u32_at, u64_at, uint_at};
use crate::codec::bitpack::words;
use crate::codec::fsst::SymbolTable;
use crate::encoding::{AsBlock, Chunk, Compression, CompressiveEncoding, Form, InChunks, Output, PerValue, mismatch};
use crate::v21::messages::BufferCompression;
use crate::values::{Values, Variable, bad_offsets};
use arrow::array::ArrayRef;
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::{Error, Limits, Result};
use prost::Message;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 2,
    name: "lance.encodings21.Variable",
    parse: |message, encodings| {
        let variable: VariableMessage = ENCODING.message(message)?;
        plain_buffer(variable.values)?;
        match flat_bits(variable.offsets.as_ref(), encodings, "variable offsets")? {
            32 => Ok(Arc::new(AnyLength { offset_width: 4 })),
            64 => Ok(Arc::new(AnyLength { offset_width: 8 })),
            bits => Err(Error::corrupt("bad_bit_width", format!("offsets of {bits} bits"))),
        }
    },
};

#[derive(Clone, PartialEq, Message)]
struct VariableMessage {
    #[prost(message, optional, tag = "1")]
    offsets: Option<CompressiveEncoding>,
    #[prost(message, optional, tag = "2")]
    values: Option<BufferCompression>,
}

/// What describes texts with offsets of 64 bits, or 32.
pub(crate) fn describe(large: bool) -> CompressiveEncoding {
    let offsets = Some(flat::describe(if large { 64 } else { 32 }));
    ENCODING.describe(&VariableMessage { offsets, values: None })
}

/// Values of any length.
pub(super) struct AnyLength {
    pub offset_width: usize,
}

impl fmt::Display for AnyLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "variable({})", self.offset_width * 8)
    }
}

impl Compression for AnyLength {
    fn form(&self) -> Form {
        Form::Variable
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }

    fn as_block(&self) -> Option<&dyn AsBlock> {
        Some(self)
    }

    fn per_value(&self) -> Option<&dyn PerValue> {
        Some(self)
    }
}

impl InChunks for AnyLength {
    fn append(&self, chunk: Chunk<'_>, out: Output<'_>) -> Result<()> {
        let Values::Variable(out) = out.0 else { return Err(mismatch()) };
        append(chunk.buffer(0)?, self.offset_width, chunk.wanted, None, out)
    }
}

/// Appends values of a chunk, by symbols if there is a table of them.
pub(super) fn append(
    bytes: &[u8],
    offset_width: usize,
    wanted: &[Range<usize>],
    symbols: Option<&SymbolTable>,
    out: &mut Variable,
) -> Result<()> {
    for range in wanted {
        let at = range.start.saturating_mul(offset_width);
        let offsets = slice_at(bytes, at, range.len().saturating_add(1).saturating_mul(offset_width))?;
        match offset_width {
            4 => {
                let offsets = words::<u32>(offsets);
                let used = between(bytes, &offsets)?;
                match symbols.filter(|table| !table.is_raw()) {
                    None => out.extend_small(used, &offsets)?,
                    Some(table) => out.extend_decoded(table, used, &offsets)?,
                }
            }
            _ => {
                let offsets = offsets.chunks_exact(8).map(|b| uint_at(b, 0, 8).unwrap_or(u64::MAX));
                append_values(bytes, offsets, symbols, out)?;
            }
        }
    }
    Ok(())
}

/// The bytes from the first offset to the last.
fn between<'a>(bytes: &'a [u8], offsets: &[u32]) -> Result<&'a [u8]> {
    let ends = offsets.first().zip(offsets.last());
    let (first, last) = ends.ok_or_else(bad_offsets)?;
    bytes.get(size((*first).into())?..size((*last).into())?).ok_or_else(bad_offsets)
}

fn append_values(
    bytes: &[u8],
    mut offsets: impl DoubleEndedIterator<Item = u64> + Clone,
    symbols: Option<&SymbolTable>,
    out: &mut Variable,
) -> Result<()> {
    let first = offsets.next().ok_or_else(bad_offsets)?;
    let last = offsets.clone().next_back().unwrap_or(first);
    let used = bytes.get(size(first)?..size(last)?).ok_or_else(bad_offsets)?;
    let Some(table) = symbols else { return out.extend(used, first, offsets) };
    let mut from = first;
    for end in offsets {
        let value = end.checked_sub(from).and_then(|len| Some((from.checked_sub(first)?, len)));
        let (start, length) = value.ok_or_else(bad_offsets)?;
        table.decode(slice_at(used, size(start)?, size(length)?)?, &mut out.data)?;
        out.end_value()?;
        from = end;
    }
    Ok(())
}

impl AsBlock for AnyLength {
    fn append(&self, bytes: &[u8], count: usize, _: &Limits, out: Output<'_>) -> Result<()> {
        let Values::Variable(out) = out.0 else { return Err(mismatch()) };
        append_block(bytes, count, out)
    }

    fn array(&self, bytes: &Bytes, count: usize, data_type: &DataType, _: &Limits) -> Result<ArrayRef> {
        let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
        // A file may claim more values than it has bytes.
        let mut values = Variable::new(large, count.min(bytes.len()));
        append_block(bytes, count, &mut values)?;
        Values::Variable(values).array(data_type, None)
    }
}

/// Appends all values of a block.
fn append_block(bytes: &[u8], count: usize, out: &mut Variable) -> Result<()> {
    // An early form put the width into one byte, followed by the number of values.
    let early = bytes.get(1..4).is_some_and(|b| b != [0, 0, 0]);
    let (width, start, offsets_at) = match u32_at(bytes, 0)? {
        _ if early => {
            let width = usize::from(bytes.first().copied().unwrap_or(0)) / 8;
            (width, uint_at(bytes, 1 + width, width.min(8))?, 1 + 2 * width)
        }
        32 => (4, u64::from(u32_at(bytes, 4)?), 8),
        64 => (8, u64_at(bytes, 8)?, 16),
        other => return Err(Error::corrupt("bad_bit_width", format!("offsets of {other} bits"))),
    };
    if !matches!(width, 4 | 8) {
        return Err(Error::corrupt("bad_bit_width", format!("offsets of {width} bytes")));
    }
    let offsets = slice_at(bytes, offsets_at, count.saturating_add(1).saturating_mul(width))?;
    let mut offsets = offsets.chunks_exact(width).map(|b| uint_at(b, 0, width).unwrap_or(u64::MAX));
    let data = bytes.get(size(start)?..).ok_or_else(bad_offsets)?;
    let first = offsets.next().unwrap_or(0);
    let last = offsets.clone().next_back().unwrap_or(first);
    let used = data.get(size(first)?..size(last)?).ok_or_else(bad_offsets)?;
    out.extend(used, first, offsets)
}

impl PerValue for AnyLength {
    fn append(&self, value: &[u8], _: &Limits, mut out: Output<'_>) -> Result<()> {
        out.push(value)
    }

    fn fixed(&self, _: Buffer, _: usize, _: &DataType, _: Option<NullBuffer>, _: &Limits) -> Result<ArrayRef> {
        Err(Error::unsupported("unknown_encoding", format!("{self} in a full-zip page of fixed width")))
    }

    fn variable(&self, raw: &[&[u8]], data_type: &DataType, nulls: Option<NullBuffer>, _: &Limits) -> Result<ArrayRef> {
        let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
        let mut out = Variable::new(large, raw.len());
        out.data.reserve(raw.iter().map(|v| v.len()).sum());
        raw.iter().try_for_each(|v| out.push(v))?;
        Values::Variable(out).array(data_type, nulls)
    }
}
