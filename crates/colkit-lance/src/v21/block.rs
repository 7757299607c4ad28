//! Blocks: one buffer that holds all of its values. Levels and dictionaries are stored so.

use super::compressive::Compressive;
use crate::bytes_at::{cut, size, slice_at, u32_at, u64_at, uint_at};
use crate::codec::bitpack::{GROUP, Group, Word, words};
use crate::packed::plain_array;
use crate::values::{Values, Variable, byte_width, fixed_width, wrong_type};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};

fn unknown(encoding: &Compressive) -> Error {
    Error::unsupported("unknown_encoding", format!("a block of {encoding}"))
}

fn wrong_count(expected: usize, found: usize) -> Error {
    Error::corrupt("bad_block", format!("a block of {expected} values holds {found}"))
}

/// Appends `count` levels.
pub(super) fn levels(
    encoding: &Compressive,
    bytes: &[u8],
    count: usize,
    out: &mut Vec<u16>,
    limits: &Limits,
) -> Result<()> {
    match encoding {
        Compressive::Flat { bits: 16 } => {
            let raw = bytes.get(..count.saturating_mul(2)).ok_or_else(|| wrong_count(count, bytes.len() / 2))?;
            out.extend_from_slice(&words::<u16>(raw));
        }
        Compressive::Inline { bits: 16 } => {
            let mut group = [0u16; GROUP];
            Group::<u16>::with_header(bytes)?.unpack(&mut group);
            out.extend_from_slice(group.get(..count).ok_or_else(|| wrong_count(count, GROUP))?);
        }
        Compressive::OutOfLine { bits: 16, width } => {
            let mut values = Pooled::default();
            out_of_line::<u16>(*width, bytes, count, &mut values)?;
            out.extend_from_slice(&words::<u16>(values.as_slice()));
        }
        Compressive::Rle { bits: 16 } => {
            let before = out.len();
            let (values, lengths) = run_parts(bytes)?;
            for (value, length) in words::<u16>(values).iter().zip(lengths) {
                out.extend(std::iter::repeat_n(*value, usize::from(*length)));
                if out.len() - before > count {
                    break;
                }
            }
            if out.len() - before != count {
                return Err(wrong_count(count, out.len() - before));
            }
        }
        Compressive::General { scheme, inner } => {
            levels(inner, &scheme.decompress(bytes, limits)?, count, out, limits)?;
        }
        other => return Err(unknown(other)),
    }
    Ok(())
}

fn run_parts(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let values = slice_at(bytes, 8, size(u64_at(bytes, 0)?)?)?;
    Ok((values, bytes.get(8 + values.len()..).unwrap_or_default()))
}

/// Appends `count` values of groups that are packed to one width. The last group is packed too, or lies as it is if
/// that is not longer: only the length of the buffer tells.
fn out_of_line<T: Word>(width: usize, bytes: &[u8], count: usize, out: &mut Pooled) -> Result<()> {
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

/// A block of values of a type: the dictionary of a page.
pub(super) fn array(
    encoding: &Compressive,
    bytes: &Bytes,
    count: usize,
    data_type: &DataType,
    limits: &Limits,
) -> Result<ArrayRef> {
    match encoding {
        Compressive::Variable { .. } => Values::Variable(variable(bytes, count, data_type)?).array(data_type, None),
        Compressive::Flat { bits: 1 } => Err(unknown(encoding)),
        Compressive::Flat { bits } => {
            let width = byte_width(*bits)?;
            if fixed_width(data_type) != Some(width) {
                return Err(wrong_type(&format!("values of {width} bytes"), data_type));
            }
            let data = cut(bytes, 0, width.saturating_mul(count))?;
            plain_array(data.into(), data_type, count)
        }
        Compressive::Inline { bits } | Compressive::OutOfLine { bits, .. } => {
            let mut data = Pooled::default();
            match bits {
                8 => packed::<u8>(encoding, bytes, count, &mut data)?,
                16 => packed::<u16>(encoding, bytes, count, &mut data)?,
                32 => packed::<u32>(encoding, bytes, count, &mut data)?,
                _ => packed::<u64>(encoding, bytes, count, &mut data)?,
            }
            Values::Fixed { width: byte_width(*bits)?, data }.array(data_type, None)
        }
        Compressive::General { scheme, inner } => {
            array(inner, &scheme.decompress(bytes, limits)?, count, data_type, limits)
        }
        other => Err(unknown(other)),
    }
}

fn packed<T: Word>(encoding: &Compressive, bytes: &[u8], count: usize, out: &mut Pooled) -> Result<()> {
    match encoding {
        Compressive::OutOfLine { width, .. } => out_of_line::<T>(*width, bytes, count, out),
        _ if count > GROUP => Err(wrong_count(count, GROUP)),
        _ => {
            Group::<T>::with_header(bytes)?.append(std::slice::from_ref(&(0..count)), out);
            Ok(())
        }
    }
}

/// Width of the offsets, start of the bytes, offsets counted from there, bytes.
fn variable(bytes: &[u8], count: usize, data_type: &DataType) -> Result<Variable> {
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
    let data = bytes.get(size(start)?..).ok_or_else(crate::values::bad_offsets)?;
    let first = offsets.next().unwrap_or(0);
    let last = offsets.clone().next_back().unwrap_or(first);
    let used = data.get(size(first)?..size(last)?).ok_or_else(crate::values::bad_offsets)?;
    let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
    let mut variable = Variable::new(large, count);
    variable.extend(used, first, offsets)?;
    Ok(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(encoding: &Compressive, bytes: &[u8], count: usize) -> Result<Vec<u16>> {
        let mut out = Vec::new();
        levels(encoding, bytes, count, &mut out, &Limits::default())?;
        Ok(out)
    }

    #[test]
    fn levels_in_all_forms() {
        assert_eq!(decode(&Compressive::Flat { bits: 16 }, &[1, 0, 2, 0], 2).unwrap(), [1, 2]);
        let runs = [4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 2, 3];
        assert_eq!(decode(&Compressive::Rle { bits: 16 }, &runs, 5).unwrap(), [1, 1, 3, 3, 3]);
        assert!(decode(&Compressive::Rle { bits: 16 }, &runs, 6).is_err());
        assert!(decode(&Compressive::Rle { bits: 16 }, &runs, 4).is_err());
        // Three values that lie as they are, and a packed group of ones.
        let out_of_line = Compressive::OutOfLine { bits: 16, width: 1 };
        assert_eq!(decode(&out_of_line, &[1, 0, 0, 0, 1, 0], 3).unwrap(), [1, 0, 1]);
        assert_eq!(decode(&out_of_line, &[0xFF; 128], 70).unwrap(), [1; 70]);
        assert!(decode(&out_of_line, &[0xFF; 127], 70).is_err());
        let mut inline = vec![1, 0];
        inline.extend([0xFF; 128]);
        assert_eq!(decode(&Compressive::Inline { bits: 16 }, &inline, 1024).unwrap(), [1; 1024]);
        assert!(decode(&Compressive::Inline { bits: 16 }, &inline, 1025).is_err());
    }
}
