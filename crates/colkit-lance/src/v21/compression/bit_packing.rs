//! One group of 1024 packed words, their width in front.

use super::{BuiltIn, plain_buffer, word_bits, wrong_count};
use crate::codec::bitpack::{GROUP, Group};
use crate::encoding::{AsBlock, Chunk, Compression, CompressiveEncoding, Form, InChunks, Output};
use crate::v21::messages::BufferCompression;
use crate::values::byte_width;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};
use prost::Message;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 5,
    name: "lance.encodings21.InlineBitpacking",
    parse: |message, _| {
        let packed: PackedMessage = ENCODING.message(message)?;
        plain_buffer(packed.values)?;
        Ok(Arc::new(BitPacking { bits: word_bits(packed.uncompressed_bits_per_value, "bit packing")? }))
    },
};

#[derive(Clone, Copy, PartialEq, Message)]
struct PackedMessage {
    #[prost(uint64, tag = "1")]
    uncompressed_bits_per_value: u64,
    #[prost(message, optional, tag = "2")]
    values: Option<BufferCompression>,
}

/// What describes packed words of so many bits.
pub(crate) fn describe(bits: u64) -> CompressiveEncoding {
    ENCODING.describe(&PackedMessage { uncompressed_bits_per_value: bits, values: None })
}

struct BitPacking {
    bits: u64,
}

impl fmt::Display for BitPacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bitpacked({})", self.bits)
    }
}

impl Compression for BitPacking {
    fn form(&self) -> Form {
        Form::Fixed { bits: self.bits }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }

    fn as_block(&self) -> Option<&dyn AsBlock> {
        Some(self)
    }
}

impl BitPacking {
    fn unpack(&self, bytes: &[u8], wanted: &[Range<usize>], out: &mut Pooled) -> Result<()> {
        match self.bits {
            8 => Group::<u8>::with_header(bytes)?.append(wanted, out),
            16 => Group::<u16>::with_header(bytes)?.append(wanted, out),
            32 => Group::<u32>::with_header(bytes)?.append(wanted, out),
            _ => Group::<u64>::with_header(bytes)?.append(wanted, out),
        }
        Ok(())
    }
}

impl InChunks for BitPacking {
    fn append(&self, chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        if chunk.count > GROUP {
            return Err(Error::corrupt("bad_chunk", format!("{} values in a group of 1024", chunk.count)));
        }
        self.unpack(chunk.buffer(0)?, chunk.wanted, out.fixed(byte_width(self.bits)?)?)
    }
}

impl AsBlock for BitPacking {
    fn append(&self, bytes: &[u8], count: usize, _: &Limits, mut out: Output<'_>) -> Result<()> {
        if count > GROUP {
            return Err(wrong_count(count, GROUP));
        }
        self.unpack(bytes, std::slice::from_ref(&(0..count)), out.fixed(byte_width(self.bits)?)?)
    }

    fn levels(&self, bytes: &[u8], count: usize, _: &Limits, out: &mut Vec<u16>) -> Result<()> {
        if self.bits != 16 {
            return Err(Error::unsupported("unknown_encoding", format!("levels of {self}")));
        }
        let mut group = [0u16; GROUP];
        Group::<u16>::with_header(bytes)?.unpack(&mut group);
        out.extend_from_slice(group.get(..count).ok_or_else(|| wrong_count(count, GROUP))?);
        Ok(())
    }
}
