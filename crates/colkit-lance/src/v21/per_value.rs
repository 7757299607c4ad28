//! Values of full-zip pages: each is encoded on its own.

use super::compressive::{Compressive, PackedField, PackedForm};
use crate::bytes_at::{size, slice_at, uint_at};
use crate::nulls::with_nulls;
use crate::packed::{plain_array, plain_width};
use crate::values::{Values, Variable, bad_values, bits_of, byte_width, wrong_type};
use arrow::array::{ArrayRef, BooleanBufferBuilder, StructArray};
use arrow::buffer::{Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::DataType;
use colkit_core::{Error, Limits, Result};
use std::sync::Arc;

/// The bytes of each value; those of nulls are empty.
pub(super) type Raw<'a> = Vec<&'a [u8]>;

/// Values of `width` bytes each, one after another.
pub(super) fn fixed(
    encoding: &Compressive,
    data: Buffer,
    width: usize,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let count = data.len() / width.max(1);
    match encoding {
        // Booleans are widened to bytes, since a value must be whole bytes.
        Compressive::Flat { bits: 8 } if data_type == &DataType::Boolean && width == 1 => {
            let mut bits = BooleanBufferBuilder::new(count);
            data.iter().for_each(|byte| bits.append(*byte != 0));
            Values::Bits(bits).array(data_type, nulls)
        }
        Compressive::Flat { bits } if byte_width(*bits)? == width => {
            Values::Shared { width, data, count }.array(data_type, nulls)
        }
        Compressive::FixedSizeList { .. } => {
            let levels = list_levels(encoding)?;
            if levels.iter().all(|l| !l.has_validity) {
                if plain_width(data_type).ok() == Some(width) {
                    return with_nulls(plain_array(data, data_type, count)?, nulls);
                }
                if !levels.is_empty() && levels.last().is_none_or(|l| l.bits != 1) {
                    return Err(wrong_type(&format!("lists of {width} bytes"), data_type));
                }
            }
            lists(&levels, &data, width, count)?.array(data_type, nulls)
        }
        other => Err(Error::unsupported("unknown_encoding", format!("{other} in a full-zip page of fixed width"))),
    }
}

/// One level of fixed-size lists inside a value.
struct Level {
    dimension: usize,
    has_validity: bool,
    /// Bits of what is inside, if that is no list.
    bits: u64,
}

fn list_levels(encoding: &Compressive) -> Result<Vec<Level>> {
    let mut levels = Vec::new();
    let mut at = encoding;
    while let Compressive::FixedSizeList { dimension, has_validity, inner } = at {
        let bits = if let Compressive::Flat { bits } = **inner { bits } else { 0 };
        levels.push(Level { dimension: size(*dimension)?, has_validity: *has_validity, bits });
        at = inner;
    }
    match at {
        Compressive::Flat { .. } => Ok(levels),
        other => Err(Error::unsupported("unknown_encoding", format!("fixed-size lists of {other}"))),
    }
}

/// Takes apart values that begin with the bitmaps of their levels.
fn lists(levels: &[Level], data: &[u8], width: usize, count: usize) -> Result<Values> {
    let bits = levels.last().map_or(0, |l| l.bits);
    let mut items = 1usize;
    let mut valid = Vec::with_capacity(levels.len());
    let mut counts = Vec::with_capacity(levels.len());
    for level in levels {
        items = items.checked_mul(level.dimension).ok_or_else(|| wrong_size(width))?;
        valid.push(level.has_validity.then(|| BooleanBufferBuilder::new(0)));
        counts.push(items);
    }
    let item_bytes = if bits == 1 { items.div_ceil(8) } else { items.saturating_mul(byte_width(bits)?) };
    let mut values = Values::fixed(bits, 0)?;
    for record in data.chunks_exact(width.max(1)).take(count) {
        let mut at = 0;
        for (bitmap, items) in valid.iter_mut().zip(&counts) {
            if let Some(bitmap) = bitmap {
                let bytes = items.div_ceil(8);
                bitmap.append_buffer(&bits_of(slice_at(record, at, bytes)?, 0, *items)?);
                at += bytes;
            }
        }
        let rest = slice_at(record, at, item_bytes)?;
        if at + item_bytes != width {
            return Err(wrong_size(width));
        }
        match &mut values {
            Values::Bits(out) => out.append_buffer(&bits_of(rest, 0, items)?),
            Values::Fixed { data, .. } => data.extend_from_slice(rest),
            _ => return Err(wrong_size(width)),
        }
    }
    // From the inside out: each level wraps what is inside.
    let mut lists_at = counts;
    for (level, valid) in levels.iter().zip(valid).rev() {
        lists_at.pop();
        let rows = count.saturating_mul(lists_at.last().copied().unwrap_or(1));
        values = Values::Lists { dimension: level.dimension, valid, items: Box::new(values), count: rows };
    }
    Ok(values)
}

fn wrong_size(width: usize) -> Error {
    Error::corrupt("bad_encoding", format!("fixed-size lists do not fit into values of {width} bytes"))
}

/// Values of any length.
pub(super) fn variable(
    encoding: &Compressive,
    raw: &Raw<'_>,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
    limits: &Limits,
) -> Result<ArrayRef> {
    if let Compressive::VariablePackedStruct { fields } = encoding {
        return packed(fields, raw, data_type, nulls, limits);
    }
    let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
    let mut out = Variable::new(large, raw.len());
    match encoding {
        Compressive::Variable { .. } => {
            out.data.reserve(raw.iter().map(|v| v.len()).sum());
            raw.iter().try_for_each(|v| out.push(v))?;
        }
        Compressive::Fsst { table, .. } => {
            for value in raw {
                table.decode(value, &mut out.data)?;
                out.end_value()?;
            }
        }
        Compressive::General { scheme, inner } if matches!(**inner, Compressive::Variable { .. }) => {
            for value in raw {
                scheme.append(value, limits, &mut out.data)?;
                out.end_value()?;
                Limits::check_memory("the values of one batch", out.data.len() as u64, limits.memory)?;
            }
        }
        other => {
            return Err(Error::unsupported("unknown_encoding", format!("{other} in a full-zip page of any width")));
        }
    }
    Values::Variable(out).array(data_type, nulls)
}

/// Records of members of any width. A null record has no bytes; its members get stand-ins.
fn packed(
    fields: &[PackedField],
    raw: &Raw<'_>,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
    limits: &Limits,
) -> Result<ArrayRef> {
    let DataType::Struct(types) = data_type else { return Err(wrong_type("packed structs", data_type)) };
    if types.len() != fields.len() {
        return Err(wrong_type(&format!("packed structs of {} members", fields.len()), data_type));
    }
    let mut rest: Vec<&[u8]> = raw.clone();
    let mut members = Vec::with_capacity(fields.len());
    for (field, member) in fields.iter().zip(types) {
        members.push(match field.form {
            PackedForm::Fixed(width) => {
                let mut data = MutableBuffer::new(0);
                for (record, whole) in rest.iter_mut().zip(raw) {
                    if whole.is_empty() {
                        data.extend_zeros(width);
                        continue;
                    }
                    data.extend_from_slice(slice_at(record, 0, width)?);
                    *record = record.get(width..).unwrap_or_default();
                }
                fixed(&field.value, data.into(), width, member.data_type(), None)?
            }
            PackedForm::Length(width) => {
                let mut values: Raw<'_> = Vec::with_capacity(raw.len());
                for (record, whole) in rest.iter_mut().zip(raw) {
                    if whole.is_empty() {
                        values.push(&[]);
                        continue;
                    }
                    let length = size(uint_at(record, 0, width)?)?;
                    values.push(slice_at(record, width, length)?);
                    *record = record.get(width + length..).unwrap_or_default();
                }
                variable(&field.value, &values, member.data_type(), None, limits)?
            }
        });
    }
    if rest.iter().any(|r| !r.is_empty()) {
        return Err(Error::corrupt("bad_values", "a packed struct with bytes left over"));
    }
    if types.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(raw.len(), nulls)));
    }
    let nulls = nulls.filter(|n| n.null_count() > 0);
    Ok(Arc::new(StructArray::try_new(types.clone(), members, nulls).map_err(bad_values)?))
}
