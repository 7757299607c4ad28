//! Writes Arrow values as JSON into a buffer.
//!
//! Numbers keep all their digits; NaN and infinity, which JSON lacks, become null. Binary is hexadecimal, dates and
//! times are ISO 8601 strings, structs and maps are objects, lists are arrays.

use crate::Result;
use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray, LargeStringBuilder, OffsetSizeTrait};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::{Debug, Display, Write as _};
use std::io::Write as _;

/// Writes the value of a row to the buffer.
pub type Encoder<'a> = Box<dyn Fn(usize, &mut Vec<u8>) -> Result<()> + 'a>;

/// How to write the values of this array; nulls included.
pub fn encoder(array: &ArrayRef) -> Result<Encoder<'_>> {
    let values = values(array)?;
    if array.logical_nulls().is_none_or(|n| n.null_count() == 0) && *array.data_type() != DataType::Null {
        return Ok(values);
    }
    let nulls = array.logical_nulls();
    let always = *array.data_type() == DataType::Null;
    Ok(Box::new(move |row, out| {
        if always || nulls.as_ref().is_some_and(|n| n.is_null(row)) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        values(row, out)
    }))
}

fn values(array: &ArrayRef) -> Result<Encoder<'_>> {
    Ok(match array.data_type() {
        DataType::Null => Box::new(|_, _| Ok(())),
        DataType::Boolean => {
            let array = array.as_boolean();
            Box::new(move |row, out| {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
                Ok(())
            })
        }
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Float16 => floats::<Float16Type>(array, |x| x.to_f32().is_finite()),
        DataType::Float32 => floats::<Float32Type>(array, |x| x.is_finite()),
        DataType::Float64 => floats::<Float64Type>(array, |x| x.is_finite()),
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            Box::new(move |row, out| text(array.value(row), out))
        }
        DataType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            Box::new(move |row, out| text(array.value(row), out))
        }
        DataType::Utf8View => {
            let array = array.as_string_view();
            Box::new(move |row, out| text(array.value(row), out))
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            Box::new(move |row, out| hexadecimal(array.value(row), out))
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            Box::new(move |row, out| hexadecimal(array.value(row), out))
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            Box::new(move |row, out| hexadecimal(array.value(row), out))
        }
        DataType::FixedSizeBinary(_) => {
            let array = array.as_fixed_size_binary();
            Box::new(move |row, out| hexadecimal(array.value(row), out))
        }
        DataType::List(_) => lists::<i32>(array)?,
        DataType::LargeList(_) => lists::<i64>(array)?,
        DataType::FixedSizeList(_, _) => {
            let array = array.as_fixed_size_list();
            let items = encoder(array.values())?;
            let length = usize::try_from(array.value_length()).unwrap_or(0);
            Box::new(move |row, out| sequence((row * length)..((row + 1) * length), &items, out))
        }
        DataType::Struct(fields) => {
            let array = array.as_struct();
            let mut members = Vec::new();
            for (field, column) in fields.iter().zip(array.columns()) {
                members.push((key(field.name())?, encoder(column)?));
            }
            Box::new(move |row, out| object(&members, row, out))
        }
        DataType::Map(_, _) => maps(array)?,
        DataType::Dictionary(_, _) => dictionary(array)?,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            displayed(array, |shown, out| {
                out.extend_from_slice(shown.as_bytes());
                Ok(())
            })?
        }
        _ => displayed(array, text)?,
    })
}

fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Encoder<'_>
where
    T::Native: Display,
{
    let array = array.as_primitive::<T>();
    Box::new(move |row, out| Ok(write!(out, "{}", array.value(row))?))
}

fn floats<T: ArrowPrimitiveType>(array: &ArrayRef, is_finite: fn(T::Native) -> bool) -> Encoder<'_>
where
    T::Native: Debug,
{
    let array = array.as_primitive::<T>();
    Box::new(move |row, out| {
        let value = array.value(row);
        // Debug prints the shortest digits that read back as the same number, with an exponent where that is shorter.
        if is_finite(value) {
            write!(out, "{value:?}")?
        } else {
            out.extend_from_slice(b"null")
        }
        Ok(())
    })
}

/// Text in quotes, escaped.
pub fn text(value: &str, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, value).map_err(std::io::Error::from)?;
    Ok(())
}

/// A member's name with its colon.
pub fn key(name: &str) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    text(name, &mut key)?;
    key.push(b':');
    Ok(key)
}

/// How to write the rows of a batch as objects. The columns have these [`key`]s.
pub fn rows<'a>(keys: &'a [Vec<u8>], batch: &'a RecordBatch) -> Result<Encoder<'a>> {
    let members = keys.iter().zip(batch.columns()).map(|(key, column)| Ok((key, encoder(column)?)));
    let members = members.collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |row, out| object(&members, row, out)))
}

/// The values as the text of their JSON; nulls stay nulls.
pub fn texts(array: &ArrayRef) -> Result<LargeStringArray> {
    let encode = encoder(array)?;
    let mut texts = LargeStringBuilder::new();
    let mut text = Vec::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        encode(row, &mut text)?;
        texts.append_value(String::from_utf8_lossy(&text));
    }
    Ok(texts.finish())
}

/// An object of these members.
fn object(members: &[(impl AsRef<[u8]>, Encoder<'_>)], row: usize, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'{');
    for (i, (key, value)) in members.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key.as_ref());
        value(row, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.push(b'"');
    for byte in bytes {
        write!(out, "{byte:02x}")?;
    }
    out.push(b'"');
    Ok(())
}

fn sequence(rows: std::ops::Range<usize>, items: &Encoder<'_>, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'[');
    for (i, row) in rows.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        items(row, out)?;
    }
    out.push(b']');
    Ok(())
}

fn lists<O: OffsetSizeTrait>(array: &ArrayRef) -> Result<Encoder<'_>> {
    let array = array.as_list::<O>();
    let items = encoder(array.values())?;
    let offsets = array.value_offsets();
    Ok(Box::new(move |row, out| sequence(bounds(offsets, row), &items, out)))
}

fn bounds<O: OffsetSizeTrait>(offsets: &[O], row: usize) -> std::ops::Range<usize> {
    let at = |i: usize| offsets.get(i).map_or(0, |o| o.as_usize());
    at(row)..at(row + 1)
}

/// Maps as objects; keys that are not text are written as the text of their JSON.
fn maps(array: &ArrayRef) -> Result<Encoder<'_>> {
    let array = array.as_map();
    let keys = encoder(array.keys())?;
    let items = encoder(array.values())?;
    let offsets = array.value_offsets();
    Ok(Box::new(move |row, out| {
        out.push(b'{');
        for (i, entry) in bounds(offsets, row).enumerate() {
            if i > 0 {
                out.push(b',');
            }
            let mut key = Vec::new();
            keys(entry, &mut key)?;
            if key.first() == Some(&b'"') {
                out.extend_from_slice(&key)
            } else {
                text(&String::from_utf8_lossy(&key), out)?
            }
            out.push(b':');
            items(entry, out)?;
        }
        out.push(b'}');
        Ok(())
    }))
}

/// Dictionaries are written as the values they stand for.
fn dictionary(array: &ArrayRef) -> Result<Encoder<'_>> {
    let dictionary = array.as_any_dictionary();
    let entries = encoder(dictionary.values())?;
    let keys = cast(&dictionary.keys().slice(0, array.len()), &DataType::UInt64)?;
    Ok(Box::new(move |row, out| {
        let key = keys.as_primitive::<UInt64Type>().value(row);
        entries(usize::try_from(key).unwrap_or(usize::MAX), out)
    }))
}

/// What arrow itself shows of the value.
fn displayed(array: &ArrayRef, write: fn(&str, &mut Vec<u8>) -> Result<()>) -> Result<Encoder<'_>> {
    const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_display_error(false);
    let formatter = ArrayFormatter::try_new(array, &OPTIONS)?;
    Ok(Box::new(move |row, out| {
        let mut shown = String::new();
        let value = formatter.value(row);
        match write!(shown, "{value}") {
            Ok(()) => write(&shown, out),
            Err(_) => Err(crate::Error::data("value_out_of_range", "a value cannot be shown as text")),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, ListArray,
        NullArray, StringArray, StructArray,
    };
    use arrow::datatypes::Field;
    use std::sync::Arc;

    fn json(array: impl Array + 'static) -> String {
        let array: ArrayRef = Arc::new(array);
        let encode = encoder(&array).unwrap();
        let mut out = Vec::new();
        for row in 0..array.len() {
            encode(row, &mut out).unwrap();
            out.push(b' ');
        }
        String::from_utf8(out).unwrap().trim_end().to_string()
    }

    #[test]
    fn scalars() {
        assert_eq!(json(Int32Array::from(vec![Some(-5), None])), "-5 null");
        let floats = vec![0.1, -0.0, 1e300, 5e-324, f64::NAN, f64::INFINITY];
        assert_eq!(json(Float64Array::from(floats)), "0.1 -0.0 1e300 5e-324 null null");
        assert_eq!(json(BooleanArray::from(vec![Some(true), Some(false), None])), "true false null");
        assert_eq!(json(StringArray::from(vec!["a\"\n\u{1}é😀"])), "\"a\\\"\\n\\u0001é😀\"");
        assert_eq!(json(BinaryArray::from(vec![&b"\x00\xff"[..]])), "\"00ff\"");
        assert_eq!(json(Date32Array::from(vec![1])), "\"1970-01-02\"");
        assert_eq!(json(NullArray::new(2)), "null null");
        let decimals = Decimal128Array::from(vec![12345]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(json(decimals), "123.45");
    }

    #[test]
    fn nested_values_and_slices_of_them() {
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
        assert_eq!(json(lists.slice(1, 2)), "null []");
        assert_eq!(json(lists.clone()), "[1,null] null []");
        let array: ArrayRef = Arc::new(lists.clone());
        assert_eq!(texts(&array).unwrap().iter().collect::<Vec<_>>(), [Some("[1,null]"), None, Some("[]")]);
        let structs = StructArray::from(vec![(
            Arc::new(Field::new("l", lists.data_type().clone(), true)),
            Arc::new(lists) as ArrayRef,
        )]);
        assert_eq!(json(structs.slice(0, 2)), "{\"l\":[1,null]} {\"l\":null}");
        let words: DictionaryArray<Int32Type> = vec![Some("x"), None, Some("x")].into_iter().collect();
        assert_eq!(json(words.slice(1, 2)), "null \"x\"");
    }
}
