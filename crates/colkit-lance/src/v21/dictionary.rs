//! Turning indices into what they stand for in the dictionary of a page.

use crate::values::{Values, bad_values, fixed_width, wrong_type};
use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, DictionaryArray, GenericByteArray, PrimitiveArray, make_array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::{TakeOptions, take};
use arrow::datatypes::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, BinaryType, ByteArrayType, DataType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type, Utf8Type,
};
use colkit_core::pool::Pooled;
use colkit_core::{Error, Result};
use std::sync::Arc;

/// The values that indices stand for; for a column of dictionaries, the indices themselves with the dictionary.
pub(super) fn look_up(
    values: Values,
    nulls: Option<NullBuffer>,
    items: &ArrayRef,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let Values::Fixed { width, data } = values else {
        return Err(wrong_type("indices of no fixed width", data_type));
    };
    let data = data.into_buffer();
    if let DataType::Dictionary(key, _) = data_type {
        if key.primitive_width() != Some(width) {
            return Err(wrong_type(&format!("indices of {width} bytes"), data_type));
        }
        let count = data.len() / width.max(1);
        let nulls = nulls.filter(|n| n.null_count() > 0);
        let array = ArrayData::builder(data_type.clone())
            .len(count)
            .nulls(nulls)
            .align_buffers(true)
            .add_buffer(data)
            .add_child_data(items.to_data());
        return Ok(make_array(array.build().map_err(bad_values)?));
    }
    match width {
        1 => typed::<UInt8Type>(data, nulls, items),
        2 => typed::<UInt16Type>(data, nulls, items),
        4 => typed::<UInt32Type>(data, nulls, items),
        8 => typed::<UInt64Type>(data, nulls, items),
        _ => Err(wrong_type(&format!("indices of {width} bytes"), data_type)),
    }
}

/// The indices with the dictionary, whatever the column's type, if their width allows it.
pub(super) fn dictionary(
    values: Values,
    nulls: Option<NullBuffer>,
    items: &ArrayRef,
    data_type: &DataType,
) -> Result<ArrayRef> {
    fn keyed<K: ArrowDictionaryKeyType>(data: Buffer, nulls: Option<NullBuffer>, items: &ArrayRef) -> Result<ArrayRef> {
        let count = data.len() / size_of::<K::Native>();
        let nulls = nulls.filter(|n| n.null_count() > 0);
        let keys = PrimitiveArray::<K>::try_new(ScalarBuffer::new(data, 0, count), nulls).map_err(bad_values)?;
        Ok(Arc::new(DictionaryArray::try_new(keys, items.clone()).map_err(bad_values)?))
    }
    match values {
        Values::Fixed { width, data } if items.data_type() == data_type => match width {
            1 => keyed::<UInt8Type>(data.into_buffer(), nulls, items),
            2 => keyed::<UInt16Type>(data.into_buffer(), nulls, items),
            4 => keyed::<UInt32Type>(data.into_buffer(), nulls, items),
            _ => look_up(Values::Fixed { width, data }, nulls, items, data_type),
        },
        values => look_up(values, nulls, items, data_type),
    }
}

fn typed<I>(data: Buffer, nulls: Option<NullBuffer>, items: &ArrayRef) -> Result<ArrayRef>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
{
    let count = data.len() / size_of::<I::Native>();
    let indices = ScalarBuffer::<I::Native>::new(data, 0, count);
    if nulls.as_ref().is_none_or(|n| n.null_count() == 0)
        && items.null_count() == 0
        && count >= WORTH_IT.max(items.len())
    {
        let place = |index: &I::Native| (*index).try_into().unwrap_or(usize::MAX);
        // The largest is found many at a time; nothing after it can fail.
        let largest = indices.iter().copied().reduce(|a, b| if a > b { a } else { b });
        if largest.is_some_and(|largest| place(&largest) >= items.len()) {
            return Err(Error::corrupt("bad_values", format!("an index beyond the {} items", items.len())));
        }
        let found = match items.data_type() {
            DataType::Utf8 => short_texts::<I, Utf8Type>(&indices, items),
            DataType::Binary => short_texts::<I, BinaryType>(&indices, items),
            other => match fixed_width(other) {
                Some(2) => gathered::<I, 2>(&indices, items)?,
                Some(4) => gathered::<I, 4>(&indices, items)?,
                Some(8) => gathered::<I, 8>(&indices, items)?,
                Some(16) => gathered::<I, 16>(&indices, items)?,
                _ => None,
            },
        };
        if let Some(array) = found {
            return Ok(array);
        }
    }
    let indices = PrimitiveArray::<I>::try_new(indices, nulls).map_err(bad_values)?;
    take(items, &indices, Some(TakeOptions { check_bounds: true })).map_err(bad_values)
}

/// So many values are worth the preparation.
const WORTH_IT: usize = 512;

/// Values of W bytes. The indices must be below the number of items.
fn gathered<I, const W: usize>(indices: &[I::Native], items: &ArrayRef) -> Result<Option<ArrayRef>>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
{
    let data = items.to_data();
    let all = data.buffers().first().and_then(|b| b.get(data.offset() * W..)).unwrap_or_default();
    let (values, _) = all.as_chunks::<W>();
    if values.len() < items.len() {
        return Ok(None);
    }
    let mut out = Pooled::<u8>::with_capacity(indices.len() * W);
    let (room, _) = out.room(indices.len() * W).as_chunks_mut::<W>();
    for (to, index) in room.iter_mut().zip(indices) {
        *to = values.get((*index).try_into().unwrap_or(usize::MAX)).copied().unwrap_or([0; W]);
    }
    out.advance(indices.len() * W);
    let array = ArrayData::builder(items.data_type().clone()).len(indices.len()).add_buffer(out.into_buffer());
    Ok(Some(make_array(array.align_buffers(true).build().map_err(bad_values)?)))
}

/// The texts, if all that can occur are short. The indices must be below the number of items.
fn short_texts<I, T>(indices: &[I::Native], items: &ArrayRef) -> Option<ArrayRef>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
    T: ByteArrayType<Offset = i32>,
{
    let items = items.as_bytes_opt::<T>()?;
    match items.iter().flatten().map(|item| AsRef::<[u8]>::as_ref(item).len()).max()? {
        0..=8 => copied::<I, T, 8>(indices, items),
        9..=16 => copied::<I, T, 16>(indices, items),
        17..=32 => copied::<I, T, 32>(indices, items),
        _ => None,
    }
}

/// Texts of at most N bytes; `None` if all together may have more than an offset can say. All N bytes of a text are copied,
/// whatever its length: the next one overwrites what is too much. That takes a quarter of the time of copying exactly.
fn copied<I, T, const N: usize>(indices: &[I::Native], items: &GenericByteArray<T>) -> Option<ArrayRef>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
    T: ByteArrayType<Offset = i32>,
{
    let (offsets, data) = concatenated::<I, T, N>(indices, items)?;
    // SAFETY: `concatenated` returns whole items of a valid array one after another, and where each ends: offsets that begin
    // with 0, ascend, end with the bytes and never cut a character. Nothing is null.
    #[expect(unsafe_code, reason = "looking at every text again would take longer than copying them")]
    let array = unsafe { GenericByteArray::<T>::new_unchecked(OffsetBuffer::new_unchecked(offsets), data, None) };
    Some(Arc::new(array))
}

/// The texts one after another, and where each ends.
fn concatenated<I, T, const N: usize>(
    indices: &[I::Native],
    items: &GenericByteArray<T>,
) -> Option<(ScalarBuffer<i32>, Buffer)>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
    T: ByteArrayType<Offset = i32>,
{
    i32::try_from(indices.len().checked_mul(N)?).ok()?;
    let mut texts = Vec::with_capacity(items.len());
    for item in items.iter() {
        // A null has no place among indices without nulls, but would have one here.
        let (item, mut text): (&[u8], _) = (item?.as_ref(), [0; N]);
        text.get_mut(..item.len())?.copy_from_slice(item);
        texts.push((text, i32::try_from(item.len()).ok()?));
    }
    let longest = usize::try_from(texts.iter().map(|(_, length)| *length).max()?).ok()?;
    let mut offsets = Pooled::<i32>::with_capacity(indices.len() + 1);
    let mut data = Pooled::<u8>::with_capacity(indices.len() * longest + N);
    let (ends, room) = (offsets.room(indices.len() + 1), data.room(indices.len() * longest + N));
    let (zero, ends) = ends.split_first_mut()?;
    *zero = 0;
    let mut at = 0usize;
    for (end, index) in ends.iter_mut().zip(indices) {
        let (text, length) = texts.get((*index).try_into().unwrap_or(usize::MAX))?;
        *room.get_mut(at..)?.first_chunk_mut()? = *text;
        at += usize::try_from(*length).ok()?;
        *end = i32::try_from(at).ok()?;
    }
    offsets.advance(indices.len() + 1);
    data.advance(at);
    Some((ScalarBuffer::new(offsets.into_buffer(), 0, indices.len() + 1), data.into_buffer()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{StringArray, UInt16Array};

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    fn short_and_long_texts_come_out_alike() {
        for longest in [1, 8, 9, 16, 17, 32, 33] {
            let items: Vec<String> = (0..40).map(|i| "é".repeat(i % 3) + &"x".repeat(i)).collect();
            let items: Vec<String> =
                items.into_iter().chain([("y".repeat(longest))]).filter(|t| t.len() <= longest).collect();
            let items: ArrayRef = Arc::new(StringArray::from(items));
            let indices: Vec<u16> = (0..2000u32).map(|i| (i * i % items.len() as u32) as u16).collect();
            let expected = take(&items, &UInt16Array::from(indices.clone()), None).unwrap();
            let got = typed::<UInt16Type>(Buffer::from_vec(indices), None, &items).unwrap();
            got.to_data().validate_full().unwrap();
            assert_eq!(&got, &expected);
        }
    }

    #[test]
    fn numbers_come_out_as_arrow_takes_them() {
        let whole: ArrayRef = Arc::new(arrow::array::Int64Array::from_iter_values(0..300));
        let kinds = [
            DataType::Int16,
            DataType::Float32,
            DataType::Int64,
            DataType::Timestamp(arrow::datatypes::TimeUnit::Second, None),
            DataType::Decimal128(20, 2),
            DataType::Int8,
        ];
        for kind in kinds {
            let items = arrow::compute::cast(&whole.slice(0, 100), &kind).unwrap();
            for items in [items.clone(), items.slice(7, 50)] {
                let indices: Vec<u16> = (0..2000u16).map(|i| i.wrapping_mul(i) % 50).collect();
                let expected = take(&items, &UInt16Array::from(indices.clone()), None).unwrap();
                assert_eq!(&typed::<UInt16Type>(Buffer::from_vec(indices), None, &items).unwrap(), &expected);
            }
        }
        let items: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![Some(1), None]));
        let got = typed::<UInt8Type>(Buffer::from_vec(vec![1u8; 1000]), None, &items).unwrap();
        assert_eq!(got.null_count(), 1000);
    }

    #[test]
    fn an_index_beyond_the_dictionary_is_refused() {
        let items: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let numbers: ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![1, 2]));
        for (count, items) in [(3, &items), (5000, &items), (3, &numbers), (5000, &numbers)] {
            let mut indices = vec![1u8; count];
            indices[count - 1] = 2;
            assert_eq!(typed::<UInt8Type>(Buffer::from_vec(indices), None, items).unwrap_err().code(), "bad_values");
        }
    }
}
