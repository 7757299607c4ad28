//! All first bytes of values, then all second bytes, and so on.

use super::{BuiltIn, flat, flat_bits, word_bits};
use crate::bytes_at::slice_at;
use crate::encoding::{Chunk, Compression, CompressiveEncoding, Form, InChunks, Output};
use crate::values::byte_width;
use colkit_core::Result;
use colkit_core::pool::Pooled;
use prost::Message;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 9,
    name: "lance.encodings21.ByteStreamSplit",
    parse: |message, encodings| {
        let split: SplitMessage = ENCODING.message(message)?;
        let bits = flat_bits(split.values.as_ref(), encodings, "split bytes")?;
        Ok(Arc::new(ByteStreamSplit { bits: word_bits(bits, "split bytes")? }))
    },
};

#[derive(Clone, PartialEq, Message)]
struct SplitMessage {
    #[prost(message, optional, tag = "1")]
    values: Option<CompressiveEncoding>,
}

/// What describes split bytes of values of so many bits.
pub(crate) fn describe(bits: u64) -> CompressiveEncoding {
    ENCODING.describe(&SplitMessage { values: Some(flat::describe(bits)) })
}

struct ByteStreamSplit {
    bits: u64,
}

impl fmt::Display for ByteStreamSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte_stream_split({})", self.bits)
    }
}

impl Compression for ByteStreamSplit {
    fn form(&self) -> Form {
        Form::Fixed { bits: self.bits }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for ByteStreamSplit {
    fn append(&self, chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        let width = byte_width(self.bits)?;
        append_split(chunk.buffer(0)?, width, chunk.count, chunk.wanted, out.fixed(width)?)
    }
}

/// Byte `j` of value `i` is at `j * count + i`.
fn append_split(bytes: &[u8], width: usize, count: usize, wanted: &[Range<usize>], out: &mut Pooled) -> Result<()> {
    let bytes = slice_at(bytes, 0, count.saturating_mul(width))?;
    for range in wanted {
        let length = range.len().saturating_mul(width);
        let mut target = out.room(length).get_mut(..length).unwrap_or_default();
        let streams = bytes.chunks_exact(count.max(1)).map(|stream| slice_at(stream, range.start, range.len()));
        let mut streams = streams.collect::<Result<Vec<_>>>()?;
        let woven = match width {
            4 => weave::<4>(&mut streams, target),
            8 => weave::<8>(&mut streams, target),
            _ => 0,
        };
        target = target.get_mut(woven..).unwrap_or_default();
        for (j, stream) in streams.into_iter().enumerate() {
            for (to, byte) in target.iter_mut().skip(j).step_by(width).zip(stream) {
                *to = *byte;
            }
        }
        out.advance(length);
    }
    Ok(())
}

/// Puts values of W bytes together, eight at a time, and returns how many bytes that were; `streams` are left with what is
/// not enough for eight.
fn weave<const W: usize>(streams: &mut [&[u8]], target: &mut [u8]) -> usize {
    let mut woven = 0;
    for eight in target.chunks_exact_mut(8 * W) {
        let mut square = [0u64; 8];
        for (row, stream) in square.iter_mut().zip(streams.iter_mut()) {
            let Some((next, rest)) = stream.split_first_chunk::<8>() else { return woven };
            (*row, *stream) = (u64::from_le_bytes(*next), rest);
        }
        for (to, value) in eight.as_chunks_mut::<W>().0.iter_mut().zip(transposed(square)) {
            if let Some(bytes) = value.to_le_bytes().first_chunk::<W>() {
                *to = *bytes;
            }
        }
        woven += eight.len();
    }
    woven
}

/// Byte `i` of row `j` becomes byte `j` of row `i`: blocks of four by four bytes change sides, then of two by two, then bytes.
fn transposed(mut square: [u64; 8]) -> [u64; 8] {
    for (side, mask) in [(4, 0xFFFF_FFFF), (2, 0x0000_FFFF_0000_FFFF), (1, 0x00FF_00FF_00FF_00FF)] {
        for block in square.chunks_exact_mut(2 * side) {
            let (upper, lower) = block.split_at_mut(side);
            for (a, b) in upper.iter_mut().zip(lower) {
                let swapped = ((*a >> (8 * side)) ^ *b) & mask;
                *b ^= swapped;
                *a ^= swapped << (8 * side);
            }
        }
    }
    square
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of ranges")]
    fn split_bytes_come_together_again() {
        for (width, count) in [(1, 9), (2, 20), (4, 7), (4, 64), (4, 1001), (8, 8), (8, 77), (8, 1024), (16, 30)] {
            let values: Vec<u8> = (0..width * count).map(|i| (i * 31 % 251) as u8).collect();
            let byte = |at: usize| values[(at % count) * width + at / count];
            let split: Vec<u8> = (0..width * count).map(byte).collect();
            for wanted in [vec![0..count], vec![0..1, 3..count], vec![count - 1..count]] {
                let mut out = Pooled::default();
                append_split(&split, width, count, &wanted, &mut out).unwrap();
                let expected: Vec<u8> =
                    wanted.iter().flat_map(|r| &values[r.start * width..r.end * width]).copied().collect();
                assert_eq!(out.as_slice(), expected, "{width} bytes, {count} values, {wanted:?}");
            }
        }
    }
}
