//! Columns in their encoded form: dictionary indices instead of values.
//!
//! A predicate on one column is evaluated once per dictionary value, and rows look up the result. Only rows that pass
//! are decoded to values.

use crate::{Error, Result};
use arrow::array::{AnyDictionaryArray, Array, ArrayRef, AsArray, BooleanArray, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, take};
use arrow::datatypes::{ArrowDictionaryKeyType, DataType, FieldRef, Schema, UInt8Type, UInt16Type, UInt32Type};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// The dictionary that stands for a column of another type.
fn dictionary<'a>(array: &'a ArrayRef, data_type: &DataType) -> Option<&'a dyn AnyDictionaryArray> {
    array.as_any_dictionary_opt().filter(|d| array.data_type() != data_type && d.values().data_type() == data_type)
}

/// The column as its type says.
pub(crate) fn decoded(array: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    match dictionary(&array, data_type) {
        Some(dictionary) => Ok(take(dictionary.values(), dictionary.keys(), None)?),
        None => Ok(array),
    }
}

/// For each row whether it is wanted, decided once for each value if `array` is a dictionary in place of a column of
/// `data_type`. `None` if it is not one, or one of more values than rows.
///
/// `keep` may fail for values that no row has, for example because an expression cannot convert them. That says nothing
/// about the rows, so that it is `None` too.
pub(crate) fn decided_by_value(
    array: &ArrayRef,
    data_type: &DataType,
    keep: &dyn Fn(ArrayRef) -> Result<BooleanArray>,
) -> Result<Option<BooleanArray>> {
    let Some(dictionary) = dictionary(array, data_type).filter(|d| d.values().len() <= d.keys().len()) else {
        return Ok(None);
    };
    // Null is a value like others here, the last one.
    let null = new_null_array(data_type, 1);
    let Ok(answers) = keep(concat(&[dictionary.values(), &null])?) else { return Ok(None) };
    let answers: Vec<bool> = answers.iter().map(|answer| answer == Some(true)).collect();
    fn rows<K: ArrowDictionaryKeyType>(array: &ArrayRef, answers: &[bool]) -> Option<BooleanBuffer>
    where
        K::Native: TryInto<usize>,
    {
        let keys = array.as_dictionary_opt::<K>()?.keys();
        let answer = |key: K::Native| key.try_into().ok().and_then(|key: usize| answers.get(key)).copied();
        let of_null = answers.last().copied().unwrap_or(false);
        let values = keys.values();
        let at = |i: usize| values.get(i).and_then(|key| answer(*key)).unwrap_or(false);
        Some(match keys.nulls() {
            None => BooleanBuffer::collect_bool(keys.len(), at),
            Some(nulls) => BooleanBuffer::collect_bool(keys.len(), |i| if nulls.is_null(i) { of_null } else { at(i) }),
        })
    }
    let bits = match array.data_type() {
        DataType::Dictionary(key, _) => match key.as_ref() {
            DataType::UInt8 => rows::<UInt8Type>(array, &answers),
            DataType::UInt16 => rows::<UInt16Type>(array, &answers),
            DataType::UInt32 => rows::<UInt32Type>(array, &answers),
            _ => None,
        },
        _ => None,
    };
    Ok(bits.map(|bits| BooleanArray::new(bits, None)))
}

/// Columns that may be encoded, as a batch: its schema says what they came as.
pub(crate) fn batch_as_stored(fields: &[FieldRef], columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    if fields.len() != columns.len() {
        return Err(Error::internal("a column of the projection belongs to no lane"));
    }
    let field = |(field, array): (&FieldRef, &ArrayRef)| match field.data_type() == array.data_type() {
        true => field.clone(),
        false => Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone())),
    };
    let fields: Vec<FieldRef> = fields.iter().zip(&columns).map(field).collect();
    crate::plan::batch_of(&Arc::new(Schema::new(fields)), columns, rows)
}

/// The batch with columns as these fields say.
pub(crate) fn batch_decoded(batch: RecordBatch, fields: &[FieldRef]) -> Result<RecordBatch> {
    if fields.iter().zip(batch.columns()).all(|(field, array)| field.data_type() == array.data_type()) {
        return Ok(batch);
    }
    let rows = batch.num_rows();
    let columns = batch.columns().iter().zip(fields).map(|(array, field)| decoded(array.clone(), field.data_type()));
    batch_as_stored(fields, columns.collect::<Result<_>>()?, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{DictionaryArray, StringArray, UInt8Array};

    fn texts(keys: Vec<Option<u8>>) -> ArrayRef {
        let values = Arc::new(StringArray::from(vec!["a", "7", "b"]));
        Arc::new(DictionaryArray::new(UInt8Array::from(keys), values))
    }

    #[test]
    fn each_value_is_decided_once() {
        let array = texts(vec![Some(0), None, Some(2), Some(1), Some(0)]);
        let is_a = |values: ArrayRef| {
            assert_eq!(values.len(), 4, "three values and null");
            let values = values.as_string::<i32>();
            Ok(values.iter().map(|v| v.map(|v| v == "a")).collect())
        };
        let mask = decided_by_value(&array, &DataType::Utf8, &is_a).unwrap().unwrap();
        assert_eq!(mask, BooleanArray::from(vec![true, false, false, false, true]));
        let is_null = |values: ArrayRef| Ok(arrow::compute::is_null(&values)?);
        let mask = decided_by_value(&array, &DataType::Utf8, &is_null).unwrap().unwrap();
        assert_eq!(mask, BooleanArray::from(vec![false, true, false, false, false]));
        let plain = decoded(array, &DataType::Utf8).unwrap();
        assert_eq!(
            plain.as_string::<i32>(),
            &StringArray::from(vec![Some("a"), None, Some("b"), Some("7"), Some("a")])
        );
    }

    #[test]
    fn what_is_no_dictionary_or_fails_is_left_to_rows() {
        let all = |values: ArrayRef| Ok(BooleanArray::from(vec![true; values.len()]));
        let fails = |_: ArrayRef| Err(Error::request("type_mismatch", "not a number: \"a\""));
        let many = texts(vec![Some(1); 3]);
        assert!(decided_by_value(&many, &DataType::Utf8, &all).unwrap().is_some());
        assert!(decided_by_value(&many, &DataType::Utf8, &fails).unwrap().is_none());
        assert!(decided_by_value(&texts(vec![Some(1)]), &DataType::Utf8, &all).unwrap().is_none(), "fewer rows");
        let own = many.data_type().clone();
        assert!(decided_by_value(&many, &own, &all).unwrap().is_none(), "the column's own type");
        assert!(decided_by_value(&many, &DataType::Int32, &all).unwrap().is_none());
    }
}
