//! What can be written, what is refused, and that large tables stay within their memory.

use crate::{COLUMNS_APART, formats};
use arrow::array::*;
use arrow::datatypes::{DataType, Field, Int8Type, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;
use colkit_core::{Nulls, Types, WriteOptions, conformance};
use std::sync::Arc;

fn one(name: &str, array: ArrayRef) -> RecordBatch {
    let schema = Schema::new(vec![Field::new(name, array.data_type().clone(), true)]);
    RecordBatch::try_new(Arc::new(schema), vec![array]).unwrap()
}

fn options(types: Types, nulls: Nulls) -> WriteOptions {
    WriteOptions { types, nulls, ..WriteOptions::default() }
}

/// What a column reads back as from each format, or the code of the refusal.
fn written(array: ArrayRef, types: Types, nulls: Nulls) -> Vec<Result<ArrayRef, &'static str>> {
    let write = |format| {
        let (bytes, _) =
            conformance::write(&format, &one("c", array.clone()), 2, &options(types, nulls)).map_err(|e| e.code())?;
        Ok(conformance::read_all(&format, &bytes).unwrap().column(0).clone())
    };
    formats().into_iter().map(write).collect()
}

fn int32(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn text(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn everywhere(expected: Result<ArrayRef, &'static str>) -> Vec<Result<ArrayRef, &'static str>> {
    vec![expected; formats().len()]
}

#[test]
fn nulls_are_refused_or_filled() {
    let nulls: [(ArrayRef, ArrayRef); 3] = [
        (Arc::new(Int32Array::from(vec![Some(5), None])), int32(&[5, 0])),
        (Arc::new(StringArray::from(vec![Some("x"), None])), text(&["x", ""])),
        (Arc::new(NullArray::new(2)), text(&["", ""])),
    ];
    for (array, filled) in nulls {
        assert_eq!(written(array.clone(), Types::Refuse, Nulls::Refuse), everywhere(Err("null_not_supported")));
        assert_eq!(written(array, Types::Refuse, Nulls::Fill), everywhere(Ok(filled)));
    }
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![None, Some(1.5)]));
    let filled = written(floats, Types::Refuse, Nulls::Fill).remove(0).unwrap();
    assert_eq!(filled.as_primitive::<arrow::datatypes::Float64Type>().value(0).to_bits(), 0x7FF8_0000_0000_0000);
}

#[test]
fn the_refusal_names_column_row_and_remedy() {
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), Some(3), None]));
    let error = conformance::write(&formats()[0], &one("id", ids), 2, &WriteOptions::default()).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("column \"id\"") && message.contains("row 3") && message.contains("Nulls::Fill"),
        "{message}"
    );
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![1, 1 << 40]));
    let error = conformance::write(&formats()[1], &one("n", wide.clone()), 9, &WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("Types::Exact"), "{error}");
    let exact = options(Types::Exact, Nulls::Refuse);
    let error = conformance::write(&formats()[1], &one("n", wide), 1, &exact).unwrap_err();
    assert_eq!(error.code(), "value_out_of_range");
    assert!(error.to_string().contains("row 1") && error.to_string().contains("1099511627776"), "{error}");
}

#[test]
fn other_types_need_permission() {
    let refused = || everywhere(Err("type_not_supported"));
    let cases: Vec<(ArrayRef, ArrayRef)> = vec![
        (Arc::new(Int8Array::from(vec![-1, 2])), int32(&[-1, 2])),
        (Arc::new(UInt16Array::from(vec![1, 65_535])), int32(&[1, 65_535])),
        (Arc::new(Int64Array::from(vec![1, -2])), int32(&[1, -2])),
        (Arc::new(UInt64Array::from(vec![7])), int32(&[7])),
        (Arc::new(Float32Array::from(vec![0.5])), Arc::new(Float64Array::from(vec![0.5]))),
        (Arc::new(BinaryArray::from(vec![b"ab".as_slice()])), text(&["ab"])),
    ];
    for (array, exact) in cases {
        assert_eq!(written(array.clone(), Types::Refuse, Nulls::Refuse), refused(), "{array:?}");
        assert_eq!(written(array, Types::Exact, Nulls::Refuse), everywhere(Ok(exact)));
    }
    let not_utf8: ArrayRef = Arc::new(BinaryArray::from(vec![b"\xff".as_slice()]));
    assert_eq!(written(not_utf8.clone(), Types::Exact, Nulls::Refuse), everywhere(Err("value_out_of_range")));
    assert_eq!(written(not_utf8, Types::Lossy, Nulls::Refuse), everywhere(Ok(text(&["/w=="]))));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 19_000]));
    assert_eq!(written(days.clone(), Types::Exact, Nulls::Refuse), refused());
    assert_eq!(written(days, Types::Lossy, Nulls::Refuse), everywhere(Ok(text(&["1970-01-01", "2022-01-08"]))));
    let time: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1_500]).with_timezone("UTC"));
    assert_eq!(time.data_type(), &DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())));
    assert_eq!(written(time, Types::Lossy, Nulls::Refuse), everywhere(Ok(text(&["1970-01-01T00:00:01.500Z"]))));
    let lists: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Int8Type, _, _>([Some(vec![Some(1), None]), Some(vec![])]));
    assert_eq!(written(lists.clone(), Types::Exact, Nulls::Refuse), refused());
    assert_eq!(written(lists, Types::Lossy, Nulls::Refuse), everywhere(Ok(text(&["[1,null]", "[]"]))));
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![1 << 53]));
    let float: ArrayRef = Arc::new(Float64Array::from(vec![9_007_199_254_740_992.0]));
    assert_eq!(written(wide, Types::Lossy, Nulls::Refuse), everywhere(Ok(float)));
    let wider: ArrayRef = Arc::new(Int64Array::from(vec![(1 << 53) + 1]));
    assert_eq!(written(wider, Types::Lossy, Nulls::Refuse), everywhere(Err("value_out_of_range")));
}

#[test]
fn booleans_exist_only_in_some_of_the_formats() {
    let bools: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
    let kept_or = |otherwise: Result<ArrayRef, &'static str>| {
        formats().map(|f| if f.stores(&DataType::Boolean) { Ok(bools.clone()) } else { otherwise.clone() })
    };
    assert!(formats()[0].stores(&DataType::Boolean) && !formats()[1].stores(&DataType::Boolean));
    assert_eq!(written(bools.clone(), Types::Refuse, Nulls::Refuse), kept_or(Err("type_not_supported")));
    assert_eq!(written(bools.clone(), Types::Exact, Nulls::Refuse), kept_or(Ok(int32(&[1, 0]))));
}

#[test]
fn all_kinds_of_text_are_text() {
    let expected = text(&["a", "bb", "a"]);
    let values = ["a", "bb", "a"];
    let arrays: [ArrayRef; 3] = [
        Arc::new(LargeStringArray::from_iter_values(values)),
        Arc::new(StringViewArray::from_iter_values(values)),
        Arc::new(values.into_iter().collect::<DictionaryArray<Int8Type>>()),
    ];
    for array in arrays {
        assert_eq!(written(array, Types::Refuse, Nulls::Refuse), everywhere(Ok(expected.clone())));
    }
}

#[test]
fn names_must_be_distinct_and_fit() {
    let schema = Schema::new(["a", "a_2", "a", "a"].map(|n| Field::new(n, DataType::Int32, false)).to_vec());
    let batch = RecordBatch::try_new(Arc::new(schema), vec![int32(&[1]); 4]).unwrap();
    let long = one(&"n".repeat(65_536), int32(&[1]));
    for format in formats() {
        let error = conformance::write(&format, &batch, 9, &WriteOptions::default()).unwrap_err();
        assert_eq!(error.code(), "duplicate_column");
        let rename = WriteOptions { rename_duplicates: true, ..WriteOptions::default() };
        let (bytes, summary) = conformance::write(&format, &batch, 9, &rename).unwrap();
        let read = conformance::read_all(&format, &bytes).unwrap();
        let names: Vec<String> = read.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, ["a", "a_2", "a_3", "a_4"]);
        assert_eq!(summary.notes.len(), 2);
        let result = conformance::write(&format, &long, 9, &WriteOptions::default());
        match format.name() {
            "gppcol" => assert_eq!(result.unwrap_err().code(), "name_not_supported"),
            _ => assert!(result.is_ok()),
        }
    }
}

#[test]
fn tables_without_columns() {
    let empty = RecordBatch::new_empty(Arc::new(Schema::empty()));
    for format in formats() {
        let result = conformance::write(&format, &empty, 1, &WriteOptions::default());
        match format.name() {
            "gppcol" => assert_eq!(result.unwrap().0.len(), 20),
            _ => assert_eq!(result.unwrap_err().code(), "no_columns"),
        }
    }
}

#[test]
fn a_table_larger_than_the_budget_is_spilled_and_whole() {
    let rows = 300_000;
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    let prices: ArrayRef = Arc::new(Float64Array::from_iter_values((0..rows).map(|i| f64::from(i) / 7.0)));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("name {}", i * 31 % 1000))));
    let columns = [("id", ids, false), ("price", prices, false), ("name", names, false)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    for format in formats() {
        conformance::round_trip(&format, &batch, COLUMNS_APART);
        let tight = |threads| WriteOptions { memory: 2 << 20, threads, ..WriteOptions::default() };
        let (one_thread, _) = conformance::write(&format, &batch, 10_000, &tight(1)).unwrap();
        let (two_threads, _) = conformance::write(&format, &batch, 10_000, &tight(2)).unwrap();
        assert_eq!(one_thread, two_threads, "the number of threads does not show");
        let (roomy, _) = conformance::write(&format, &batch, 10_000, &WriteOptions::default()).unwrap();
        assert_ne!(one_thread, roomy, "the tight budget was really used");
        assert_eq!(conformance::read_all(&format, &one_thread).unwrap(), batch);
    }
}
