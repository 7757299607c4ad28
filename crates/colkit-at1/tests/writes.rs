//! Tables written as AT-1: every value comes back, and the file is the text the table stands for.

use crate::vectors::strict;
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DurationSecondArray, FixedSizeBinaryArray,
    Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampSecondArray,
};
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use colkit_at1::{At1, restore};
use colkit_core::{
    Format, MemorySink, ReadOptions, Result, Scan, Setting, TableFile, Types, WriteOptions, WriteSummary,
};
use proptest::prelude::*;
use std::sync::Arc;

fn write(batches: &[RecordBatch], options: &WriteOptions) -> Result<(Bytes, WriteSummary)> {
    let sink = MemorySink::new();
    let mut writer = At1.writer(batches[0].schema(), Box::new(sink.clone()), options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    let summary = writer.finish()?;
    let bytes = sink.bytes().unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    Ok((bytes, summary))
}

fn fast() -> WriteOptions {
    WriteOptions { level: Some(1), threads: 2, ..WriteOptions::default() }
}

fn read(bytes: &Bytes) -> Vec<RecordBatch> {
    let file = TableFile::open(Arc::new(At1), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap();
    assert!(file.verify().unwrap().findings.is_empty());
    file.scan(&Scan::default()).unwrap().map(Result::unwrap).collect()
}

fn text(bytes: &Bytes) -> String {
    let sink = MemorySink::new();
    restore(bytes, Box::new(sink.clone()), &strict(1)).unwrap();
    String::from_utf8(sink.bytes().unwrap().to_vec()).unwrap()
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

#[test]
fn a_table_is_written_as_csv() {
    let batch = table(vec![
        ("id", Arc::new(Int64Array::from(vec![Some(1), None, Some(i64::MIN)]))),
        ("price", Arc::new(Float64Array::from(vec![Some(0.1), Some(-0.0), None]))),
        ("zip, \"code\"", Arc::new(StringArray::from(vec!["01234", "a,\"b\"\r", ""]))),
    ]);
    let (bytes, summary) = write(std::slice::from_ref(&batch), &fast()).unwrap();
    assert_eq!(bytes[4], 7, "qcolumnar");
    assert_eq!((summary.rows, summary.notes.len()), (3, 0));
    let expected = "id,price,\"zip, \"\"code\"\"\"\n1,0.1,01234\n,-0.0,\"a,\"\"b\"\"\r\"\n-9223372036854775808,,\n";
    assert_eq!(text(&bytes), expected);
    let back = read(&bytes);
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].columns(), batch.columns());
}

#[test]
fn what_lines_of_csv_cannot_say_becomes_json() {
    let first = table(vec![
        ("n", Arc::new(Int64Array::from(vec![Some(1), None]))),
        ("t", Arc::new(StringArray::from(vec!["a\"b", ""]))),
    ]);
    let second = table(vec![
        ("n", Arc::new(Int64Array::from(vec![Some(2), Some(3)]))),
        ("t", Arc::new(StringArray::from(vec![Some("two\nlines"), None]))),
    ]);
    let (bytes, summary) = write(&[first.clone(), second.clone()], &fast()).unwrap();
    assert_eq!(bytes[4], 8, "qjson");
    assert_eq!(summary.notes.len(), 1);
    let expected =
        "{\"n\":1,\"t\":\"a\\\"b\"}\n{\"n\":null,\"t\":\"\"}\n{\"n\":2,\"t\":\"two\\nlines\"}\n{\"n\":3,\"t\":null}\n";
    assert_eq!(text(&bytes), expected);
    let whole = arrow::compute::concat_batches(&first.schema(), [&first, &second]).unwrap();
    assert_eq!(read(&bytes)[0].columns(), whole.columns());
}

#[test]
fn nothing_becomes_text_unless_that_is_asked_for() {
    let only = |array: ArrayRef| table(vec![("c", array)]);
    let with = |batch: &RecordBatch, types| write(std::slice::from_ref(batch), &WriteOptions { types, ..fast() });
    let times: Vec<ArrayRef> = vec![
        Arc::new(TimestampSecondArray::from(vec![0, 86_400])),
        Arc::new(Date32Array::from(vec![0, 1])),
        Arc::new(DurationSecondArray::from(vec![0, 1])),
        Arc::new(BooleanArray::from(vec![true, false])),
        Arc::new(Decimal128Array::from(vec![1, 2]).with_precision_and_scale(38, 2).unwrap()),
        Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab", b"cd"].into_iter()).unwrap()),
    ];
    for batch in times.into_iter().map(only) {
        let name = batch.schema().field(0).data_type().to_string();
        for types in [Types::Refuse, Types::Exact] {
            let error = with(&batch, types).unwrap_err();
            assert_eq!(error.code(), "type_not_supported", "{name}");
            assert!(error.advice().unwrap().settings().any(|s| s == Setting::LossyTypes), "{name}: {error}");
            assert!(error.part_name().unwrap().contains("\"c\""), "{name}: {error}");
        }
        let (_, summary) = with(&batch, Types::Lossy).unwrap();
        assert_eq!(summary.notes, [format!("column \"c\": {name} written as text")]);
    }
    let bytes = only(Arc::new(BinaryArray::from(vec![&b"a"[..], b"b"])));
    assert!(with(&bytes, Types::Refuse).unwrap_err().advice().unwrap().settings().any(|s| s == Setting::ExactTypes));
    assert_eq!(text(&with(&bytes, Types::Exact).unwrap().0), "c\na\nb\n");
    // Wider numbers are the same numbers.
    let (file, summary) = with(&only(Arc::new(Int32Array::from(vec![1, 2]))), Types::Refuse).unwrap();
    assert_eq!((text(&file).as_str(), summary.notes.len()), ("c\n1\n2\n", 0));
}

#[test]
fn what_has_no_text_is_refused() {
    let nan = table(vec![("x", Arc::new(Float64Array::from(vec![1.0, f64::NAN])))]);
    let error = write(std::slice::from_ref(&nan), &fast()).unwrap_err();
    assert_eq!(error.code(), "value_out_of_range");
    let (bytes, summary) = write(&[nan], &WriteOptions { types: Types::Lossy, ..fast() }).unwrap();
    assert_eq!(text(&bytes), "x\n1.0\n\n");
    assert_eq!(summary.notes.len(), 1);
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    let schema = Arc::new(Schema::new(vec![Field::new("l", list, true)]));
    let refused = At1.writer(schema, Box::new(MemorySink::new()), &fast()).err().unwrap();
    assert_eq!(refused.code(), "type_not_supported");
    let twice =
        Arc::new(Schema::new(vec![Field::new("a", DataType::Utf8, true), Field::new("a", DataType::Utf8, true)]));
    assert_eq!(At1.writer(twice, Box::new(MemorySink::new()), &fast()).err().unwrap().code(), "duplicate_column");
    let none = Arc::new(Schema::empty());
    assert_eq!(At1.writer(none, Box::new(MemorySink::new()), &fast()).err().unwrap().code(), "no_columns");
}

#[test]
fn narrow_integers_and_empty_tables() {
    let batch = table(vec![("i", Arc::new(Int32Array::from(vec![3, 4])))]);
    let (bytes, _) = write(std::slice::from_ref(&batch), &fast()).unwrap();
    assert_eq!(text(&bytes), "i\n3\n4\n");
    let (bytes, summary) = write(&[batch.slice(0, 0)], &fast()).unwrap();
    assert_eq!((text(&bytes).as_str(), summary.rows), ("i\n", 0));
    let file = TableFile::open(Arc::new(At1), Arc::new(bytes), &ReadOptions::default()).unwrap();
    assert_eq!((file.row_count(), file.schema().field(0).data_type()), (0, &DataType::Int64));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_table_comes_back(
        rows in prop::collection::vec((any::<Option<i64>>(), any::<Option<i32>>(), prop::option::of("[a-c\"',\\n\\r\\\\é0-9]{0,6}")), 1..60),
        cut in 0usize..60,
    ) {
        let batch = table(vec![
            ("a", Arc::new(rows.iter().map(|r| r.0).collect::<Int64Array>())),
            ("b", Arc::new(rows.iter().map(|r| r.1.map(|n| f64::from(n) / 64.0)).collect::<Float64Array>())),
            ("c", Arc::new(rows.iter().map(|r| r.2.as_deref()).collect::<StringArray>())),
        ]);
        let cut = cut.min(batch.num_rows());
        let parts = [batch.slice(0, cut), batch.slice(cut, batch.num_rows() - cut)];
        let (bytes, summary) = write(&parts, &fast()).unwrap();
        prop_assert_eq!(summary.rows, batch.num_rows() as u64);
        let back = read(&bytes);
        let back = arrow::compute::concat_batches(&back[0].schema(), &back).unwrap();
        prop_assert_eq!(back.columns(), batch.columns());
    }
}
