//! Decoded values on their way to Arrow: first collected without a type, then given one.
//!
//! A [`Values`] collects what chunks decode to. [`Values::array`] is the border to Arrow: widths are compared with
//! the type and the finished array is validated (offsets, UTF-8, sizes), so nothing a file claims gets past it.

use crate::bytes_at::size;
use crate::codec::fsst::Scratch;
use arrow::array::{ArrayData, ArrayRef, BooleanBufferBuilder, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::DataType;
use colkit_core::{Error, Result};

/// Values without a type.
pub(crate) enum Values {
    /// Booleans.
    Bits(BooleanBufferBuilder),
    /// Values of so many bytes each.
    Fixed { width: usize, data: MutableBuffer },
    /// The same, as they lie in the file, and how many there are.
    Shared { width: usize, data: Buffer, count: usize },
    /// Values of any length.
    Variable(Variable),
    /// Rows of `dimension` items each, and which items are not null.
    Lists { dimension: usize, valid: Option<BooleanBufferBuilder>, items: Box<Values>, count: usize },
}

/// Values of any length, one after another.
pub(crate) struct Variable {
    pub offsets: Offsets,
    pub data: Vec<u8>,
    /// For who decodes into this.
    pub scratch: Scratch,
}

/// Where values begin and end; 0 comes first.
pub(crate) enum Offsets {
    Small(Vec<i32>),
    Large(Vec<i64>),
}

impl Variable {
    /// For `count` values of a text or binary type.
    pub fn new(large: bool, count: usize) -> Self {
        let offsets = if large {
            let mut offsets = Vec::with_capacity(count.saturating_add(1));
            offsets.push(0);
            Offsets::Large(offsets)
        } else {
            let mut offsets = Vec::with_capacity(count.saturating_add(1));
            offsets.push(0);
            Offsets::Small(offsets)
        };
        Variable { offsets, data: Vec::new(), scratch: Scratch::default() }
    }

    /// Ends a value after the bytes that have been appended to `data`.
    pub fn end_value(&mut self) -> Result<()> {
        match &mut self.offsets {
            Offsets::Small(offsets) => offsets.push(i32::try_from(self.data.len()).map_err(|_| too_much_text())?),
            Offsets::Large(offsets) => offsets.push(i64::try_from(self.data.len()).map_err(|_| too_much_text())?),
        }
        Ok(())
    }

    pub fn push(&mut self, value: &[u8]) -> Result<()> {
        self.data.extend_from_slice(value);
        self.end_value()
    }

    /// Values that lie one after another in `bytes`, given where the first begins and where each ends. The common
    /// case of text with small offsets.
    pub fn extend_small(&mut self, bytes: &[u8], offsets: &[u32]) -> Result<()> {
        let (Offsets::Small(out), Some((first, ends))) = (&mut self.offsets, offsets.split_first()) else {
            return self.extend(
                bytes,
                offsets.first().copied().unwrap_or(0).into(),
                offsets.iter().skip(1).map(|o| u64::from(*o)),
            );
        };
        let base = u32::try_from(self.data.len()).map_err(|_| too_much_text())?;
        make_room(&mut self.data, bytes.len(), out.len(), out.capacity());
        self.data.extend_from_slice(bytes);
        i32::try_from(self.data.len()).map_err(|_| too_much_text())?;
        let last = ends.last().unwrap_or(first);
        if !offsets.is_sorted() || (last - first) as usize != bytes.len() {
            return Err(bad_offsets());
        }
        // Nothing wraps: offsets ascend and the last ends with the bytes, which end below 2 GiB.
        out.extend(ends.iter().map(|end| (end - first + base).cast_signed()));
        Ok(())
    }

    /// Values that lie one after another in `bytes`, ending at `ends` (counted like `from`, where the first begins).
    pub fn extend(&mut self, bytes: &[u8], from: u64, ends: impl Iterator<Item = u64>) -> Result<()> {
        let base = self.data.len() as u64;
        self.data.extend_from_slice(bytes);
        let mut last = from;
        let (limit, mut good) = (self.data.len() as u64, true);
        let mut place = |end: u64| {
            let here = base.wrapping_add(end.wrapping_sub(from));
            good &= end >= last && here <= limit;
            last = end;
            here
        };
        match &mut self.offsets {
            Offsets::Small(offsets) => {
                i32::try_from(limit).map_err(|_| too_much_text())?;
                offsets.extend(ends.map(|e| i32::try_from(place(e)).unwrap_or(0)));
            }
            Offsets::Large(offsets) => offsets.extend(ends.map(|e| i64::try_from(place(e)).unwrap_or(0))),
        }
        if good { Ok(()) } else { Err(bad_offsets()) }
    }

    fn len(&self) -> usize {
        match &self.offsets {
            Offsets::Small(o) => o.len().saturating_sub(1),
            Offsets::Large(o) => o.len().saturating_sub(1),
        }
    }
}

/// Reserves for the values still to come as much as those so far have taken each: growing step by step would copy
/// everything again and again.
fn make_room(data: &mut Vec<u8>, more: usize, values: usize, all_values: usize) {
    if data.capacity() - data.len() < more {
        let guess = (data.len() + more) / values.max(1) * all_values;
        data.reserve(more.max(guess.min(MOST_GUESSED).saturating_sub(data.len())));
    }
}

/// Bytes that are reserved on a guess at most.
const MOST_GUESSED: usize = 32 << 20;

pub(crate) fn bad_offsets() -> Error {
    Error::corrupt("bad_offsets", "the ends of values go backwards or beyond their bytes")
}

fn too_much_text() -> Error {
    Error::limit("text in one batch", "more than 2 GiB", "2 GiB").hint("read fewer rows at a time")
}

impl Values {
    /// Collects values of so many bits.
    pub fn fixed(bits: u64, count: usize) -> Result<Values> {
        match bits {
            1 => Ok(Values::Bits(BooleanBufferBuilder::new(count))),
            _ => {
                let width = byte_width(bits)?;
                // The reservation is only a guess: a file may claim more values than it has.
                let room = count.saturating_mul(width).min(4 << 20);
                Ok(Values::Fixed { width, data: MutableBuffer::with_capacity(room) })
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Bits(bits) => bits.len(),
            Values::Fixed { width, data } => data.len().checked_div(*width).unwrap_or(0),
            Values::Shared { count, .. } | Values::Lists { count, .. } => *count,
            Values::Variable(variable) => variable.len(),
        }
    }

    /// Gives the values a type.
    pub fn array(self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let len = self.len();
        if let Some(nulls) = &nulls
            && nulls.len() != len
        {
            return Err(Error::corrupt("bad_levels", format!("{len} values but {} definition levels", nulls.len())));
        }
        let nulls = nulls.filter(|n| n.null_count() > 0);
        let builder = ArrayData::builder(data_type.clone()).len(len).nulls(nulls).align_buffers(true);
        let builder = match (self, data_type) {
            (Values::Bits(mut bits), DataType::Boolean) => builder.add_buffer(bits.finish().into_inner()),
            (Values::Fixed { width, data }, t) if fixed_width(t) == Some(width) => builder.add_buffer(data.into()),
            (Values::Shared { width, data, .. }, t) if fixed_width(t) == Some(width) => builder.add_buffer(data),
            (Values::Variable(v), DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary) => {
                let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
                let offsets = match (v.offsets, large) {
                    (Offsets::Small(offsets), false) => Buffer::from_vec(offsets),
                    (Offsets::Large(offsets), true) => Buffer::from_vec(offsets),
                    _ => return Err(wrong_type("values of another offset width", data_type)),
                };
                builder.add_buffer(offsets).add_buffer(Buffer::from_vec(v.data))
            }
            (Values::Lists { dimension, valid, items, .. }, DataType::FixedSizeList(item, n))
                if usize::try_from(*n).is_ok_and(|n| n == dimension) =>
            {
                let valid = valid.map(|mut v| NullBuffer::new(v.finish()));
                let items = items.array(item.data_type(), valid)?;
                return fixed_size_lists(data_type, items, len, builder);
            }
            (other, _) => return Err(wrong_type(&other.shape(), data_type)),
        };
        Ok(make_array(builder.build().map_err(bad_values)?))
    }

    fn shape(&self) -> String {
        match self {
            Values::Bits(_) => "bits".into(),
            Values::Fixed { width, .. } | Values::Shared { width, .. } => format!("values of {width} bytes"),
            Values::Variable(_) => "values of any length".into(),
            Values::Lists { dimension, .. } => format!("lists of {dimension} items"),
        }
    }
}

fn fixed_size_lists(
    data_type: &DataType,
    items: ArrayRef,
    len: usize,
    builder: arrow::array::ArrayDataBuilder,
) -> Result<ArrayRef> {
    if let DataType::FixedSizeList(_, n) = data_type
        && usize::try_from(*n).ok().and_then(|n| n.checked_mul(len)) != Some(items.len())
    {
        return Err(Error::corrupt("bad_values", format!("{} items do not make {len} lists of {n}", items.len())));
    }
    Ok(make_array(builder.add_child_data(items.to_data()).build().map_err(bad_values)?))
}

/// What was decoded does not fit the column's type.
pub(crate) fn wrong_type(found: &str, data_type: &DataType) -> Error {
    Error::corrupt("wrong_encoding", format!("the encoding stores {found}, the column is of type {data_type}"))
}

/// Arrow refused what was decoded.
pub(crate) fn bad_values(e: arrow::error::ArrowError) -> Error {
    Error::corrupt("bad_values", e.to_string()).caused_by(e)
}

/// Bytes of one value of a type whose values all have as many.
pub(crate) fn fixed_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeBinary(n) => usize::try_from(*n).ok(),
        other => other.primitive_width(),
    }
}

/// Whole bytes of so many bits.
pub(crate) fn byte_width(bits: u64) -> Result<usize> {
    if !bits.is_multiple_of(8) || bits > 1 << 34 {
        return Err(Error::corrupt("bad_bit_width", format!("values of {bits} bits are not whole bytes")));
    }
    size(bits / 8)
}

/// Bits from a buffer, beginning with bit `from`.
pub(crate) fn bits_of(data: impl Into<Buffer>, from: usize, len: usize) -> Result<BooleanBuffer> {
    let data: Buffer = data.into();
    if from.checked_add(len).is_none_or(|end| end > data.len().saturating_mul(8)) {
        return Err(Error::corrupt(
            "buffer_too_short",
            format!("{len} bits from bit {from} of a buffer of {} bytes", data.len()),
        ));
    }
    Ok(BooleanBuffer::new(data, from, len))
}
