//! How values are compressed, as a tree that has been checked.
//!
//! The same encoding means different bytes in different places: in a chunk ([`super::chunk`]), as a whole block
//! ([`super::block`]), or value by value ([`super::full_zip`]).

use super::messages::{self, BufferCompression, Compression, FieldLayout};
use crate::codec::fsst::SymbolTable;
use crate::codec::general::Scheme;
use crate::values::byte_width;
use colkit_core::{Error, Result};
use std::fmt;

/// An encoding of values.
#[derive(Debug)]
pub(super) enum Compressive {
    /// Values as they lie in memory.
    Flat { bits: u64 },
    /// Values of any length; offsets of 4 or 8 bytes.
    Variable { offset_width: usize },
    /// One value, or none at all.
    Constant,
    /// Groups of 1024 packed to the same width.
    OutOfLine { bits: u64, width: usize },
    /// One group of 1024, its width in front.
    Inline { bits: u64 },
    /// Text by symbols.
    Fsst { table: SymbolTable, offset_width: usize },
    /// Runs.
    Rle { bits: u64 },
    /// All first bytes, then all second bytes, ...
    ByteStreamSplit { bits: u64 },
    /// Compressed as a whole.
    General { scheme: Scheme, inner: Box<Compressive> },
    /// A row of so many values.
    FixedSizeList { dimension: u64, has_validity: bool, inner: Box<Compressive> },
    /// Records of members of fixed width.
    PackedStruct { bits: u64 },
    /// Records of members of any width.
    VariablePackedStruct { fields: Vec<PackedField> },
}

/// A member of a variable packed struct.
#[derive(Debug)]
pub(super) struct PackedField {
    pub value: Compressive,
    pub form: PackedForm,
}

/// How a member's bytes are delimited.
#[derive(Clone, Copy, Debug)]
pub(super) enum PackedForm {
    /// So many bytes.
    Fixed(usize),
    /// A length of so many bytes in front.
    Length(usize),
}

fn bad(what: impl Into<String>) -> Error {
    Error::corrupt("bad_encoding", what)
}

/// Buffers that are compressed inside their encoding are foreseen but never written.
fn plain_buffer(compression: Option<BufferCompression>) -> Result<()> {
    match compression {
        Some(BufferCompression { scheme }) if scheme != 0 => {
            Err(Error::unsupported("unknown_encoding", "a compressed buffer inside another encoding"))
        }
        _ => Ok(()),
    }
}

fn word_bits(bits: u64, what: &str) -> Result<u64> {
    if matches!(bits, 8 | 16 | 32 | 64) {
        Ok(bits)
    } else {
        Err(Error::corrupt("bad_bit_width", format!("{what} of values of {bits} bits")))
    }
}

impl Compressive {
    pub fn parse(message: messages::CompressiveEncoding) -> Result<Compressive> {
        let child = |m: Option<Box<messages::CompressiveEncoding>>, what: &str| {
            Self::parse(*m.ok_or_else(|| bad(format!("{what} lacks its values")))?)
        };
        let flat_bits = |m: Option<Box<messages::CompressiveEncoding>>, what: &str| match child(m, what)? {
            Compressive::Flat { bits } => Ok(bits),
            other => Err(Error::unsupported("unknown_encoding", format!("{what} of {other}"))),
        };
        Ok(match message.compression.ok_or_else(|| bad("an encoding that is not known here"))? {
            Compression::Flat(flat) => {
                plain_buffer(flat.data)?;
                if flat.bits_per_value != 1 {
                    byte_width(flat.bits_per_value)?;
                }
                Compressive::Flat { bits: flat.bits_per_value }
            }
            Compression::Variable(variable) => {
                plain_buffer(variable.values)?;
                match flat_bits(variable.offsets, "variable offsets")? {
                    32 => Compressive::Variable { offset_width: 4 },
                    64 => Compressive::Variable { offset_width: 8 },
                    bits => return Err(Error::corrupt("bad_bit_width", format!("offsets of {bits} bits"))),
                }
            }
            Compression::Constant(_) => Compressive::Constant,
            Compression::OutOfLineBitpacking(packed) => {
                let bits = word_bits(packed.uncompressed_bits_per_value, "bit packing")?;
                let width = flat_bits_any(packed.values)?;
                if width > bits {
                    return Err(Error::corrupt("bad_bit_width", format!("{bits} bits packed to {width}")));
                }
                Compressive::OutOfLine { bits, width: usize::try_from(width).unwrap_or(usize::MAX) }
            }
            Compression::InlineBitpacking(packed) => {
                plain_buffer(packed.values)?;
                Compressive::Inline { bits: word_bits(packed.uncompressed_bits_per_value, "bit packing")? }
            }
            Compression::Fsst(fsst) => match child(fsst.values, "fsst")? {
                Compressive::Variable { offset_width } => {
                    Compressive::Fsst { table: SymbolTable::parse(&fsst.symbol_table)?, offset_width }
                }
                other => return Err(Error::unsupported("unknown_encoding", format!("fsst of {other}"))),
            },
            Compression::Dictionary(_) => {
                return Err(Error::unsupported("unknown_encoding", "a dictionary inside another encoding"));
            }
            Compression::Rle(rle) => {
                if flat_bits(rle.run_lengths, "run lengths")? != 8 {
                    return Err(Error::unsupported("unknown_encoding", "run lengths of another width than 8 bits"));
                }
                Compressive::Rle { bits: word_bits(flat_bits(rle.values, "runs")?, "runs")? }
            }
            Compression::ByteStreamSplit(split) => Compressive::ByteStreamSplit {
                bits: word_bits(flat_bits(split.values, "split bytes")?, "split bytes")?,
            },
            Compression::General(general) => {
                let scheme = match general.compression.map(|c| c.scheme) {
                    Some(1) => Scheme::Lz4,
                    Some(2) => Scheme::Zstd,
                    other => {
                        let name = format!("general compression {}", other.unwrap_or(0));
                        return Err(Error::unsupported("unknown_encoding", name));
                    }
                };
                Compressive::General { scheme, inner: Box::new(child(general.values, "general compression")?) }
            }
            Compression::FixedSizeList(list) => {
                if list.items_per_value > u64::from(u32::MAX) {
                    return Err(bad(format!("a fixed-size list of {} items", list.items_per_value)));
                }
                Compressive::FixedSizeList {
                    dimension: list.items_per_value,
                    has_validity: list.has_validity,
                    inner: Box::new(child(list.values, "a fixed-size list")?),
                }
            }
            Compression::PackedStruct(packed) => {
                let sum = packed.bits_per_value.iter().try_fold(0u64, |sum, b| sum.checked_add(*b));
                let bits = flat_bits(packed.values, "a packed struct")?;
                if sum != Some(bits) {
                    return Err(bad(format!("a packed struct of {bits} bits whose members have {sum:?}")));
                }
                byte_width(bits)?;
                Compressive::PackedStruct { bits }
            }
            Compression::VariablePackedStruct(packed) => {
                let fields = packed.fields.into_iter().map(PackedField::parse).collect::<Result<_>>()?;
                Compressive::VariablePackedStruct { fields }
            }
        })
    }

    /// Value buffers of a chunk.
    pub fn buffers(&self) -> u64 {
        match self {
            Compressive::Rle { .. } => 2,
            Compressive::General { inner, .. } => inner.buffers(),
            Compressive::FixedSizeList { has_validity, inner, .. } => u64::from(*has_validity) + inner.buffers(),
            _ => 1,
        }
    }
}

/// The packed width is given as the width of flat values, but need not be whole bytes.
fn flat_bits_any(message: Option<Box<messages::CompressiveEncoding>>) -> Result<u64> {
    match message.and_then(|m| m.compression) {
        Some(Compression::Flat(flat)) => Ok(flat.bits_per_value),
        _ => Err(bad("bit packing lacks its width")),
    }
}

impl PackedField {
    fn parse(message: messages::FieldEncoding) -> Result<Self> {
        let value = Compressive::parse(message.value.ok_or_else(|| bad("a member lacks its encoding"))?)?;
        let form = match message.layout {
            Some(FieldLayout::BitsPerValue(bits)) => PackedForm::Fixed(byte_width(bits)?),
            Some(FieldLayout::BitsPerLength(32)) => PackedForm::Length(4),
            Some(FieldLayout::BitsPerLength(64)) => PackedForm::Length(8),
            _ => return Err(bad("a member of a packed struct lacks its width")),
        };
        Ok(PackedField { value, form })
    }
}

impl fmt::Display for Compressive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compressive::Flat { bits } => write!(f, "flat({bits})"),
            Compressive::Variable { offset_width } => write!(f, "variable({})", offset_width * 8),
            Compressive::Constant => write!(f, "constant"),
            Compressive::OutOfLine { bits, width } => write!(f, "bitpacked({bits} to {width})"),
            Compressive::Inline { bits } => write!(f, "bitpacked({bits})"),
            Compressive::Fsst { offset_width, .. } => write!(f, "fsst(variable({}))", offset_width * 8),
            Compressive::Rle { bits } => write!(f, "rle({bits})"),
            Compressive::ByteStreamSplit { bits } => write!(f, "byte_stream_split({bits})"),
            Compressive::General { scheme, inner } => write!(f, "{}({inner})", scheme.name()),
            Compressive::FixedSizeList { dimension, has_validity, inner } => {
                let nulls = if *has_validity { ", with nulls" } else { "" };
                write!(f, "fixed_size_list({dimension}, {inner}{nulls})")
            }
            Compressive::PackedStruct { bits } => write!(f, "packed_struct({bits})"),
            Compressive::VariablePackedStruct { fields } => {
                let members: Vec<String> = fields.iter().map(|m| m.value.to_string()).collect();
                write!(f, "packed_struct({})", members.join(", "))
            }
        }
    }
}
