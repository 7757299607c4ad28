//! The messages that describe encodings.

use super::values::Lists;
use crate::encoding::CompressiveEncoding;
use crate::v21::compression as known;

pub(super) use known::bit_packed_block::describe as bitpacked_block;
pub(super) use known::bit_packing::describe as bitpacked;
pub(super) use known::byte_stream_split::describe as byte_stream_split;
pub(super) use known::flat::describe as flat;
pub(super) use known::fsst::describe as fsst;
pub(super) use known::general::describe as general;
pub(super) use known::packed_struct::describe as packed_struct;
pub(super) use known::run_length::describe as rle;
pub(super) use known::variable::describe as variable;
pub(super) use known::variable_packed_struct::{Member, describe as variable_packed_struct};

/// What is inside of a compression of another one.
pub(super) fn inside(encoding: &CompressiveEncoding) -> Option<CompressiveEncoding> {
    known::general::inside(encoding).or_else(|| known::fixed_size_list::inside(encoding))
}

pub(super) fn fixed_size_list(lists: &Lists) -> CompressiveEncoding {
    fixed_size_list_of(lists, flat(lists.bits as u64))
}

/// Such lists of items that are described so.
pub(super) fn fixed_size_list_of(lists: &Lists, innermost: CompressiveEncoding) -> CompressiveEncoding {
    lists.levels.iter().rev().fold(innermost, |inner, (dimension, valid)| {
        known::fixed_size_list::describe(*dimension as u64, valid.is_some(), inner)
    })
}
