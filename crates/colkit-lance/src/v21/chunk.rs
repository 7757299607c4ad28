//! Values of one chunk: its value buffers and the number of its values are given, some of the values are wanted.

use super::compressive::Compressive;
use super::run_length;
use crate::bytes_at::{size, slice_at, uint_at};
use crate::codec::bitpack::{GROUP, Group, words};
use crate::codec::fsst::SymbolTable;
use crate::codec::general::{Scheme, Strides};
use crate::values::{Runs, Values, Variable, bad_offsets, bits_of, byte_width};
use arrow::array::BooleanBufferBuilder;
use arrow::datatypes::DataType;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};
use std::ops::Range;

/// What values of this encoding are collected in.
pub(super) fn collector(encoding: &Compressive, data_type: &DataType, count: usize) -> Result<Values> {
    match encoding {
        Compressive::Flat { bits }
        | Compressive::Inline { bits }
        | Compressive::Rle { bits }
        | Compressive::ByteStreamSplit { bits }
        | Compressive::PackedStruct { bits } => Values::fixed(*bits, count),
        Compressive::Variable { .. } | Compressive::Fsst { .. } => {
            let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
            Ok(Values::Variable(Variable::new(large, count.min(1 << 20))))
        }
        Compressive::General { inner, .. } => collector(inner, data_type, count),
        Compressive::FixedSizeList { dimension, has_validity, inner } => {
            let DataType::FixedSizeList(item, _) = data_type else {
                return Err(crate::values::wrong_type("fixed-size lists", data_type));
            };
            let (dimension, count_items) = (size(*dimension)?, count.saturating_mul(size(*dimension)?));
            Ok(Values::Lists {
                dimension,
                valid: has_validity.then(|| BooleanBufferBuilder::new(0)),
                items: Box::new(collector(inner, item.data_type(), count_items)?),
                count: 0,
            })
        }
        other => Err(Error::unsupported("unknown_encoding", format!("{other} in a chunk"))),
    }
}

/// What runs of this encoding are collected in, if it has any.
pub(super) fn run_collector(encoding: &Compressive, count: usize) -> Option<Values> {
    match encoding {
        Compressive::Rle { bits } => Some(Values::Runs(Runs::new(byte_width(*bits).ok()?))),
        Compressive::General { inner, .. } => run_collector(inner, count),
        _ => None,
    }
    // Runs end at numbers of 32 bits.
    .filter(|_| i32::try_from(count).is_ok())
}

fn mismatch() -> Error {
    Error::corrupt("wrong_encoding", "values of another kind than the page's")
}

/// The buffer with this number.
fn buffer<'a>(buffers: &[&'a [u8]], index: usize) -> Result<&'a [u8]> {
    buffers.get(index).copied().ok_or_else(|| {
        Error::corrupt("bad_chunk", format!("the encoding needs value buffer {index}, a chunk has {}", buffers.len()))
    })
}

/// Appends the values of `wanted`, ranges below `count`, in order. `unpacked` is memory that is kept from chunk to chunk.
pub(super) fn append(
    encoding: &Compressive,
    buffers: &[&[u8]],
    count: usize,
    wanted: &[Range<usize>],
    out: &mut Values,
    limits: &Limits,
    unpacked: &mut Pooled,
) -> Result<()> {
    match (encoding, out) {
        (Compressive::Flat { bits: 1 }, Values::Bits(out)) => append_bits(buffer(buffers, 0)?, wanted, out),
        (Compressive::Flat { bits } | Compressive::PackedStruct { bits }, Values::Fixed { data, .. }) => {
            append_plain(buffer(buffers, 0)?, byte_width(*bits)?, wanted, data)
        }
        (Compressive::Inline { bits }, Values::Fixed { data, .. }) => {
            let bytes = buffer(buffers, 0)?;
            if count > GROUP {
                return Err(Error::corrupt("bad_chunk", format!("{count} values in a group of 1024")));
            }
            match bits {
                8 => Group::<u8>::with_header(bytes)?.append(wanted, data),
                16 => Group::<u16>::with_header(bytes)?.append(wanted, data),
                32 => Group::<u32>::with_header(bytes)?.append(wanted, data),
                _ => Group::<u64>::with_header(bytes)?.append(wanted, data),
            }
            Ok(())
        }
        (Compressive::Rle { bits }, Values::Fixed { data, .. }) => {
            let (values, lengths) = (buffer(buffers, 0)?, buffer(buffers, 1)?);
            match bits {
                8 => run_length::append_values::<u8>(values, lengths, wanted, data),
                16 => run_length::append_values::<u16>(values, lengths, wanted, data),
                32 => run_length::append_values::<u32>(values, lengths, wanted, data),
                _ => run_length::append_values::<u64>(values, lengths, wanted, data),
            }
        }
        (Compressive::Rle { bits }, Values::Runs(runs)) => {
            let (values, lengths) = (buffer(buffers, 0)?, buffer(buffers, 1)?);
            match bits {
                8 => run_length::append_runs::<u8>(values, lengths, wanted, runs),
                16 => run_length::append_runs::<u16>(values, lengths, wanted, runs),
                32 => run_length::append_runs::<u32>(values, lengths, wanted, runs),
                _ => run_length::append_runs::<u64>(values, lengths, wanted, runs),
            }
        }
        (Compressive::ByteStreamSplit { bits }, Values::Fixed { data, .. }) => {
            append_split(buffer(buffers, 0)?, byte_width(*bits)?, count, wanted, data)
        }
        (Compressive::Variable { offset_width }, Values::Variable(out)) => {
            append_variable(buffer(buffers, 0)?, *offset_width, wanted, None, out)
        }
        (Compressive::Fsst { table, offset_width }, Values::Variable(out)) => {
            append_variable(buffer(buffers, 0)?, *offset_width, wanted, Some(table), out)
        }
        (Compressive::General { scheme, inner }, out) => {
            // Only the first buffer is compressed.
            let packed = buffer(buffers, 0)?;
            if let (Compressive::Flat { bits: bits @ 2.. }, Values::Fixed { data, .. }) = (inner.as_ref(), &mut *out)
                && append_unpacked(*scheme, packed, byte_width(*bits)?, count, wanted, data, limits)?
            {
                return Ok(());
            }
            let mut kept = std::mem::take(unpacked);
            kept.clear();
            // So much can be had from the pool; less must be filled with zeros first.
            kept.reserve(USUAL_CHUNK);
            scheme.append(packed, limits, &mut kept)?;
            let mut inner_buffers: Vec<&[u8]> = vec![kept.as_slice()];
            inner_buffers.extend(buffers.iter().skip(1));
            append(inner, &inner_buffers, count, wanted, out, limits, unpacked)?;
            *unpacked = kept;
            Ok(())
        }
        (
            Compressive::FixedSizeList { dimension, has_validity, inner },
            Values::Lists { valid, items, count: rows, .. },
        ) => {
            let dimension = size(*dimension)?;
            let scaled = |r: &Range<usize>| match (r.start.checked_mul(dimension), r.end.checked_mul(dimension)) {
                (Some(start), Some(end)) => Ok(start..end),
                _ => Err(Error::corrupt("bad_chunk", "more items than can be counted")),
            };
            let item_ranges = wanted.iter().map(scaled).collect::<Result<Vec<_>>>()?;
            if let (true, Some(valid)) = (has_validity, valid) {
                append_bits(buffer(buffers, 0)?, &item_ranges, valid)?;
            }
            let rest = buffers.get(usize::from(*has_validity)..).unwrap_or_default();
            append(inner, rest, count.saturating_mul(dimension), &item_ranges, items, limits, unpacked)?;
            *rows += wanted.iter().map(Range::len).sum::<usize>();
            Ok(())
        }
        _ => Err(mismatch()),
    }
}

fn append_bits(bytes: &[u8], wanted: &[Range<usize>], out: &mut BooleanBufferBuilder) -> Result<()> {
    for range in wanted {
        // Only the bytes that are needed are copied.
        let (first, last) = (range.start / 8, range.end.div_ceil(8));
        let part = slice_at(bytes, first, last.saturating_sub(first))?;
        out.append_buffer(&bits_of(part, range.start % 8, range.len())?);
    }
    Ok(())
}

fn append_plain(bytes: &[u8], width: usize, wanted: &[Range<usize>], out: &mut Pooled) -> Result<()> {
    for range in wanted {
        let at = range.start.saturating_mul(width);
        out.extend_from_slice(slice_at(bytes, at, range.len().saturating_mul(width))?);
    }
    Ok(())
}

/// Bytes that most chunks unpack to at most.
const USUAL_CHUNK: usize = 64 << 10;

/// Appends compressed values without unpacking them elsewhere first; false if that cannot be done.
fn append_unpacked(
    scheme: Scheme,
    packed: &[u8],
    width: usize,
    count: usize,
    wanted: &[Range<usize>],
    out: &mut Pooled,
    limits: &Limits,
) -> Result<bool> {
    if scheme == Scheme::Lz4
        && width == 16
        && let Some(strides) = Strides::new(packed, count)
        && strides.append(wanted, out)
    {
        return Ok(true);
    }
    let all = matches!(wanted, [all] if *all == (0..count));
    let straight = all && scheme.claim(packed) == (count as u64).checked_mul(width as u64);
    if straight {
        scheme.append(packed, limits, out)?;
    }
    Ok(straight)
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

/// Offsets count from the start of the buffer, in which the bytes follow them.
fn append_variable(
    bytes: &[u8],
    offset_width: usize,
    wanted: &[Range<usize>],
    fsst: Option<&SymbolTable>,
    out: &mut Variable,
) -> Result<()> {
    for range in wanted {
        let at = range.start.saturating_mul(offset_width);
        let offsets = slice_at(bytes, at, range.len().saturating_add(1).saturating_mul(offset_width))?;
        match offset_width {
            4 => {
                let offsets = words::<u32>(offsets);
                let used = between(bytes, &offsets)?;
                match fsst.filter(|table| !table.is_raw()) {
                    None => out.extend_small(used, &offsets)?,
                    Some(table) => out.extend_decoded(table, used, &offsets)?,
                }
            }
            _ => {
                let offsets = offsets.chunks_exact(8).map(|b| uint_at(b, 0, 8).unwrap_or(u64::MAX));
                append_values(bytes, offsets, fsst, out)?;
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
    fsst: Option<&SymbolTable>,
    out: &mut Variable,
) -> Result<()> {
    let first = offsets.next().ok_or_else(bad_offsets)?;
    let last = offsets.clone().next_back().unwrap_or(first);
    let used = bytes.get(size(first)?..size(last)?).ok_or_else(bad_offsets)?;
    let Some(table) = fsst else { return out.extend(used, first, offsets) };
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
