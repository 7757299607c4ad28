//! The smallest and largest value of an array, and short values below and above them.
//!
//! Every type that has an order has bounds: dates, times and decimals as integers in their own unit, dictionaries by the
//! values that occur. NaN lies outside of every order and is never counted.

use super::dictionary::occurring;
use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray};
use arrow::compute::{cast, max, max_boolean, min, min_boolean};
use arrow::datatypes::{
    ArrowNativeType, BinaryType, ByteArrayType, DataType, Decimal128Type, Decimal256Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, LargeBinaryType, LargeUtf8Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    Utf8Type, i256,
};
use colkit_core::{Result, Value};
use std::ops::Range;

/// Longer bounds are cut to this.
pub(super) const BOUND_BYTES: usize = 64;

/// What the values of some rows lie between.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Bounds {
    /// There is no value: all are null or NaN.
    #[default]
    Nothing,
    Between(Value, Value),
    /// There may be any value: the type has no order, or a value is beyond what a bound can be.
    Anything,
}

impl Bounds {
    fn of_pair(pair: Option<(Value, Value)>) -> Bounds {
        pair.map_or(Bounds::Nothing, |(low, high)| Bounds::Between(low, high))
    }

    /// The bounds of the values of an array.
    pub fn of(array: &ArrayRef) -> Result<Bounds> {
        let text = |s: &[u8]| Value::Text(String::from_utf8_lossy(s).into_owned());
        let texts = |found: Option<(&[u8], &[u8])>| Bounds::of_pair(found.map(|(low, high)| (text(low), text(high))));
        let bytes = |found: Option<(&[u8], &[u8])>| {
            let owned = |b: &[u8]| Value::Bytes(b.to_vec());
            Bounds::of_pair(found.map(|(low, high)| (owned(low), owned(high))))
        };
        Ok(match array.data_type() {
            DataType::Boolean => {
                let a = array.as_boolean();
                Bounds::of_pair(min_boolean(a).map(Value::Bool).zip(max_boolean(a).map(Value::Bool)))
            }
            DataType::Int8 => integers::<Int8Type>(array),
            DataType::Int16 => integers::<Int16Type>(array),
            DataType::Int32 => integers::<Int32Type>(array),
            DataType::Int64 => integers::<Int64Type>(array),
            DataType::UInt8 => integers::<UInt8Type>(array),
            DataType::UInt16 => integers::<UInt16Type>(array),
            DataType::UInt32 => integers::<UInt32Type>(array),
            DataType::UInt64 => integers::<UInt64Type>(array),
            DataType::Decimal128(_, _) => integers::<Decimal128Type>(array),
            DataType::Decimal256(_, _) => {
                let a = array.as_primitive::<Decimal256Type>();
                match min(a).zip(max(a)) {
                    None => Bounds::Nothing,
                    Some((low, high)) => low
                        .to_i128()
                        .zip(i256::to_i128(high))
                        .map_or(Bounds::Anything, |(low, high)| Bounds::Between(Value::Int(low), Value::Int(high))),
                }
            }
            t if t.is_temporal() => match t.primitive_width() {
                Some(4) => integers::<Int32Type>(&cast(array, &DataType::Int32)?),
                Some(8) => integers::<Int64Type>(&cast(array, &DataType::Int64)?),
                _ => Bounds::Anything,
            },
            DataType::Float16 | DataType::Float32 | DataType::Float64 => floats(&cast(array, &DataType::Float64)?),
            DataType::Utf8 => texts(variable::<Utf8Type>(array)),
            DataType::LargeUtf8 => texts(variable::<LargeUtf8Type>(array)),
            DataType::Binary => bytes(variable::<BinaryType>(array)),
            DataType::LargeBinary => bytes(variable::<LargeBinaryType>(array)),
            DataType::FixedSizeBinary(_) => bytes(fixed(array)),
            DataType::Dictionary(_, _) => Bounds::of(&occurring(array)?)?,
            DataType::Null => Bounds::Nothing,
            _ => Bounds::Anything,
        })
    }

    /// Makes these the bounds of more values.
    pub fn add(&mut self, more: &Bounds) {
        match (&mut *self, more) {
            (Bounds::Anything, _) | (_, Bounds::Nothing) => {}
            (Bounds::Between(low, high), Bounds::Between(lower, higher)) => {
                if lower.compare(low).is_some_and(|o| o.is_lt()) {
                    low.clone_from(lower);
                }
                if higher.compare(high).is_some_and(|o| o.is_gt()) {
                    high.clone_from(higher);
                }
            }
            (Bounds::Nothing, _) | (_, Bounds::Anything) => self.clone_from(more),
        }
    }
}

fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Bounds
where
    T::Native: Into<i128> + ArrowNativeTypeOp,
{
    let a = array.as_primitive::<T>();
    let value = |x: T::Native| Value::Int(x.into());
    Bounds::of_pair(min(a).map(value).zip(max(a).map(value)))
}

/// Of an array of doubles. Several lanes side by side, so that no comparison waits for the one before.
fn floats(array: &ArrayRef) -> Bounds {
    const LANES: usize = 8;
    let array = array.as_primitive::<Float64Type>();
    let (mut low, mut high) = ([f64::NAN; LANES], [f64::NAN; LANES]);
    // The smaller of a number and NaN is the number.
    let mut fold = |values: &[f64]| {
        for ((low, high), x) in low.iter_mut().zip(&mut high).zip(values) {
            (*low, *high) = (low.min(*x), high.max(*x));
        }
    };
    if array.null_count() == 0 {
        array.values().chunks(LANES).for_each(&mut fold);
    } else {
        array.iter().flatten().for_each(|x| fold(&[x]));
    }
    let (low, high) = (low.into_iter().fold(f64::NAN, f64::min), high.into_iter().fold(f64::NAN, f64::max));
    if low.is_nan() { Bounds::Nothing } else { Bounds::Between(Value::Float(low), Value::Float(high)) }
}

/// The smallest and largest of the values at these places of `data`. Their first eight bytes, as a number, decide most comparisons.
fn byte_bounds(data: &[u8], places: impl Iterator<Item = Range<usize>>) -> Option<(&[u8], &[u8])> {
    let less = |a: &(u64, &[u8]), b: &(u64, &[u8])| {
        let same = a.1.len() == b.1.len() && a.1.len() <= 8;
        a.0 < b.0 || (a.0 == b.0 && !same && a.1 < b.1)
    };
    let mut values = places.filter_map(|place| Some((head(data, &place), data.get(place)?)));
    let first = values.next()?;
    let (mut low, mut high) = (first, first);
    for value in values {
        if less(&value, &low) {
            low = value;
        } else if less(&high, &value) {
            high = value;
        }
    }
    Some((low.1, high.1))
}

/// The first eight bytes of the value at this place, with zeros after its end.
fn head(data: &[u8], place: &Range<usize>) -> u64 {
    let eight = data.get(place.start..).and_then(|rest| rest.first_chunk());
    match (eight, place.len()) {
        (Some(eight), 8..) => u64::from_be_bytes(*eight),
        // What follows the value belongs to others.
        (Some(eight), length @ 1..8) => u64::from_be_bytes(*eight) & (u64::MAX << (64 - 8 * length)),
        (_, 0) => 0,
        (None, _) => {
            let mut first = [0; 8];
            first.iter_mut().zip(data.get(place.clone()).unwrap_or_default()).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(first)
        }
    }
}

/// The bounds of texts or binary.
fn variable<T: ByteArrayType>(array: &ArrayRef) -> Option<(&[u8], &[u8])> {
    let array = array.as_bytes::<T>();
    let place = |pair: &[T::Offset]| match pair {
        [start, end] => start.as_usize()..end.as_usize(),
        _ => 0..0,
    };
    let places = array.offsets().windows(2).map(place);
    match array.nulls() {
        None => byte_bounds(array.value_data(), places),
        Some(nulls) => byte_bounds(array.value_data(), places.zip(nulls).filter(|(_, valid)| *valid).map(|(p, _)| p)),
    }
}

/// The bounds of values of one length.
fn fixed(array: &ArrayRef) -> Option<(&[u8], &[u8])> {
    let array = array.as_fixed_size_binary();
    let width = usize::try_from(array.value_length()).ok()?;
    let there = (0..array.len()).filter(|i| array.is_valid(*i));
    byte_bounds(array.value_data(), there.map(|i| i * width..(i + 1) * width))
}

/// A value that is not larger, and short.
pub(super) fn below(value: &Value) -> Value {
    match value {
        Value::Text(s) => Value::Text(cut(s).to_owned()),
        Value::Bytes(b) => Value::Bytes(b.iter().take(BOUND_BYTES).copied().collect()),
        other => other.clone(),
    }
}

/// A value that is not smaller, and short; `None` if there is none.
pub(super) fn above(value: &Value) -> Option<Value> {
    match value {
        Value::Text(s) if s.len() > BOUND_BYTES => {
            // The next text of the cut length: its last character that has a next one, raised.
            let mut kept: Vec<char> = cut(s).chars().collect();
            while let Some(last) = kept.pop() {
                if let Some(next) = u32::from(last).checked_add(1).and_then(char::from_u32) {
                    kept.push(next);
                    return Some(Value::Text(kept.into_iter().collect()));
                }
            }
            None
        }
        Value::Bytes(b) if b.len() > BOUND_BYTES => {
            let mut kept: Vec<u8> = b.iter().take(BOUND_BYTES).copied().collect();
            while let Some(last) = kept.pop() {
                if let Some(next) = last.checked_add(1) {
                    kept.push(next);
                    return Some(Value::Bytes(kept));
                }
            }
            None
        }
        other => Some(other.clone()),
    }
}

/// The front of a text, cut between characters.
fn cut(text: &str) -> &str {
    let end = (0..=BOUND_BYTES.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        BinaryArray, Decimal256Array, DictionaryArray, DurationSecondArray, FixedSizeBinaryArray, Float32Array,
        Int32Array, NullArray, StringArray, StructArray, Time32SecondArray, UInt64Array,
    };
    use arrow::datatypes::Int8Type as Key;
    use std::sync::Arc;

    fn of(array: impl Array + 'static) -> Bounds {
        Bounds::of(&(Arc::new(array) as ArrayRef)).unwrap()
    }

    fn between(low: impl Into<i128>, high: impl Into<i128>) -> Bounds {
        Bounds::Between(Value::Int(low.into()), Value::Int(high.into()))
    }

    #[test]
    fn every_type_with_an_order_has_bounds() {
        assert_eq!(of(UInt64Array::from(vec![Some(u64::MAX), None, Some(3)])), between(3, u64::MAX));
        assert_eq!(of(Time32SecondArray::from(vec![9, 4])), between(4, 9));
        assert_eq!(of(DurationSecondArray::from(vec![9, -4])), between(-4, 9));
        let floats = of(Float32Array::from(vec![Some(1.5), None, Some(f32::NAN), Some(-2.0)]));
        assert_eq!(floats, Bounds::Between(Value::Float(-2.0), Value::Float(1.5)));
        let many: Float32Array = (0..1000i16).map(|i| Some(f32::from((i * 7) % 1000))).collect();
        assert_eq!(of(many), Bounds::Between(Value::Float(0.0), Value::Float(999.0)));
        let fixed = FixedSizeBinaryArray::try_from_iter([b"bb", b"ab", b"ba"].into_iter()).unwrap();
        assert_eq!(of(fixed), Bounds::Between(Value::Bytes(b"ab".to_vec()), Value::Bytes(b"bb".to_vec())));
        assert_eq!(of(NullArray::new(5)), Bounds::Nothing);
        assert_eq!(of(StructArray::new_empty_fields(5, None)), Bounds::Anything);
    }

    #[test]
    fn wide_decimals_beyond_any_bound_have_none() {
        let wide = |values: Vec<i256>| of(Decimal256Array::from(values));
        assert_eq!(wide(vec![i256::from(5), i256::from(-5)]), between(-5, 5));
        assert_eq!(wide(vec![i256::from(5), i256::MAX]), Bounds::Anything);
        let mut sum = wide(vec![i256::MIN]);
        sum.add(&wide(vec![i256::from(5)]));
        assert_eq!(sum, Bounds::Anything);
        let mut sum = wide(vec![]);
        sum.add(&wide(vec![i256::from(5)]));
        assert_eq!(sum, between(5, 5));
        sum.add(&wide(vec![i256::MIN]));
        assert_eq!(sum, Bounds::Anything);
    }

    #[test]
    fn dictionaries_are_bounded_by_what_occurs() {
        let text = |s: &str| Value::Text(s.into());
        let values = Arc::new(StringArray::from(vec!["z", "b", "a", "c"]));
        let rows: DictionaryArray<Key> = DictionaryArray::new(vec![Some(3), None, Some(1)].into(), values);
        assert_eq!(of(rows.clone()), Bounds::Between(text("b"), text("c")));
        assert_eq!(of(rows.slice(1, 1)), Bounds::Nothing);
        let none: DictionaryArray<Key> =
            DictionaryArray::new(vec![None, None].into(), Arc::new(Int32Array::from(Vec::<i32>::new())));
        assert_eq!(of(none), Bounds::Nothing);
    }

    #[test]
    fn bytes_are_compared_as_bytes() {
        let values: Vec<&[u8]> =
            vec![b"", b"\0", b"a", b"a\0", b"abcdefgh", b"abcdefgh\0", b"abcdefghi", b"abcdefgi", b"\xFF"];
        for from in 0..values.len() {
            for to in from + 1..=values.len() {
                let part = &values[from..to];
                let array: ArrayRef = Arc::new(BinaryArray::from_iter_values(part.iter().rev()));
                assert_eq!(variable::<BinaryType>(&array), Some((part[0], part[part.len() - 1])));
            }
        }
        let sliced = BinaryArray::from_iter(values.iter().map(|v| (v.len() != 1).then_some(*v))).slice(1, 5);
        assert_eq!(variable::<BinaryType>(&(Arc::new(sliced) as ArrayRef)), Some((&b"a\0"[..], &b"abcdefgh\0"[..])));
        assert_eq!(variable::<BinaryType>(&(Arc::new(BinaryArray::new_null(3)) as ArrayRef)), None);
    }
}
