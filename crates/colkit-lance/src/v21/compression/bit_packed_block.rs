//! Groups of 1024 packed to the same width: blocks, such as levels.

use super::{BuiltIn, bad, flat, word_bits, wrong_count};
use crate::codec::bitpack::{GROUP, Group, Word, words};
use crate::container::bad_metadata;
use crate::encoding::{AsBlock, Compression, CompressiveEncoding, Form, Output};
use crate::values::byte_width;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};
use prost::Message;
use std::fmt;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 4,
    name: "lance.encodings21.OutOfLineBitpacking",
    parse: |message, _| {
        let packed: PackedMessage = ENCODING.message(message)?;
        let bits = word_bits(packed.uncompressed_bits_per_value, "bit packing")?;
        // The packed width is given as the width of flat values, but need not be whole bytes.
        let width = match packed.values {
            Some(values) if values.number == flat::ENCODING.number => {
                let flat = flat::FlatMessage::decode(values.message);
                flat.map_err(|e| bad_metadata(ENCODING.name, e))?.bits_per_value
            }
            _ => return Err(bad("bit packing lacks its width")),
        };
        if width > bits {
            return Err(Error::corrupt("bad_bit_width", format!("{bits} bits packed to {width}")));
        }
        Ok(Arc::new(BitPackedBlock { bits, width: usize::try_from(width).unwrap_or(usize::MAX) }))
    },
};

#[derive(Clone, PartialEq, Message)]
struct PackedMessage {
    #[prost(uint64, tag = "1")]
    uncompressed_bits_per_value: u64,
    #[prost(message, optional, tag = "3")]
    values: Option<CompressiveEncoding>,
}

/// What describes words of `bits` bits, of which `width` are kept.
pub(crate) fn describe(bits: u64, width: u64) -> CompressiveEncoding {
    let values = Some(flat::describe(width));
    ENCODING.describe(&PackedMessage { uncompressed_bits_per_value: bits, values })
}

struct BitPackedBlock {
    bits: u64,
    width: usize,
}

impl fmt::Display for BitPackedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bitpacked({} to {})", self.bits, self.width)
    }
}

impl Compression for BitPackedBlock {
    fn form(&self) -> Form {
        Form::Fixed { bits: self.bits }
    }

    fn as_block(&self) -> Option<&dyn AsBlock> {
        Some(self)
    }
}

impl AsBlock for BitPackedBlock {
    fn append(&self, bytes: &[u8], count: usize, _: &Limits, mut out: Output<'_>) -> Result<()> {
        let out = out.fixed(byte_width(self.bits)?)?;
        match self.bits {
            8 => unpack::<u8>(self.width, bytes, count, out),
            16 => unpack::<u16>(self.width, bytes, count, out),
            32 => unpack::<u32>(self.width, bytes, count, out),
            _ => unpack::<u64>(self.width, bytes, count, out),
        }
    }

    fn levels(&self, bytes: &[u8], count: usize, _: &Limits, out: &mut Vec<u16>) -> Result<()> {
        if self.bits != 16 {
            return Err(Error::unsupported("unknown_encoding", format!("levels of {self}")));
        }
        let mut values = Pooled::default();
        unpack::<u16>(self.width, bytes, count, &mut values)?;
        out.extend_from_slice(&words::<u16>(values.as_slice()));
        Ok(())
    }
}

/// Appends `count` values. The last group is packed too, or lies as it is if that is not longer: only the length of the
/// buffer tells.
fn unpack<T: Word>(width: usize, bytes: &[u8], count: usize, out: &mut Pooled) -> Result<()> {
    let group_bytes = Group::<T>::bytes(width);
    let (whole, rest) = (count / GROUP, count % GROUP);
    let (packed, tail) = bytes
        .split_at_checked(whole.saturating_mul(group_bytes))
        .ok_or_else(|| wrong_count(count, bytes.len() * 8 / width.max(1)))?;
    let mut group = [T::default(); GROUP];
    let mut at = 0;
    for _ in 0..whole {
        Group::<T>::new(width, packed.get(at..).unwrap_or_default())?.unpack(&mut group);
        out.extend_from_slice(bytemuck::cast_slice(&group));
        at += group_bytes;
        if width == 0 && out.len() > bytes.len().saturating_mul(GROUP).max(1 << 24) {
            return Err(wrong_count(count, out.len()));
        }
    }
    if rest > 0 {
        let raw = rest * size_of::<T>();
        if tail.len() == raw {
            out.extend_from_slice(tail);
        } else {
            Group::<T>::new(width, tail)?.unpack(&mut group);
            out.extend_from_slice(bytemuck::cast_slice(group.get(..rest).unwrap_or_default()));
        }
    }
    Ok(())
}
