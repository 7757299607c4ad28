//! Decoded values on their way to Arrow: first collected without a type, then given one.
//!
//! A [`Values`] collects what chunks decode to. [`Values::array`] is the border to Arrow: widths are compared with
//! the type and the finished array is validated (offsets, UTF-8, sizes), so nothing a file claims gets past it.

use crate::bytes_at::size;
use crate::codec::fsst::{Scratch, SymbolTable};
use arrow::array::{ArrayData, ArrayRef, BooleanBufferBuilder, GenericByteArray, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowNativeType, BinaryType, ByteArrayType, DataType, LargeBinaryType, LargeUtf8Type, Utf8Type,
};
use colkit_core::pool::Pooled;
use colkit_core::{Error, Result};
use std::sync::Arc;

/// Values without a type.
pub(crate) enum Values {
    /// Booleans.
    Bits(BooleanBufferBuilder),
    /// Values of so many bytes each.
    Fixed { width: usize, data: Pooled },
    /// The same, as they lie in the file, and how many there are.
    Shared { width: usize, data: Buffer, count: usize },
    /// Runs of values.
    Runs(Runs),
    /// Values of any length.
    Variable(Variable),
    /// Rows of `dimension` items each, and which items are not null.
    Lists { dimension: usize, valid: Option<BooleanBufferBuilder>, items: Box<Values>, count: usize },
}

/// Values of so many bytes each, and the row after the last one that has each.
pub(crate) struct Runs {
    pub width: usize,
    pub values: Pooled,
    pub ends: Pooled<i32>,
}

impl Runs {
    /// None yet.
    pub fn new(width: usize) -> Self {
        Runs { width, values: Pooled::default(), ends: Pooled::default() }
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.ends.as_slice().last().map_or(0, |end| usize::try_from(*end).unwrap_or(0))
    }
}

/// Values of any length, one after another.
pub(crate) struct Variable {
    pub offsets: Offsets,
    pub data: Pooled,
    /// For who decodes into this.
    pub scratch: Scratch,
}

/// Where values begin and end; 0 comes first.
pub(crate) enum Offsets {
    Small(Pooled<i32>),
    Large(Pooled<i64>),
}

impl Variable {
    /// For `count` values of a text or binary type.
    pub fn new(large: bool, count: usize) -> Self {
        let offsets = if large {
            let mut offsets = Pooled::with_capacity(count.saturating_add(1));
            offsets.push(0);
            Offsets::Large(offsets)
        } else {
            let mut offsets = Pooled::with_capacity(count.saturating_add(1));
            offsets.push(0);
            Offsets::Small(offsets)
        };
        Variable { offsets, data: Pooled::default(), scratch: Scratch::default() }
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
        make_room(&mut self.data, bytes.len(), bytes.len(), out.len().saturating_add(ends.len()), out.capacity());
        self.data.extend_from_slice(bytes);
        i32::try_from(self.data.len()).map_err(|_| too_much_text())?;
        let last = ends.last().unwrap_or(first);
        if !ascends(offsets) || (last - first) as usize != bytes.len() {
            return Err(bad_offsets());
        }
        // Nothing wraps: offsets ascend and the last ends with the bytes, which end below 2 GiB.
        let room = out.room(ends.len());
        room.iter_mut().zip(ends).for_each(|(to, end)| *to = (end - first + base).cast_signed());
        out.advance(ends.len());
        Ok(())
    }

    /// Ends values that have been appended to `data` from `base` on: offsets from there, which ascend from 0 to all of it.
    #[cfg(feature = "extended-read")]
    pub fn end_values(&mut self, base: usize, offsets: &[u32]) -> Result<()> {
        let ends = offsets.get(1..).unwrap_or_default();
        match &mut self.offsets {
            Offsets::Small(out) => {
                i32::try_from(self.data.len()).map_err(|_| too_much_text())?;
                let base = u32::try_from(base).map_err(|_| too_much_text())?;
                // Nothing wraps: the last ends with the data.
                let room = out.room(ends.len());
                room.iter_mut().zip(ends).for_each(|(to, end)| *to = base.wrapping_add(*end).cast_signed());
                out.advance(ends.len());
            }
            Offsets::Large(out) => {
                let base = i64::try_from(base).map_err(|_| too_much_text())?;
                out.extend(ends.iter().map(|end| base + i64::from(*end)));
            }
        }
        Ok(())
    }

    /// Values as codes, one after another, given where the first begins and where each ends.
    pub fn extend_decoded(&mut self, table: &SymbolTable, codes: &[u8], offsets: &[u32]) -> Result<()> {
        let (values, all_values) = match &self.offsets {
            Offsets::Small(offsets) => (offsets.len(), offsets.capacity()),
            Offsets::Large(offsets) => (offsets.len(), offsets.capacity()),
        };
        let base = self.data.len();
        let expected = codes.len().saturating_mul(USUAL_GROWTH);
        let values = values.saturating_add(offsets.len());
        make_room(&mut self.data, SymbolTable::room(codes.len())?, expected, values, all_values);
        table.decode_many(codes, &mut self.data, &mut self.scratch)?;
        let ends = self.scratch.ends(codes, offsets)?;
        match &mut self.offsets {
            Offsets::Small(out) => {
                i32::try_from(self.data.len()).map_err(|_| too_much_text())?;
                let base = u32::try_from(base).map_err(|_| too_much_text())?;
                let count = ends.len();
                out.room(count).iter_mut().zip(ends).for_each(|(to, end)| *to = (base + end).cast_signed());
                out.advance(count);
            }
            Offsets::Large(out) => {
                let base = i64::try_from(base).map_err(|_| too_much_text())?;
                out.extend(ends.map(|end| base + i64::from(end)));
            }
        }
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

    fn array(self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let data = self.data.into_buffer();
        match (self.offsets, data_type) {
            (Offsets::Small(offsets), DataType::Utf8) => bytes_array::<Utf8Type>(offsets, data, nulls),
            (Offsets::Small(offsets), DataType::Binary) => bytes_array::<BinaryType>(offsets, data, nulls),
            (Offsets::Large(offsets), DataType::LargeUtf8) => bytes_array::<LargeUtf8Type>(offsets, data, nulls),
            (Offsets::Large(offsets), DataType::LargeBinary) => bytes_array::<LargeBinaryType>(offsets, data, nulls),
            _ => Err(wrong_type("values of another offset width", data_type)),
        }
    }

    fn len(&self) -> usize {
        match &self.offsets {
            Offsets::Small(o) => o.len().saturating_sub(1),
            Offsets::Large(o) => o.len().saturating_sub(1),
        }
    }
}

/// Whether no number is smaller than the one before. All are looked at, which is faster than stopping at the first.
pub(crate) fn ascends<T: PartialOrd + Copy>(numbers: &[T]) -> bool {
    numbers.iter().zip(numbers.iter().skip(1)).fold(true, |good, (a, b)| good & (a <= b))
}

/// An array of texts or bytes. Arrow would look at every offset again to see that it does not cut a character; in ASCII, and
/// in bytes, none does.
fn bytes_array<T: ByteArrayType>(
    offsets: Pooled<T::Offset>,
    data: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef>
where
    T::Offset: bytemuck::Pod,
{
    let (first, last) = (offsets.as_slice().first(), offsets.as_slice().last());
    let inside = first.is_some_and(|f| f.to_usize() == Some(0))
        && last.and_then(|l| l.to_usize()).is_some_and(|l| l <= data.len());
    if !inside || !ascends(offsets.as_slice()) {
        return Err(bad_offsets());
    }
    let any_bytes = matches!(T::DATA_TYPE, DataType::Binary | DataType::LargeBinary) || data.is_ascii();
    let count = offsets.len();
    let offsets = ScalarBuffer::<T::Offset>::new(offsets.into_buffer(), 0, count);
    if !any_bytes || nulls.as_ref().is_some_and(|n| n.len() + 1 != count) {
        return checked::<T>(offsets, data, nulls);
    }
    // SAFETY: the offsets begin with 0, ascend and end within the bytes; there is one more of them than there are nulls; the
    // bytes are valid, wherever they are cut, since they are any bytes or ASCII.
    #[expect(unsafe_code, reason = "looking at every offset and every character again is a tenth of a scan of texts")]
    let array = unsafe { GenericByteArray::<T>::new_unchecked(OffsetBuffer::new_unchecked(offsets), data, nulls) };
    Ok(Arc::new(array))
}

/// The same for any text, by Arrow's own checks. The offsets must ascend.
fn checked<T: ByteArrayType>(
    offsets: ScalarBuffer<T::Offset>,
    data: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let array = GenericByteArray::<T>::try_new(OffsetBuffer::new(offsets), data, nulls);
    Ok(Arc::new(array.map_err(bad_values)?))
}

/// Reserves room for `more` bytes, of which `expected` will be used, and for the values still to come as much as the `values`
/// with those will have taken each: growing step by step would copy everything again and again.
fn make_room(data: &mut Pooled, more: usize, expected: usize, values: usize, all_values: usize) {
    if data.capacity() - data.len() < more {
        let all = data.len().saturating_add(expected).saturating_mul(all_values) / values.max(1);
        // A little more than that: being wrong by a little would be as dear as not guessing.
        let guess = (all / 8).saturating_mul(9).min(MOST_GUESSED);
        data.reserve(more.max(guess.saturating_sub(data.len()).saturating_add(more.saturating_sub(expected))));
    }
}

/// Bytes that a code of a symbol table usually stands for.
const USUAL_GROWTH: usize = 3;

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
                Ok(Values::Fixed { width, data: Pooled::with_capacity(room) })
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Bits(bits) => bits.len(),
            Values::Fixed { width, data } => data.len().checked_div(*width).unwrap_or(0),
            Values::Shared { count, .. } | Values::Lists { count, .. } => *count,
            Values::Runs(runs) => runs.len(),
            Values::Variable(variable) => variable.len(),
        }
    }

    /// Bytes of the values so far, about.
    pub fn bytes(&self) -> u64 {
        match self {
            Values::Bits(bits) => bits.len() as u64 / 8,
            Values::Fixed { data, .. } => data.len() as u64,
            Values::Shared { data, .. } => data.len() as u64,
            Values::Runs(runs) => runs.values.len() as u64,
            Values::Variable(variable) => variable.data.len() as u64,
            Values::Lists { items, .. } => items.bytes(),
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
        let builder = || ArrayData::builder(data_type.clone()).len(len).nulls(nulls.clone()).align_buffers(true);
        let builder = match (self, data_type) {
            (Values::Bits(mut bits), DataType::Boolean) => builder().add_buffer(bits.finish().into_inner()),
            (Values::Fixed { width, data }, t) if fixed_width(t) == Some(width) => {
                builder().add_buffer(data.into_buffer())
            }
            (Values::Shared { width, data, .. }, t) if fixed_width(t) == Some(width) => builder().add_buffer(data),
            (Values::Variable(v), DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary) => {
                return v.array(data_type, nulls);
            }
            (Values::Lists { dimension, valid, items, .. }, DataType::FixedSizeList(item, n))
                if usize::try_from(*n).is_ok_and(|n| n == dimension) =>
            {
                let valid = valid.map(|mut v| NullBuffer::new(v.finish()));
                let items = items.array(item.data_type(), valid)?;
                return fixed_size_lists(data_type, items, len, builder());
            }
            (other, _) => return Err(wrong_type(&other.shape(), data_type)),
        };
        Ok(make_array(builder.build().map_err(bad_values)?))
    }

    fn shape(&self) -> String {
        match self {
            Values::Bits(_) => "bits".into(),
            Values::Fixed { width, .. } | Values::Shared { width, .. } => format!("values of {width} bytes"),
            Values::Runs(runs) => format!("runs of values of {} bytes", runs.width),
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray, StringArray};

    fn texts(values: &[&str]) -> Variable {
        let mut variable = Variable::new(false, values.len());
        values.iter().for_each(|v| variable.push(v.as_bytes()).unwrap());
        variable
    }

    #[test]
    fn texts_come_out_as_by_arrows_own_checks() {
        for values in [vec![], vec!["", "a", "bc", ""], vec!["é", "x", "日本"]] {
            let nulls = (values.len() == 4).then(|| NullBuffer::from(vec![true, false, true, true]));
            let made = texts(&values).array(&DataType::Utf8, nulls.clone()).unwrap();
            made.to_data().validate_full().unwrap();
            let Offsets::Small(offsets) = texts(&values).offsets else { panic!("small offsets") };
            let (count, data) = (offsets.len(), texts(&values).data.into_buffer());
            let offsets = ScalarBuffer::new(offsets.into_buffer(), 0, count);
            assert_eq!(&made, &checked::<Utf8Type>(offsets, data, nulls).unwrap());
            assert_eq!(made.as_string::<i32>().len(), values.len());
        }
    }

    #[test]
    fn bad_texts_are_refused() {
        let with = |offsets: &[i32], data: &[u8]| {
            let mut variable = Variable::new(false, 0);
            let mut kept = Pooled::default();
            kept.extend_from_slice(offsets);
            variable.offsets = Offsets::Small(kept);
            variable.data.extend_from_slice(data);
            variable
        };
        let code = |v: Variable| v.array(&DataType::Utf8, None).unwrap_err().code().to_owned();
        assert_eq!(code(with(&[0, 2, 1], b"abc")), "bad_offsets");
        assert_eq!(code(with(&[0, 2, 4], b"abc")), "bad_offsets");
        assert_eq!(code(with(&[-1, 2], b"abc")), "bad_offsets");
        assert_eq!(code(with(&[1, 2], b"abc")), "bad_offsets");
        assert_eq!(code(with(&[], b"abc")), "bad_offsets");
        assert_eq!(code(with(&[0, 1, 2], "é".as_bytes())), "bad_values", "within a character");
        assert_eq!(code(with(&[0, 2], &[0xFF, 0xFE])), "bad_values", "no text at all");
        let whole = with(&[0, 1, 3], b"abcd").array(&DataType::Utf8, None).unwrap();
        assert_eq!(whole.as_string::<i32>(), &StringArray::from(vec!["a", "bc"]));
        let nulls = NullBuffer::from(vec![true; 3]);
        assert!(with(&[0, 1, 3], b"abc").array(&DataType::Utf8, Some(nulls)).is_err());
    }
}
