//! The values of a page without their type, as encodings see them.
//!
//! What lies under nulls is not part of a table: it becomes zero or empty, so that equal tables give equal files and
//! nothing that was never meant to be written is.

use super::messages_of::Member;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};
use colkit_core::{Error, Result};
use std::ops::Range;

/// Values of one page.
pub(super) enum Values {
    Bits(BooleanBuffer),
    Fixed(Fixed),
    Variable(Variable),
    /// Wide values: lists of one length.
    Lists(Lists),
    /// Packed structs whose members all have a width.
    Records(Records),
    /// Packed structs of any members: their widths, and the bytes of each struct.
    Mixed(Vec<Member>, Variable),
}

/// Packed structs: the members of a row lie together.
pub(super) struct Records {
    /// Bits of each member.
    pub bits: Vec<u64>,
    pub fixed: Fixed,
}

/// Values of so many bytes each.
pub(super) struct Fixed {
    pub width: usize,
    pub data: Vec<u8>,
}

/// Values of any length.
pub(crate) struct Variable {
    /// One more than there are values; the first is 0.
    pub offsets: Vec<usize>,
    pub data: Vec<u8>,
    /// Whether the type has 64-bit offsets.
    pub large: bool,
}

/// Lists of one length, perhaps of such lists.
pub(super) struct Lists {
    /// Items of each list, and which are not null; outermost first.
    pub levels: Vec<(usize, Option<BooleanBuffer>)>,
    /// Bits of the innermost items.
    pub bits: usize,
    pub data: Buffer,
    pub rows: usize,
}

impl Values {
    /// The values of an array of any type without fields.
    pub fn of(array: &ArrayRef) -> Result<Values> {
        Ok(match array.data_type() {
            DataType::Boolean => Values::Bits(bits(array)),
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
                Values::Variable(Variable::of(array)?)
            }
            DataType::FixedSizeList(_, _) => Values::Lists(Lists::of(array)?),
            DataType::Struct(_) => packed(array)?,
            _ => Values::Fixed(Fixed::of(array)?),
        })
    }
}

/// The members of packed structs, put together. What lies under a null struct becomes zero or empty.
fn packed(array: &ArrayRef) -> Result<Values> {
    let structs = array.as_struct();
    let mut members = Vec::with_capacity(structs.num_columns());
    for (column, field) in structs.columns().iter().zip(structs.fields()) {
        let hidden = column.nulls().is_some_and(|nulls| {
            (0..column.len()).any(|i| nulls.is_null(i) && array.nulls().is_none_or(|outer| outer.is_valid(i)))
        });
        if hidden {
            return Err(Error::data("type_not_supported", "a member of a packed struct is null")
                .part(format!("field {:?}", field.name()))
                .hint("remove the struct's metadata lance-encoding:packed"));
        }
        let whole = match array.nulls() {
            None => column.clone(),
            Some(outer) => arrow::compute::nullif(column, &BooleanArray::new(!outer.inner(), None))?,
        };
        members.push(match Values::of(&whole)? {
            Values::Lists(lists) if lists.bits > 1 && lists.levels.iter().all(|(_, valid)| valid.is_none()) => {
                let width = lists.items_per_row() * lists.bits / 8;
                Values::Fixed(Fixed { width, data: lists.data.to_vec() })
            }
            fits @ (Values::Fixed(_) | Values::Variable(_)) => fits,
            _ => return Err(unexpected(field.data_type())),
        });
    }
    let mut data = Vec::new();
    let mut offsets = vec![0];
    for row in 0..array.len() {
        for member in &members {
            match member {
                Values::Fixed(fixed) => data.extend_from_slice(fixed.get(row..row + 1)),
                Values::Variable(texts) => {
                    super::codec::push_offset(&mut data, texts.get(row).len(), texts.large)?;
                    data.extend_from_slice(texts.get(row));
                }
                _ => {}
            }
        }
        offsets.push(data.len());
    }
    let widths: Vec<Member> = members
        .iter()
        .map(|m| match m {
            Values::Variable(texts) => Member::Variable(texts.large),
            Values::Fixed(fixed) => Member::Fixed(fixed.width as u64 * 8),
            _ => Member::Fixed(0),
        })
        .collect();
    let bits = |m: &Member| match m {
        Member::Fixed(bits) => Some(*bits),
        Member::Variable(_) => None,
    };
    Ok(match widths.iter().map(bits).collect::<Option<Vec<u64>>>() {
        Some(bits) => {
            let width = usize::try_from(bits.iter().sum::<u64>() / 8).unwrap_or(0);
            Values::Records(Records { bits, fixed: Fixed { width, data } })
        }
        None => Values::Mixed(widths, Variable { offsets, data, large: false }),
    })
}

fn bits(array: &ArrayRef) -> BooleanBuffer {
    let values = array.as_boolean();
    match values.nulls() {
        Some(nulls) => values.values() & nulls.inner(),
        // Bits that begin inside of a byte are moved to its front.
        None => values.values().iter().collect(),
    }
}

fn unexpected(data_type: &DataType) -> Error {
    Error::data("type_not_supported", format!("values of type {data_type} have no width"))
}

impl Fixed {
    pub fn len(&self) -> usize {
        self.data.len() / self.width.max(1)
    }

    pub fn get(&self, items: Range<usize>) -> &[u8] {
        self.data.get(items.start * self.width..items.end * self.width).unwrap_or_default()
    }

    pub fn of(array: &ArrayRef) -> Result<Fixed> {
        let width = crate::values::fixed_width(array.data_type()).ok_or_else(|| unexpected(array.data_type()))?;
        let data = array.to_data();
        let from = data.offset() * width;
        let bytes = data.buffers().first().and_then(|b| b.get(from..from + data.len() * width));
        let mut bytes = bytes.ok_or_else(|| unexpected(array.data_type()))?.to_vec();
        if let Some(nulls) = array.nulls().filter(|n| n.null_count() > 0) {
            for (value, valid) in bytes.chunks_exact_mut(width.max(1)).zip(nulls) {
                if !valid {
                    value.fill(0);
                }
            }
        }
        Ok(Fixed { width, data: bytes })
    }

    /// With each null replaced by the value before it, or the first that there is; none if nothing is null.
    pub fn filled(&self, nulls: &NullBuffer) -> Option<Fixed> {
        let first = nulls.valid_indices().next().filter(|_| nulls.null_count() > 0)?;
        let mut data = self.data.clone();
        let mut last = first;
        for place in (0..self.len()).filter(|place| nulls.is_null(*place)) {
            last = if place > last && nulls.is_valid(place - 1) { place - 1 } else { last };
            let from = last * self.width..(last + 1) * self.width;
            if data.len() >= (place + 1) * self.width {
                data.copy_within(from, place * self.width);
            }
        }
        Some(Fixed { width: self.width, data })
    }
}

impl Variable {
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub fn get(&self, index: usize) -> &[u8] {
        match (self.offsets.get(index), self.offsets.get(index + 1)) {
            (Some(from), Some(to)) => self.data.get(*from..*to).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Bytes of these values together.
    pub fn bytes(&self, items: Range<usize>) -> &[u8] {
        match (self.offsets.get(items.start), self.offsets.get(items.end)) {
            (Some(from), Some(to)) => self.data.get(*from..*to).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Offsets of these values, counted from the first.
    pub fn ends(&self, items: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let first = self.offsets.get(items.start).copied().unwrap_or(0);
        self.offsets.get(items.start..=items.end).unwrap_or_default().iter().map(move |o| o - first)
    }

    pub fn longest(&self) -> usize {
        self.offsets.iter().zip(self.offsets.iter().skip(1)).map(|(a, b)| b - a).max().unwrap_or(0)
    }

    /// Bytes of an offset.
    pub fn offset_width(&self) -> usize {
        if self.large { 8 } else { 4 }
    }

    pub fn of(array: &ArrayRef) -> Result<Variable> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::from_parts(array, array.as_string::<i32>().value_offsets(), false),
            DataType::Binary => Self::from_parts(array, array.as_binary::<i32>().value_offsets(), false),
            DataType::LargeUtf8 => Self::from_parts(array, array.as_string::<i64>().value_offsets(), true),
            DataType::LargeBinary => Self::from_parts(array, array.as_binary::<i64>().value_offsets(), true),
            other => return Err(unexpected(other)),
        })
    }

    fn from_parts<O: ArrowNativeType>(array: &ArrayRef, offsets: &[O], large: bool) -> Variable {
        let data = array.to_data();
        let bytes = data.buffers().get(1).map(|b| b.as_slice()).unwrap_or_default();
        let first = offsets.first().map_or(0, |o| o.as_usize());
        let last = offsets.last().map_or(0, |o| o.as_usize());
        let Some(nulls) = array.nulls().filter(|n| n.null_count() > 0) else {
            let offsets = offsets.iter().map(|o| o.as_usize() - first).collect();
            return Variable { offsets, data: bytes.get(first..last).unwrap_or_default().to_vec(), large };
        };
        let mut kept = Variable { offsets: vec![0], data: Vec::with_capacity(last - first), large };
        for ((from, to), valid) in offsets.iter().zip(offsets.iter().skip(1)).zip(nulls) {
            if valid {
                kept.data.extend_from_slice(bytes.get(from.as_usize()..to.as_usize()).unwrap_or_default());
            }
            kept.offsets.push(kept.data.len());
        }
        kept
    }
}

impl Lists {
    /// Items of one row, through all levels.
    pub fn items_per_row(&self) -> usize {
        self.levels.iter().map(|(n, _)| n).product()
    }

    fn of(array: &ArrayRef) -> Result<Lists> {
        let rows = array.len();
        let (mut levels, mut current) = (Vec::new(), array.clone());
        while let DataType::FixedSizeList(_, n) = current.data_type() {
            let dimension = usize::try_from(*n).map_err(|_| unexpected(current.data_type()))?;
            let list = current.as_fixed_size_list();
            let (from, to) = (list.value_offset(0), list.len());
            let from = usize::try_from(from).map_err(|_| unexpected(list.data_type()))?;
            let items = list.values().slice(from, to * dimension);
            let valid = items.logical_nulls().filter(|n| n.null_count() > 0).map(|n| n.inner().iter().collect());
            levels.push((dimension, valid));
            current = items;
        }
        let (bits, mut data) = match current.data_type() {
            DataType::Boolean => (1, bits(&current).into_inner().to_vec()),
            _ => {
                let fixed = Fixed::of(&current)?;
                (fixed.width * 8, fixed.data)
            }
        };
        if bits > 1 {
            clear_nulls(&mut data, &levels, bits / 8, array);
        }
        Ok(Lists { levels, bits, data: Buffer::from_vec(data), rows })
    }
}

/// Makes what lies under null lists zero. (Null items are zero already, and bits are few.)
fn clear_nulls(data: &mut [u8], levels: &[(usize, Option<BooleanBuffer>)], width: usize, array: &ArrayRef) {
    let mut span = levels.iter().map(|(n, _)| n).product::<usize>() * width;
    let mut valid = array.nulls().map(|n| n.inner());
    for (dimension, inside) in levels {
        for (row, _) in valid.iter().flat_map(|v| v.iter().enumerate().filter(|(_, valid)| !valid)) {
            if let Some(bytes) = data.get_mut(row * span..(row + 1) * span) {
                bytes.fill(0);
            }
        }
        span /= (*dimension).max(1);
        valid = inside.as_ref();
    }
}
