//! The messages that describe encodings.

use super::values::Lists;
use crate::codec::general::Scheme;
use crate::v21::messages::{
    BufferCompression, ByteStreamSplit, Compression, CompressiveEncoding, FieldEncoding, FieldLayout, FixedSizeList,
    Flat, Fsst, General, InlineBitpacking, OutOfLineBitpacking, PackedStruct, Rle, Variable, VariablePackedStruct,
};
use bytes::Bytes;

fn message(compression: Compression) -> CompressiveEncoding {
    CompressiveEncoding { compression: Some(compression) }
}

fn boxed(inner: CompressiveEncoding) -> Option<Box<CompressiveEncoding>> {
    Some(Box::new(inner))
}

pub(super) fn flat(bits_per_value: u64) -> CompressiveEncoding {
    message(Compression::Flat(Flat { bits_per_value, data: None }))
}

pub(super) fn bitpacked(bits: u64) -> CompressiveEncoding {
    message(Compression::InlineBitpacking(InlineBitpacking { uncompressed_bits_per_value: bits, values: None }))
}

/// Words of `bits` bits, of which `width` are kept.
pub(super) fn bitpacked_block(bits: u64, width: u64) -> CompressiveEncoding {
    let values = boxed(flat(width));
    message(Compression::OutOfLineBitpacking(OutOfLineBitpacking { uncompressed_bits_per_value: bits, values }))
}

pub(super) fn rle(bits: u64) -> CompressiveEncoding {
    message(Compression::Rle(Rle { values: boxed(flat(bits)), run_lengths: boxed(flat(8)) }))
}

pub(super) fn byte_stream_split(bits: u64) -> CompressiveEncoding {
    message(Compression::ByteStreamSplit(ByteStreamSplit { values: boxed(flat(bits)) }))
}

pub(super) fn variable(large: bool) -> CompressiveEncoding {
    let offsets = boxed(flat(if large { 64 } else { 32 }));
    message(Compression::Variable(Variable { offsets, values: None }))
}

pub(super) fn fsst(symbol_table: Bytes, large: bool) -> CompressiveEncoding {
    message(Compression::Fsst(Fsst { symbol_table, values: boxed(variable(large)) }))
}

pub(super) fn general(inner: CompressiveEncoding, scheme: Scheme) -> CompressiveEncoding {
    let scheme = match scheme {
        Scheme::Lz4 => 1,
        Scheme::Zstd => 2,
    };
    message(Compression::General(General { compression: Some(BufferCompression { scheme }), values: boxed(inner) }))
}

pub(super) fn fixed_size_list(lists: &Lists) -> CompressiveEncoding {
    let innermost = flat(lists.bits as u64);
    lists.levels.iter().rev().fold(innermost, |inner, (dimension, valid)| {
        let list =
            FixedSizeList { items_per_value: *dimension as u64, values: boxed(inner), has_validity: valid.is_some() };
        message(Compression::FixedSizeList(list))
    })
}

/// Records of members of these widths.
pub(super) fn packed_struct(bits: &[u64]) -> CompressiveEncoding {
    let values = boxed(flat(bits.iter().sum()));
    message(Compression::PackedStruct(PackedStruct { bits_per_value: bits.to_vec(), values }))
}

/// Records of members of these widths; those without one have a length in front.
pub(super) fn variable_packed_struct(members: &[Member]) -> CompressiveEncoding {
    let field = |member: &Member| match member {
        Member::Fixed(bits) => {
            FieldEncoding { value: Some(flat(*bits)), layout: Some(FieldLayout::BitsPerValue(*bits)) }
        }
        Member::Variable(large) => FieldEncoding {
            value: Some(variable(*large)),
            layout: Some(FieldLayout::BitsPerLength(if *large { 64 } else { 32 })),
        },
    };
    message(Compression::VariablePackedStruct(VariablePackedStruct { fields: members.iter().map(field).collect() }))
}

/// A member of a packed struct: so many bits, or of any length (counted by 64 bits, or 32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Fixed(u64),
    Variable(bool),
}
