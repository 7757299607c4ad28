//! Runs: values, and how often each is repeated, up to 255 times.

use super::{BuiltIn, flat, flat_bits, unsupported, word_bits, wrong_count};
use crate::bytes_at::{size, slice_at, u64_at};
use crate::codec::bitpack::words;
use crate::encoding::{AsBlock, Chunk, Compression, CompressiveEncoding, Form, InChunks, Output, mismatch};
use crate::v21::run_length::{append_runs, append_values};
use crate::values::{Values, byte_width};
use colkit_core::{Limits, Result};
use prost::Message;
use std::fmt;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 8,
    name: "lance.encodings21.Rle",
    parse: |message, encodings| {
        let rle: RleMessage = ENCODING.message(message)?;
        if flat_bits(rle.run_lengths.as_ref(), encodings, "run lengths")? != 8 {
            return Err(unsupported("run lengths of another width than 8 bits"));
        }
        let bits = word_bits(flat_bits(rle.values.as_ref(), encodings, "runs")?, "runs")?;
        Ok(Arc::new(RunLength { bits }))
    },
};

#[derive(Clone, PartialEq, Message)]
struct RleMessage {
    #[prost(message, optional, tag = "1")]
    values: Option<CompressiveEncoding>,
    #[prost(message, optional, tag = "2")]
    run_lengths: Option<CompressiveEncoding>,
}

/// What describes runs of values of so many bits.
pub(crate) fn describe(bits: u64) -> CompressiveEncoding {
    ENCODING.describe(&RleMessage { values: Some(flat::describe(bits)), run_lengths: Some(flat::describe(8)) })
}

struct RunLength {
    bits: u64,
}

impl fmt::Display for RunLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rle({})", self.bits)
    }
}

impl Compression for RunLength {
    fn form(&self) -> Form {
        Form::Fixed { bits: self.bits }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }

    fn as_block(&self) -> Option<&dyn AsBlock> {
        // Of the blocks, only levels are stored so.
        (self.bits == 16).then_some(self)
    }
}

impl InChunks for RunLength {
    fn buffers(&self) -> u64 {
        2
    }

    fn run_width(&self) -> Option<usize> {
        byte_width(self.bits).ok()
    }

    fn append(&self, chunk: Chunk<'_>, out: Output<'_>) -> Result<()> {
        let (values, lengths) = (chunk.buffer(0)?, chunk.buffer(1)?);
        match (out.0, self.bits) {
            (Values::Fixed { data, .. }, 8) => append_values::<u8>(values, lengths, chunk.wanted, data),
            (Values::Fixed { data, .. }, 16) => append_values::<u16>(values, lengths, chunk.wanted, data),
            (Values::Fixed { data, .. }, 32) => append_values::<u32>(values, lengths, chunk.wanted, data),
            (Values::Fixed { data, .. }, _) => append_values::<u64>(values, lengths, chunk.wanted, data),
            (Values::Runs(runs), 8) => append_runs::<u8>(values, lengths, chunk.wanted, runs),
            (Values::Runs(runs), 16) => append_runs::<u16>(values, lengths, chunk.wanted, runs),
            (Values::Runs(runs), 32) => append_runs::<u32>(values, lengths, chunk.wanted, runs),
            (Values::Runs(runs), _) => append_runs::<u64>(values, lengths, chunk.wanted, runs),
            _ => Err(mismatch()),
        }
    }
}

impl AsBlock for RunLength {
    fn append(&self, bytes: &[u8], count: usize, limits: &Limits, mut out: Output<'_>) -> Result<()> {
        let mut levels = Vec::new();
        self.levels(bytes, count, limits, &mut levels)?;
        out.fixed(2)?.extend_from_slice(bytemuck::cast_slice(&levels));
        Ok(())
    }

    /// The bytes of all values, the values, the lengths.
    fn levels(&self, bytes: &[u8], count: usize, _: &Limits, out: &mut Vec<u16>) -> Result<()> {
        let before = out.len();
        let values = slice_at(bytes, 8, size(u64_at(bytes, 0)?)?)?;
        let lengths = bytes.get(8 + values.len()..).unwrap_or_default();
        for (value, length) in words::<u16>(values).iter().zip(lengths) {
            out.extend(std::iter::repeat_n(*value, usize::from(*length)));
            if out.len() - before > count {
                break;
            }
        }
        if out.len() - before != count {
            return Err(wrong_count(count, out.len() - before));
        }
        Ok(())
    }
}
