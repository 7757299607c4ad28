//! Structs whose members all have a width: the members of a row lie together.

use super::{BuiltIn, bad, flat, flat_bits};
use crate::encoding::{Chunk, Compression, CompressiveEncoding, Form, InChunks, Output};
use crate::values::byte_width;
use colkit_core::Result;
use prost::Message;
use std::fmt;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 12,
    name: "lance.encodings21.PackedStruct",
    parse: |message, encodings| {
        let packed: PackedMessage = ENCODING.message(message)?;
        let sum = packed.bits_per_value.iter().try_fold(0u64, |sum, b| sum.checked_add(*b));
        let bits = flat_bits(packed.values.as_ref(), encodings, "a packed struct")?;
        if sum != Some(bits) {
            return Err(bad(format!("a packed struct of {bits} bits whose members have {sum:?}")));
        }
        byte_width(bits)?;
        Ok(Arc::new(PackedStruct { bits }))
    },
};

#[derive(Clone, PartialEq, Message)]
struct PackedMessage {
    #[prost(uint64, repeated, tag = "1")]
    bits_per_value: Vec<u64>,
    #[prost(message, optional, tag = "2")]
    values: Option<CompressiveEncoding>,
}

/// What describes records of members of these widths.
pub(crate) fn describe(bits: &[u64]) -> CompressiveEncoding {
    let values = Some(flat::describe(bits.iter().sum()));
    ENCODING.describe(&PackedMessage { bits_per_value: bits.to_vec(), values })
}

struct PackedStruct {
    bits: u64,
}

impl fmt::Display for PackedStruct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packed_struct({})", self.bits)
    }
}

impl Compression for PackedStruct {
    fn form(&self) -> Form {
        Form::Records { bits: self.bits }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for PackedStruct {
    fn append(&self, chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        let width = byte_width(self.bits)?;
        flat::append_plain(chunk.buffer(0)?, width, chunk.wanted, out.fixed(width)?)
    }
}
