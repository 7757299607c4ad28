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
    match items.iter().flatten().map(|item| AsRef::<[u8]>::as_ref(item).len()).max()? {
        0..=8 => copied::<I, T, 8>(indices, items),
        9..=16 => copied::<I, T, 16>(indices, items),
        17..=32 => copied::<I, T, 32>(indices, items),
        _ => None,
    }
}

/// Texts of at most N bytes; `None` if all together may have more than an offset can say. All N bytes of a text are copied,
/// whatever its length: the next one overwrites what is too much. That takes a quarter of the time of copying exactly.
fn copied<I, T, const N: usize>(indices: &[I::Native], items: &GenericByteArray<T>) -> Option<Result<ArrayRef>>
where
    I: ArrowPrimitiveType<Native: TryInto<usize>>,
    T: ByteArrayType<Offset = i32>,
{
    i32::try_from(indices.len().checked_mul(N)?).ok()?;
    let (mut texts, mut lengths) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
    for item in items.iter().flatten() {
        let (item, mut text): (&[u8], _) = (item.as_ref(), [0; N]);
        text.get_mut(..item.len())?.copy_from_slice(item);
        texts.push(text);
        lengths.push(i32::try_from(item.len()).ok()?);
    }
    let place = |index: &I::Native| (*index).try_into().unwrap_or(usize::MAX);
    // The largest is found many at a time; nothing after it can fail.
    let largest = indices.iter().copied().reduce(|a, b| if a > b { a } else { b })?;
    if place(&largest) >= items.len() {
        return Some(Err(Error::corrupt("bad_values", format!("an index beyond the {} items", items.len()))));
    }
    let mut offsets = Vec::with_capacity(indices.len() + 1);
    let mut end = 0;
    offsets.push(end);
    offsets.extend(indices.iter().map(|index| {
        end += lengths.get(place(index)).copied().unwrap_or(0);
        end
    }));
    let total = usize::try_from(end).unwrap_or(0);
    let mut out = vec![0; total + N];
    for (index, at) in indices.iter().zip(&offsets) {
        let at = usize::try_from(*at).unwrap_or(0);
        if let (Some(to), Some(text)) = (out.get_mut(at..at + N), texts.get(place(index))) {
            to.copy_from_slice(text);
        }
    }
    out.truncate(total);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let array = GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(out), None);
    Some(array.map(|a| Arc::new(a) as ArrayRef).map_err(bad_values))
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
