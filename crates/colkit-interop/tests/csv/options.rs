//! What the options change.

use super::{open, read, types, values};
use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, TimeUnit};
use colkit_core::cells::Inference;
use colkit_core::{Class, Format, Limits, ReadOptions, TableFile};
use colkit_interop::{CsvFormat, CsvOptions, parse_schema};
use serde_json::json;
use std::sync::Arc;

fn typed(schema: &str) -> CsvOptions {
    CsvOptions { schema: parse_schema(schema).unwrap(), ..CsvOptions::default() }
}

fn inferred(inference: Inference) -> CsvOptions {
    CsvOptions { inference, ..CsvOptions::default() }
}

#[test]
fn without_header_columns_have_numbers() {
    let options = CsvOptions { header: false, ..CsvOptions::default() };
    let batch = read("1,x\n2,y", options.clone()).unwrap();
    assert_eq!(batch.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["c0", "c1"]);
    assert_eq!(values(batch.column(0)), [1, 2]);
    assert_eq!(read("\n1,2\n", options.clone()).unwrap_err().code(), "csv_no_header");
    assert_eq!(read("1,2\n1\n", options).unwrap_err().code(), "csv_ragged");
}

#[test]
fn another_delimiter_makes_commas_content() {
    let batch = read("a\tb\n1,5\t\"x\ty\"\n", CsvFormat::tsv().options).unwrap();
    assert_eq!(values(batch.column(0)), ["1,5"]);
    assert_eq!(values(batch.column(1)), ["x\ty"]);
    let tsv = CsvFormat::tsv();
    assert_eq!((tsv.name(), tsv.extensions()), ("tsv", &["tsv", "tab"][..]));
    for delimiter in [b'"', b'\n', b'\r', 0, 0xE9] {
        let options = CsvOptions { delimiter, ..CsvOptions::default() };
        assert_eq!(read("a\n1\n", options).unwrap_err().code(), "bad_delimiter");
    }
}

#[test]
fn given_types_are_wider_than_inferred_ones() {
    let schema = "i:int32,l:int64,f:float64,s:string,b:bool";
    let text = "i,l,f,s,b,n\n+5,007,.5,1,TRUE,1\n-007,-9223372036854775808,5.,,False,2\n,,,,,3\n0,1,nan,x,true,4\n";
    let batch = read(text, typed(schema)).unwrap();
    assert_eq!(types(&batch), ["int32", "int64", "float64", "string", "bool", "int32"]);
    assert_eq!(values(batch.column(0)), [json!(5), json!(-7), json!(null), json!(0)]);
    assert_eq!(values(batch.column(1)), [json!(7), json!(i64::MIN), json!(null), json!(1)]);
    let bits = |x: f64| json!(format!("0x{:016x}", x.to_bits()));
    assert_eq!(values(batch.column(2)), [bits(0.5), bits(5.0), json!(null), json!("0x7ff8000000000000")]);
    assert_eq!(values(batch.column(3)), ["1", "", "", "x"], "an empty cell of a text column is text");
    assert_eq!(values(batch.column(4)), [json!(true), json!(false), json!(null), json!(true)]);
}

#[test]
fn a_cell_that_does_not_fit_is_located() {
    for (schema, cell) in [
        ("a:int32", "2147483648"),
        ("a:int32", "1.0"),
        ("a:int64", "9223372036854775808"),
        ("a:float64", "1e309"),
        ("a:float64", "1e-400"),
        ("a:float64", "-nan"),
        ("a:bool", "yes"),
        ("a:int32", "\"1\"\"\""),
    ] {
        let error = read(format!("b,a\n\"x\ny\",1\nz,{cell}\n").replace(",1\n", ",\n"), typed(schema)).unwrap_err();
        assert_eq!((error.code(), error.class()), ("bad_cell", Class::Data), "{schema} {cell}: {error}");
        assert_eq!(error.part_name(), Some("line 4, column 2 (\"a\")"), "{error}");
        assert_eq!(error.offset(), Some(13 + u64::from(cell.starts_with('"'))), "{error}");
    }
    let text = "a,b\n1,2\nx,3\n";
    let file = open(text, typed("a:int32")).unwrap();
    let only_b = colkit_core::Scan::of(colkit_core::Projection::columns([1]));
    assert_eq!(file.scan(&only_b).unwrap().map(|b| b.unwrap().num_rows()).sum::<usize>(), 2, "b is not affected");
}

#[test]
fn types_for_unknown_columns_are_refused() {
    let error = read("a,b\n1,2\n", typed("a:int32,c:int32")).unwrap_err();
    assert_eq!(error.code(), "no_such_column");
    assert!(error.advice().unwrap().to_string().contains("\"b\""), "{error}");
    let options = CsvOptions { schema: vec![("a".into(), DataType::Binary)], ..CsvOptions::default() };
    assert_eq!(read("a\n1\n", options).unwrap_err().code(), "no_such_type");
}

#[test]
fn empty_cells_are_text_and_said_so() {
    let file = open("i,s,e\n1,x,\n\n\"2\",\"\n\",\n,,\n", CsvOptions::default()).unwrap();
    let findings = file.verify().unwrap().findings;
    assert_eq!(findings.len(), 1, "a text column is text anyway: {findings:?}");
    assert_eq!(findings[0].part, "line 6, column 1 (\"i\")");
    assert!(findings[0].message.contains("int32"), "{findings:?}");
}

#[test]
fn empty_cells_are_nulls_on_request() {
    let options = inferred(Inference { empty_is_null: true, ..Inference::plain() });
    let batch = read("i,f,b,s,e\n1,,true,x,\n,2.5,,,\n", options.clone()).unwrap();
    assert_eq!(types(&batch), ["int32", "float64", "bool", "string", "string"]);
    assert_eq!(values(batch.column(0)), [json!(1), json!(null)]);
    assert_eq!(values(batch.column(2)), [json!(true), json!(null)]);
    assert_eq!(values(batch.column(3)), ["x", ""]);
    assert_eq!(values(batch.column(4)), ["", ""]);
    let schema = batch.schema();
    assert_eq!(schema.fields().iter().map(|f| f.is_nullable()).collect::<Vec<_>>(), [true, true, true, false, false]);
    let batch = read("a\n1\n\n3\n", options.clone()).unwrap();
    assert_eq!(values(batch.column(0)), [json!(1), json!(null), json!(3)], "a blank line of a single column");
    assert_eq!(open("i\n1\n\n", options).unwrap().verify().unwrap().findings, []);
}

#[test]
fn large_integers_on_request() {
    let options = inferred(Inference { integers64: true, ..Inference::plain() });
    let text = "a,b,c,d,e\n1,2147483648,9223372036854775807,9223372036854775808,9007199254740993\n2,-3,4,5,1.5\n";
    let batch = read(text, options).unwrap();
    assert_eq!(types(&batch), ["int32", "int64", "int64", "string", "string"]);
    assert_eq!(values(batch.column(2)), [json!(i64::MAX), json!(4)]);
    let batch = read(text, CsvOptions::default()).unwrap();
    assert_eq!(types(&batch), ["int32", "float64", "string", "string", "string"]);
}

#[test]
fn targets_with_nulls_get_nulls_and_every_type() {
    let text = "i,u,f,b,d,t,z,s\n\
        9,18446744073709551615,+.5,true,2024-01-31,2024-01-31 10:00:00.25,2024-01-31T10:00:00+02:00,NA\n\
        ,,,,,,,\n\
        NA,1,5.,,0001-01-01,1969-12-31,1969-12-31T23:59:59Z,x\n";
    for chunk in [7, 1 << 20] {
        let options = super::in_pieces(chunk, 9);
        let inference = Inference { null_words: vec!["NA".into()], ..Inference::full() };
        let batch = read(text, CsvOptions { inference, ..options.clone() }).unwrap();
        let types: Vec<DataType> = batch.schema().fields().iter().map(|f| f.data_type().clone()).collect();
        let stamp = |unit, zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
        let expected = [
            DataType::Int32,
            DataType::UInt64,
            DataType::Float64,
            DataType::Boolean,
            DataType::Date32,
            stamp(TimeUnit::Millisecond, None),
            stamp(TimeUnit::Second, Some("UTC")),
            DataType::Utf8,
        ];
        assert_eq!(types, expected);
        let shown = |column: usize| -> Vec<String> {
            let array = arrow::compute::cast(batch.column(column), &DataType::Utf8).unwrap();
            let texts = array.as_string::<i32>().iter();
            texts.map(|text| text.map_or("null".to_string(), |t| format!("{t:?}"))).collect()
        };
        assert_eq!(shown(0), ["\"9\"", "null", "null"]);
        assert_eq!(shown(1), ["\"18446744073709551615\"", "null", "\"1\""]);
        assert_eq!(shown(2), ["\"0.5\"", "null", "\"5.0\""]);
        assert_eq!(shown(4), ["\"2024-01-31\"", "null", "\"0001-01-01\""]);
        assert_eq!(shown(5), ["\"2024-01-31T10:00:00.250\"", "null", "\"1969-12-31T00:00:00\""]);
        assert_eq!(shown(6), ["\"2024-01-31T08:00:00Z\"", "null", "\"1969-12-31T23:59:59Z\""]);
        assert_eq!(shown(7), ["null", "\"\"", "\"x\""], "an empty text stays one, a word for null does not");
    }
}

#[test]
fn dates_and_other_types_can_be_given() {
    let given = |data_type: DataType, cell: &str| {
        let options = CsvOptions { schema: vec![("a".into(), data_type)], ..CsvOptions::default() };
        read(format!("a,b\n{cell},1\n,2\n"), options)
    };
    for (data_type, good, bad) in [
        (DataType::Date32, "2024-02-29", "2023-02-29"),
        (DataType::Timestamp(TimeUnit::Millisecond, None), "2024-02-29T01:02:03.004", "2024-02-29T01:02:03.0004"),
        (
            DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())),
            "2024-02-29T01:02:03+01:00",
            "2024-02-29",
        ),
        (DataType::UInt64, "18446744073709551615", "-1"),
        (DataType::Decimal128(5, 2), "123.45", "1234.5"),
        (DataType::Int8, "-128", "x"),
        (DataType::Float32, "0.1", "x"),
    ] {
        let batch = given(data_type.clone(), good).unwrap();
        assert_eq!(batch.column(0).data_type(), &data_type);
        assert_eq!((batch.column(0).null_count(), batch.column(0).is_null(1)), (1, true), "{data_type}");
        assert_eq!(given(data_type.clone(), bad).unwrap_err().code(), "bad_cell", "{data_type}");
    }
    assert!(given(DataType::Int8, "128").is_err(), "not another number");
}

#[test]
fn short_rows_and_repeated_names_on_request() {
    let options = CsvOptions { pad_short_rows: true, ..CsvOptions::default() };
    let batch = read("a,b,c\n1\n\n2,x\n3,y,z", options.clone()).unwrap();
    assert_eq!(values(batch.column(0)), [1, 2, 3]);
    assert_eq!(values(batch.column(2)), ["", "", "z"]);
    assert_eq!(read("a,b\n1,2,3\n", options).unwrap_err().code(), "csv_ragged", "long rows stay wrong");
    let options = CsvOptions { rename_duplicates: true, ..CsvOptions::default() };
    let batch = read("a,a,a_2,a\n1,2,3,4\n", options).unwrap();
    let names: Vec<String> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["a", "a_3", "a_2", "a_4"]);
}

#[test]
fn limits_hold_wherever_the_pieces_end() {
    let refuse = |text: &str, limits: &Limits| {
        for chunk in [1, 7, 1 << 20] {
            let options = ReadOptions { limits: limits.clone(), ..ReadOptions::default() };
            let format = super::format(super::in_pieces(chunk, 1));
            let source = Arc::new(bytes::Bytes::copy_from_slice(text.as_bytes()));
            let error = TableFile::open(format, source, &options).err().expect("a limit");
            assert_eq!((error.code(), error.class()), ("limit_exceeded", Class::Limit), "{error}");
        }
    };
    refuse(&format!("a\n1\n{}\n", "x".repeat(100)), &Limits { value_bytes: 100, ..Limits::default() });
    refuse(&format!("a\n1\n\"{}\"", "x\n".repeat(100)), &Limits { value_bytes: 100, ..Limits::default() });
    refuse("a,b,c\n", &Limits { columns: 2, ..Limits::default() });
    refuse("a,bcd\n", &Limits { name_bytes: 2, ..Limits::default() });
}
