//! Checks that values are valid for their type.
//!
//! A type may be narrower than its physical representation: a decimal has a precision, a time of day is less than a
//! day, a `Date64` is a whole day. Arrow does not check this, and later readers truncate or wrap such values. Formats
//! that take values from a file check them here. Slots under nulls are ignored.

use crate::{Error, Result};
use arrow::array::{Array, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowNativeTypeOp, DataType, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
};

const SECONDS: i32 = 86_400;
const DAY_MILLISECONDS: i64 = 86_400_000;

/// Refuses an array that holds a value which its type, or a type inside of it, does not have.
pub fn check_values(array: &dyn Array) -> Result<()> {
    if !has_bounds(array.data_type()) {
        return Ok(());
    }
    match array.data_type() {
        DataType::Decimal32(precision, _) => decimals::<Decimal32Type>(array, *precision),
        DataType::Decimal64(precision, _) => decimals::<Decimal64Type>(array, *precision),
        DataType::Decimal128(precision, _) => decimals::<Decimal128Type>(array, *precision),
        DataType::Decimal256(precision, _) => decimals::<Decimal256Type>(array, *precision),
        DataType::Date64 => numbers::<Date64Type>(array, |v| v % DAY_MILLISECONDS == 0, "not a whole number of days"),
        DataType::Time32(TimeUnit::Second) => times::<Time32SecondType>(array, SECONDS),
        DataType::Time32(_) => times::<Time32MillisecondType>(array, SECONDS * 1_000),
        DataType::Time64(TimeUnit::Microsecond) => times::<Time64MicrosecondType>(array, DAY_MILLISECONDS * 1_000),
        DataType::Time64(_) => times::<Time64NanosecondType>(array, DAY_MILLISECONDS * 1_000_000),
        DataType::List(_) => check_values(array.as_list::<i32>().values()),
        DataType::LargeList(_) => check_values(array.as_list::<i64>().values()),
        DataType::ListView(_) => check_values(array.as_list_view::<i32>().values()),
        DataType::LargeListView(_) => check_values(array.as_list_view::<i64>().values()),
        DataType::FixedSizeList(..) => check_values(array.as_fixed_size_list().values()),
        DataType::Map(..) => check_values(array.as_map().entries()),
        DataType::Struct(_) => array.as_struct().columns().iter().try_for_each(|child| check_values(child)),
        DataType::Dictionary(..) => check_values(array.as_any_dictionary().values()),
        DataType::Union(fields, _) => fields.iter().try_for_each(|(id, _)| check_values(array.as_union().child(id))),
        // Values of run-end encoded arrays are reached through their data, whatever the runs' ends are.
        DataType::RunEndEncoded(..) => {
            let data = array.to_data();
            data.child_data().iter().try_for_each(|child| check_values(&arrow::array::make_array(child.clone())))
        }
        _ => Ok(()),
    }
}

/// Whether there are numbers that are no values of this type.
fn has_bounds(data_type: &DataType) -> bool {
    match data_type {
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => true,
        DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => true,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_bounds(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|f| has_bounds(f.data_type())),
        DataType::Union(fields, _) => fields.iter().any(|(_, f)| has_bounds(f.data_type())),
        DataType::Dictionary(_, values) => has_bounds(values),
        DataType::RunEndEncoded(_, values) => has_bounds(values.data_type()),
        _ => false,
    }
}

fn decimals<T: DecimalType>(array: &dyn Array, precision: u8) -> Result<()> {
    let fits = |v: T::Native| T::is_valid_decimal_precision(v, precision);
    numbers::<T>(array, fits, "more digits than its precision")
}

fn times<T: ArrowPrimitiveType>(array: &dyn Array, day: T::Native) -> Result<()> {
    let zero = T::Native::ZERO;
    numbers::<T>(array, |v| v.is_ge(zero) && v.is_lt(day), "not a time of a day")
}

fn numbers<T: ArrowPrimitiveType>(array: &dyn Array, fits: impl Fn(T::Native) -> bool, wrong: &str) -> Result<()> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    // Most arrays are good, nulls included, and this loop has no branch for them.
    if array.values().iter().all(|value| fits(*value)) {
        return Ok(());
    }
    match array.iter().flatten().find(|value| !fits(*value)) {
        None => Ok(()),
        Some(value) => {
            let message = format!("the number {value:?} as {}: {wrong}", array.data_type());
            Err(Error::corrupt("bad_number", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        ArrayRef, Date64Array, Decimal128Array, DictionaryArray, Int8Array, ListArray, StructArray, Time32SecondArray,
        Time64NanosecondArray,
    };
    use arrow::datatypes::{Field, Int8Type};
    use std::sync::Arc;

    fn wrong(array: impl Array) -> Option<String> {
        check_values(&array).err().map(|e| e.message().to_string())
    }

    #[test]
    fn numbers_beyond_their_type_are_told() {
        let decimals =
            |values: Vec<Option<i128>>| Decimal128Array::from(values).with_data_type(DataType::Decimal128(3, 1));
        assert_eq!(wrong(decimals(vec![Some(999), None, Some(-999)])), None);
        assert_eq!(
            wrong(decimals(vec![Some(999), Some(-1000)])).unwrap(),
            "the number -1000 as Decimal128(3, 1): more digits than its precision"
        );
        assert_eq!(wrong(Date64Array::from(vec![0, -86_400_000])), None);
        assert!(wrong(Date64Array::from(vec![86_400_001])).unwrap().contains("whole number of days"));
        assert_eq!(wrong(Time32SecondArray::from(vec![0, 86_399])), None);
        assert!(wrong(Time32SecondArray::from(vec![86_400])).unwrap().contains("time of a day"));
        assert!(wrong(Time64NanosecondArray::from(vec![-1])).is_some());
    }

    #[test]
    fn what_lies_under_a_null_is_nobodys_value() {
        let values = Time32SecondArray::new(vec![1, 99_999].into(), Some(vec![true, false].into()));
        assert_eq!(wrong(values), None);
    }

    #[test]
    fn values_inside_of_others_are_looked_at() {
        let bad: ArrayRef = Arc::new(Time32SecondArray::from(vec![5, 86_400]));
        let item = Arc::new(Field::new("item", bad.data_type().clone(), true));
        let offsets = arrow::buffer::OffsetBuffer::new(vec![0, 2].into());
        assert!(wrong(ListArray::new(item.clone(), offsets, bad.clone(), None)).is_some());
        assert!(wrong(StructArray::new(vec![item].into(), vec![bad.clone()], None)).is_some());
        assert!(wrong(DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0, 1]), bad)).is_some());
    }
}
