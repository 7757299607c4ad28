//! What is written, and that it reads back.

use super::{format, in_pieces, read, values};
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array,
    Int64Array, LargeStringArray, ListArray, StringArray, StringViewArray, TimestampMillisecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Int32Type};
use arrow::record_batch::RecordBatch;
use colkit_core::cells::Inference;
use colkit_core::conformance::{self, Laws};
use colkit_core::{Format, Nulls, Setting, StreamSink, Types, WriteOptions};
use colkit_interop::{CsvFormat, CsvOptions, parse_schema};
use std::sync::{Arc, Mutex};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(batch: &RecordBatch, options: &WriteOptions) -> colkit_core::Result<String> {
    let (bytes, _) = conformance::write(&format(CsvOptions::default()), batch, 2, options)?;
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

#[test]
fn types_survive_where_csv_can_say_them() {
    let table = batch(vec![
        ("i", Arc::new(Int32Array::from(vec![i32::MIN, 0, i32::MAX]))),
        ("f", Arc::new(Float64Array::from(vec![1.0, -0.0, 5e-324]))),
        ("g", Arc::new(Float64Array::from(vec![f64::NAN, f64::NEG_INFINITY, 1e300]))),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("s", Arc::new(StringArray::from(vec!["", "a \"b\",\r\n", " x "]))),
    ]);
    assert_eq!(
        written(&table, &WriteOptions::default()).unwrap(),
        "i,f,g,b,s\n-2147483648,1.0,NaN,true,\n0,-0.0,-inf,false,\"a \"\"b\"\",\r\n\"\n2147483647,5e-324,1e300,true, x \n"
    );
    for options in [CsvOptions::default(), in_pieces(7, 10)] {
        conformance::round_trip(&format(options), &table, Laws { columns_apart: false });
    }
    for column in table.columns() {
        assert!(CsvFormat::default().stores(column.data_type()));
    }
    assert!(!CsvFormat::default().stores(&DataType::Int64));
}

#[test]
fn a_lonely_empty_cell_is_still_a_row_and_a_mark_is_still_a_letter() {
    let table = batch(vec![("", Arc::new(StringArray::from(vec!["", "x", ""])))]);
    assert_eq!(written(&table, &WriteOptions::default()).unwrap(), "\"\"\n\"\"\nx\n\"\"\n");
    conformance::round_trip(&format(CsvOptions::default()), &table, Laws { columns_apart: false });
    let table = batch(vec![("\u{feff}a", Arc::new(StringArray::from(vec!["\u{feff}"])))]);
    let text = written(&table, &WriteOptions::default()).unwrap();
    let read = read(&text, CsvOptions::default()).unwrap();
    assert_eq!(read.schema().field(0).name(), "\u{feff}a");
    assert_eq!(values(read.column(0)), ["\u{feff}"]);
}

#[test]
fn other_types_are_written_as_people_read_them() {
    let dictionary: DictionaryArray<Int32Type> = vec!["a,b", "c", "a,b"].into_iter().collect();
    let table = batch(vec![
        ("l", Arc::new(Int64Array::from(vec![1 << 60, -1, 0]))),
        ("d", Arc::new(Date32Array::from(vec![0, 1, 20000]))),
        ("t", Arc::new(TimestampMillisecondArray::from(vec![0, 1500, -1]))),
        ("m", Arc::new(Decimal128Array::from(vec![12345, -5, 0]).with_precision_and_scale(10, 2).unwrap())),
        ("x", Arc::new(dictionary)),
        ("u", Arc::new(LargeStringArray::from(vec!["1", "2", "3"]))),
        ("v", Arc::new(StringViewArray::from(vec!["p", "q\"", "r"]))),
    ]);
    // Numbers, dates, timestamps and text are what CSV is made of.
    assert_eq!(
        written(&table, &WriteOptions::default()).unwrap(),
        "l,d,t,m,x,u,v\n\
         1152921504606846976,1970-01-01,1970-01-01T00:00:00,123.45,\"a,b\",1,p\n\
         -1,1970-01-02,1970-01-01T00:00:01.500,-0.05,c,2,\"q\"\"\"\n\
         0,2024-10-04,1969-12-31T23:59:59.999,0.00,\"a,b\",3,r\n"
    );
}

#[test]
fn nulls_are_refused_or_counted() {
    let table = batch(vec![
        ("a", Arc::new(Int32Array::from(vec![1, 2, 3]))),
        ("b", Arc::new(StringArray::from(vec![Some("x"), Some("y"), None]))),
    ]);
    let error = written(&table, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.code(), "null_not_supported");
    assert_eq!(error.part_name(), Some("column 2 (\"b\")"));
    assert!(error.message().contains("row 2 "), "{error}");
    let fill = WriteOptions { nulls: Nulls::Fill, ..WriteOptions::default() };
    let (bytes, summary) = conformance::write(&format(CsvOptions::default()), &table, 9, &fill).unwrap();
    assert_eq!(&bytes[..], b"a,b\n1,x\n2,y\n3,\n");
    assert_eq!(summary.notes, ["1 nulls written as empty cells"]);
    let dictionary: DictionaryArray<Int32Type> = vec![Some("a"), None].into_iter().collect();
    let table = batch(vec![("d", Arc::new(dictionary))]);
    assert_eq!(written(&table, &WriteOptions::default()).unwrap_err().code(), "null_not_supported");
    assert_eq!(written(&table, &fill).unwrap(), "d\na\n\"\"\n");
}

#[test]
fn what_has_nulls_outside_of_text_comes_back() {
    let table = batch(vec![
        ("i", Arc::new(Int32Array::from(vec![None, Some(2)]))),
        ("l", Arc::new(Int64Array::from(vec![Some(i64::MIN), None]))),
        ("u", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
        ("f", Arc::new(Float64Array::from(vec![None, Some(0.5)]))),
        ("b", Arc::new(BooleanArray::from(vec![None, Some(true)]))),
        ("d", Arc::new(Date32Array::from(vec![Some(-1), None]))),
        ("t", Arc::new(TimestampMillisecondArray::from(vec![None, Some(-1)]))),
        ("z", Arc::new(TimestampMillisecondArray::from(vec![Some(1), None]).with_timezone("UTC"))),
    ]);
    let full = || CsvOptions { inference: Inference::full(), ..CsvOptions::default() };
    let (bytes, summary) = conformance::write(&format(full()), &table, 1, &WriteOptions::default()).unwrap();
    assert!(summary.notes.is_empty());
    let back = read(&bytes, full()).unwrap();
    assert_eq!(back.columns(), table.columns());
    for column in table.columns() {
        assert!(format(full()).stores(column.data_type()));
    }
}

#[test]
fn what_csv_cannot_hold_is_refused() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)])]);
    let lists = batch(vec![("l", Arc::new(list))]);
    let error = written(&lists, &WriteOptions::default()).unwrap_err();
    assert_eq!((error.code(), error.part_name()), ("type_not_supported", Some("column 1 (\"l\")")));
    let lossy = WriteOptions { types: Types::Lossy, ..WriteOptions::default() };
    assert_eq!(written(&lists, &lossy).unwrap(), "l\n[1]\n");
    let bytes = Arc::new(BinaryArray::from_iter_values([b"x"])) as ArrayRef;
    let both = batch(vec![("l", lists.column(0).clone()), ("n", bytes.clone()), ("m", bytes)]);
    let error = written(&both, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.part_name(), Some("column 1 (\"l\"), column 2 (\"n\"), column 3 (\"m\")"), "all at once");
    assert!(error.advice().unwrap().settings().eq([Setting::LossyTypes]), "{error}");
    let one = || Arc::new(Int32Array::from(vec![1])) as ArrayRef;
    let twice = batch(vec![("a", one()), ("a", one())]);
    assert_eq!(written(&twice, &WriteOptions::default()).unwrap_err().code(), "duplicate_column");
    let rename = WriteOptions { rename_duplicates: true, ..WriteOptions::default() };
    assert_eq!(written(&twice, &rename).unwrap(), "a,a_2\n1,1\n");
    let nothing = RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty()));
    assert_eq!(written(&nothing, &WriteOptions::default()).unwrap_err().code(), "no_columns");
}

#[test]
fn delimiter_and_header_are_written_as_asked() {
    let table = batch(vec![
        ("a", Arc::new(StringArray::from(vec!["x\ty", "1,2"]))),
        ("f", Arc::new(Float64Array::from(vec![0.5, 2.0]))),
    ]);
    let (tsv, _) =
        conformance::write(&(Arc::new(CsvFormat::tsv()) as Arc<dyn Format>), &table, 9, &Default::default()).unwrap();
    assert_eq!(&tsv[..], b"a\tf\n\"x\ty\"\t0.5\n1,2\t2.0\n");
    let odd = CsvOptions { delimiter: b'.', header: false, ..CsvOptions::default() };
    let (text, _) = conformance::write(&format(odd.clone()), &table, 9, &Default::default()).unwrap();
    assert_eq!(&text[..], b"x\ty.\"0.5\"\n1,2.\"2.0\"\n");
    assert_eq!(read(&text, odd).unwrap().columns(), table.columns());
}

#[test]
fn a_stream_sees_each_batch_and_a_flush_at_the_end() {
    #[derive(Clone, Default)]
    struct Pipe(Arc<Mutex<(Vec<u8>, usize)>>);
    impl std::io::Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().0.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            self.0.lock().unwrap().1 += 1;
            Ok(())
        }
    }
    let pipe = Pipe::default();
    let table = batch(vec![("a", Arc::new(Int32Array::from(vec![1])))]);
    let format = CsvFormat::default();
    let mut writer = format.writer(table.schema(), Box::new(StreamSink(pipe.clone())), &Default::default()).unwrap();
    writer.write(&table).unwrap();
    assert_eq!(*pipe.0.lock().unwrap(), (b"a\n1\n".to_vec(), 0));
    let other = batch(vec![("a", Arc::new(StringArray::from(vec!["x"])))]);
    assert_eq!(writer.write(&other).unwrap_err().code(), "schema_mismatch");
    writer.finish().unwrap();
    assert_eq!(*pipe.0.lock().unwrap(), (b"a\n1\n".to_vec(), 1));
}

#[test]
fn an_empty_table_is_a_header() {
    let table = batch(vec![("a", Arc::new(StringArray::from(Vec::<&str>::new())))]);
    let (text, summary) = conformance::write(&format(CsvOptions::default()), &table, 1, &Default::default()).unwrap();
    assert_eq!((&text[..], summary.rows), (&b"a\n"[..], 0));
    let typed = CsvOptions { schema: parse_schema("a:float64").unwrap(), ..CsvOptions::default() };
    assert_eq!(super::types(&read(&text, typed).unwrap()), ["float64"]);
}
