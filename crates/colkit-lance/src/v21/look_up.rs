//! Turning indices into what they stand for in the dictionary of a page.

use crate::values::{Values, bad_values, wrong_type};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, GenericByteArray, PrimitiveArray, make_array};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::{TakeOptions, take};
use arrow::datatypes::{BinaryType, ByteArrayType, DataType, UInt8Type, UInt16Type, UInt32Type, UInt64Type, Utf8Type};
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
    if let DataType::Dictionary(key, _) = data_type {
        if key.primitive_width() != Some(width) {
            return Err(wrong_type(&format!("indices of {width} bytes"), data_type));
        }
        let count = data.len() / width.max(1);
        let nulls = nulls.filter(|n| n.null_count() > 0);
        let array = arrow::array::ArrayData::builder(data_type.clone())
            .len(count)
            .nulls(nulls)
            .align_buffers(true)
            .add_buffer(data.into())
            .add_child_data(items.to_data());
        return Ok(make_array(array.build().map_err(bad_values)?));
    }
    match width {
        1 => typed::<UInt8Type>(data.into(), nulls, items),
        2 => typed::<UInt16Type>(data.into(), nulls, items),
        4 => typed::<UInt32Type>(data.into(), nulls, items),
        8 => typed::<UInt64Type>(data.into(), nulls, items),
        _ => Err(wrong_type(&format!("indices of {width} bytes"), data_type)),
    }
}

fn typed<I>(data: Buffer, nulls: Option<NullBuffer>, items: &ArrayRef) -> Result<ArrayRef>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
{
    let count = data.len() / size_of::<I::Native>();
    let indices = ScalarBuffer::<I::Native>::new(data, 0, count);
    if nulls.as_ref().is_none_or(|n| n.null_count() == 0) {
        let short = match items.data_type() {
            DataType::Utf8 => short_texts::<I, Utf8Type>(&indices, items),
            DataType::Binary => short_texts::<I, BinaryType>(&indices, items),
            _ => None,
        };
        if let Some(array) = short {
            return array;
        }
    }
    let indices = PrimitiveArray::<I>::try_new(indices, nulls).map_err(bad_values)?;
    take(items, &indices, Some(TakeOptions { check_bounds: true })).map_err(bad_values)
}

/// Texts of at most so many bytes are copied as so many, whatever their length: the next one overwrites what is too
/// much. That takes a quarter of the time of copying exactly.
const SHORT: usize = 32;

/// So many values are worth the preparation.
const WORTH_IT: usize = 512;

/// The texts, if all that can occur are short and none is null.
fn short_texts<I, T>(indices: &[I::Native], items: &ArrayRef) -> Option<Result<ArrayRef>>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
    T: ByteArrayType<Offset = i32>,
{
    let items = items.as_bytes_opt::<T>()?;
    if indices.len() < WORTH_IT.max(items.len()) || items.null_count() > 0 {
        return None;
    }
    let mut padded: Vec<([u8; SHORT], usize)> = Vec::with_capacity(items.len());
    for item in items.iter().flatten() {
        let item: &[u8] = item.as_ref();
        let mut text = [0; SHORT];
        text.get_mut(..item.len())?.copy_from_slice(item);
        padded.push((text, item.len()));
    }
    Some(copied::<I, T>(indices, &padded))
}

fn copied<I, T>(indices: &[I::Native], padded: &[([u8; SHORT], usize)]) -> Result<ArrayRef>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
    T: ByteArrayType<Offset = i32>,
{
    let unknown = || Error::corrupt("bad_values", format!("an index beyond the {} items", padded.len()));
    let item = |index: &I::Native| (*index).try_into().ok().and_then(|i: usize| padded.get(i));
    let mut total = 0usize;
    for index in indices {
        total += item(index).ok_or_else(unknown)?.1;
    }
    i32::try_from(total).map_err(|_| Error::limit("text in one batch", "more than 2 GiB", "2 GiB"))?;
    let mut text = vec![0; total + SHORT];
    let mut offsets = Vec::with_capacity(indices.len() + 1);
    offsets.push(0);
    let mut at = 0;
    for (bytes, length) in indices.iter().filter_map(item) {
        if let Some(to) = text.get_mut(at..at + SHORT) {
            to.copy_from_slice(bytes);
        }
        at += length;
        offsets.push(i32::try_from(at).unwrap_or(i32::MAX));
    }
    text.truncate(total);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(text), None).map_err(bad_values)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{StringArray, UInt16Array};

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    fn short_and_long_texts_come_out_alike() {
        for longest in [SHORT, SHORT + 1] {
            let items: Vec<String> = (0..40).map(|i| "é".repeat(i % 3) + &"x".repeat(i)).collect();
            let items: Vec<String> =
                items.into_iter().chain([("y".repeat(longest))]).filter(|t| t.len() <= longest).collect();
            let items: ArrayRef = Arc::new(StringArray::from(items));
            let indices: Vec<u16> = (0..2000u32).map(|i| (i * i % items.len() as u32) as u16).collect();
            let expected = take(&items, &UInt16Array::from(indices.clone()), None).unwrap();
            let got = typed::<UInt16Type>(Buffer::from_vec(indices), None, &items).unwrap();
            assert_eq!(&got, &expected);
        }
    }

    #[test]
    fn an_index_beyond_the_dictionary_is_refused() {
        let items: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        for count in [3, 5000] {
            let mut indices = vec![1u8; count];
            indices[count - 1] = 2;
            assert_eq!(typed::<UInt8Type>(Buffer::from_vec(indices), None, &items).unwrap_err().code(), "bad_values");
        }
    }
}
