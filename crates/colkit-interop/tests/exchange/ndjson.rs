//! NDJSON.

use super::sample::plain;
use arrow::array::{Array, AsArray, Decimal128Array, Float64Array, NullArray, RecordBatch};
use arrow::array::{ArrayRef, BinaryArray, Date32Array};
use arrow::datatypes::{DataType, Int32Type, Int64Type, UInt64Type};
use bytes::Bytes;
use colkit_core::conformance::{self, Laws};
use colkit_core::{Format, ReadOptions, Result, Setting, TableFile, Types, WriteOptions};
use colkit_interop::csv::Pieces;
use colkit_interop::{NdjsonFormat, NdjsonOptions};
use std::sync::Arc;

const TOGETHER: Laws = Laws { columns_apart: false };

fn format() -> Arc<dyn Format> {
    Arc::new(NdjsonFormat::default())
}

fn in_pieces(chunk: u64, checkpoint: u64) -> Arc<dyn Format> {
    let pieces = Pieces { chunk, checkpoint };
    Arc::new(NdjsonFormat { options: NdjsonOptions { pieces, ..NdjsonOptions::default() } })
}

fn read(text: &str) -> Result<RecordBatch> {
    conformance::read_all(&format(), &Bytes::copy_from_slice(text.as_bytes()))
}

fn types(batch: &RecordBatch) -> String {
    let one = |f: &Arc<arrow::datatypes::Field>| {
        format!("{} {}{}", f.name(), f.data_type(), if f.is_nullable() { "?" } else { "" })
    };
    batch.schema().fields().iter().map(one).collect::<Vec<_>>().join("; ")
}

const MIXED: &str = concat!(
    "\u{feff}{\"id\": 1, \"name\": \"Zo\\u00eb\", \"tags\": [\"a\", null], \"at\": {\"x\": 1.5, \"deep\": [{\"k\": true}]}}\r\n",
    "\n",
    "  {\"name\":null,\"id\":-2,\"at\":null,\"new\":9007199254740993}\n",
    "   \t\n",
    "{\"id\":3,\"tags\":[],\"at\":{\"y\":\"\\ud83d\\ude00\",\"deep\":[]},\"name\":\"\"}",
);

#[test]
fn objects_become_rows_however_the_file_is_cut() {
    let whole = conformance::reads(&format(), &Bytes::from(MIXED), TOGETHER);
    assert_eq!(whole.num_rows(), 3);
    assert_eq!(whole.column(0).as_primitive::<Int32Type>().values().to_vec(), [1, -2, 3]);
    assert_eq!(whole.column(1).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("Zoë"), None, Some("")]);
    let at = whole.column_by_name("at").unwrap().as_struct();
    assert_eq!(at.column_names(), ["x", "deep", "y"]);
    assert!(at.is_null(1) && at.column(0).is_null(2));
    assert_eq!(at.column(2).as_string::<i32>().value(2), "😀");
    let new = whole.column_by_name("new").unwrap().as_primitive::<Int64Type>();
    assert_eq!(new.iter().collect::<Vec<_>>(), [None, Some(9_007_199_254_740_993), None]);
    for (chunk, checkpoint) in [(1, 1), (7, 10), (50, 3), (1000, 1000)] {
        assert_eq!(conformance::reads(&in_pieces(chunk, checkpoint), &Bytes::from(MIXED), TOGETHER), whole);
    }
}

#[test]
fn numbers_keep_every_digit() {
    let batch =
        read("{\"a\":18446744073709551615,\"b\":-170141183460469231731687303715884105,\"c\":0.1,\"d\":1e5}\n").unwrap();
    assert_eq!(types(&batch), "a UInt64; b Decimal128(38, 0); c Float64; d Float64");
    assert_eq!(batch.column(0).as_primitive::<UInt64Type>().value(0), u64::MAX);
    let big = batch.column(1).as_any().downcast_ref::<Decimal128Array>().unwrap().value(0);
    assert_eq!(big, -170_141_183_460_469_231_731_687_303_715_884_105);
    let batch = read("{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":[1, 2.50]}\n{\"a\":true}\n").unwrap();
    assert_eq!(types(&batch), "a Utf8");
    assert_eq!(
        batch.column(0).as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
        ["1", "x", "[1, 2.50]", "true"]
    );
}

#[test]
fn mixed_columns_are_told_of() {
    let bytes = Bytes::from("{\"a\":1}\n{\"a\":\"x\"}\n");
    let file = TableFile::open(format(), Arc::new(bytes), &ReadOptions::default()).unwrap();
    let findings = file.verify().unwrap().findings;
    assert!(findings[0].part.contains("\"a\""), "{findings:?}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, code, part) in [
        ("{\"a\":1}\n\n{\"a\":}\n", "bad_json", "line 3"),
        ("{\"a\":1}\n[1]\n", "bad_json", "line 2"),
        ("{\"a\":1} {\"a\":2}\n", "bad_json", "line 1"),
        ("{\"a\":1,\n\"b\":2}\n", "bad_json", "line 1"),
        ("{\"a\":1,\"a\":2}\n", "duplicate_name", "line 1"),
        ("{\"a\":{\"b\":1,\"b\":2}}\n", "duplicate_name", "line 1"),
        ("{\"a\":NaN}\n", "bad_json", "line 1"),
        ("{\"a\":01}\n", "bad_json", "line 1"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!((error.code(), error.part_name()), (code, Some(part)), "{text:?}: {error}");
        assert!(error.offset().is_some());
    }
    assert_eq!(read("").unwrap_err().code(), "no_rows");
    assert_eq!(read("{}\n{}\n").unwrap_err().code(), "only_empty_objects");
    let latin = conformance::refused(&format(), &Bytes::from_static(b"{\"a\":\"\xe9\"}\n"));
    assert_eq!(latin, "bad_utf8");
}

#[test]
fn nesting_has_a_limit() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    assert_eq!(read(&deep).unwrap_err().code(), "limit_exceeded");
}

#[test]
fn given_types_are_kept_to() {
    let read = |list: &str, text: &'static str| {
        let schema = colkit_interop::parse_schema(list).unwrap();
        let format: Arc<dyn Format> =
            Arc::new(NdjsonFormat { options: NdjsonOptions { schema, ..NdjsonOptions::default() } });
        conformance::read_all(&format, &Bytes::from_static(text.as_bytes()))
    };
    assert_eq!(types(&read("a:int64,b:string", "{\"a\":1,\"b\":2}\n").unwrap()), "a Int64?; b Utf8?");
    let error = read("a:int32", "{\"a\":1}\n{\"a\":1.5}\n").unwrap_err();
    assert_eq!((error.code(), error.part_name()), ("bad_cell", Some("line 2: column \"a\"")));
    assert_eq!(read("z:int32", "{\"a\":1}\n").unwrap_err().code(), "no_such_column");
}

#[test]
fn what_is_written_comes_back() {
    conformance::round_trip(&format(), &plain(1500), TOGETHER);
    conformance::round_trip(&in_pieces(100, 500), &plain(300), TOGETHER);
    let nested = read(MIXED).unwrap();
    let (bytes, _) = conformance::write(&format(), &nested, 2, &WriteOptions::default()).unwrap();
    let again = conformance::reads(&format(), &bytes, TOGETHER);
    assert_eq!(again.columns(), nested.columns());
}

#[test]
fn what_json_has_no_form_for_is_refused_unless_a_loss_is_allowed() {
    let lossy = WriteOptions { types: Types::Lossy, ..WriteOptions::default() };
    let batch = |array: ArrayRef| RecordBatch::try_from_iter_with_nullable([("a", array, true)]).unwrap();
    for (array, code, text) in [
        (Arc::new(Float64Array::from(vec![f64::NAN])) as ArrayRef, "value_out_of_range", "{\"a\":null}\n"),
        (Arc::new(BinaryArray::from_iter_values([[10]])), "type_not_supported", "{\"a\":\"0a\"}\n"),
    ] {
        let error = conformance::write(&format(), &batch(array.clone()), 1, &WriteOptions::default()).unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.part_name().unwrap().contains("\"a\""), "{error}");
        assert!(error.advice().unwrap().settings().eq([Setting::LossyTypes]), "{error}");
        let (bytes, _) = conformance::write(&format(), &batch(array), 1, &lossy).unwrap();
        assert_eq!(bytes, text.as_bytes());
    }
    let (bytes, _) =
        conformance::write(&format(), &batch(Arc::new(NullArray::new(1))), 1, &WriteOptions::default()).unwrap();
    assert_eq!(bytes, b"{\"a\":null}\n"[..]);
    assert!(!format().stores(&DataType::Date32));
    for (array, text) in [
        (Arc::new(Date32Array::from(vec![1])) as ArrayRef, "{\"a\":\"1970-01-02\"}\n"),
        (Arc::new(Decimal128Array::from(vec![150]).with_precision_and_scale(5, 2).unwrap()), "{\"a\":1.50}\n"),
    ] {
        let (bytes, _) = conformance::write(&format(), &batch(array), 1, &WriteOptions::default()).unwrap();
        assert_eq!(bytes, text.as_bytes());
    }
}
